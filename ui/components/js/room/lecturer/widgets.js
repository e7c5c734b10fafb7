// Small parts of what a lecturer sees.
import { part, segments } from "#view/page/elements.js";
import { take, withModifier } from "#view/page/pointer.js";

const FIELDS = "input, textarea, select";
const LET_GO = ["pointerup", "pointercancel", "contextmenu", "keyup"]; // a menu may take the release
const MOVES = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

// act: see `named`.
/**
 * @param {string} textContent
 * @param {(event: MouseEvent) => void} onclick
 * @param {{act?: string | null} & Record<string, any>} [options]
 */
export function button(textContent, onclick, { act = null, ...more } = {}) {
  const element = part("button", { type: "button", textContent, onclick, ...more });
  return act ? named(element, act) : element;
}

// Names an element, so that it keeps the focus when it is drawn anew.
/**
 * @template {HTMLElement} T
 * @param {T} element
 * @param {string} act
 */
export function named(element, act) {
  element.dataset.act = act;
  return element;
}

export const called = (root, act) => root.querySelector(`[data-act="${CSS.escape(act)}"]`);

function focusedIn(root) {
  const active = root.getRootNode().activeElement;
  return root.contains(active) ? active : null;
}

export const typesIn = (root) => Boolean(focusedIn(root)?.matches(FIELDS));

// `parts` in place of what `root` holds. The focus stays where it was, by name, and what was typed and not sent stays
// in its field, by label.
export function refill(root, parts) {
  const act = focusedIn(root)?.dataset.act;
  const typed = [...root.querySelectorAll(FIELDS)].filter(({ value, drawn }) => value !== drawn);
  root.replaceChildren(...parts);
  for (const field of root.querySelectorAll(FIELDS)) {
    field.drawn = field.value;
    const before = typed.find(({ ariaLabel }) => ariaLabel === field.ariaLabel);
    if (before) field.value = before.value;
  }
  if (act) called(root, act)?.focus({ preventScroll: true });
}

// `draw`, but not under a finger: what is pressed in `root` stays until it has been let go, as a click needs what it
// began on.
export function unpressed(root, draw) {
  let pressed = false;
  let late = false; // something is to be drawn once it is let go
  const letGo = () => {
    pressed = false;
    if (late) draw();
    late = false;
  };
  const press = ({ type, key }) => {
    if (type === "keydown" && key !== " ") return;
    pressed = true;
    const after = new AbortController();
    const ends = () => {
      after.abort();
      setTimeout(letGo); // the click comes first
    };
    for (const kind of LET_GO) window.addEventListener(kind, ends, { signal: after.signal, capture: true });
  };
  for (const kind of ["pointerdown", "keydown"]) root.addEventListener(kind, press);
  return () => {
    late = pressed;
    if (!pressed) draw();
  };
}

export const errorPart = ({ error }) => part("p", { className: "error", role: "alert", textContent: error });

// A field whose keys are its own: arrows and letters step nothing on the page behind.
export function ownKeys(field) {
  field.addEventListener("keydown", (event) => event.stopPropagation());
  return field;
}

// One of several, reached by one Tab. Arrows go from one to the next, and only Enter or Space chooses: some of what is
// chosen here everybody sees at once.
export function radios(label, act, entries, value, pick) {
  const group = segments(label, entries, value, pick);
  const all = /** @type {HTMLElement[]} */ ([...group.children]);
  const place = entries.findIndex(([name]) => name === value);
  for (const [at, one] of all.entries()) {
    named(one, `${act} ${at}`).tabIndex = at === Math.max(0, place) ? 0 : -1;
    one.onfocus = () => all.forEach((other) => (other.tabIndex = other === one ? 0 : -1));
  }
  group.onkeydown = (event) => {
    if (!(event.key in MOVES) || withModifier(event)) return;
    take(event);
    all[(all.indexOf(/** @type {HTMLElement} */ (event.target)) + MOVES[event.key] + all.length) % all.length].focus();
  };
  return group;
}

// On or off.
export function toggle(textContent, on, onclick, more = {}) {
  const one = button(textContent, onclick, more);
  one.setAttribute("aria-pressed", String(on));
  return one;
}

// A field that is as high as what is written in it, and whose keys are its own.
export function growing(field) {
  const grow = () => {
    if (!field.isConnected) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
  };
  field.rows = 1;
  field.addEventListener("input", grow);
  requestAnimationFrame(grow);
  return ownKeys(field);
}
