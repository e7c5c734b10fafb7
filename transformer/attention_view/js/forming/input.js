// The pointer on the timeline, the grid, the head in focus and the measures.
import { takeOver } from "#view/app.js";
import { chooserIn, say } from "#view/elements.js";
import { drawMatrix, measurePlot } from "#view/forming/draw.js";
import { change, go, play, release, releaseLater, stop } from "#view/forming/move.js";
import { SHOWN, everyHead, indexOf, infoOf, measured, missing, sizesOf } from "#view/forming/snapshots.js";
import { putHead, tellCell, tellHead, tellLine } from "#view/forming/tell.js";
import { headUnder } from "#view/grid.js";
import { cellUnder } from "#view/matrix.js";
import { forLesson, keyboard, moved, same, spot, take, withModifier } from "#view/pointer.js";

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

function putCursor(view, to) {
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

// The keyboard: the slider's keys, P to play, the arrows on the grid and on the head in focus.

const MOVES = {
  ArrowLeft: (at) => at - 1,
  ArrowDown: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  ArrowUp: (at) => at + 1,
  PageDown: (at) => at - 5,
  PageUp: (at) => at + 5,
  Home: () => 0,
  End: (at, last) => last,
};

export function listenToKeys(view) {
  const { range, grid, matrix, readout } = view.parts;
  range.onkeydown = (event) => slide(view, event);
  view.root.onkeydown = (event) => {
    if (!["p", "P"].includes(event.key) || withModifier(event) || event.target.closest("select")) return;
    take(event);
    play(view);
  };
  // where nothing else has the keys, as while presenting
  const whole = takeOver("forming");
  const onPageKey = (event) => {
    const free = event.target === document.body && !event.defaultPrevented && view.root.isConnected;
    if (!free || forLesson(event)) return;
    if (["p", "P"].includes(event.key) && !withModifier(event)) play(view);
    else if (event.key in MOVES) slide(view, event);
  };
  document.addEventListener("keydown", onPageKey, { signal: whole.signal });
  const choose = () => {
    if (view.at) change(view, { layer: view.at[0], head: view.at[1] });
  };
  const leave = () => {
    putHead(view, "at", null);
    say(readout, "");
    return chooserIn(view.parts.bar, "Head");
  };
  keyboard(grid, (by) => moveHead(view, by), choose, leave);
  keyboard(
    matrix,
    (by) => moveCell(view, by),
    () => {},
    () => {
      putCursor(view, null);
      return chooserIn(view.parts.bar, "Head");
    },
  );
}

function slide(view, event) {
  if (withModifier(event) || !(event.key in MOVES || ["Escape", " "].includes(event.key))) return;
  take(event);
  if (event.key === " ") return play(view);
  if (event.key === "Escape") {
    play(view, false);
    view.parts.range.blur();
    return;
  }
  if (view.playing) play(view, false);
  go(view, MOVES[event.key](indexOf(view), view.message.steps.length - 1));
  releaseLater(view);
}

function moveHead(view, by) {
  const to = view.at ? moved(view.at, by, sizesOf(view)) : [view.selection.layer, view.selection.head];
  putHead(view, "at", to);
  tellHead(view, to);
}

function moveCell(view, by) {
  if (missing(view)) return;
  const { queries, keys } = infoOf(view);
  putCursor(view, view.cursor ? moved(view.cursor, by, [queries.length, keys.length]) : [0, 0]);
}
