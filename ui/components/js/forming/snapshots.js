// The snapshots that have come, and what of them is looked at.
import { thousands } from "#view/text/numbers.js";

// Snapshots come once; later messages bring only new ones.
export function keepSnapshots(view, message) {
  if (view.of !== message.of) {
    Object.assign(view, { of: message.of, store: new Map(), measures: new Map(), made: new Map(), most: undefined });
  }
  for (const [key, rows] of Object.entries(message.measures)) {
    view.measures.set(
      key,
      rows.map((one, row) => ({ ...one, row })),
    );
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

// The measures of the heads looked at: {name, title, unit, share, even, drawn, row}, in the order of their rows, and
// those whose curves are drawn.
export const measuresOf = (view) => view.measures.get(keyOf(view)) ?? [];
export const drawnOf = (view) =>
  measuresOf(view)
    .filter(({ drawn }) => drawn !== null)
    .sort((a, b) => a.drawn - b.drawn);

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

// The losses at the step, in words. marks: what stands before each, as its line is drawn.
export function lossWords(view, marks = ["", ""]) {
  const { losses, called } = view.message;
  const words = losses[indexOf(view)].map(
    (loss, i) => loss !== null && `${marks[i]}${called[i]} ${loss.toFixed(loss < 0.1 ? 4 : 3)}`,
  );
  return words.filter(Boolean).join(" · ");
}

export const stepWords = (view) => `step ${thousands(stepOf(view))}`;

export const valued = (value) => (Number.isFinite(value) ? value.toFixed(3) : "–");
