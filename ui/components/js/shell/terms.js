// Shows the sentence of a term beside it, on hover, focus or tap. Terms are <dfn class="term" data-term="head">, on the
// page or in a component's own tree (where #view/page/terms.js makes them).
import { app } from "#view/page/app.js";
import { appElement } from "#view/page/streamlit.js";

const EDGE = 8; // px
const BUBBLE = "heads-up-term";
const STYLE = `position: fixed; z-index: 1000002; max-width: min(22rem, calc(100vw - 16px)); padding: .5rem .7rem;
  border-radius: var(--radius); font-size: var(--body); line-height: 1.4; pointer-events: none;
  box-shadow: 0 2px 10px var(--shade)`;
/** @type {HTMLElement | null} */
let openedTerm = null;

export function explainTerms(signal, sentences) {
  app().terms = Object.assign(Object.create(null), sentences); // a token may be called constructor
  const options = { signal, capture: true };
  document.addEventListener(
    "pointerover",
    (event) => event.pointerType === "mouse" && openTerm(termAt(event)),
    options,
  );
  document.addEventListener("pointerout", (event) => event.pointerType === "mouse" && closeTerm(), options);
  document.addEventListener("focusin", (event) => openTerm(termAt(event)), options);
  document.addEventListener("focusout", closeTerm, options);
  document.addEventListener("click", onTermClick, options);
  document.addEventListener("keydown", onTermKey, options);
  document.addEventListener("scroll", onScroll, options);
  closeTerm();
}

const termAt = (event) => event.composedPath().find((one) => one.matches?.("dfn.term")) ?? null;

function onTermClick(event) {
  const term = termAt(event);
  if (term) openTerm(term);
  else closeTerm();
}

// A term that has the focus, for which the page scrolls, keeps its sentence.
function onScroll() {
  const term = openedTerm;
  closeTerm();
  if (!term?.matches(":focus")) return;
  const { top, bottom } = term.getBoundingClientRect();
  if (bottom > 0 && top < window.innerHeight) openTerm(term);
}

function onTermKey(event) {
  const term = termAt(event);
  if (event.key === "Escape" && openedTerm) {
    event.stopPropagation(); // so that it does not leave the presentation too
    event.preventDefault();
    closeTerm();
  } else if (term && ["Enter", " "].includes(event.key)) {
    event.preventDefault();
    event.stopPropagation();
    if (openedTerm === term) closeTerm();
    else openTerm(term);
  }
}

function openTerm(term) {
  if (!term || term === openedTerm) return;
  closeTerm();
  const sentence = app().terms[term.dataset.term];
  if (!sentence) return;
  const bubble = document.createElement("div");
  bubble.className = BUBBLE;
  bubble.setAttribute("aria-hidden", "true"); // the term's own name has it
  bubble.textContent = sentence;
  const page = getComputedStyle(appElement() ?? document.body);
  const { fontFamily, color, backgroundColor } = page;
  bubble.style.cssText = `${STYLE}; font-family: ${fontFamily}; background: ${color}; color: ${backgroundColor}`;
  document.body.append(bubble);
  place(bubble, term.getBoundingClientRect());
  openedTerm = term;
}

// Places it below the term, or above if there is no room, and never across an edge.
function place(bubble, { left, top, bottom }) {
  const { width, height } = bubble.getBoundingClientRect();
  const under = bottom + EDGE + height <= window.innerHeight;
  const x = Math.max(EDGE, Math.min(left, window.innerWidth - width - EDGE));
  bubble.style.left = `${x}px`;
  bubble.style.top = `${Math.max(EDGE, under ? bottom + EDGE / 2 : top - height - EDGE / 2)}px`;
}

function closeTerm() {
  document.querySelector(`.${BUBBLE}`)?.remove();
  openedTerm = null;
}
