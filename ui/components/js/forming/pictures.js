// The pictures of attention as it forms, on a page or in a file: the timeline of the loss, the grid, one head, and a
// measure of every head over training steps. The axis of steps is the log of step + 1.
import { stroke, text } from "#view/drawing/canvas.js";
import {
  cellsOf,
  drawnOf,
  everyHead,
  indexOf,
  infoOf,
  keyOf,
  measured,
  sizesOf,
  stepOf,
  valued,
  weightsNow,
} from "./snapshots.js";
import { tileHeight, tileWidth } from "#view/pictures/grid.js";
import { paintGuessing, roomForGuessing } from "#view/pictures/guess_line.js";
import { thousands, ticks } from "#view/text/numbers.js";
import { SMALL } from "#view/drawing/type.js";

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

// One scale for the measures that are shares of the weight.
function mostWeight(view) {
  const { steps } = view.message;
  const id = [keyOf(view), steps.length].join();
  if (view.most?.id !== id) {
    const heads = everyHead(view);
    const rows = drawnOf(view)
      .filter(({ share }) => share)
      .map(({ row }) => row);
    const all = steps.flatMap((step) => rows.flatMap((row) => heads.map((head) => measured(view, step, row, ...head))));
    const most = all.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
    view.most = { id, value: Math.min(1, Math.max(0.1, 1.06 * most)) };
  }
  return view.most.value;
}

export function measurePlot(view, box, { share }) {
  const { queries, keys, causal } = infoOf(view);
  const evenest = Math.log(causal ? queries.length : keys.length);
  return plotOf(box, view.last, [0, share ? mostWeight(view) : Math.max(0.1, evenest)]);
}

function curveOf(view, row, /** @type {number[]} */ [layer, head]) {
  return view.message.steps.map((step) => [step, measured(view, step, row, layer, head)]);
}

export function underMeasure(view, context, plot, { row, even }) {
  const curves = everyHead(view).map((head) => curveOf(view, row, head));
  paintHeads(context, plot, { curves, even, theme: view.theme });
}

export function overMeasure(view, context, plot, { row }) {
  const { theme, selection } = view;
  const step = stepOf(view);
  paintMarker(context, plot, step, { theme });
  const over = view.over ?? view.at;
  if (over) {
    paintCurve(context, plot, curveOf(view, row, over), { colour: theme.ink, width: 2 });
    const words = `layer ${over[0]}, head ${over[1]}: ${valued(measured(view, step, row, ...over))}`;
    text(context, words, plot.left + 6, plot.top, { colour: theme.ink, weight: 650 });
  }
  paintCurve(context, plot, curveOf(view, row, [selection.layer, selection.head]), { colour: theme.mark, width: 3 });
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

// Curves.

const MARGIN = { left: 44, right: 14, top: 12, bottom: 24 };

// Where steps and values lie in a box.
function plotOf(box, last, /** @type {number[]} */ [low, high]) {
  const left = box.x + MARGIN.left;
  const top = box.y + MARGIN.top;
  const width = box.width - MARGIN.left - MARGIN.right;
  const height = box.height - MARGIN.top - MARGIN.bottom;
  const end = Math.log1p(Math.max(1, last));
  return {
    ...{ left, top, width, height, bottom: top + height, last, low, high },
    x: (step) => left + (width * Math.log1p(step)) / end,
    y: (value) => top + height * (1 - (value - low) / (high - low)),
    part: (x) => Math.min(1, Math.max(0, (x - left) / width)) * end,
  };
}

function stepTicks({ last, x }) {
  const tens = [0, ...Array.from({ length: 12 }, (_, i) => 10 ** i)];
  return [...tens.filter((step) => step < last && x(last) - x(step) > 64), last];
}

function paintAxes(context, plot, { theme, most = 4 }) {
  const { left, width, bottom, top, low, high } = plot;
  context.lineWidth = 1;
  for (const tick of high > low ? ticks(low, high, most) : []) {
    context.strokeStyle = theme.stripe;
    stroke(context, [left, plot.y(tick)], [left + width, plot.y(tick)]);
    text(context, String(tick), left - 6, plot.y(tick), { colour: theme.muted, align: "right" });
  }
  context.strokeStyle = theme.muted;
  stroke(context, [left, top], [left, bottom], [left + width, bottom]);
  for (const step of stepTicks(plot)) {
    const atEnd = step === plot.last;
    const options = { colour: theme.muted, align: atEnd ? "right" : "center" };
    text(context, thousands(step), plot.x(step) + (atEnd ? MARGIN.right : 0), bottom + 13, options);
  }
}

// points: [step, value] each; what is no number breaks the line.
/**
 * @param {CanvasRenderingContext2D} context
 * @param {any} plot
 * @param {number[][]} points
 * @param {{colour: string, width?: number, alpha?: number, dash?: number[]}} look
 */
function paintCurve(context, plot, points, { colour, width = 2, alpha = 1, dash = [] }) {
  context.save();
  Object.assign(context, { strokeStyle: colour, lineWidth: width, globalAlpha: alpha, lineJoin: "round" });
  context.setLineDash(dash);
  context.beginPath();
  let open = false;
  for (const [step, value] of points) {
    if (!Number.isFinite(value)) open = false;
    else if (open) context.lineTo(plot.x(step), plot.y(value));
    else {
      context.moveTo(plot.x(step), plot.y(value));
      open = true;
    }
  }
  context.stroke();
  context.restore();
}

function lossRange(training, validation, guessing) {
  const all = [...training, ...validation].map(([, loss]) => loss);
  if (!all.length) return [0, 1];
  const low = Math.min(...all);
  const high = Math.max(...all);
  const room = (high - low || 1) * 0.06;
  const most = roomForGuessing(high, guessing ? [guessing[0]] : []);
  return [low > high / 2 ? low - room : 0, most + room];
}

// What does not change as one scrubs: the axes, the losses and a mark where each snapshot is.
function paintLosses(context, plot, { training, validation, called, steps, guessing, theme }) {
  const ink = { training: theme.accent, validation: theme.right };
  const recorded = training.length + validation.length;
  paintAxes(context, recorded ? plot : { ...plot, low: 0, high: -1 }, { theme });
  context.strokeStyle = theme.ink;
  for (const step of steps) stroke(context, [plot.x(step), plot.bottom], [plot.x(step), plot.bottom - 7]);
  if (recorded && guessing) paintGuessing(context, { ...plot, right: plot.left + plot.width }, ...guessing, theme);
  paintCurve(context, plot, training, { colour: ink.training });
  paintCurve(context, plot, validation, { colour: ink.validation, width: 2.5, dash: [6, 4] });
  if (validation.length === 1) {
    const [[step, loss]] = validation;
    context.fillStyle = ink.validation;
    context.fillRect(plot.x(step) - 3, plot.y(loss) - 3, 6, 6);
  }
  const names = [
    [`━ ${called[0]}, nats`, training, ink.training],
    [`╍ ${called[1]}, nats`, validation, ink.validation],
  ].filter(([, points]) => points.length);
  names.forEach(([words, , colour], i) => {
    const y = plot.bottom - 16 - 18 * (names.length - 1 - i);
    text(context, words, plot.left + 10, y, { colour, size: SMALL, weight: 650 });
  });
  const middle = plot.top + plot.height / 2;
  if (!recorded)
    text(context, "no loss is recorded here", plot.left + 10, middle, { colour: theme.muted, size: SMALL });
}

function paintMarker(context, plot, step, { theme, handle = false }) {
  const x = plot.x(step);
  context.strokeStyle = theme.mark;
  context.lineWidth = 2;
  stroke(context, [x, plot.top - 6], [x, plot.bottom]);
  if (!handle) return;
  context.fillStyle = theme.mark;
  context.beginPath();
  context.moveTo(x - 7, plot.top - 11);
  context.lineTo(x + 7, plot.top - 11);
  context.lineTo(x, plot.top);
  context.fill();
}

function paintDot(context, plot, step, value, { theme }) {
  if (!Number.isFinite(value)) return;
  context.fillStyle = theme.mark;
  context.beginPath();
  context.arc(plot.x(step), plot.y(value), 4.5, 0, 7);
  context.fill();
}

// A measure of every head, faint, and what even attention would have.
function paintHeads(context, plot, { curves, even, theme }) {
  paintAxes(context, plot, { theme });
  const alpha = Math.max(0.14, Math.min(0.5, 6 / curves.length));
  for (const points of curves) paintCurve(context, plot, points, { colour: theme.ink, width: 1, alpha });
  if (!Number.isFinite(even)) return;
  const dotted = { colour: theme.muted, width: 1.5, dash: [2, 4] };
  const ends = [
    [0, even],
    [plot.last, even],
  ];
  paintCurve(context, plot, ends, dotted);
}
