// A text as it is decoded on the page: moved as the step controls ask, and drawn. It answers as ui/views/stepper/
// controller.py does in the served app.
import SHARED from "#view/message/shared.json";
import { inPercent, partOfOne } from "#view/text/numbers.js";
import { spoken } from "#view/text/tokens.js";
import { DecodingTree, FORESEEN } from "../inference/decoding_tree.js";
import { start } from "../inference/decoding.js";
import { live, newestRow, selectionIn } from "../messages/live.js";
import { candidates, probabilityOf } from "../inference/sampling.js";
import { wholeStep } from "../messages/sources.js";
import { alternatives, pieceLabels } from "../text/words.js";

const ROW = { unknown: [], picked: [], adds_to: "", wraps: false };
const FARTHEST = 200; // steps that "last" goes at most
const CANDIDATES = 10;
const { candidates: WORDS } = SHARED;
const LONGEST_CHARACTER = 3; // pieces before the last one of a character in UTF-8
const LONGEST_END = 60; // characters of the end of a branch

/**
 * What was asked for and is not done: the step to go to, and choices to make on the way.
 * @typedef {object} Pending
 * @property {number} index
 * @property {number} number of the press that asked for it
 * @property {number} [chosen] the number of the last choice that was made
 * @property {{at: number, nth: number, number: number}[]} choices
 * @property {number | null} farthest
 */

export class Stepper {
  // asked: {text, sampling, heads, choices, step, selection}, as a link says it; step may be null. number: of the texts
  // opened on the page.
  constructor(opened, page, asked, number) {
    const { text, sampling, heads, choices, step, selection } = asked;
    const known = Object.entries(choices ?? {}).filter(([, id]) => id < opened.config.vocab_size);
    const { looked, answered } = asked; // what the views that were there before have counted to
    this.opened = opened;
    this.page = page;
    this.text = text;
    this.sampling = sampling;
    this.asked = selection;
    this.number = number;
    this.looked = looked;
    this.answered = answered;
    this.tree = new DecodingTree({ tip: start(opened, text, { sampling, heads }), choices: Object.fromEntries(known) });
    this.opensAt = null;
    const index = step ?? page.opening ?? FORESEEN;
    /** @type {Pending | null} */
    this.pending = { index, number: answered, choices: [], farthest: index };
    this.drawn = {};
    this.pooled = {};
  }

  // As the step controls ask: {index, number, decoding, from, choices}. What is under way is given up.
  move(move) {
    // pressed while another text was on the screen: counts from where this one opens
    const other = move.decoding !== null && move.decoding !== this.number;
    const origin = other ? move.from - (this.opensAt ?? this.tree.index) : 0;
    const done = Math.max(this.answered, this.pending?.chosen ?? 0);
    const choices = move.choices.filter(({ number }) => number > done);
    const { pending } = this;
    const pressed = pending !== null && pending.number > this.answered; // else the text opens, which goes no further
    this.pending = {
      index: move.index - origin,
      number: move.number,
      chosen: done,
      choices: choices.map((choice) => ({ ...choice, at: choice.at - origin })),
      farthest: pressed ? pending.farthest : null,
    };
  }

  select({ number, ...asked }) {
    this.asked = asked;
    this.looked = number;
  }

  sample(sampling) {
    this.sampling = sampling;
    this.tree = this.tree.anew(sampling);
  }

  branch(at) {
    if (this.tree.others[at]) this.tree = this.tree.switch(this.tree.others[at]);
  }

  // Works on what was asked for so many milliseconds; returns whether there is more to do.
  work(ms) {
    const until = performance.now() + ms;
    const isAsked = Boolean(this.pending); // it is drawn before what comes is looked for
    while (this.pending) {
      const { pending } = this;
      const [choice] = pending.choices;
      if (!this.along(pending, choice ? choice.at : pending.index, until)) return true;
      if (!choice) {
        this.answered = pending.number;
        this.pending = null;
        this.opensAt ??= this.tree.index;
        break;
      }
      const id = candidates(this.tree.step, CANDIDATES, this.sampling)[choice.nth]?.id;
      if (id !== undefined) this.tree = this.tree.pick(id, this.sampling);
      pending.choices.shift();
      Object.assign(pending, { chosen: choice.number, farthest: null });
    }
    if (!this.isForeseen && !isAsked)
      this.tree = this.tree.foreseen(this.sampling, FORESEEN, until - performance.now());
    return !this.isForeseen;
  }

  // Whether all that is known in advance is: a translation is decoded to its end, so that all that comes can be seen.
  get isForeseen() {
    return this.page.opening !== null || this.tree.last !== null || this.tree.branch.tip.index >= FORESEEN;
  }

  // Goes to a step, until the time is up; returns whether it is there.
  /** @param {Pending} pending @param {number} index @param {number} until */
  along(pending, index, until) {
    pending.farthest ??= this.tree.index + FARTHEST;
    const goal = Math.min(index, pending.farthest);
    this.tree = this.tree.to(goal, this.sampling, until - performance.now());
    return this.tree.index >= goal || this.tree.last !== null;
  }

  // Kept for the step looked at alone: each holds the weights of every layer that was drawn of it.
  sourceOf(step) {
    if (this.drawn.step !== step) {
      this.drawn = { step, source: wholeStep(this.opened, step, writtenBy(this.opened, step)) };
    }
    return this.drawn.source;
  }

  // {message, place}: what is drawn now, and what a link to it says.
  picture() {
    const { tree, opened, sampling } = this;
    const { step } = tree;
    const source = this.sourceOf(step);
    const selection = selectionIn(source, this.asked, this.page.first);
    const about = { checkpoint: opened.id, step: opened.meta?.step };
    const labelled = (ids) => ids.map((id) => opened.tokenizer.piece(id));
    const coming = labelled(tree.coming).map((token, at) => [token, opened.tokenizer.piece(tree.after[at])]);
    const { message, head } = live(source, selection, {
      about,
      newest: true,
      before: this.pooled,
      coming,
      tree: this.page.tree,
      answered: this.looked,
    });
    const said = this.describe(source, selection, head);
    message.step_view = { ...this.stepView(source, labelled(tree.after)), said };
    const choices = tree.departures(sampling);
    return { message, place: { step: tree.index, choices, selection: message.selection } };
  }

  stepView(source, after) {
    const { tree, opened, sampling, page } = this;
    const { step } = tree;
    const { index, last, others, branch } = tree;
    const steps = {
      page: opened.id,
      index,
      last,
      decoding: this.number,
      answered: this.answered,
      opened: this.opensAt ?? index,
      farthest: FARTHEST,
      going: this.pending !== null,
    };
    const ends = [branch, ...others].map(({ tip }) => endOf(writtenBy(opened, tip)));
    const sides = page.sides ?? {};
    const rows = step.src
      ? [{ label: sides.source, name: "source tokens", part: "source", ...sourceTokens(source, step) }]
      : [];
    rows.push(targetRow(this, source, after, step.src ? [sides.target, "target tokens"] : ["Tokens", "tokens"]));
    return {
      rows,
      text: writtenText(opened, this.text, tree),
      bars: barsOf(tree, opened, sampling),
      steps,
      branches: others.length ? ends : [],
      brief: false,
      plays: 0,
      hide: false,
      films: false,
    };
  }

  // One step in a sentence, for screen readers.
  describe(source, selection, head) {
    const { step } = this.tree;
    const row = newestRow(source, selection, head);
    const most = row.indexOf(row.reduce((a, b) => Math.max(a, b)));
    const { of, layer } = selection;
    const which = { head: `layer ${layer}, head ${selection.head}`, rollout: "the rollout" }[of] ?? "the mean";
    const chance = inPercent(probabilityOf(step, step.id, this.sampling));
    const key = spoken(source.axes(selection.kind)[1][most]);
    const token = `${spoken(this.opened.tokenizer.piece(step.id))}, ${chance}`;
    return `Step ${step.index}: ${token}; ${which} looks most at ${key}, ${partOfOne(row[most], 2)}`;
  }
}

// The text written so far, what the step predicts included.
function writtenBy(opened, step) {
  return opened.tokenizer.decode(step.written);
}

// The text typed and what was written after it, as one text.
function asOneText(opened, text, step) {
  const typed = step.source.map(({ id }) => id);
  const before = opened.tokenizer.decode(typed);
  const both = opened.tokenizer.decode([...typed, ...step.written]);
  return text + (both.startsWith(before) ? both.slice(before.length) : writtenBy(opened, step));
}

function writtenText(opened, text, { step, branch }) {
  if (!step.src) return { label: "The text so far", written: asOneText(opened, text, step), coming: "", lines: true };
  const [written, whole] = [writtenBy(opened, step), writtenBy(opened, branch.tip)];
  const coming = whole.startsWith(written) ? whole.slice(written.length) : "";
  return { label: "Translation so far", written, coming };
}

const endOf = (text) => {
  const characters = [...text];
  const cut = characters.length > LONGEST_END ? `…${characters.slice(-LONGEST_END).join("")}` : text;
  return cut.replaceAll("\n", "↵") || "(nothing yet)";
};

const unknownOf = (step) => step.source.flatMap(({ unknown }, at) => (unknown ? [at] : []));

// What the encoder reads, as it was typed, and the end token after it.
function sourceTokens(source, step) {
  const read = pieceLabels(
    step.source.map(({ text }) => text),
    source.opened.sourceTokenizer.labelMark,
  );
  const tokens = [...read, source.axes("cross")[1].at(-1)];
  return { ...ROW, tokens, unknown: unknownOf(step) };
}

// What the decoder has read, the token predicted, and those known to come.
function targetRow({ tree, opened }, source, after, [label, name]) {
  const { step } = tree;
  const lacking = new Set(step.src ? [] : unknownOf(step));
  const axis = source.axes("decoder")[0];
  const mark = opened.tokenizer.labelMark;
  const labels = pieceLabels(axis, mark);
  const read = labels.map((token, at) => (lacking.has(at) ? step.source[at].text : token));
  const prompt = read.length - step.index; // the start token, or the text typed
  return {
    ...ROW,
    label,
    name,
    part: "target",
    tokens: [...read, ...pieceLabels([...axis, opened.tokenizer.piece(step.id), ...after], mark).slice(axis.length)],
    predicted: read.length,
    unknown: [...lacking],
    picked: tree.picks.map((at) => prompt + at),
  };
}

function barsOf(tree, opened, sampling) {
  const { step } = tree;
  const likeliest = candidates(step, CANDIDATES, sampling);
  const read = Array.from(step.tokens.slice(-LONGEST_CHARACTER), (id) => opened.tokenizer.piece(id));
  const pieces = likeliest.map(({ id }) => opened.tokenizer.piece(id));
  const labels = alternatives(read, pieces, opened.tokenizer.labelMark);
  const rows = likeliest.map(({ id, probability, excluded }, at) => ({
    label: labels[at],
    probability,
    chosen: id === step.id,
    excluded: Boolean(excluded),
  }));
  const given = sampling.temperature ? `at temperature ${sampling.temperature}` : "";
  const most = opened.config.max_len.toLocaleString("en");
  return {
    title: "What comes next?",
    label: `next tokens ${given}`.trim(),
    rows,
    rest: Math.max(0, 1 - rows.reduce((sum, row) => sum + (row.excluded ? 0 : row.probability), 0)),
    least: 4,
    most: 10,
    keys: true,
    tokens: true,
    hint: `${WORDS.hint} ${why(tree, sampling)}`,
    help: WORDS.help,
    note:
      step.full && !step.finished
        ? `Context full: this model reads at most ${most} tokens.`
        : given && `A${given.slice(1)}`,
    invites: "",
  };
}

// Why the chosen token is the one chosen.
function why(tree, { temperature }) {
  const { step } = tree;
  if (tree.picks.includes(step.index)) return WORDS.picked;
  if (step.id === step.likeliest) return WORDS.likeliest;
  return temperature ? WORDS.sampled.replace("{temperature}", temperature) : WORDS.otherwise;
}
