// What every view is made of: elements, choosers, its style, words about what the pointer is on, files to keep.
import { on } from "#view/page/app.js";
import { headerHeight, keySelector, mainBlock } from "#view/page/streamlit.js";
import { typeHasCome, whenTypeHasCome } from "#view/drawing/type.js";

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function part(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export const block = (className, ...children) => part("div", { className }, ...children);

// A canvas that the keyboard moves about in.
export const field = (className) => part("canvas", { className, role: "application", tabIndex: 0 });

// An element of SVG, by its attributes.
/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svgPart(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A button that is on or off, or one of several.
export function segments(label, entries, value, pick) {
  const buttons = entries.map(([name, words]) => {
    const button = part("button", { textContent: words, role: "radio", onclick: () => pick(name) });
    button.setAttribute("aria-checked", String(name === value));
    return button;
  });
  return part("div", { className: "segments", role: "radiogroup", ariaLabel: label }, ...buttons);
}

// The chooser of that name in a bar.
export const chooserIn = (bar, label) =>
  [...bar.querySelectorAll("select")].find((select) => select.ariaLabel === label);

// entries: [value, what it says, and whether it cannot be chosen]; title: what stands before it in place of the label.
/**
 * @param {string} label
 * @param {any[][]} entries
 * @param {any} value
 * @param {(chosen: string) => void} pick
 * @param {Node | string} title
 */
export function chooser(label, entries, value, pick, title = part("span", { textContent: label })) {
  const options = entries.map(([name, textContent, disabled = false]) => {
    return part("option", { value: name, textContent, selected: String(name) === String(value), disabled });
  });
  const select = part("select", { ariaLabel: label }, ...options);
  let pointer = false;
  select.onpointerdown = () => {
    pointer = true;
  };
  select.onkeydown = () => {
    pointer = false;
  };
  select.onchange = () => {
    const { value: chosen } = select;
    if (pointer) select.blur();
    pick(chosen);
  };
  return part("label", {}, title, select);
}

// The choosers made anew, the one that had the focus keeping it; what is false is left out.
export function rebuilt(bar, elements) {
  const focused = bar.getRootNode().activeElement?.closest?.("label")?.textContent;
  bar.replaceChildren(...elements.filter(Boolean));
  if (!focused) return;
  const label = [...bar.querySelectorAll("label")].find((one) => one.textContent === focused);
  label?.querySelector("select").focus();
}

export const counted = (n, names) => Array.from({ length: n }, (_, i) => [i, String(names?.[i] ?? i)]);

// What the pointer or the keyboard is on, in words and as data.
export function say(readout, words, marks = {}) {
  readout.textContent = words;
  for (const name in readout.dataset) delete readout.dataset[name];
  Object.assign(readout.dataset, marks);
}

export function keepFile(blob, name) {
  const link = part("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Said by what lies over the foot of the window, when it has another height (--foot).
export const FOOT_CHANGED = "foot height";

// Has root.redraw called when the page gives the view another width, or what stands above it another place, or what
// lies over the foot another height: `top` says where it is, if that matters to what is drawn.
export function redrawWhenMoved(root, top = () => 0) {
  const foot = () => getComputedStyle(document.documentElement).getPropertyValue("--foot");
  root.placed = () => `${root.clientWidth} ${Math.round(top())} ${foot()}`;
  root.observer ??= observed(root);
  root.drawn = root.placed();
}

// The page outlives what is on it, and must not hold it.
function observed(element) {
  const [held, gone] = [new WeakRef(element), new AbortController()];
  const redrawIfMoved = () => {
    const root = held.deref();
    if (!root) {
      observer.disconnect();
      gone.abort();
      return;
    }
    // one that was taken off the page has another width too, and would take the keys back from what replaced it
    if (!root.isConnected || root.placed() === root.drawn) return;
    root.drawn = root.placed();
    root.redraw();
  };
  const observer = new ResizeObserver(redrawIfMoved);
  on(FOOT_CHANGED, redrawIfMoved, gone.signal);
  const page = mainBlock();
  for (const one of [element, page]) if (one) observer.observe(one);
  onceTypeHasCome(() => held.deref()?.isConnected && held.deref().redraw());
  return observer;
}

// Canvases that were painted before the page's font had come are painted again.
function onceTypeHasCome(redraw) {
  if (!typeHasCome()) whenTypeHasCome().then(redraw, () => {});
}

/** @returns {HTMLElement | null} */
export const activeElement = () => /** @type {HTMLElement | null} */ (document.activeElement);

export const stillMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// To the top of the window, below the bar there and what a page keeps under it (--stuck).
export function scrollUpTo(element, behavior = stillMotion() ? "auto" : "smooth") {
  element.style.scrollMarginTop = `calc(${headerHeight()}px + var(--stuck, 0px) + 0.75rem)`;
  element.scrollIntoView({ block: "start", behavior });
}

// Brings what a click has changed into sight.
export function scrollToTarget(key) {
  const target = document.querySelector(keySelector(key));
  if (target) scrollUpTo(target);
}

// Gives the tree that an element is in (a component's own, or the page) these styles, once.
const sheets = new Map();
export function dress(element, ...styles) {
  const tree = element.getRootNode();
  for (const style of styles) {
    if (!sheets.has(style)) {
      sheets.set(style, new CSSStyleSheet());
      sheets.get(style).replaceSync(style);
    }
    const sheet = sheets.get(style);
    if (!tree.adoptedStyleSheets.includes(sheet)) tree.adoptedStyleSheets = [...tree.adoptedStyleSheets, sheet];
  }
}
