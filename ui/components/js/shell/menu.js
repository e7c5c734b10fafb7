// What Streamlit's own menu, on top of every page, offers besides: entries like its own, added as it opens.
import { part } from "#view/elements.js";

const BUTTON = "[data-testid=stMainMenu]";
const LIST = "[data-testid=stMainMenuList]";
const TRIES = 30; // frames until it is there

// entries: a function that gives [words, what to do] pairs.
export function addToMenu(signal, entries) {
  const onclick = (event) => {
    if (event.target.closest?.(BUTTON)) waitFor(entries, TRIES);
  };
  document.addEventListener("click", onclick, { signal });
}

function waitFor(entries, tries) {
  const list = document.querySelector(LIST);
  if (!list && tries) return requestAnimationFrame(() => waitFor(entries, tries - 1));
  const own = list?.querySelector("button[role=menuitem]");
  if (!own || list.querySelector("[data-entry]")) return;
  own.before(...entries().map(([words, act]) => entryLike(own, words, act)));
}

function entryLike(own, words, act) {
  const label = own.querySelector("[data-testid=stMainMenuItemLabel]");
  const within = part("span", { className: label?.className ?? "", textContent: words });
  const entry = part("button", { type: "button", className: own.className, tabIndex: 0 }, within);
  entry.setAttribute("role", "menuitem");
  entry.dataset.entry = "";
  entry.onclick = () => {
    document.querySelector(`${BUTTON} button`)?.click(); // which closes it
    act();
  };
  return entry;
}
