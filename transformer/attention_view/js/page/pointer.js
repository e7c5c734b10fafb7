// Where the pointer is on a canvas, and the keys that move about one.
import { app } from "#view/page/app.js";
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export function spot(event, canvas) {
  const box = canvas.getBoundingClientRect();
  const by = box.width / canvas.offsetWidth || 1;
  return [(event.clientX - box.left) / by, (event.clientY - box.top) / by];
}

// Whether two places, each [row, column] or nothing, are the same.
export const same = (a, b) => a === b || Boolean(a && b && a[0] === b[0] && a[1] === b[1]);

// The place a step further, inside so many rows and columns.
export const moved = (
  /** @type {number[]} */ [y, x],
  /** @type {number[]} */ [down, across],
  /** @type {number[]} */ [rows, columns],
) => [Math.min(Math.max(y + down, 0), rows - 1), Math.min(Math.max(x + across, 0), columns - 1)];

// Listens to the pointer on a canvas. at: gives what is under an event, or null; put: called with that, and with null
// outside; choose: called with what is clicked.
export function pointed(canvas, { at, put, choose }) {
  canvas.onpointermove = (event) => put(at(event));
  canvas.onpointerleave = () => put(null);
  canvas.onclick = (event) => {
    const target = at(event);
    if (target) choose(target);
  };
}

export const withModifier = (event) => event.ctrlKey || event.metaKey || event.altKey;

// A presenter's remote goes through a lesson if one is under way, and then not through the page.
export const forLesson = ({ key }) =>
  (key === "PageDown" || key === "PageUp") && Boolean(app().lesson?.view?.root.isConnected);

// Whether a box is open over the page, whose keys they are; the sign of the tour only stands beside it.
export const isCovered = () => Boolean(document.querySelector("[role=dialog]:not(.driver-popover)"));

// A key used here goes no further, or the page would step.
export function take(event) {
  event.preventDefault();
  event.stopPropagation();
}

// Listens to the keys on a canvas. leave: gives what has the focus after Escape; more: what further keys do.
export function keyboard(canvas, move, enter, leave, more = {}) {
  canvas.onkeydown = (event) => {
    const own = more[event.key.toLowerCase()];
    if (withModifier(event) || !(own || event.key in ARROWS || ["Enter", "Escape"].includes(event.key))) return;
    take(event);
    if (own) own();
    else if (event.key in ARROWS) move(ARROWS[event.key]);
    else if (event.key === "Enter") enter();
    else {
      const next = leave();
      canvas.blur();
      next?.focus();
    }
  };
}
