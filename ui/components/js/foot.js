// The bars over the foot of every page (a lesson, a room), one above the other; the page gets as much space below. A
// lecturer who has both sees them share one line, and a presented lesson has one line too: the rest unfolds over the
// page. Here the two bars also tell each other what they do.
import { app, emit, on } from "#view/page/app.js";
import { FOOT_CHANGED, part } from "#view/page/elements.js";

const ROOMY = "(min-width: 900px)"; // in which a line has room for all that it holds
const FOLDED = "foot";
const foot = (app().foot ??= { bars: {}, folds: false, unfolded: null });

// alone: never in one line with another; folded: in one line by itself, too.
export function takeFoot(name, root, { alone = false, folded = false } = {}) {
  const changed = root.foot && (root.alone !== alone || root.folded !== folded);
  Object.assign(root, { alone, folded });
  root.foot ??= new ResizeObserver(() => measureFoot(name, root));
  root.foot.observe(root);
  if (changed) measureFoot(name, root); // of a bar that keeps its size the observer says nothing
}

function measureFoot(name, root) {
  foot.bars[name] = { height: root.isConnected ? root.offsetHeight : 0, alone: root.alone, folded: root.folded };
  const bars = Object.values(foot.bars).filter((bar) => bar.height);
  const wide = window.matchMedia(ROOMY).matches;
  const shared = wide && bars.length > 1 && !bars.some((bar) => bar.alone);
  fold(shared || (wide && bars.length === 1 && bars[0].folded));
  const height = bars.reduce((all, bar) => (shared ? Math.max(all, bar.height) : all + bar.height), 0);
  const { style, classList } = document.documentElement;
  const before = style.getPropertyValue("--foot");
  style.setProperty("--foot", `${height}px`);
  for (const [one, bar] of Object.entries(foot.bars)) style.setProperty(`--foot-${one}`, `${bar.height}px`);
  classList.toggle("foot-on", height > 0);
  classList.toggle("foot-shared", shared);
  if (style.getPropertyValue("--foot") !== before) emit(FOOT_CHANGED);
}

export const isAtFoot = (name) => Boolean(foot.bars[name]?.height);

// Whether all is in one line, and whose rest is unfolded.
export const folds = () => foot.folds;
export const unfolded = () => (foot.folds ? foot.unfolded : null);

export function unfold(name) {
  if (foot.unfolded === name) return;
  foot.unfolded = name;
  emit(FOLDED);
}

// The button that unfolds the rest of one, and folds it again.
export function unfolder(name, textContent) {
  const open = unfolded() === name;
  const button = part("button", { type: "button", className: "unfolder", textContent });
  button.onclick = () => unfold(open ? null : name);
  button.setAttribute("aria-expanded", String(open));
  button.dataset.act = "unfold";
  return button;
}

function fold(on) {
  if (foot.folds === on) return;
  Object.assign(foot, { folds: on, unfolded: null });
  emit(FOLDED);
}

export const onFoot = (listener, signal) => on(FOLDED, listener, signal);

// What the room that this tab leads is doing: null where there is none, else "shows", "asks", or "answers" where a
// question is about to be asked, or has been answered.

const ROOM_STATE = "room state";

export const roomState = () => app().roomState ?? null;

export function setRoomState(state) {
  if (roomState() === state) return;
  app().roomState = state;
  emit(ROOM_STATE);
}

export const onRoomState = (listener, signal) => on(ROOM_STATE, listener, signal);
