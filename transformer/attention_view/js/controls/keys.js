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
  document.addEventListener("keydown", (event) => onKey(view, event), { signal: keys.signal });
}

function onKey(view, event) {
  const [at] = event.composedPath();
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
