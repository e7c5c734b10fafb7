// The keys of the whole page, for the controls that stand on it now.
import { forLesson, withModifier } from "#view/pointer.js";
import { act, atEnd, atStart, chooseCandidate } from "#view/controls/steps.js";

const KEYS = { ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", p: "play", P: "play" };
const REMOTE = { PageDown: "step", " ": "step", PageUp: "back" }; // as presenter remotes send them
// which have the arrows for themselves
const ROLES = ["slider", "tab", "radio", "option", "combobox", "listbox", "menu"];
const NATIVE = ["input, textarea, select, canvas, [contenteditable]", ...ROLES.map((role) => `[role=${role}]`)].join();

export function listenToSteps(view) {
  window.headsUpKeys?.abort(); // one listener, whatever was mounted before
  const keys = (window.headsUpKeys = new AbortController());
  keys.view = view;
  const { signal } = keys;
  document.addEventListener("keydown", (event) => onKey(view, event), { signal });
  // what a mouse has chosen among does not keep the arrow keys; reached by keyboard (detail is 0) it does
  // seen when the button goes down: a tab's content may move it away before the button is up
  const onDown = (event) => {
    view.pressed = event.composedPath()[0].closest?.("[role=radio], [role=tab], canvas");
  };
  const onClick = (event) => {
    const chosen = view.pressed || event.composedPath()[0].closest?.("[role=radio]");
    if (event.detail && chosen) setTimeout(() => document.activeElement?.blur(), 0);
  };
  document.addEventListener("pointerdown", onDown, { capture: true, signal });
  document.addEventListener("click", onClick, { capture: true, signal });
}

function onKey(view, event) {
  const [at] = event.composedPath();
  if (sendsText(event, at)) queueMicrotask(() => at.blur()); // and the next key already steps
  if (!view.root.isConnected || withModifier(event) || event.defaultPrevented || at.closest?.(NATIVE)) return;
  if (event.key === " " && at.closest?.("button, a, summary")) return; // which it presses
  const { large, remote } = view.data;
  const keys = large || remote ? { ...KEYS, ...REMOTE } : KEYS;
  if (event.key in keys) {
    const action = keys[event.key];
    // in a lesson, and at either end, a remote's key is for what comes after the page
    if (event.key in REMOTE && (forLesson(event) || (action === "back" ? atStart(view) : atEnd(view)))) return;
    event.preventDefault();
    act(view, action);
  } else if (/^[0-9]$/.test(event.key)) {
    chooseCandidate(view, (Number(event.key) + 9) % 10); // 1 is the likeliest, 0 the tenth
  }
}

function sendsText(event, at) {
  if (event.key !== "Enter") return false;
  return at.matches?.("input[type=text]") || (at.matches?.("textarea") && (event.ctrlKey || event.metaKey));
}
