// The buttons of the step controls.
import { takeOver } from "#view/app.js";
import { copied } from "#view/controls/copy.js";
import { act, atEnd, atStart, chooseCandidate } from "#view/controls/steps.js";
import { part, svgPart } from "#view/elements.js";
import { forLesson, withModifier } from "#view/pointer.js";

const PATHS = {
  first: ["M2 3h2v10H2zM14 3v10L5 8z"],
  back: ["M12 2v12L3 8z"],
  step: ["M4 2v12l9-6z"],
  play: ["M2 2v12l7-6zM9 2v12l6-6z", "M3 2h4v12H3zM9 2h4v12H9z"],
  last: ["M12 3h2v10h-2zM2 3v10l9-5z", "M3 3h10v10H3z"],
  copy: ["M5 1h9v11h-2V3H5zM2 4h8v11H2z"],
};
const TITLES = {
  first: "First step (Home)",
  back: "Back (left arrow)",
  step: "Step (right arrow)",
  play: "Play (P)",
  last: "Last step (End)",
  copy: "Copy a link to this view",
};
const COPIED_MS = 2500;

export function buildControls(view) {
  const parts = { word: part("span"), number: part("span"), copy: button("copy", "wide") };
  parts.place = part("output", { ariaLive: "off" }, parts.word, parts.number); // what is heard of a step says more
  for (const name of ["first", "back", "step", "play", "last"]) {
    parts[name] = button(name, name === "step" ? "main" : "");
    parts[name].setAttribute("aria-label", TITLES[name]);
    parts[name].onclick = () => act(view, { step: "main", last: "end" }[name] ?? name);
  }
  const says = (className, textContent) => part("span", { className, textContent });
  parts.step.append(says("step", "Step"), says("again", "Replay from the start"), says("short", "Replay"));
  const words = part("span", { textContent: "Copy link" });
  parts.copy.append(words);
  parts.copy.onclick = () => copyLink(view, words);
  const { first, back, step, play, last, place, copy } = parts;
  copy.hidden = window.location.protocol === "file:"; // there is no address to send around
  view.root.replaceChildren(first, back, step, play, last, place, keyHints(), speed(parts), copy);
  return parts;
}

function button(name, className) {
  const marks = ["go", "pause"];
  const paths = PATHS[name].map((d, i) => svgPart("path", { d, class: marks[i] }));
  const one = part("button", { title: TITLES[name], className }, svgPart("svg", { viewBox: "0 0 16 16" }, ...paths));
  one.dataset.action = name;
  return one;
}

function keyHints() {
  const key = (textContent) => part("kbd", { textContent });
  const steps = [key("←"), " ", key("→"), " step · ", key("Home"), " ", key("End"), " · ", key("P"), " play · "];
  return part("span", { className: "keys" }, ...steps, key("1"), " … ", key("9"), " choose a token");
}

function speed(parts) {
  parts.speed = part("input", { type: "range", min: 0.5, max: 8, step: 0.5, value: 2, ariaLabel: "Steps a second" });
  const number = part("output", { textContent: "2/s" });
  parts.speed.oninput = () => {
    number.textContent = `${parts.speed.value}/s`;
  };
  return part("label", { className: "speed" }, "speed ", parts.speed, number);
}

async function copyLink(view, words) {
  if (!(await copied(window.location.href, view.root))) return; // it stands there, selected, to be copied by hand
  words.textContent = "Copied";
  setTimeout(() => {
    words.textContent = "Copy link";
  }, COPIED_MS);
}

// Whoever has sent a text, or chosen with a mouse, is done with it: the next key is the page's. Listened to from before
// there is anything that steps: on a busy machine that comes later than what was typed.

export function freeKeys(signal) {
  let pressed = null;
  document.addEventListener("keydown", (event) => freeAfterText(event), { signal });
  // A pressed choice never gets the focus: a group that was left gives it to the choice that had it last, and a row
  // scrolls there before the button is up, so that the press is lost. What had the focus is left, as by any press.
  const onMouseDown = (event) => {
    if (!event.composedPath()[0].closest?.("[role=radio]")) return;
    event.preventDefault();
    document.activeElement?.blur();
  };
  // Reached by keyboard (detail is 0), what is chosen among keeps the arrow keys. Noted when the button goes down: a
  // tab's content may move it away before the button is up.
  const onDown = (event) => {
    pressed = event.composedPath()[0].closest?.("[role=tab], canvas");
  };
  const onClick = (event) => {
    if (event.detail && pressed) setTimeout(() => document.activeElement?.blur(), 0);
  };
  document.addEventListener("mousedown", onMouseDown, { capture: true, signal });
  document.addEventListener("pointerdown", onDown, { capture: true, signal });
  document.addEventListener("click", onClick, { capture: true, signal });
}

function freeAfterText(event) {
  const [at] = event.composedPath();
  if (event.key !== "Enter") return;
  const long = at.matches?.("textarea") && (event.ctrlKey || event.metaKey);
  if (long || at.matches?.("input[type=text]")) queueMicrotask(() => at.blur());
}

// The keys of the whole page, for the controls that stand on it now.

const KEYS = { ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", p: "play", P: "play" };
const REMOTE = { PageDown: "step", " ": "step", PageUp: "back" }; // as presenter remotes send them
// which have the arrows for themselves
const ROLES = ["slider", "tab", "radio", "option", "combobox", "listbox", "menu"];
const NATIVE = ["input, textarea, select, canvas, [contenteditable]", ...ROLES.map((role) => `[role=${role}]`)].join();

export function listenToSteps(view) {
  const keys = takeOver("keys");
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
