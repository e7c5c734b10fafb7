// Mounted once for all pages. Runs again with every page; the listeners of the run before are let go first.
import { app, takeOver } from "#view/app.js";
import { freeKeys } from "#view/controls/controls.js";
import { part } from "#view/elements.js";
import { keepAllFigures } from "#view/figures/expose.js";
import { keepInSight } from "./follow.js";
import { keepEnlarged, present } from "./shell/presenter.js";
import { explainTerms } from "./shell/terms.js";

const NARROW = "(max-width: 768px)"; // where Streamlit turns the menu on top into a drawer
const BOX = "[data-testid=stMain] [class*=_text] :is(textarea, input[type=text])"; // a stepper's
const MENU = "[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]";

export default function component({ data, setStateValue, setTriggerValue }) {
  const { signal } = takeOver("shell");
  document.addEventListener("click", closeDrawer, { signal });
  for (const kind of ["pointerdown", "keydown"]) window.addEventListener(kind, touched, { signal, capture: true });
  freeKeys(signal);
  lendClipboard();
  keepInSight(signal);
  const to = { signal, send: (view) => setTriggerValue("view", view), largest: data.largest };
  openDropped(to);
  addToMenu(signal, () => [
    ...(hasFigures() ? [["Save all figures of this page", keepAllFigures]] : []),
    ["Open a saved view …", () => chooseView(to)],
  ]);
  keepEnlarged(signal);
  explainTerms(signal, data.terms);
  announce(signal);
  leaveWhenSignedOut(signal);
  watchTheme(signal, (theme) => setTriggerValue("theme", theme));
  present(signal, (what, value) => (what === "hide" ? setTriggerValue : setStateValue)(what, value));
  if (!app().history) tidyHistory();
  keepPage(data.page);
  beginToType(signal);
}

// Where the teacher's link leads back to: ui/server/sign_in_routes.py.
function keepPage(page) {
  try {
    localStorage.setItem("headsup-page", page);
  } catch {
    /* this browser keeps nothing */
  }
}

// A page come to for a text of one's own, as from the end of a tour: its box takes what is typed.
function beginToType(signal) {
  if (new URLSearchParams(window.location.search).get("text") !== "") return;
  const look = () => {
    const box = document.querySelector(BOX);
    if (box) observer.disconnect();
    box?.focus();
  };
  const observer = new MutationObserver(look);
  signal.addEventListener("abort", () => observer.disconnect());
  observer.observe(document.body, { childList: true, subtree: true });
  look();
}

function hasFigures() {
  const ours = [...app().figures].some(({ root }) => root.isConnected);
  return ours || document.querySelector(".js-plotly-plot, .vega-embed") !== null;
}

// A page chosen from the drawer closes it.
function closeDrawer(event) {
  if (!event.target.closest?.("[data-testid=stSidebarNavLink]") || !matchMedia(NARROW).matches) return;
  setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click(), 0);
}

// Leaving by the menu is no touch: the page may still be writing when the pointer is already down on another.
function touched(event) {
  const leaving = event.target.closest?.(MENU) && (event.type === "pointerdown" || event.key === "Enter");
  if (app().history && !leaving) app().history.fresh = false;
}

// One place in the history for each change of page: going to a page is one, and the address that the page then writes
// of itself, before anybody has touched it, takes its place.
function tidyHistory() {
  app().history = { fresh: true };
  const push = window.history.pushState.bind(window.history);
  window.history.pushState = (state, unused, url) => {
    const same = url && new URL(url, window.location.href).pathname === window.location.pathname;
    if (same && app().history.fresh) return window.history.replaceState(state, unused, url);
    app().history.fresh = !same;
    return push(state, unused, url);
  };
}

// The page's one polite live region: when the script has run, what somebody who does not see it would miss. Pages that
// step say each step themselves.

const REGION = "heads-up-live";
const HIDDEN = "position: fixed; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)";

function announce(signal) {
  const app = document.querySelector("[data-testid=stApp]");
  if (!app) return;
  const observer = new MutationObserver(() => {
    if (app.dataset.testScriptState === "notRunning") sayPage();
  });
  observer.observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] });
  signal.addEventListener("abort", () => observer.disconnect());
}

function sayPage() {
  if (app().keys?.view?.root.isConnected) return;
  const region = document.querySelector(`.${REGION}`) ?? newRegion();
  const text = wordsOf(document.querySelector("[data-testid=stMain]"));
  const path = window.location.pathname;
  if (region.path === path && region.words !== text) region.textContent = text;
  Object.assign(region, { path, words: text }); // of a page just come to, a reader reads all
}

function newRegion() {
  const region = document.createElement("div");
  region.className = REGION;
  region.setAttribute("role", "status");
  region.setAttribute("aria-live", "polite");
  region.style.cssText = HIDDEN;
  document.body.append(region);
  return region;
}

// Messages, where there are some; else which view it is.
function wordsOf(main) {
  const said = [...(main?.querySelectorAll("[data-testid=stAlert]") ?? [])].map((one) => one.innerText.trim());
  if (said.length) return said.join(" ");
  const view = main?.querySelector("[role=radio][aria-checked=true]")?.innerText;
  return [main?.querySelector("h1")?.innerText, view].filter(Boolean).join(": ");
}

// What Streamlit's own menu, on top of every page, offers besides: entries like its own, added as it opens.

const BUTTON = "[data-testid=stMainMenu]";
const LIST = "[data-testid=stMainMenuList]";
const TRIES = 30; // frames until it is there

// entries: a function that gives [words, what to do] pairs.
function addToMenu(signal, entries) {
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

// Views saved as files: dropped anywhere on a page, or chosen, their text goes to Python.

function openDropped({ signal, send, largest }) {
  const takes = (event) => !event.defaultPrevented && event.dataTransfer?.types.includes("Files");
  const over = (event) => {
    if (takes(event)) event.preventDefault(); // or the browser would leave the page for the file
  };
  const drop = (event) => {
    if (!takes(event)) return;
    event.preventDefault();
    sendFile(event.dataTransfer.files[0], { send, largest });
  };
  window.addEventListener("dragover", over, { signal });
  window.addEventListener("drop", drop, { signal });
}

function chooseView(to) {
  const input = part("input", { type: "file", accept: ".json,application/json" });
  input.onchange = () => sendFile(input.files[0], to);
  input.click();
}

// Of one that is too large there is no text.
async function sendFile(file, { send, largest }) {
  if (file) send({ text: file.size > largest ? null : await file.text() });
}

// Where people sign in, a connection ends when they have signed out, and Streamlit asks again, as after every lost one.
// It is told to sign in first, and would show an error: the page is loaded anew instead, which leads to the way in.

const ASKED = "/_stcore/host-config";
const UNKNOWN = 401;

function leaveWhenSignedOut(signal) {
  const observer = new PerformanceObserver((list) => {
    const refused = ({ name, responseStatus }) => name.endsWith(ASKED) && responseStatus === UNKNOWN;
    if (list.getEntries().some(refused)) window.location.reload();
  });
  observer.observe({ type: "resource" });
  signal.addEventListener("abort", () => observer.disconnect());
}

// What is drawn in the server's colours is drawn again where light turns to dark under it, as evening comes. What
// stands outside the app, a box that drops down or a dialog, is told which of the two it is.

const EVERY = 700; // ms
const SOON = 50; // ms after the system has changed: the page follows it

const schemeOf = () => {
  const app = document.querySelector(".stApp");
  return app && getComputedStyle(app).colorScheme;
};

function watchTheme(signal, changed) {
  const look = () => {
    const now = schemeOf();
    const before = app().scheme; // there, because a theme that changes mounts everything anew
    app().scheme = now ?? before;
    if (now) document.documentElement.style.colorScheme = now;
    if (before && now && now !== before) changed(now);
  };
  const timer = setInterval(look, EVERY);
  look();
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => setTimeout(look, SOON), { signal });
  signal.addEventListener("abort", () => clearInterval(timer));
}

// The buttons of Streamlit that copy ask for the clipboard of now, which no page has over plain http: there, the old
// command stands in for it.

function lendClipboard() {
  if (navigator.clipboard) return;
  Object.defineProperty(navigator, "clipboard", { value: { writeText: copyByCommand }, configurable: true });
}

async function copyByCommand(text) {
  const focused = document.activeElement;
  const field = part("textarea", { value: text, readOnly: true });
  field.style.cssText = "position: fixed; top: 0; opacity: 0";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  if (!done) throw new DOMException("This browser does not let the page copy.", "NotAllowedError");
}
