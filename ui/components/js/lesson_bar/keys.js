// The keys of a lesson. A presenter's remote goes from stop to stop; in a tour the right arrow goes on, unless the stop
// is about taking a step.
import { isCovered, take, withModifier } from "#view/pointer.js";
import { goTo, leaveLesson } from "./acts.js";

const PAGES = { PageDown: 1, PageUp: -1 };
const TYPED_IN = "input:not([type=radio]), textarea, select, [contenteditable], [role=combobox], [role=listbox]";
const MOVED_IN = `${TYPED_IN}, canvas, [role=slider], [role=tab], [role=radio], [role=option]`;

export function listenForLesson(view) {
  window.headsUpLesson?.abort();
  const keys = (window.headsUpLesson = new AbortController());
  keys.view = view;
  const { signal } = keys;
  // after the listeners of the page, which prevent what a key does by itself where they take it
  window.addEventListener("keydown", (event) => onPageKey(view, event), { signal });
  window.addEventListener("keydown", (event) => onTourKey(view, event), { signal, capture: true });
}

function onPageKey(view, event) {
  const [at] = event.composedPath();
  if (!view.root.isConnected || event.defaultPrevented || withModifier(event)) return;
  if (!(event.key in PAGES) || at.closest?.(TYPED_IN)) return;
  event.preventDefault();
  goTo(view, view.target + PAGES[event.key]);
}

function onTourKey(view, event) {
  const [at] = event.composedPath();
  if (!view.root.isConnected || !view.data.guided || withModifier(event)) return;
  if (event.key === "Tab") return event.stopImmediatePropagation(); // the sign keeps nobody from the page
  if (at.closest?.(MOVED_IN) || isCovered()) return;
  if (event.key === "Escape") {
    take(event);
    leaveLesson(view);
  } else if (event.key === "ArrowRight" && (view.data.done !== "step" || view.finished)) {
    take(event);
    goTo(view, view.target + 1);
  }
}
