// What lies over the foot of every page (a lesson, a room), one above the other: the page gets as much room below. If a
// lecturer has both they share one line, and what else they have unfolds over the page.
import { part } from "#view/elements.js";

const WIDE = "(min-width: 900px)"; // in which both have room beside each other
const CHANGED = "headsup-foot";
const foot = (window.headsUpFoot ??= { heights: {}, folds: false, unfolded: null });

export function takeFoot(name, root, { alone = false } = {}) {
  root.alone = alone;
  root.foot ??= new ResizeObserver(() => {
    foot.heights[name] = root.isConnected ? root.offsetHeight : 0;
    const heights = Object.values(foot.heights);
    const all = heights.filter(Boolean).length > 1 && !root.alone;
    shareLine(all && window.matchMedia(WIDE).matches);
    const height = foot.folds ? Math.max(...heights) : heights.reduce((sum, one) => sum + one, 0);
    const { style, classList } = document.documentElement;
    style.setProperty("--foot", `${height}px`);
    for (const [one, height] of Object.entries(foot.heights)) style.setProperty(`--foot-${one}`, `${height}px`);
    classList.toggle("foot-on", height > 0);
  });
  root.foot.observe(root);
}

// Whether both are in one line, and which of them is unfolded.
export const folds = () => foot.folds;
export const unfolded = () => (foot.folds ? foot.unfolded : null);

export function unfold(name) {
  if (foot.unfolded === name) return;
  foot.unfolded = name;
  window.dispatchEvent(new Event(CHANGED));
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

function shareLine(on) {
  if (foot.folds === on) return;
  Object.assign(foot, { folds: on, unfolded: null });
  document.documentElement.classList.toggle("foot-folds", on);
  window.dispatchEvent(new Event(CHANGED));
}

export const hearFoot = (act, signal) => window.addEventListener(CHANGED, act, { signal });
