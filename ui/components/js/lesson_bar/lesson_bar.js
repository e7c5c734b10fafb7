// The bar of a lesson: a strip at the foot of every page or, for a tour, a sign beside a part of it. `view` has the
// last request, the target of all presses together, and the answers so far.
import { app, takeOver } from "#view/page/app.js";
import STYLE from "./lesson_bar.css";
import { dress } from "#view/page/elements.js";
import { isCovered, take, withModifier } from "#view/page/pointer.js";
import { onFoot, onRoomState, takeFoot } from "../foot.js";
import { goTo, leaveLesson } from "./actions.js";
import { endGuide, showGuide } from "./guide.js";
import { showStrip } from "./strip.js";

const FRESH = { shownAt: undefined, signAt: undefined }; // no stop of the lesson has been shown

export default function component({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".lesson-bar");
  dress(root, STYLE);
  const view = (root.view ??= { root, number: data.served, sent: data.served, answers: {}, lesson: data.lesson });
  view.setState = setStateValue;
  if (view.lesson !== data.lesson) Object.assign(view, FRESH, { lesson: data.lesson, answers: {}, sent: data.served });
  if (data.served >= view.sent) view.target = data.at; // no request is under way
  view.data = data;
  if (app().lesson?.view !== view) {
    listenForLesson(view);
    const again = () => view.root.isConnected && !view.data.guided && showStrip(view);
    for (const listen of [onRoomState, onFoot]) listen(again, app().lesson?.signal);
  }
  root.classList.toggle("guided", data.guided);
  root.classList.toggle("large", data.large);
  if (data.guided) {
    root.replaceChildren();
    showGuide(view);
  } else {
    endGuide(view);
    showStrip(view);
  }
  takeFoot("lesson", root, { folded: data.large && !data.guided });
}

// The keys of a lesson. A presenter's remote goes from stop to stop; in a tour the right arrow goes on, unless the stop
// is about taking a step.

const PAGES = { PageDown: 1, PageUp: -1 };
const TYPED_IN = "input:not([type=radio]), textarea, select, [contenteditable], [role=combobox], [role=listbox]";
const MOVED_IN = `${TYPED_IN}, canvas, [role=slider], [role=tab], [role=radio], [role=option]`;

function listenForLesson(view) {
  const keys = takeOver("lesson");
  keys.view = view;
  const { signal } = keys;
  // after the listeners of the page, which prevent the default of keys that they use
  window.addEventListener("keydown", (event) => onPageKey(view, event), { signal });
  window.addEventListener("keydown", (event) => onTourKey(view, event), { signal, capture: true });
  const onUse = () => {
    view.turned = false; // from now on a part that is off the screen was moved there
  };
  for (const kind of ["wheel", "pointerdown", "keydown"])
    window.addEventListener(kind, onUse, { signal, capture: true, passive: true });
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
  if (event.key === "Tab") return event.stopImmediatePropagation(); // so that Tab leads into the page
  if (at.closest?.(MOVED_IN) || isCovered()) return;
  if (event.key === "Escape") {
    take(event);
    leaveLesson(view);
  } else if (event.key === "ArrowRight" && (view.data.done !== "step" || view.finished)) {
    take(event);
    goTo(view, view.target + 1);
  }
}
