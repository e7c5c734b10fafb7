// The lines of runs in a chart: the loss, large, and the panels below it.
import { Column } from "./points.js";
import { smoothedLoss } from "./smoothing.js";

const NOTHING = new Column();
const MOST_DOTS = 400;

/** @typedef {{name: string, title: string, held?: string, scale?: number}} Panel */

/** @type {Panel[]} */
export const PANELS = [
  { name: "accuracy", title: "Accuracy, share of predictions right", held: "validation_accuracy" },
  { name: "lr", title: "Learning rate" },
  { name: "grad_norm", title: "Gradient norm, before clipping" },
  { name: "tokens_per_sec", title: "Tokens a second" },
  { name: "gpu_util", title: "GPU use, share of the time" },
  { name: "gpu_memory", title: "GPU memory, GB", scale: 1e-9 },
  { name: "peak_share", title: "Share of the GPU's peak" },
];

/** @param {any} run @param {Panel} panel */
export const has = (run, { name, held }) => run.train[name]?.finite || (held && run.held_out[held]?.finite);

// The runs of a message with their points; hidden: names of those that are not drawn.
export const runsOf = ({ header, store }, hidden = new Set()) =>
  header.runs.filter((run) => !hidden.has(run.name)).map((run) => Object.assign(store[run.key], run));

export const hasPoints = (run) => Boolean(run.train.step?.length || run.held_out.step?.length);

// The raw loss faint, the smoothed one over it, and the held-out loss with its points.
export function lossLines(runs, { axis, smooth }) {
  return runs.flatMap((run) => {
    const { name, colour, dashed, train, held_out: held } = run;
    const dash = dashed ? [7, 4] : undefined;
    const lines = [];
    if (train.step?.length) {
      const xs = run.train[axis] ?? NOTHING;
      lines.push({ label: `${name} raw`, xs, ys: train.loss, colour, width: 1, alpha: 0.3, dash });
      lines.push({ label: name, xs, ys: smoothedLoss(run, smooth), colour, width: 2, dash });
    }
    if (held.step?.length) {
      const xs = run.held_out[axis] ?? NOTHING;
      const points = held.step.length < MOST_DOTS;
      lines.push({ label: `${name} held out`, xs, ys: held.validation_loss, colour, width: 1.5, dash: [3, 3], points });
    }
    return lines;
  });
}

/** @param {any[]} runs @param {Panel} panel @param {{axis: string}} view */
export function panelLines(runs, { name, held, scale }, { axis }) {
  return runs.flatMap((run) => {
    const { colour, dashed, train, held_out: other } = run;
    const dash = dashed ? [7, 4] : undefined;
    const lines = [];
    if (train[name]?.finite)
      lines.push({
        label: run.name,
        xs: run.train[axis] ?? NOTHING,
        ys: train[name],
        colour,
        width: 1.25,
        dash,
        scale,
        alpha: held ? 0.45 : 0.8,
      });
    if (held && other[held]?.finite) {
      const xs = run.held_out[axis] ?? NOTHING;
      const points = other.step.length < MOST_DOTS;
      lines.push({ label: `${run.name} held out`, xs, ys: other[held], colour, width: 2, dash: [3, 3], points });
    }
    return lines;
  });
}

// The loss of guessing, and somebody else's, as figures to hold the curves against.
export function guidesOf({ guessing, reference }) {
  const guides = guessing.map(([value, words]) => ({ value, words }));
  if (!reference) return guides;
  const [value, long] = reference;
  return [...guides, { value, words: long.replace(/,.*:/, ":"), long, dash: [8, 5], below: true }];
}

// The marks of runs: where a head has gained a role, or an alert was raised.
export function marksOf(runs, axis) {
  return runs.flatMap((run) => {
    const xs = run.train[axis];
    return (run.marks ?? []).map((mark) => ({
      ...mark,
      run: run.name,
      colour: run.colour,
      at: atStep(run, xs, mark.step),
    }));
  });
}

// The number across at a step: between two points, that of a straight line.
export function atStep({ train }, xs, step) {
  const { step: steps } = train;
  if (!xs?.length || xs === steps) return step;
  let after = 0;
  while (after < steps.length && steps.at(after) < step) after++;
  if (!after || after >= steps.length) return xs.at(Math.min(after, xs.length - 1));
  const share = (step - steps.at(after - 1)) / (steps.at(after) - steps.at(after - 1));
  return xs.at(after - 1) + share * (xs.at(after) - xs.at(after - 1));
}
