// Everything that is drawn as one moves through the snapshots.
import { resized, text, zoomOf } from "#view/canvas.js";
import { part } from "#view/elements.js";
import { lossRange, paintCurve, paintDot, paintHeads, paintLosses, paintMarker, plotOf } from "#view/forming/curves.js";
import {
  ROWS,
  SHOWN,
  cellsOf,
  evenOf,
  everyHead,
  indexOf,
  infoOf,
  keyOf,
  lossWords,
  measured,
  missing,
  sizesOf,
  stepOf,
  stepWords,
  tokensOf,
  valued,
  weightsNow,
} from "#view/forming/snapshots.js";
import { tellCell } from "#view/forming/tell.js";
import { paintGrid, tileHeight, tileWidth } from "#view/grid.js";
import { matrixLayout, paintLegend, paintMatrix } from "#view/matrix.js";
import { kindName } from "#view/names.js";
import { thousands } from "#view/numbers.js";
import { scrolledBy } from "#view/streamlit.js";

const SMALL_TIMELINE = 76; // px of the page as it is before it is enlarged
const FOOT = 44; // px, of what may lie over the foot of a presented page

const isEnlarged = (view) => zoomOf(view) > 1;

// On a projector all of it is on one screen: what is left of the window for a picture above the timeline, as high as
// on a page that is not scrolled; nothing anywhere else.
function roomBelow(view, canvas) {
  if (!isEnlarged(view)) return null;
  const top = canvas.getBoundingClientRect().top + scrolledBy();
  return Math.max(90, (window.innerHeight - FOOT - top) / zoomOf(view) - SMALL_TIMELINE - 8);
}

export function draw(view) {
  const { root, selection } = view;
  const waiting = missing(view);
  root.classList.toggle("waiting", waiting);
  describe(view);
  drawTimeline(view);
  if (waiting) {
    delete root.dataset.drawn;
    return;
  }
  drawGrid(view);
  drawMatrix(view);
  drawMeasures(view);
  drawTable(view);
  if (view.cursor) tellCell(view);
  root.dataset.drawn = [selection.kind, selection.sentence, stepOf(view), selection.layer, selection.head].join();
}

function describe(view) {
  const { parts, selection, message } = view;
  const step = stepOf(view);
  const [layers, heads] = sizesOf(view);
  const loss = lossWords(view);
  const small = step ? loss : `before training${loss ? ` · ${loss}` : ""}`;
  parts.now.replaceChildren(`Step ${thousands(step)}`, part("small", { textContent: small }));
  const sentence = `sentence ${selection.sentence}: ${tokensOf(view).label}`;
  const name = message.name.split("@")[0]; // whole in what is saved
  parts.source.textContent = `${name} · ${selection.kind} attention · ${sentence}`;
  parts.note.textContent = [liveWords(view), ...message.notes].filter(Boolean).join(" ");
  parts.gridTitle.textContent = `All ${selection.kind} heads`;
  parts.headTitle.textContent = `Layer ${selection.layer}, head ${selection.head}`;
  const grid = `All ${selection.kind} heads at step ${step}, ${layers} layers of ${heads}`;
  parts.grid.setAttribute("aria-label", `${grid}. Arrow keys move between heads, Enter chooses, Escape leaves.`);
  const head = `Layer ${selection.layer}, head ${selection.head} at step ${step}`;
  parts.matrix.setAttribute("aria-label", `${head}. Arrow keys move between tokens, Escape leaves.`);
  view.follow?.setAttribute("aria-pressed", selection.step === null);
}

function liveWords({ message, selection }) {
  if (!message.live) return "";
  if (selection.step === null) return "Following the newest snapshot; the run keeps recording.";
  return "The run continues; newer snapshots are at the right end.";
}

function drawTimeline(view) {
  const { root, parts, message, last } = view;
  const width = root.clientWidth;
  const recorded = message.training.length + message.validation.length;
  const height = isEnlarged(view) ? SMALL_TIMELINE : !recorded ? 80 : width < 700 ? 150 : 190;
  const plot = (view.plot = timelinePlot(view, { x: 0, y: 0, width, height }));
  const context = resized(parts.timeline, width, height, zoomOf(view));
  const under = keptPicture(view, "timeline", width, height, (one) => underTimeline(view, one, plot));
  context.drawImage(under, 0, 0, width, height);
  overTimeline(view, context, plot);
  parts.range.style.cssText = `margin-left: ${plot.left - 8}px; width: ${plot.width + 16}px`;
  if (!view.ranging) parts.range.value = Math.log1p(stepOf(view)) / Math.log1p(Math.max(1, last));
  const loss = lossWords(view);
  const snapshot = `snapshot ${indexOf(view) + 1} of ${message.steps.length}`;
  const words = `${stepWords(view)}, ${snapshot}${loss ? `, ${loss}` : ""}`;
  parts.range.setAttribute("aria-valuetext", words);
  parts.timeline.setAttribute("aria-label", `Loss over ${thousands(last)} training steps; the mark is at ${words}.`);
}

function drawGrid(view) {
  const width = view.parts.grid.parentElement.clientWidth;
  const height = Math.min(gridHeight(view, width), roomBelow(view, view.parts.grid) ?? Infinity);
  view.tiles = paintGrid(
    resized(view.parts.grid, width, height, zoomOf(view)),
    { x: 0, y: 0, width, height },
    gridOf(view),
  );
}

export function drawMatrix(view) {
  const { parts, theme } = view;
  const tall = roomBelow(view, parts.matrix);
  const made = (view.layout = matrixLayout(infoOf(view), parts.matrix.parentElement.clientWidth, { tall }));
  const { width, height } = made;
  const painting = { ...matrixOf(view, made), cursor: view.cursor };
  paintMatrix(resized(parts.matrix, width, height, zoomOf(view)), { x: 0, y: 0, width, height }, painting);
  paintLegend(resized(parts.legend, 260, 30, zoomOf(view)), 4, 2, { stage: { high: 1 }, scale: "sqrt", theme });
}

function drawMeasures(view) {
  const { selection, parts } = view;
  SHOWN.forEach((one, i) => {
    const { canvas, words } = parts.measures[i];
    const width = canvas.parentElement.clientWidth;
    const height = 170;
    const plot = measurePlot(view, { x: 0, y: 0, width, height }, one);
    const context = resized(canvas, width, height, zoomOf(view));
    const under = keptPicture(view, one.name, width, height, (kept) => underMeasure(view, kept, plot, one));
    context.drawImage(under, 0, 0, width, height);
    overMeasure(view, context, plot, one);
    const value = valued(measured(view, stepOf(view), one.row));
    words.replaceChildren(part("b", { textContent: `${one.title}: ${value}` }), part("br"), one.words(selection.kind));
    const head = `layer ${selection.layer}, head ${selection.head} has ${value} at ${stepWords(view)}`;
    const even = `Dotted: uniform attention, ${valued(evenOf(view)[one.row])}.`;
    canvas.setAttribute("aria-label", `${one.title} of every head over training; ${head}. ${even}`);
  });
}

function drawTable(view) {
  const { selection, parts, message } = view;
  const step = stepOf(view);
  const [start] = message.steps;
  const heading = (textContent, scope = "col") => part("th", { scope, textContent });
  const first = start ? `at step ${thousands(start)}, the first` : "before training (random weights)";
  const columns = ["measure", `at ${stepWords(view)}`, first, "uniform attention"];
  const rows = ROWS.map(([, words], row) => {
    const here = cell(view, measured(view, step, row), row, "here", { step });
    const before = cell(view, measured(view, start, row), row, "start", { step: start });
    return part("tr", {}, heading(words, "row"), here, before, cell(view, evenOf(view)[row], row, "even"));
  });
  const head = `${kindName(selection.kind)}, layer ${selection.layer}, head ${selection.head}`;
  const textContent = `${head}: means over the queries of sentence ${selection.sentence}`;
  parts.table.replaceChildren(
    part("caption", { textContent }),
    part("thead", {}, part("tr", {}, ...columns.map((words) => heading(words)))),
    part("tbody", {}, ...rows),
  );
}

function cell({ selection }, value, row, className, more = {}) {
  const one = part("td", { textContent: Number.isFinite(value) ? value.toFixed(4) : "–", className });
  const { kind, layer, head, sentence } = selection;
  Object.assign(one.dataset, { kind, layer, head, measure: ROWS[row][0], sentence, ...more });
  return one;
}

// The pictures of attention as it forms, on a page or in a file: the timeline, the grid, one head, the measures.

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
function keptPicture(view, name, width, height, paint) {
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
