// The pointer on the timeline, the grid, the head in focus and the measures.
import { say } from "#view/elements.js";
import { drawMatrix } from "#view/forming/draw.js";
import { SHOWN } from "#view/forming/measures.js";
import { change, go, play, release, stop } from "#view/forming/move.js";
import { measurePlot } from "#view/forming/paint.js";
import { everyHead, infoOf, measured, missing, sizesOf } from "#view/forming/snapshots.js";
import { putHead, tellCell, tellHead, tellLine } from "#view/forming/tell.js";
import { headUnder } from "#view/grid.js";
import { cellUnder } from "#view/matrix.js";
import { same, spot } from "#view/pointer.js";

const REACH = 24; // px from a line

export function listenToPointer(view) {
  listenToTimeline(view);
  listenToGrid(view);
  listenToMatrix(view);
  view.parts.measures.forEach(({ canvas }, i) => listenToMeasure(view, canvas, SHOWN[i]));
}

// The snapshot nearest to a place along the axis.
function nearest({ message: { steps } }, along) {
  const away = (at) => Math.abs(Math.log1p(steps[at]) - along);
  return steps.reduce((best, _, at) => (away(at) < away(best) ? at : best), 0);
}

function listenToTimeline(view) {
  const { timeline, range } = view.parts;
  const scrub = (event) => go(view, nearest(view, view.plot.part(spot(event, timeline)[0])));
  timeline.onpointerdown = (event) => {
    if (event.button) return;
    play(view, false);
    timeline.setPointerCapture(event.pointerId);
    view.pressed = true;
    scrub(event);
  };
  timeline.onpointermove = (event) => {
    if (view.pressed) scrub(event);
  };
  timeline.onpointerup = timeline.onpointercancel = () => {
    if (!view.pressed) return;
    view.pressed = false;
    range.focus({ preventScroll: true });
    release(view);
  };
  range.oninput = () => {
    view.ranging = true;
    stop(view);
    go(view, nearest(view, range.value * Math.log1p(Math.max(1, view.last))));
  };
  range.onchange = () => {
    view.ranging = false;
    view.soon();
    release(view);
  };
}

function listenToGrid(view) {
  const { grid, readout } = view.parts;
  const headAt = (event) => (view.tiles && headUnder(view.tiles, spot(event, grid), sizesOf(view)))?.at ?? null;
  const put = (to) => {
    putHead(view, "at", to);
    if (to) tellHead(view, to);
    else say(readout, "");
  };
  grid.onpointermove = (event) => put(headAt(event));
  grid.onpointerleave = () => put(null);
  grid.onclick = (event) => {
    const at = headAt(event);
    if (at) change(view, { layer: at[0], head: at[1] });
  };
}

function listenToMatrix(view) {
  const { matrix } = view.parts;
  matrix.onpointermove = (event) => {
    if (!missing(view)) putCursor(view, cellUnder(view.layout, spot(event, matrix), infoOf(view)));
  };
  matrix.onpointerleave = () => {
    if (!missing(view)) putCursor(view, null);
  };
}

export function putCursor(view, to) {
  if (same(to, view.cursor)) return;
  view.cursor = to;
  drawMatrix(view);
  if (to) tellCell(view);
  else say(view.parts.readout, "");
}

function listenToMeasure(view, canvas, measure) {
  canvas.onpointermove = (event) => {
    const line = lineAt(view, canvas, measure, event);
    putHead(view, "over", line?.head ?? null);
    if (line) tellLine(view, measure, line.head, line.step);
    else say(view.parts.readout, "");
  };
  canvas.onpointerleave = () => {
    putHead(view, "over", null);
    say(view.parts.readout, "");
  };
  canvas.onclick = (event) => {
    const line = lineAt(view, canvas, measure, event);
    if (line) change(view, { layer: line.head[0], head: line.head[1] });
  };
}

// The head whose line is nearest, within a finger's reach, and the step there.
function lineAt(view, canvas, measure, event) {
  if (missing(view)) return null;
  const [x, y] = spot(event, canvas);
  const plot = measurePlot(view, { x: 0, y: 0, width: canvas.offsetWidth, height: canvas.offsetHeight }, measure);
  const step = view.message.steps[nearest(view, plot.part(x))];
  const away = (head) => Math.abs(plot.y(measured(view, step, measure.row, ...head)) - y);
  const best = everyHead(view).reduce((a, b) => (away(b) < away(a) ? b : a));
  return away(best) < REACH ? { head: best, step } : null;
}
