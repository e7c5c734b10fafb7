// The keyboard: the slider's keys, P to play, the arrows on the grid and on the head in focus.
import { chooserIn, say } from "#view/elements.js";
import { change, go, play, releaseLater } from "#view/forming/move.js";
import { putCursor } from "#view/forming/pointer.js";
import { indexOf, infoOf, missing, sizesOf } from "#view/forming/snapshots.js";
import { putHead, tellHead } from "#view/forming/tell.js";
import { forLesson, keyboard, moved, take, withModifier } from "#view/pointer.js";

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
  window.headsUpForming?.abort();
  const whole = (window.headsUpForming = new AbortController());
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
