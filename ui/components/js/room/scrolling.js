// A wall scrolls along with the lecturer. Its page is laid out otherwise, so what is told is a part of the page that
// both have, and how far into it what is read has come.
import { send } from "./api.js";

const READ = 0.3; // of the window's height, where it is read
const QUIET_MS = 200; // without scrolling, until it is told
const AT_TOP = 8; // px
const LATER_MS = [0, 300, 1000]; // until a page that has just come is drawn
const PARTS = '[class*="st-key-"], h2, h3, h4, figure[data-name]';

const mainOf = () => document.querySelector("[data-testid=stMain]");

// The name by which both pages know a part.
function partName(element) {
  if (element.matches("figure")) return `figure ${element.dataset.name}`;
  const key = [...element.classList].find((name) => name.startsWith("st-key-"));
  return key ?? `heading ${element.textContent.trim()}`.slice(0, 100);
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
export function placeRead(main) {
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

export function scrollToPlace(main, place) {
  const found = place && partsOf(main).find(({ element }) => partName(element) === place.part);
  if (place && !found) return;
  const line = main.getBoundingClientRect().top + READ * main.clientHeight;
  const top = found ? main.scrollTop + found.box.top + place.into * found.box.height - line : 0;
  main.scrollTo({ top, behavior: "instant" });
}

// The lecturer's tab, while it leads: told when it has come to rest, and only where it is somewhere else than before.
export function tellScrolling(bar, signal) {
  let timer = 0;
  let told = null;
  const tell = () => {
    const main = mainOf();
    if (!main || bar.state?.leader !== bar.data.tab) return;
    const content = { do: "scroll", page: bar.data.page, at: placeRead(main) };
    const now = JSON.stringify(content);
    if (now === told || (told === null && !content.at && !bar.state.scrolled?.at)) return;
    told = now;
    send(bar.data.code, "do", content).catch(() => {
      told = ""; // and is told with the next
    });
  };
  bar.tellScrolling = () => {
    clearTimeout(timer);
    timer = setTimeout(tell, QUIET_MS);
  };
  const onScroll = ({ target }) => target === mainOf() && bar.tellScrolling();
  document.addEventListener("scroll", onScroll, { signal, capture: true, passive: true });
}

// The wall, where its page is the one that is scrolled; again as that is drawn.
export function scrollAlong({ state, data, root }) {
  const { scrolled } = state;
  const now = JSON.stringify([data.page, state.picture, scrolled?.number]);
  if (root.scrolledTo === now) return;
  root.scrolledTo = now;
  if (scrolled?.page !== data.page) return;
  for (const ms of LATER_MS) {
    setTimeout(() => root.scrolledTo === now && mainOf() && scrollToPlace(mainOf(), scrolled.at), ms);
  }
}
