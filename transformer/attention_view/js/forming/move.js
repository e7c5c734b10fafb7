// Moving through the snapshots and choosing what is looked at; Python hears what is left when one lets go.
import { stillMotion } from "#view/elements.js";
import { indexOf, sizesOf } from "#view/forming/snapshots.js";

const PACE = 170; // ms for a snapshot played
const CALM = 1000; // the same where less motion is asked for
const PAUSE = 300; // ms before Python hears of a key

export const lookWords = ({ selection }) =>
  JSON.stringify([selection.step, selection.kind, selection.layer, selection.head, selection.sentence]);

export function release(view, need = false) {
  clearTimeout(view.later);
  const words = lookWords(view);
  if (!need && words === view.told) return;
  view.told = words;
  view.sent += 1;
  view.send({ number: view.sent, ...view.selection, need });
}

export function releaseLater(view) {
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

export function stop(view) {
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

function tickLater(view) {
  const tick = () => {
    go(view, indexOf(view) + 1);
    if (view.selection.step === null) play(view, false);
    else tickLater(view);
  };
  view.playing = setTimeout(tick, stillMotion() ? CALM : PACE);
}
