// The keys of a presentation, as a presenter's remote sends them: forward, back, a black screen, hide the candidates,
// leave. Keys that a part of the page has used (the step controls, a canvas) are ignored.
import { app, on } from "#view/page/app.js";
import { FOOT_CHANGED, activeElement, part } from "#view/page/elements.js";
import { forLesson, isCovered, take, withModifier } from "#view/page/pointer.js";
import {
  CHARTS,
  COMPONENTS,
  PAGE_PARTS,
  keySelector,
  leaveButton,
  mainBlock,
  mainElement,
  presentedPage,
} from "#view/page/streamlit.js";
import { footHeight, onPhone } from "#view/page/window.js";
import { whenDocumentChanges } from "./document_changes.js";

const FORWARD = 1;
const BACK = -1;
const MOVES = { PageDown: FORWARD, " ": FORWARD, PageUp: BACK };
const TYPED = "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const PRESSED = "button, a, summary, input, [role=button], [role=radio], [role=tab]"; // by Space
const STOPS = `h2, h3, h4, table, ${CHARTS}, ${COMPONENTS}`;
const MARGIN = 12; // px above the target of a move
const ENLARGED = "--enlarged"; // how much figures are
const SETTLED_MS = 300; // after a change of the window's size

// tell: sends to Python ("hide", page) or ("window", [width, height]).
export function present(signal, tell) {
  window.addEventListener("keydown", lighten, { signal, capture: true });
  document.addEventListener("keydown", (event) => onPresenterKey(event, tell), { signal });
  window.addEventListener("click", ({ detail }) => detail && setTimeout(releaseFocus, 0), { signal });
  watchPresenting(signal, () => tell("window", [window.innerWidth, window.innerHeight]));
}

// Sends the size of the window to Python, which sets the type of figures, and their height above the bar of a lesson;
// scrolls a new page to its top.
function watchPresenting(signal, measure) {
  let timer = 0;
  /** @type {string | null} */
  let page = null;
  keepWhole(signal);
  whenDocumentChanges(signal, () => {
    const now = presentedPage();
    if (now && now !== page) {
      mainElement()?.scrollTo(0, 0);
      measure();
    }
    page = now;
    nameKeys(page);
  });
  const onResize = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (presentedPage() || footHeight()) && measure(), SETTLED_MS);
  };
  window.addEventListener("resize", onResize, { signal });
  const size = () => `${window.innerWidth} ${window.innerHeight}`;
  const onFoot = () => {
    if (!footHeight() || app().measured === size()) return;
    app().measured = size();
    measure();
  };
  on(FOOT_CHANGED, onFoot, signal);
  onFoot();
}

// The keys, for a moment, as somebody begins to present.

const NAMED_KEYS = ["Page Down: next", "Page Up: back", "B: black screen", "Esc: leave"];
const HIDES = "H: hide what comes next"; // where one steps
const NAMED_MS = 7000;
const PRESENTER_KEYS = "presenter-keys";

function nameKeys(page) {
  const named = document.querySelector(`.${PRESENTER_KEYS}`);
  if (!page || document.querySelector(".room-wall")) named?.remove();
  else if (named) tellKeys(named);
  else if (!app().namedKeys && !onPhone()) {
    app().namedKeys = true;
    const keys = part("div", { className: PRESENTER_KEYS, role: "status" });
    tellKeys(keys);
    document.body.append(keys);
    setTimeout(() => keys.remove(), NAMED_MS);
  }
}

function tellKeys(line) {
  const words = NAMED_KEYS.toSpliced(2, 0, ...(isStepped() ? [HIDES] : [])).join(" · ");
  if (line.textContent !== words) line.textContent = words; // what is set is read aloud again
}

const isStepped = () => Boolean(app().keys?.view?.root.isConnected);

// What the window has no room for waits for the next press: a part is seen whole or not at all, and a figure larger
// than the window becomes smaller.

const CUT = "data-cut";
const LEAST_FIGURE = 0.6; // of the usual size of a figure
const MOST_FIGURE = 1.8;
const HEADED = 80; // px above a figure on a screen of its own
const FITS_ITSELF = "[class*=_forming]";
const EARLY = 0.25; // of the window: what begins there stays, however tall
const AT_TOP = 0.12; // the same of a chart, which is as tall as the window
const HEADING = ":has(h2, h3, h4, h5)";

function keepWhole(signal) {
  let frame = 0;
  let moved = false; // by more than the page's scrolling
  let presents = false;
  /** @type {Element | null} */
  let block = null;
  const look = () => {
    frame = 0;
    const whole = presentedPage() && !onPhone() ? mainBlock() : null;
    const now = whole !== null;
    const main = mainElement();
    if (main && (now || presents)) {
      if (moved) fitFigures(main);
      hideWhatIsCut(main);
    }
    [presents, moved] = [now, false];
    const first = whole?.firstElementChild ?? null;
    if (first === block) return;
    seen.disconnect();
    block = first;
    if (block) seen.observe(block);
  };
  const onScroll = () => {
    frame ||= requestAnimationFrame(look);
  };
  const later = () => {
    moved = true;
    onScroll();
  };
  const seen = new ResizeObserver(later);
  signal.addEventListener("abort", () => seen.disconnect());
  window.addEventListener("resize", later, { signal });
  document.addEventListener("scroll", onScroll, { signal, capture: true });
  on(FOOT_CHANGED, later, signal);
  whenDocumentChanges(signal, later);
}

const roomOf = () => window.innerHeight - footHeight();

// A figure fits what is left of the screen below what stands above it, or a screen of its own; the first one has what
// nothing else needs.
/** @param {HTMLElement} main */
function fitFigures(main) {
  const room = roomOf() - MARGIN;
  /** @type {NodeListOf<HTMLElement>} */
  const found = main.querySelectorAll(PAGE_PARTS);
  const parts = [...found];
  parts.forEach((one) => one.style.removeProperty(ENLARGED));
  if (!presentedPage() || onPhone()) return;
  const zoom = (one) => Number(getComputedStyle(one).zoom);
  const figures = parts.filter((one) => one.offsetHeight && zoom(one) > 1 && !one.matches(FITS_ITSELF));
  for (const one of figures) {
    const least = LEAST_FIGURE * zoom(one);
    for (let again = 0; again < 3; again++) {
      const { top, height } = one.getBoundingClientRect();
      const above = top + main.scrollTop;
      const over = Math.max(height / (room - (above < room / 2 ? above : HEADED)), ...sidewaysOf(one));
      if (over <= 1) break;
      one.style.setProperty(ENLARGED, String(Math.max(least, zoom(one) / over)));
    }
  }
  const [first] = figures;
  const end = Math.max(...parts.map((one) => one.offsetHeight && one.getBoundingClientRect().bottom + main.scrollTop));
  if (!first || end > room || first.offsetWidth * zoom(first) < main.clientWidth / 2) return;
  if (first.style.getPropertyValue(ENLARGED)) return;
  const { height } = first.getBoundingClientRect();
  const usual = zoom(first);
  for (let by = MOST_FIGURE; by > 1; by -= 0.1) {
    first.style.setProperty(ENLARGED, String(by * usual));
    if (first.getBoundingClientRect().height <= height + room - end && Math.max(...sidewaysOf(first)) <= 1) return;
  }
  first.style.removeProperty(ENLARGED);
}

// How much wider than its boxes is what they scroll.
function sidewaysOf(part) {
  const inner = [part, ...part.querySelectorAll("*")];
  const trees = inner.flatMap((one) => (one.shadowRoot ? [...one.shadowRoot.querySelectorAll("*")] : [one]));
  const wider = trees.filter((one) => one.clientWidth > 1 && one.scrollWidth > one.clientWidth);
  const scrolls = wider.filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX));
  return [1, ...scrolls.map((one) => one.scrollWidth / one.clientWidth)];
}

/** @param {HTMLElement} main */
function hideWhatIsCut(main) {
  const room = roomOf();
  const hides = Boolean(presentedPage()) && !onPhone();
  let headings = [];
  for (const one of main.querySelectorAll(`${PAGE_PARTS}, :is(${PAGE_PARTS}) :is(tr, p, li)`)) {
    const { top, bottom, height } = one.getBoundingClientRect();
    const whole = one.matches(PAGE_PARTS); // else a row or a paragraph, of which a tall part shows those that fit
    const early = one.querySelector(CHARTS) ? AT_TOP : EARLY;
    const tall = !whole && height > room; // it is never seen whole
    const below = !tall && bottom > room + 2 && (!whole || top > early * room);
    const above = !tall && top < -2 && (!whole || bottom < (1 - EARLY) * room);
    one.toggleAttribute(CUT, hides && height > 0 && (below || above));
    if (!whole) continue;
    if (hides && below) headings.forEach((heading) => heading.setAttribute(CUT, ""));
    headings = one.matches(HEADING) && top > EARLY * room ? [...headings, one] : [];
  }
}

// A black screen, so that a class looks at its lecturer, until a key or a click.

const BLACK = "heads-up-black";

function darken() {
  const black = part("div", { className: BLACK, onclick: () => black.remove() });
  black.style.cssText = "position: fixed; inset: 0; background: black; z-index: 1000000";
  document.body.append(black);
}

function lighten(event) {
  const black = document.querySelector(`.${BLACK}`);
  if (!black) return;
  take(event);
  black.remove();
}

// Takes the focus from what a mouse has chosen, which would take the keys.
function releaseFocus() {
  const focused = activeElement();
  if (presentedPage() && focused?.matches("[role=radio], [role=tab], input[type=range]")) focused.blur();
}

function onPresenterKey(event, tell) {
  const page = presentedPage();
  const [at] = event.composedPath();
  if (!page || event.defaultPrevented || withModifier(event) || at.closest?.(TYPED)) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === " " && at.closest?.(PRESSED)) return;
  if (key in MOVES) {
    if (!forLesson(event) && move(page, MOVES[key])) event.preventDefault(); // else the key has a later use
  } else if (key === "." || key === "b") {
    event.preventDefault();
    darken();
  } else if (key === "h") {
    event.preventDefault();
    tell("hide", page);
  } else if (key === "Escape" && !isCovered()) {
    leaveButton()?.click();
  }
}

// Presses the page's own buttons or, without any, scrolls; returns whether there was a move. Step controls handle their
// keys themselves.
function move(page, by) {
  if (isStepped()) return false;
  /** @type {HTMLButtonElement | null} */
  const button = document.querySelector(`${keySelector(`${page}_${by === FORWARD ? "next" : "back"}`)} button`);
  if (button && !button.disabled) button.click();
  return button ? !button.disabled : scrolled(by);
}

// Scrolls on; returns whether there was more of the page.
function scrolled(by) {
  const main = mainElement();
  if (!main) return false;
  const top = main.getBoundingClientRect().top;
  const left = by === FORWARD ? main.scrollHeight - main.clientHeight - main.scrollTop : main.scrollTop;
  if (left < 2) return false;
  const stops = [...main.querySelectorAll(STOPS)]
    .map((stop) => stop.getBoundingClientRect())
    .filter((box) => box.height > 0)
    .map((box) => box.top - top - MARGIN);
  const page = main.clientHeight * 0.9;
  const waiting = [...main.querySelectorAll(`[${CUT}]`)].map((one) => one.getBoundingClientRect().top - top - MARGIN);
  const ahead = (by === FORWARD && waiting.some((place) => place > 0) ? waiting : stops)
    .filter((place) => place * by > page / 4)
    .sort((a, b) => (a - b) * by);
  const next = Math.min(Math.abs(ahead[0] ?? page), page);
  const far = left - next < page / 4 ? left : next; // with a short rest
  main.scrollBy({ top: by * far, behavior: "auto" });
  return true;
}

// Sets how much figures are enlarged in a presentation (presentation.css): their smallest type is 24 px on a screen
// 720 px high.

const SMALLEST = 13; // px, of any figure
const PART = 1 / 30;

export function keepEnlarged(signal) {
  const set = () => {
    const { innerWidth: width, innerHeight: height } = window;
    const by = onPhone() ? 1 : Math.max(1, (PART * Math.min(width, height)) / SMALLEST);
    document.documentElement.style.setProperty(ENLARGED, by.toFixed(3));
  };
  window.addEventListener("resize", set, { signal });
  set();
}
