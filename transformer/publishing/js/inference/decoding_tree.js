// The decoding tree, as in transformer/inference/decoding_tree.py: the step that is looked at, and the branches of the
// text. A tree is a value, and every move gives a new one.
import { chosen, next } from "./decoding.js";
import { choiceOf } from "./sampling.js";

const MOST_OTHERS = 12; // branches kept besides the one looked at: each holds the key and value rows of its path
export const FORESEEN = 200; // steps that are decoded ahead of where one stands

/** @import { Step } from "./decoding.js" */

/** @param {Step} step */
export function pathOf(step) {
  const steps = [];
  for (let at = /** @type {Step | null} */ (step); at; at = at.parent) steps.push(at);
  return steps.reverse();
}

/**
 * The last step of one way the text went on, and what is to be chosen from there, {index: id}.
 * @typedef {{tip: Step, choices: Record<string, number>}} Branch
 */

const written = ({ tip }) => [...tip.tokens, tip.id];
const begins = (ids, prefix) => prefix.every((id, at) => ids[at] === id);

const drawn = new WeakMap(); // logits -> {sampling, id}

// What this sampling chooses at a step, which is asked for again at every picture of a path.
function expected(step, sampling) {
  const known = drawn.get(step.logits);
  if (known?.sampling === sampling) return known.id;
  const id = choiceOf(step, sampling);
  drawn.set(step.logits, { sampling, id });
  return id;
}

// The tip's choice made anew with this sampling; what the tip's forebears chose stays.
function settledBranch(branch, sampling) {
  const { tip, choices } = branch;
  const id = choices[tip.index] ?? expected(tip, sampling);
  return id === tip.id ? branch : { ...branch, tip: chosen(tip, id) };
}

const upTo = (choices, keep) => Object.fromEntries(Object.entries(choices).filter(([index]) => keep(Number(index))));

export class DecodingTree {
  /** @param {Branch} branch @param {number} index @param {Branch[]} others */
  constructor(branch, index = 0, others = []) {
    this.branch = branch;
    this.index = index;
    this.others = others;
    this.steps = pathOf(branch.tip);
  }

  get step() {
    return this.steps[this.index];
  }

  // The index of the last step there can be; null while the text has not ended.
  get last() {
    return this.branch.tip.ended ? this.branch.tip.index : null;
  }

  // The steps of this branch at which the reader, or a link, chose another token than the model would have.
  get picks() {
    return Object.entries(this.branch.choices)
      .filter(([index, id]) => this.steps[index]?.id === id)
      .map(([index]) => Number(index));
  }

  // The ids after the predicted one on this branch, known from having been there.
  get after() {
    const { tip } = this.branch;
    return this.index === tip.index ? [] : [...tip.tokens.slice(this.step.tokens.length + 1), tip.id];
  }

  // The ids that the decoder will read after those of the step looked at, as far as this branch is known.
  get coming() {
    return this.branch.tip.tokens.slice(this.step.tokens.length);
  }

  // Where this branch says another token than this sampling would: {step: id}.
  departures(sampling) {
    const taken = {};
    for (const step of this.steps) if (step.id !== expected(step, sampling)) taken[step.index] = step.id;
    return { ...taken, ...upTo(this.branch.choices, (index) => index >= this.branch.tip.index) };
  }

  // The same place, with what comes after it still to be decided, by this sampling.
  anew(sampling) {
    const choices = upTo(this.branch.choices, (index) => index <= this.index);
    return new DecodingTree(settledBranch({ tip: this.step, choices }, sampling), this.index, this.others);
  }

  // Look at step `index`, decoding up to it where nobody was yet; stops at the first and at the text's last, and after
  // so many milliseconds on the way.
  to(index, sampling, ms = Infinity) {
    const until = performance.now() + ms;
    const target = Math.max(0, index);
    let branch = settledBranch(this.branch, sampling);
    while (branch.tip.index < target && !branch.tip.ended) {
      branch = settledBranch({ ...branch, tip: next(branch.tip, branch.tip.id, { sampling }) }, sampling);
      if (performance.now() > until) break;
    }
    return new DecodingTree(branch, Math.min(target, branch.tip.index), this.others);
  }

  // The same place, with the branch decoded further, as far as that takes so many milliseconds.
  foreseen(sampling, most, ms) {
    const { tip } = this.to(Math.max(most, this.branch.tip.index), sampling, ms).branch;
    return tip === this.branch.tip ? this : new DecodingTree({ ...this.branch, tip }, this.index, this.others);
  }

  // Choose `id` at the step looked at and continue from there; a branch that already has it is returned to. The earlier
  // version stays among the others, of which the oldest go.
  pick(id, sampling) {
    const here = this.step;
    if (here.id === id) return this.to(this.index + 1, sampling);
    const way = [...here.tokens, id];
    const known = this.others.find((branch) => begins(written(branch), way));
    if (known) return this.switch(known, this.index + 1);
    const choices = { ...upTo(this.branch.choices, (index) => index < this.index), [this.index]: id };
    const others = [this.branch, ...this.others].slice(0, MOST_OTHERS);
    return new DecodingTree({ tip: chosen(here, id), choices }, this.index, others).to(this.index + 1, sampling);
  }

  // Look at another branch, at the same step if it has one.
  switch(branch, index = this.index) {
    const others = [this.branch, ...this.others.filter((other) => other !== branch)];
    return new DecodingTree(branch, Math.min(index, branch.tip.index), others);
  }
}
