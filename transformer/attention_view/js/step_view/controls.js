// The step controls: their buttons, the keys of the whole page, and the step that presses add up to.
import { takeOver } from "#view/page/app.js";
import { linkButton } from "#view/page/copy.js";
import { activeElement, part, svgPart } from "#view/page/elements.js";
import { appElement } from "#view/page/streamlit.js";
import { forLesson, withModifier } from "#view/page/pointer.js";

// The keys of the whole page, for the controls that are on it now.

const KEYS = { ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", p: "play", P: "play" };
const REMOTE = { PageDown: "step", " ": "step", PageUp: "back" }; // as presenter remotes send them
// which have the arrows for themselves
const ROLES = ["slider", "tab", "radio", "option", "combobox", "listbox", "menu"];
const NATIVE = ["input, textarea, select, canvas, [contenteditable]", ...ROLES.map((role) => `[role=${role}]`)].join();

export function listenToSteps(view) {
  const keys = takeOver("keys");
  keys.view = view;
  document.addEventListener("keydown", (event) => onKey(view, event), { signal: keys.signal });
  // another address is looked at, not played on
  window.addEventListener("popstate", () => view.playing && play(view, false), { signal: keys.signal });
}

function onKey(view, event) {
  const [at] = event.composedPath();
  if (!view.root.isConnected || withModifier(event) || event.defaultPrevented || at.closest?.(NATIVE)) return;
  if (event.key === " " && at.closest?.("button, a, summary")) return; // which it presses
  const { large, remote } = view.data;
  const keys = large || remote ? { ...KEYS, ...REMOTE } : KEYS;
  if (event.key in keys) {
    const action = keys[event.key];
    // in a lesson, at either end, and where it goes through levels, a remote's key is for somebody else
    if (
      event.key in REMOTE &&
      (view.leavesRemote?.() || forLesson(event) || (action === "back" ? atStart(view) : atEnd(view)))
    )
      return;
    event.preventDefault();
    act(view, action);
  } else if (/^[0-9]$/.test(event.key)) {
    const nth = (Number(event.key) + 9) % 10; // 1 is the likeliest, 0 the tenth
    if (nth < shownCandidates(view)) chooseCandidate(view, nth);
  }
}

const shownCandidates = ({ root }) => root.closest(".step-view").querySelectorAll(".next-tokens [data-nth]").length;

// The target: the step that all presses so far lead to. Python is sent the target, not the presses.

const STEP = "Step (right arrow)";
const LAST = "Last step (End)";
const STOP = "Stop here (left arrow)";

// Controls that take the place of others of the same decoding go on with what those have asked for, if it is under way.
export function beginSteps(view, data, before) {
  const { answered, index, page, decoding } = data;
  const goesOn = before && before.data.page === page && before.decoding === decoding && before.sent > answered;
  const { sent, target, choices } = goesOn ? before : { sent: answered, target: index, choices: [] };
  Object.assign(view, { sent, target, choices, decoding, from: index, playing: false, timer: 0 });
}

export function receiveSteps(view, data) {
  view.data = data;
  view.last = data.last; // null until the end of the text has been found
  if (view.decoding === data.decoding) view.from = data.index;
  else {
    // another text: what was pressed meanwhile counts from where it opens, whether Python has heard it or not
    const moved = data.opened - view.from;
    view.target += moved;
    for (const choice of view.choices) choice.at += moved;
    Object.assign(view, { decoding: data.decoding, from: data.index });
  }
  view.choices = view.choices.filter((choice) => choice.number > data.answered);
  if (view.choices.length) view.last = null;
  if (data.answered >= view.sent) {
    view.sent = data.answered; // of other controls of the same decoding, it may be more
    view.target = data.index; // nothing is under way: where Python says we are
  }
  if (view.playing && atEnd(view)) play(view, false);
}

// Python is still on its way to where a press has sent it, and shows how far it has come
const going = ({ data, sent }) => Boolean(data.going) && data.answered < sent;

export const atStart = ({ target }) => target <= 0;
export const atEnd = ({ last, target }) => last !== null && target >= last;

export function showSteps(view) {
  const { parts, data, last, target, playing } = view;
  const endless = last === null && target > data.index + data.farthest && data.farthest > 0; // nobody knows the end yet
  // a press shows at once; while it plays, the number keeps to the picture
  const at = playing ? data.index : endless ? `${data.index} …` : target;
  parts.word.textContent = "step ";
  parts.number.textContent = last === null ? `${at}` : `${at} of ${last}`;
  const far = `: to the end of the text, at most ${data.farthest} steps further`;
  const stops = going(view);
  parts.last.dataset.does = stops ? "stop" : "go";
  parts.last.setAttribute("aria-label", stops ? STOP : LAST);
  parts.last.title = stops ? STOP : `${LAST}${last === null ? far : ""}`;
  parts.first.disabled = parts.back.disabled = atStart(view);
  parts.last.disabled = atEnd(view);
  const again = atEnd(view) && target > 0;
  parts.step.disabled = atEnd(view) && !again;
  parts.step.dataset.does = again ? "again" : "step";
  parts.step.setAttribute("aria-label", again ? "Replay from the start" : STEP);
  parts.step.title = again ? "Replay from the start" : STEP;
  parts.play.title = playing ? "Pause (P)" : "Play (P)";
  parts.play.setAttribute("aria-label", parts.play.title);
  parts.play.setAttribute("aria-pressed", playing);
}

function sendMove(view) {
  view.sent += 1;
  const { target, sent, decoding, from, choices } = view;
  view.send({ index: target, number: sent, decoding, from, choices: [...choices] });
  showSteps(view);
}

function go(view, to) {
  const target = Math.max(0, view.last === null ? to : Math.min(to, view.last));
  if (target === view.target) return;
  view.target = target;
  sendMove(view);
}

// The nth candidate where we are: 0 is the likeliest.
export function chooseCandidate(view, nth) {
  play(view, false);
  if (going(view)) view.target = view.data.index; // among those that are seen
  view.choices.push({ number: view.sent + 1, at: view.target, nth });
  view.target += 1;
  view.last = null; // the text may now go on
  sendMove(view);
}

// From the first step to the last by itself.
function replay(view) {
  go(view, 0);
  play(view, true);
}

const ACTIONS = {
  first: (view) => go(view, 0),
  back: (view) => go(view, view.target - 1),
  step: (view) => go(view, view.target + 1),
  last: (view) => go(view, 1e6),
  end: (view) => go(view, going(view) ? view.data.index : 1e6),
  play: (view) => (atEnd(view) && view.target > 0 ? replay(view) : play(view, !view.playing)),
  main: (view) => (atEnd(view) ? replay(view) : go(view, view.target + 1)),
};

// On the way, every press but those of either end stops at what is seen.
export function act(view, name) {
  if (going(view) && name !== "first" && name !== "last") return go(view, view.data.index);
  if (name !== "play") play(view, false);
  ACTIONS[name](view);
}

function play(view, on) {
  clearTimeout(view.timer);
  view.playing = on;
  if (on) tickLater(view);
  showSteps(view);
}

function tickLater(view) {
  clearTimeout(view.timer);
  view.timer = setTimeout(() => {
    if (!view.root.isConnected) return;
    if (atEnd(view)) return play(view, false);
    if (view.data.answered >= view.sent) go(view, view.target + 1); // else the last step is still being drawn
    if (view.playing) tickLater(view);
  }, 1000 / view.parts.speed.valueAsNumber);
}

// The buttons.

const PATHS = {
  first: ["M2 3h2v10H2zM14 3v10L5 8z"],
  back: ["M12 2v12L3 8z"],
  step: ["M4 2v12l9-6z"],
  play: ["M2 2v12l7-6zM9 2v12l6-6z", "M3 2h4v12H3zM9 2h4v12H9z"],
  last: ["M12 3h2v10h-2zM2 3v10l9-5z", "M3 3h10v10H3z"],
};
const TITLES = {
  first: "First step (Home)",
  back: "Back (left arrow)",
  step: "Step (right arrow)",
  play: "Play (P)",
  last: "Last step (End)",
};

export function buildControls(view) {
  const parts = { word: part("span"), number: part("span"), copy: linkButton(() => view.root) };
  parts.copy.className = "wide";
  parts.place = part("output", { ariaLive: "off" }, parts.word, parts.number); // what is heard of a step says more
  for (const name of ["first", "back", "step", "play", "last"]) {
    parts[name] = button(name, name === "step" ? "main" : "");
    parts[name].setAttribute("aria-label", TITLES[name]);
    parts[name].onclick = () => act(view, { step: "main", last: "end" }[name] ?? name);
  }
  const says = (className, textContent) => part("span", { className, textContent });
  parts.step.append(says("step", "Step"), says("again", "Replay"));
  const { first, back, step, play, last, place, copy } = parts;
  const { protocol, hash } = window.location;
  const nothing = !protocol.startsWith("http") && !hash; // there is no address to send around
  copy.hidden = nothing || Boolean(appElement()); // which has that button in its bar
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

// Gives the keys back to the page when somebody has sent a text, or chosen with a mouse. It listens before there are
// step controls, which on a busy machine come later than what is typed.

export function freeKeys(signal) {
  let pressed = null;
  document.addEventListener("keydown", (event) => freeAfterText(event), { signal });
  // A pressed choice never gets the focus: a group that was left gives it to the choice that had it last, and a row
  // scrolls there before the button is up, so that the press is lost. What had the focus is left, as by any press.
  const onMouseDown = (event) => {
    if (!event.composedPath()[0].closest?.("[role=radio]")) return;
    event.preventDefault();
    activeElement()?.blur();
  };
  // Reached by keyboard (detail is 0), what is chosen among keeps the arrow keys. Noted when the button goes down: a
  // tab's content may move it away before the button is up.
  const onDown = (event) => {
    pressed = event.composedPath()[0].closest?.("[role=tab], canvas");
  };
  const onClick = (event) => {
    if (event.detail && pressed && !event.defaultPrevented) setTimeout(() => activeElement()?.blur(), 0);
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
