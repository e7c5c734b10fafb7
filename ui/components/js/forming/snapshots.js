// The snapshots that have come, and what of them is looked at.
import { thousands } from "#view/numbers.js";

// Snapshots come once; later messages bring only new ones.
export function keepSnapshots(view, message) {
  if (view.of !== message.of) {
    Object.assign(view, { of: message.of, store: new Map(), made: new Map(), most: undefined });
  }
  for (const [key, steps] of Object.entries(message.sent)) {
    const kept = view.store.get(key) ?? view.store.set(key, new Map()).get(key);
    const cells = message.arrays[`cells/${key}`];
    const measures = message.arrays[`measures/${key}`];
    steps.forEach((step, at) => {
      const cut = (array) => array.slice((at * array.length) / steps.length, ((at + 1) * array.length) / steps.length);
      kept.set(step, { cells: cut(cells), measures: cut(measures) });
    });
    if (steps.length) view.made = new Map();
  }
}

// Whether there is attention to look at: a run has none before it begins.
export const recorded = ({ message }) => Boolean(message.steps);

export const keyOf = ({ selection }) => `${selection.sentence}/${selection.kind}`;
export const tokensOf = ({ message, selection }) => message.sentences[selection.sentence - 1];
export const sizesOf = ({ message, selection }) => message.heads[selection.kind];
export const evenOf = (view) => view.message.even[keyOf(view)];
const snapshotsOf = (view) => view.store.get(keyOf(view));

export function infoOf(view) {
  const { source, target } = tokensOf(view);
  const { kind } = view.selection;
  const [layers, heads] = sizesOf(view);
  return {
    layers,
    heads,
    queries: kind === "encoder" ? source : target,
    keys: kind === "decoder" ? target : source,
    causal: kind === "decoder",
  };
}

// The snapshot nearest to a step, by the logarithm of the step.
export function nearestStep({ message: { steps } }, step) {
  const away = (at) => Math.abs(Math.log1p(steps[at]) - Math.log1p(Math.max(0, step)));
  return steps.reduce((best, _, at) => (away(at) < away(best) ? at : best), 0);
}

export function indexOf({ message: { steps }, selection }) {
  return selection.step === null
    ? steps.length - 1
    : Math.max(
        0,
        steps.findLastIndex((step) => step <= selection.step),
      );
}
export const stepOf = (view) => view.message.steps[indexOf(view)];

export function missing(view) {
  const snapshots = snapshotsOf(view);
  return view.message.steps.some((step) => !snapshots?.has(step));
}

export const cellsOf = (view) => snapshotsOf(view).get(stepOf(view)).cells;

export function measured(view, step, row, layer = view.selection.layer, head = view.selection.head) {
  const [layers, heads] = sizesOf(view);
  return snapshotsOf(view).get(step).measures[(row * layers + layer) * heads + head];
}

export function everyHead(view) {
  const [layers, heads] = sizesOf(view);
  return Array.from({ length: layers * heads }, (_, i) => [Math.floor(i / heads), i % heads]);
}

// The weights of the head looked at, from the square roots that were recorded; each row is made to add up to 1 again.
export function weightsNow(view) {
  const { queries, keys } = infoOf(view);
  const size = queries.length * keys.length;
  const from = (view.selection.layer * sizesOf(view)[1] + view.selection.head) * size;
  const values = Float32Array.from(cellsOf(view).subarray(from, from + size), (cell) => (cell / 255) ** 2);
  for (let q = 0; q < queries.length; q++) {
    const row = values.subarray(q * keys.length, (q + 1) * keys.length);
    const total = row.reduce((a, b) => a + b, 0);
    row.forEach((value, k) => {
      row[k] = total ? value / total : 0;
    });
  }
  return values;
}

// The losses at the step, in words.
export function lossWords(view) {
  const { losses, called } = view.message;
  const words = losses[indexOf(view)].map(
    (loss, i) => loss !== null && `${called[i]} ${loss.toFixed(loss < 0.1 ? 4 : 3)}`,
  );
  return words.filter(Boolean).join(" · ");
}

export const stepWords = (view) => `step ${thousands(stepOf(view))}`;

// The measures of a head that are recorded, in the order of their rows, and those that are drawn.

export const ROWS = [
  ["entropy", "entropy, nats"],
  ["entropy_share", "entropy, relative to maximum"],
  ["diagonal", "diagonal"],
  ["previous", "previous token"],
  ["first", "first token"],
];

export const SHOWN = [
  {
    row: 0,
    name: "entropy",
    title: "Entropy, nats",
    words: () => "How widely a head looks: 0 is all weight on one token, the top is uniform attention.",
  },
  {
    row: 2,
    name: "diagonal",
    title: "Diagonal",
    words: (kind) =>
      kind === "cross"
        ? "Weight on the source token that lies as far along its sentence as this one does."
        : "Weight on the token itself.",
  },
  {
    row: 3,
    name: "previous",
    title: "Previous token",
    words: (kind) =>
      kind === "cross"
        ? "Weight on the source token before the one on the diagonal."
        : "Weight on the token just before.",
  },
  {
    row: 4,
    name: "first",
    title: "First token",
    words: (kind) => `Weight on the first ${kind === "cross" ? "source " : ""}token.`,
  },
];

export const valued = (value) => (Number.isFinite(value) ? value.toFixed(3) : "–");
