// `headsup`, for the scripts of a page that holds the file: `await headsup.run("translate", "I am cold.")`.
import { headsOf } from "./address.js";
import { enumerated, idleOf, problemOf, samplingOf, switchesOf } from "./asked.js";

const cutRows = ({ values, shape }, rows, columns) => {
  const [layers, heads, Tq, Tk] = shape;
  const [to, across] = [Math.min(rows, Tq), Math.min(columns, Tk)];
  const out = new Float32Array(layers * heads * to * across);
  for (let row = 0; row < layers * heads * to; row++) {
    const from = (Math.floor(row / to) * Tq + (row % to)) * Tk;
    out.set(values.subarray(from, from + across), row * across);
  }
  return { weights: out, shape: [layers, heads, to, across] };
};

// Throws for what is not there, or no number in its range.
/** @param {Record<string, any>} options @param {any} page @param {Record<string, any>[]} settings */
function asked({ heads = [], choices = {}, steps, ...sampling }, page, settings) {
  const named = [heads].flat().map(String);
  for (const name of named) {
    if (headsOf(name, page).length !== 1)
      throw new Error(`heads: this model has no head ${name}; name them as cross:0:1`);
  }
  for (const [name, value] of Object.entries(sampling)) {
    const setting = settings.find((one) => one.name === name);
    if (!setting) throw new Error(`there is no option ${name}; choose from ${optionNames(settings)}`);
    const [least, most] = setting.offered;
    const inRange = Number.isFinite(value) && (value === setting.off || (least <= value && value <= most));
    const isOne = inRange && (!setting.whole || Number.isInteger(value));
    if (!isOne)
      throw new Error(`${name} ${value}: give a ${setting.whole ? "whole " : ""}number from ${least} to ${most}`);
  }
  const idle = idleOf(sampling, settings).map(({ name }) => name);
  if (idle.length) {
    const [has, them] = idle.length === 1 ? ["has", "it"] : ["have", "them"];
    throw new Error(
      `${enumerated(idle)} ${has} no effect at temperature 0, which always chooses the likeliest token; give a ` +
        `temperature above 0, or leave ${them} out`,
    );
  }
  if (steps !== undefined && !(Number.isInteger(steps) && steps > 0)) {
    throw new Error(`steps ${steps}: give a whole number from 1`);
  }
  const off = headsOf(named.join(), page);
  return { sampling: samplingOf(sampling, settings), heads: switchesOf(off, page), choices: { ...choices }, steps };
}

const optionNames = (settings) => [...settings.map(({ name }) => name), "heads", "choices", "steps"].join(", ");

// A step as scripts read it. Its attention is part of the last step's, as rows that were read stay as they are, or its
// own where they do not.
function scriptStep({ own, ...step }, last, prompt) {
  const read = prompt + step.index;
  const all = own ?? last;
  return {
    ...step,
    get attentions() {
      const of = ([kind, every]) => {
        if (kind === "encoder") return [kind, cutRows(every, Infinity, Infinity)];
        return [kind, cutRows(every, read, kind === "decoder" ? read : Infinity)];
      };
      return Object.fromEntries(Object.entries(all).map(of));
    },
  };
}

export function scriptFace(models, settings, answers) {
  const names = models.map(({ id, name }) => ({ id, name }));
  return {
    models: names,
    // options: {temperature, top_k, top_p, min_p, seed, heads, choices, steps}; see docs/publishing.md.
    /** @param {string} name @param {string} text @param {Record<string, any>} [options] */
    async run(name, text, options = {}) {
      const model = names.findIndex((one) => one.name === name || one.id === name);
      if (model < 0)
        throw new Error(`there is no model ${name} here; there are ${names.map((one) => one.name).join(", ")}`);
      const problem = problemOf(String(text), models[model]);
      if (problem) throw new Error(problem === "empty" ? "the text is empty: give one" : problem);
      const { steps, reading, attentions, prompt } = await answers.run(
        model,
        String(text),
        asked(options, models[model], settings),
      );
      const whole = (every) => cutRows(every, Infinity, Infinity);
      if (steps) return steps.map((step) => scriptStep(step, attentions, prompt));
      const each = Object.entries(attentions).map(([kind, every]) => [kind, whole(every)]);
      return { ...reading, attentions: Object.fromEntries(each) };
    },
  };
}
