// The keys of a presentation, as a presenter's remote sends them: forward, back, a black screen, hide the candidates,
// leave. Keys that a part of the page has used (the step controls, a canvas) are ignored.
import { app } from "#view/app.js";
import { part } from "#view/elements.js";
import { forLesson, isCovered, take, withModifier } from "#view/pointer.js";
import { CHARTS, COMPONENTS, keySelector, leaveButton, mainElement, presentedPage } from "#view/streamlit.js";

const FORWARD = 1;
const BACK = -1;
const MOVES = { PageDown: FORWARD, " ": FORWARD, PageUp: BACK };
const TYPED = "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const PRESSED = "button, a, summary, input, [role=button], [role=radio], [role=tab]"; // by Space
const STOPS = `h2, h3, h4, table, ${CHARTS}, ${COMPONENTS}`;
const MARGIN = 12; // px above the target of a move
const SETTLED_MS = 300; // after a change of the window's size

// tell: sends to Python ("hide", page) or ("window", [width, height]).
export function present(signal, tell) {
  window.addEventListener("keydown", lighten, { signal, capture: true });
  document.addEventListener("keydown", (event) => onPresenterKey(event, tell), { signal });
  window.addEventListener("click", ({ detail }) => detail && setTimeout(releaseFocus, 0), { signal });
  watchPresenting(signal, () => tell("window", [window.innerWidth, window.innerHeight]));
}

// Sends the size of the window to Python, which sets the type of figures, and scrolls a new page to its top.
function watchPresenting(signal, measure) {
  let timer = 0;
  let frame = 0;
  let page = null;
  const look = () => {
    frame = 0;
    const now = presentedPage();
    if (now === page) return;
    page = now;
    if (!page) return;
    mainElement()?.scrollTo(0, 0);
    measure();
  };
  const observer = new MutationObserver(() => {
    frame ||= requestAnimationFrame(look);
  });
  observer.observe(document.body, { childList: true, subtree: true });
  signal.addEventListener("abort", () => observer.disconnect());
  const onResize = () => {
    clearTimeout(timer);
    timer = setTimeout(() => presentedPage() && measure(), SETTLED_MS);
  };
  window.addEventListener("resize", onResize, { signal });
  look();
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
  if (presentedPage() && document.activeElement?.matches("[role=radio], [role=tab], input[type=range]"))
    document.activeElement.blur();
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
  if (app().keys?.view?.root.isConnected) return false;
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
  const ahead = stops.filter((place) => place * by > page / 4).sort((a, b) => (a - b) * by);
  const next = Math.min(Math.abs(ahead[0] ?? page), page);
  const far = left - next < page / 4 ? left : next; // with a short rest
  main.scrollBy({ top: by * far, behavior: "auto" });
  return true;
}

// Sets how much figures are enlarged in a presentation (presentation.css): their smallest type is 4% of the window.

const SMALLEST = 13; // px, of any figure
const PART = 0.04;
const PHONE = 700; // px

export function keepEnlarged(signal) {
  const set = () => {
    const { innerWidth: width, innerHeight: height } = window;
    const by = width <= PHONE ? 1 : Math.max(1, (PART * Math.min(width, height)) / SMALLEST);
    document.documentElement.style.setProperty("--enlarged", by.toFixed(3));
  };
  window.addEventListener("resize", set, { signal });
  set();
}
