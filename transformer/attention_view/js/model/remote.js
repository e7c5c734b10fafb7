// A presenter's remote, heard on the whole page: it goes from the whole model down to a number, and back.
import { takeOver } from "#view/page/app.js";
import { listenOnPage } from "#view/model/input.js";
import { levelOf, LEVELS } from "#view/model/parts/places.js";
import { goFurther, goNearer } from "#view/model/moves.js";
import { forLesson, isCovered, take, withModifier } from "#view/page/pointer.js";
import { walksLevels } from "#view/attention/selection.js";

const WAYS_OF_REMOTE = { PageDown: 1, " ": 1, PageUp: -1 };
const PRESSED = "button, a, summary, [role=button]"; // by Space
const TYPED_IN = "input, textarea, select, [contenteditable], [role=slider], [role=tab], [role=radio]";

export function listenToRemote(model) {
  const { signal } = takeOver("levels");
  // before the step controls and whoever scrolls the page
  document.addEventListener("keydown", (event) => onRemote(model, event), { signal, capture: true });
  listenOnPage(model, signal);
}

function onRemote(model, event) {
  const by = WAYS_OF_REMOTE[event.key];
  const [at] = event.composedPath();
  if (!by || !model.view.root.isConnected || !walksLevels(model.view)) return;
  if (withModifier(event) || forLesson(event) || isCovered()) return;
  if (at.closest?.(TYPED_IN) || (event.key === " " && at.closest?.(PRESSED))) return;
  if (walk(model, by)) take(event); // at either end the key is for what comes after
}

// One level nearer, or back -> whether there was one.
export function walk(model, by) {
  const to = levelOf(model.view.selection) + by;
  if (to < 0 || to >= LEVELS.length) return false;
  if (by > 0) goNearer(model);
  else goFurther(model);
  return true;
}
