// Small parts of what a lecturer sees.
import { part, segments } from "#view/elements.js";
import { take, withModifier } from "#view/pointer.js";

const MOVES = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

export const button = (textContent, onclick, more = {}) =>
  part("button", { type: "button", textContent, onclick, ...more });

// What is drawn anew keeps the focus where it was, by this name.
export function named(element, act) {
  element.dataset.act = act;
  return element;
}

// `draw`, but not under a finger: what is pressed in `root` stays until it has been let go, as a click needs what it
// began on.
export function unpressed(root, draw) {
  let waits = null; // while something is pressed: what is to be drawn after it, if anything
  const letGo = () => {
    const late = waits;
    waits = null;
    late?.();
  };
  const pressed = () => {
    waits = () => {};
    const after = new AbortController();
    for (const end of ["pointerup", "pointercancel"]) {
      const done = () => {
        after.abort();
        setTimeout(letGo); // the click comes first
      };
      window.addEventListener(end, done, { signal: after.signal, capture: true });
    }
  };
  root.addEventListener("pointerdown", pressed);
  return () => {
    if (waits) waits = draw;
    else draw();
  };
}

// A field whose keys are its own: arrows and letters step nothing on the page behind.
export function ownKeys(field) {
  field.addEventListener("keydown", (event) => event.stopPropagation());
  return field;
}

// One of several, reached by one Tab. Arrows go from one to the next, and only Enter or Space chooses: some of what is
// chosen here everybody sees at once.
export function radios(label, act, entries, value, pick) {
  const group = segments(label, entries, value, pick);
  const all = [...group.children];
  const first = Math.max(
    0,
    entries.findIndex(([name]) => name === value),
  );
  for (const [at, one] of all.entries()) {
    named(one, `${act} ${at}`).tabIndex = at === first ? 0 : -1;
    one.onfocus = () => all.forEach((other) => (other.tabIndex = other === one ? 0 : -1));
  }
  group.onkeydown = (event) => {
    if (!(event.key in MOVES) || withModifier(event)) return;
    take(event);
    all[(all.indexOf(event.target) + MOVES[event.key] + all.length) % all.length].focus();
  };
  return group;
}

// On or off.
export function toggle(textContent, on, onclick, more = {}) {
  const one = button(textContent, onclick, more);
  one.setAttribute("aria-pressed", String(on));
  return one;
}

// A field that is as high as what is written in it.
export function growing(field) {
  const grow = () => {
    if (!field.isConnected) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
  };
  field.rows = 1;
  field.addEventListener("input", grow);
  requestAnimationFrame(grow);
  return field;
}
