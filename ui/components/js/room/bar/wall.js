// What covers a screen while something is asked, so that the page behind is not to be seen: on the wall, and where the
// lecturer presents.
import { part } from "#view/page/elements.js";
import { KEYED, elementKey, mainElement } from "#view/page/streamlit.js";
import { holdPlace } from "../../hold_place.js";
import { send } from "../connection.js";
import { comingOf, drawQuestion } from "../question/question_view.js";
import { COMING, leavesInSight } from "../texts.js";

export function coverRoom(bar, on) {
  const { root, state } = bar;
  bar.cover ??= part("div", { className: "cover" });
  if (on && state.coming) drawComing(bar);
  else if (on && isAsked(state)) drawQuestion(bar.cover, state, { face: "wall" });
  else return bar.cover.remove();
  root.append(bar.cover);
  const beside = !state.coming && leavesInSight(state);
  bar.cover.classList.toggle("beside", beside);
  (beside ? leaveFitted : keepFitted)(bar.cover);
}

// Whether what is asked hides the page.
export const hidesPage = ({ cover }) => Boolean(cover?.isConnected) && !cover.classList.contains("beside");

const isAsked = ({ question }) => Boolean(question) && question.phase !== "draft";

// A stop whose page would give the answer away waits until it is asked; of a draft there is nothing to think about.
function drawComing({ state, cover: screen }) {
  const { coming } = state;
  const kicker = coming === COMING ? [] : [part("p", { className: "kicker", textContent: "Think first" })];
  screen.classList.add("question");
  screen.asked = null;
  screen.replaceChildren(...kicker, part("h2", { className: "ask", textContent: coming }), ...comingOf(state));
}

// A few words on a screen of their own.
export function saidLarge(root, words) {
  const screen = part("div", { className: "cover pause" }, part("p", { textContent: words }));
  root.append(screen);
  keepFitted(screen);
}

// A screen that nobody scrolls: the largest type at which all that stands on it can be seen. Everything there is sized
// by one, which decides; many rows of results stand in two columns where that makes them larger.

const SIZE = "--big";
const LARGEST = 0.075; // of the screen's height
const LEAST = 0.02;
const SMALLEST = 14; // px
const FINE = 0.5; // px
const LARGE_ENOUGH = 0.04; // of the height, above which one column stays
const WORTH_IT = 1.1; // how much larger two columns have to be

function keepFitted(screen) {
  fit(screen);
  if (screen.fitted) return;
  screen.fitted = new ResizeObserver(() => fit(screen));
  screen.fitted.observe(screen);
  document.fonts.ready.then(() => screen.fitted && fit(screen));
}

// As large as its style says.
function leaveFitted(screen) {
  screen.fitted?.disconnect();
  screen.fitted = null;
  screen.style.removeProperty(SIZE);
}

function fit(screen) {
  const height = screen.clientHeight;
  if (!height) return;
  screen.classList.remove("columns");
  const one = largest(screen, height);
  if (one >= LARGE_ENOUGH * height) return;
  screen.classList.add("columns");
  if (largest(screen, height) >= WORTH_IT * one) return;
  screen.classList.remove("columns");
  screen.style.setProperty(SIZE, `${one}px`);
}

// Leaves the screen at the size that it returns; the least where nothing fits.
function largest(screen, height) {
  let [fitting, tooLarge] = [Math.max(SMALLEST, LEAST * height), LARGEST * height];
  if (fits(screen, tooLarge)) return tooLarge;
  while (tooLarge - fitting > FINE) {
    const middle = (fitting + tooLarge) / 2;
    if (fits(screen, middle)) fitting = middle;
    else tooLarge = middle;
  }
  screen.style.setProperty(SIZE, `${fitting}px`);
  return fitting;
}

function fits(screen, size) {
  screen.style.setProperty(SIZE, `${size}px`);
  return screen.scrollHeight <= screen.clientHeight && screen.scrollWidth <= screen.clientWidth;
}

// A wall scrolls along with the lecturer. Its page is laid out otherwise, so what is sent is a part of the page that
// both have, and how far into it what is read has come.

const READ = 0.3; // of the window's height, where it is read
const QUIET_MS = 200; // without scrolling, until it is sent
const AT_TOP = 8; // px
const PARTS = `${KEYED}, h2, h3, h4, figure[data-name]`;

// The name by which both pages know a part.
function partName(element) {
  if (element.matches("figure")) return `figure ${element.dataset.name}`;
  return elementKey(element) ?? `heading ${element.textContent.trim()}`.slice(0, 100);
}

function partsOf(main) {
  const all = [...main.querySelectorAll(PARTS)].map((element) => ({ element, box: element.getBoundingClientRect() }));
  return all.filter(({ element, box }) => box.height > 0 && !staysPut(element, main));
}

// What stays where it is while the page scrolls says nothing about where that has come.
function staysPut(element, main) {
  for (let at = element; at && at !== main; at = at.parentElement)
    if (["sticky", "fixed"].includes(getComputedStyle(at).position)) return true;
  return false;
}

// The innermost part that the line read goes through, or the last before it; null where a page is at its top or
// has none.
function placeRead(main) {
  if (main.scrollTop < AT_TOP) return null;
  const line = main.getBoundingClientRect().top + READ * main.clientHeight;
  const before = partsOf(main).filter(({ box }) => box.top <= line);
  if (!before.length) return null;
  const through = before.filter(({ box }) => box.bottom > line);
  const { element, box } = (through.length ? through : before).reduce((last, one) =>
    one.box.top >= last.box.top ? one : last,
  );
  return { part: partName(element), into: Math.min(1, (line - box.top) / box.height) };
}

// Returns whether it is there.
function scrollToPlace(main, place) {
  const found = place && partsOf(main).find(({ element }) => partName(element) === place.part);
  if (place && !found) return false;
  const line = main.getBoundingClientRect().top + READ * main.clientHeight;
  const top = found ? main.scrollTop + found.box.top + place.into * found.box.height - line : 0;
  main.scrollTo({ top, behavior: "instant" });
  return true;
}

// The lecturer's tab, while it leads, sends its place when it has come to rest somewhere else than before.
export function tellScrolling(bar, signal) {
  let timer = 0;
  /** @type {string | null} */
  let last = null;
  const tell = () => {
    const main = mainElement();
    if (!main || bar.state?.leader !== bar.data.tab) return;
    const content = { do: "scroll", page: bar.data.page, at: placeRead(main) };
    const now = JSON.stringify(content);
    if (now === last || (last === null && !content.at && !bar.state.scrolled?.at)) return;
    last = now;
    send(bar.data.code, "do", content).catch(() => {
      last = ""; // and is sent with the next
    });
  };
  bar.tellScrolling = () => {
    clearTimeout(timer);
    timer = setTimeout(tell, QUIET_MS);
  };
  const onScroll = ({ target }) => target === mainElement() && bar.tellScrolling();
  document.addEventListener("scroll", onScroll, { signal, capture: true, passive: true });
}

// The wall, where its page is the one that is scrolled.
export function scrollAlong({ state, data, root }) {
  const { scrolled } = state;
  const now = JSON.stringify([data.page, state.picture, scrolled?.number]);
  if (root.scrolledTo === now) return;
  root.scrolledTo = now;
  if (scrolled?.page !== data.page) return;
  holdPlace(root, () => {
    if (root.scrolledTo !== now) return null;
    return mainElement() ? scrollToPlace(mainElement(), scrolled.at) : false;
  });
}
