// The pictures of attention as it forms, on a page or in a file: the timeline, the grid, one head, the measures.
import { resized, text, zoomOf } from "#view/canvas.js";
import { lossRange, paintCurve, paintDot, paintHeads, paintLosses, paintMarker, plotOf } from "#view/forming/curves.js";
import { SHOWN, valued } from "#view/forming/measures.js";
import {
  cellsOf,
  evenOf,
  everyHead,
  indexOf,
  infoOf,
  keyOf,
  measured,
  sizesOf,
  stepOf,
  weightsNow,
} from "#view/forming/snapshots.js";
import { tileHeight, tileWidth } from "#view/grid.js";

export function timelinePlot({ message, last }, box) {
  return plotOf(box, last, lossRange(message.training, message.validation, message.guessing));
}

export function underTimeline({ message, theme }, context, plot) {
  const { training, validation, called, steps, guessing } = message;
  paintLosses(context, plot, { training, validation, called, steps, guessing, theme });
}

export function overTimeline(view, context, plot) {
  const { message, theme } = view;
  const loss = message.losses[indexOf(view)][message.training.length ? 0 : 1];
  paintMarker(context, plot, stepOf(view), { theme, handle: true });
  paintDot(context, plot, stepOf(view), loss ?? NaN, { theme });
}

// What does not change as one scrubs is painted once and kept.
export function keptPicture(view, name, width, height, paint) {
  const { steps, training, validation } = view.message;
  const counts = [steps.length, training.length, validation.length];
  const id = [
    name,
    keyOf(view),
    width,
    height,
    view.theme.dark,
    window.devicePixelRatio,
    zoomOf(view),
    ...counts,
  ].join();
  if (view.made.get(name)?.id !== id) {
    const canvas = document.createElement("canvas");
    paint(resized(canvas, width, height, zoomOf(view)));
    view.made.set(name, { id, canvas });
  }
  return view.made.get(name).canvas;
}

// One scale for the three measures that are weights.
function mostWeight(view) {
  const { steps } = view.message;
  const id = [keyOf(view), steps.length].join();
  if (view.most?.id !== id) {
    const heads = everyHead(view);
    const rows = SHOWN.slice(1).map(({ row }) => row);
    const all = steps.flatMap((step) => rows.flatMap((row) => heads.map((head) => measured(view, step, row, ...head))));
    const most = all.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
    view.most = { id, value: Math.min(1, Math.max(0.1, 1.06 * most)) };
  }
  return view.most.value;
}

export function measurePlot(view, box, { row }) {
  const { queries, keys, causal } = infoOf(view);
  const evenest = Math.log(causal ? queries.length : keys.length);
  return plotOf(box, view.last, [0, row ? mostWeight(view) : Math.max(0.1, evenest)]);
}

function curveOf(view, row, [layer, head]) {
  return view.message.steps.map((step) => [step, measured(view, step, row, layer, head)]);
}

export function underMeasure(view, context, plot, { row }) {
  const curves = everyHead(view).map((head) => curveOf(view, row, head));
  paintHeads(context, plot, { curves, even: evenOf(view)[row], theme: view.theme });
}

export function overMeasure(view, context, plot, { row }) {
  const { theme, selection } = view;
  const step = stepOf(view);
  paintMarker(context, plot, step, { theme });
  const over = view.over ?? view.at;
  if (over) {
    paintCurve(context, plot, curveOf(view, row, over), { colour: theme.ink, width: 2 });
    const words = `layer ${over[0]} · head ${over[1]}: ${valued(measured(view, step, row, ...over))}`;
    text(context, words, plot.left + 6, plot.top, { colour: theme.ink, weight: 600 });
  }
  paintCurve(context, plot, curveOf(view, row, [selection.layer, selection.head]), { colour: theme.accent, width: 3 });
  paintDot(context, plot, step, measured(view, step, row), { theme });
}

// What paintGrid needs.
export function gridOf(view) {
  const info = infoOf(view);
  const shape = [...sizesOf(view), info.queries.length, info.keys.length];
  const selection = { ...view.selection, of: "head" };
  return { info, cells: cellsOf(view), shape, selection, at: view.at, theme: view.theme, scale: "sqrt" };
}

// As paintGrid lays it out.
export function gridHeight(view, width) {
  const [layers, heads] = sizesOf(view);
  const { queries, keys } = infoOf(view);
  const tile = tileHeight(tileWidth(width, heads), queries.length, keys.length);
  return Math.min(480, 38 + layers * (4 + tile));
}

// What paintMatrix needs.
export function matrixOf(view, made) {
  const stage = { values: weightsNow(view), high: 1 };
  const selection = { stage: "weights", scale: "sqrt", pair: null };
  return { info: infoOf(view), stage, selection, ...made, scroll: [0, 0], newest: false, theme: view.theme };
}
