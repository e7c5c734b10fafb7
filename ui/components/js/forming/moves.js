// Moving through the snapshots and choosing what is looked at, by choosers, pointer and keyboard. Python is told what
// is left once one lets go.
import { takeOver } from "#view/page/app.js";
import { chooserIn, say, stillMotion } from "#view/page/elements.js";
import { drawMatrix, tellCell, tellHead, tellLine } from "./page.js";
import { measurePlot } from "./pictures.js";
import { drawnOf, everyHead, indexOf, infoOf, measured, missing, nearestStep, recorded, sizesOf } from "./snapshots.js";
import { headUnder } from "#view/pictures/grid.js";
import { cellUnder } from "#view/pictures/matrix.js";
import { forLesson, keyboard, moved, pointed, same, spot, take, withModifier } from "#view/page/pointer.js";

const PACE = 170; // ms for a snapshot played
const CALM = 1000; // the same where less motion is asked for
const LOST = 4000; // ms without an answer
const PAUSE = 300; // ms before Python hears of a key

export const selectionText = ({ selection }) =>
  JSON.stringify([selection.step, selection.kind, selection.layer, selection.head, selection.sentence]);

export function release(view, need = false) {
  clearTimeout(view.later);
  const text = selectionText(view);
  if (!need && text === view.sentText) return;
  view.sentText = text;
  view.sent += 1;
  view.send({ number: view.sent, ...view.selection, need });
  askAgain(view);
}

// An answer may be lost, as where the page is drawn anew meanwhile: then the screen is out of it for a moment.
function askAgain(view, times = 20) {
  clearTimeout(view.again);
  view.again = setTimeout(() => {
    if (!view.root.isConnected || !recorded(view)) return times && askAgain(view, times - 1);
    if (missing(view)) release(view, true);
  }, LOST);
}

function releaseLater(view) {
  clearTimeout(view.later);
  view.later = setTimeout(() => release(view), PAUSE);
}

// Drawn with the next frame, however often it is asked for before.
export function soon(view) {
  view.frame ??= requestAnimationFrame(() => {
    view.frame = undefined;
    view.redraw();
  });
}

export function go(view, to) {
  const last = view.message.steps.length - 1;
  const at = Math.min(Math.max(to, 0), last);
  view.selection.step = at === last ? null : view.message.steps[at];
  view.soon();
}

export function change(view, fields) {
  const { selection } = view;
  Object.assign(selection, fields);
  const [layers, heads] = sizesOf(view);
  Object.assign(selection, { layer: Math.min(selection.layer, layers - 1), head: Math.min(selection.head, heads - 1) });
  view.cursor = view.at = view.over = null;
  view.redraw();
  view.rebuild();
  release(view);
}

// To the snapshot nearest to a step.
export function goTo(view, step) {
  if (!view.message.steps) return;
  play(view, false);
  go(view, nearestStep(view, step));
  releaseLater(view);
}

// To the step of an event, and to the head that it is about.
export function showEvent(view, { kind, layer, head, step }) {
  goTo(view, step);
  if (kind && view.message.steps) change(view, { kind, layer, head });
}

function stop(view) {
  clearTimeout(view.playing);
  view.playing = null;
}

export function play(view, on = !view.playing) {
  stop(view);
  if (on) {
    if (indexOf(view) === view.message.steps.length - 1) go(view, 0);
    tickLater(view);
  } else release(view);
  view.rebuild();
}

// Shows the newest snapshot now, and each that comes.
export function follow(view) {
  play(view, false);
  go(view, view.message.steps.length - 1);
  release(view);
}

function tickLater(view) {
  const tick = () => {
    go(view, indexOf(view) + 1);
    if (view.selection.step === null) play(view, false);
    else tickLater(view);
  };
  view.playing = setTimeout(tick, stillMotion() ? CALM : PACE);
}

// The pointer on the slider, the grid, the head in focus and the measures.

const REACH = 24; // px from a line

export function listenToPointer(view) {
  listenToRange(view);
  listenToGrid(view);
  listenToMatrix(view);
  view.parts.measures.forEach(({ canvas }, i) => listenToMeasure(view, canvas, i));
}

function listenToRange(view) {
  const { range } = view.parts;
  range.oninput = () => {
    view.ranging = true;
    stop(view);
    go(view, nearestStep(view, Math.expm1(range.value * Math.log1p(Math.max(1, view.last)))));
  };
  range.onchange = () => {
    view.ranging = false;
    view.soon();
    release(view);
  };
}

function listenToGrid(view) {
  const { grid } = view.parts;
  pointed(grid, {
    at: (event) => (view.tiles && headUnder(view.tiles, spot(event, grid), sizesOf(view)))?.at ?? null,
    put: (head) => putGridHead(view, head),
    choose: ([layer, head]) => change(view, { layer, head }),
  });
}

function listenToMatrix(view) {
  const { matrix } = view.parts;
  pointed(matrix, {
    at: (event) => cellUnder(view.layout, spot(event, matrix), infoOf(view)),
    put: (cell) => putCursor(view, cell),
    choose: () => {},
  });
}

function putCursor(view, to) {
  if (missing(view) || same(to, view.cursor)) return;
  view.cursor = to;
  drawMatrix(view);
  if (to) tellCell(view);
  else say(view.parts.readout, "");
}

function listenToMeasure(view, canvas, place) {
  const measure = () => drawnOf(view)[place];
  pointed(canvas, {
    at: (event) => lineAt(view, canvas, measure(), event),
    put: (line) => {
      putHead(view, "over", line?.head ?? null);
      if (line) tellLine(view, measure(), line.head, line.step);
      else say(view.parts.readout, "");
    },
    choose: ({ head: [layer, head] }) => change(view, { layer, head }),
  });
}

// The head whose line is nearest, within a finger's reach, and the step there.
function lineAt(view, canvas, measure, event) {
  if (missing(view)) return null;
  const [x, y] = spot(event, canvas);
  const plot = measurePlot(view, { x: 0, y: 0, width: canvas.offsetWidth, height: canvas.offsetHeight }, measure);
  const step = view.message.steps[nearestStep(view, Math.expm1(plot.part(x)))];
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
  const { range, grid, matrix } = view.parts;
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
  const headControl = () => chooserIn(view.parts.bar, "Head");
  const choose = () => {
    if (view.at) change(view, { layer: view.at[0], head: view.at[1] });
  };
  const leaveGrid = () => {
    putGridHead(view, null);
    return headControl();
  };
  const leaveMatrix = () => {
    putCursor(view, null);
    return headControl();
  };
  const nothing = () => {};
  keyboard(grid, (by) => moveHead(view, by), choose, leaveGrid);
  keyboard(matrix, (by) => moveCell(view, by), nothing, leaveMatrix);
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
  putGridHead(view, to);
}

function moveCell(view, by) {
  if (missing(view)) return;
  const { queries, keys } = infoOf(view);
  putCursor(view, view.cursor ? moved(view.cursor, by, [queries.length, keys.length]) : [0, 0]);
}

// The head that the pointer is on: `at` in the grid, `over` in a measure.
function putHead(view, name, to) {
  if (same(to, view[name])) return;
  view[name] = to;
  view.soon();
}

function putGridHead(view, to) {
  putHead(view, "at", to);
  if (to) tellHead(view, to);
  else say(view.parts.readout, "");
}
