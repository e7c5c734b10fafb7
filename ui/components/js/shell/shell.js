// The shell of every page. It is mounted once for all pages and runs again with each of them, after it has ended the
// listeners of the last run.
import { app, takeOver } from "#view/page/app.js";
import { freeKeys } from "#view/step_view/controls.js";
import { linkButton } from "#view/page/copy.js";
import { activeElement, part } from "#view/page/elements.js";
import { keepAllFigures } from "#view/export/figures/expose.js";
import { withModifier } from "#view/page/pointer.js";
import {
  PLOTLY,
  TEXT_BOX,
  VEGA,
  alertElements,
  appElement,
  beamBox,
  closeDrawer,
  drawerLinkAt,
  drawerLists,
  mainElement,
  menuAt,
  menuButtonAt,
  menuLabelClass,
  menuList,
  onScriptEnd,
  pageLinkAt,
  toggleMenu,
} from "#view/page/streamlit.js";
import { whenDocumentChanges } from "./document_changes.js";
import { keepEnlarged, present } from "./presenter.js";
import { explainTerms } from "./terms.js";
import { offerWhatIf } from "./what_if.js";

const NARROW = "(max-width: 768px)"; // where Streamlit's menu at the top is a drawer

export default function component({ data, setStateValue, setTriggerValue }) {
  const { signal } = takeOver("shell");
  noticeLeaving(data, signal);
  document.addEventListener("click", leaveDrawer, { signal });
  offerWhatIf(signal, data.changes); // before what frees the keys, which leaves a press that it held
  freeKeys(signal);
  provideClipboard();
  followPrediction(signal);
  whenDocumentChanges(signal, readDrawerAsLinks);
  const to = { signal, send: (view) => setTriggerValue("view", view), largest: data.largest };
  openDropped(to);
  addToMenu(signal, () => [
    ...(hasFigures() ? [["Save all figures of this page", keepAllFigures]] : []),
    ["Open a saved view …", () => chooseView(to)],
  ]);
  offerLink();
  keepEnlarged(signal);
  explainTerms(signal, data.terms);
  onScriptEnd(signal, announcePage);
  leaveWhenSignedOut(signal);
  watchTheme(signal, (theme) => setTriggerValue("theme", theme));
  present(signal, (what, value) => (what === "hide" ? setTriggerValue : setStateValue)(what, value));
  keepOneEntryForEachPage(signal);
  keepPage(data.page);
  focusEmptyBox(signal);
}

// The button at the end of the bar, on every page, that copies its address.
function offerLink() {
  if (document.querySelector(".page-link")) return;
  const place = part("div", { className: "page-link" });
  place.append(linkButton(() => place));
  document.body.append(place);
}

// `app().leaving()`: whether somebody goes to another page, whose first run has not begun: by an address (as Back does)
// or by the menu, which changes the address only then.
function noticeLeaving({ page, pages, main }, signal) {
  let next = page;
  const pageOf = ({ pathname = "" }) => pathname.split("/").at(-1) || main; // the mark is a button
  const onClick = (event) => {
    const link = pageLinkAt(event.target);
    if (link && !withModifier(event)) next = pageOf(link);
  };
  document.addEventListener("click", onClick, { signal, capture: true });
  onScriptEnd(signal, () => (next = page)); // of a run that led back here
  app().leaving = () => {
    const addressed = pageOf(window.location);
    return next !== page || (pages.includes(addressed) && addressed !== page);
  };
}

// Stores the page to which the teacher's link leads back (ui/server/sign_in_routes.py).
function keepPage(page) {
  try {
    localStorage.setItem("headsup-page", page);
  } catch {
    /* this browser has no storage */
  }
}

// Focuses the empty box of a page that somebody opens to type a text, as from the end of the tour.
function focusEmptyBox(signal) {
  if (new URLSearchParams(window.location.search).get("text") !== "") return;
  const look = () => {
    const box = /** @type {HTMLElement | null} */ (document.querySelector(TEXT_BOX));
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
  return ours || document.querySelector(`${PLOTLY}, ${VEGA}`) !== null;
}

// Closes the drawer after a page was chosen in it.
function leaveDrawer(event) {
  if (drawerLinkAt(event.target) && matchMedia(NARROW).matches) setTimeout(closeDrawer, 0);
}

// Streamlit's drawer has sections in its list that are no entries of it, which screen readers stumble over.
function readDrawerAsLinks() {
  for (const one of drawerLists()) one.setAttribute("role", "none");
}

// Keeps one entry in the history for each page visited. A page writes its own address, which Streamlit adds as a second
// entry; until somebody touches the page, it replaces the first one instead. In a browser without the Navigation API
// (before 2026), Back has to be pressed twice there.
function keepOneEntryForEachPage(signal) {
  const entry = (app().history ??= { fresh: true });
  const onTouch = (event) => {
    // the menu does not count: the page may still write its address while the pointer is down
    const leaves = menuAt(event.target) && (event.type === "pointerdown" || ["Enter", " "].includes(event.key));
    if (!leaves) entry.fresh = false;
  };
  for (const type of ["pointerdown", "keydown"]) window.addEventListener(type, onTouch, { signal, capture: true });
  const onNavigate = (event) => {
    const { url, sameDocument } = event.destination;
    if (event.navigationType !== "push" || !sameDocument || event.hashChange) return;
    const isSamePage = new URL(url).pathname === window.location.pathname;
    if (isSamePage && entry.fresh && event.cancelable) {
      event.preventDefault();
      window.history.replaceState({}, "", url);
    }
    entry.fresh = !isSamePage || entry.fresh;
  };
  window.navigation?.addEventListener("navigate", onNavigate, { signal });
}

// The page's one polite live region, for people who do not see the page: it announces the outcome when the script has
// run. Pages with steps announce each step themselves.

const REGION = "heads-up-live";
const HIDDEN = "position: fixed; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)";

function announcePage() {
  if (app().keys?.view?.root.isConnected) return;
  /** @type {(HTMLElement & {path?: string, summary?: string}) | null} */
  const there = document.querySelector(`.${REGION}`);
  const region = there ?? newRegion();
  const text = summaryOfPage();
  const path = window.location.pathname;
  if (region.path === path && region.summary !== text) region.textContent = text;
  Object.assign(region, { path, summary: text }); // a screen reader reads a whole page on arrival
}

/** @returns {HTMLElement & {path?: string, summary?: string}} */
function newRegion() {
  const region = document.createElement("div");
  region.className = REGION;
  region.setAttribute("role", "status");
  region.setAttribute("aria-live", "polite");
  region.style.cssText = HIDDEN;
  document.body.append(region);
  return region;
}

// The page's messages or, without any, its title and the open view.
function summaryOfPage() {
  const alerts = alertElements().map((alert) => alert.innerText.trim());
  if (alerts.length) return alerts.join(" ");
  const main = mainElement();
  const view = /** @type {HTMLElement | null} */ (main?.querySelector("[role=radio][aria-checked=true]") ?? null);
  return [main?.querySelector("h1")?.innerText, view?.innerText].filter(Boolean).join(": ");
}

// Our entries in Streamlit's own menu at the top of every page: they look like its own and are added when it opens.

const TRIES = 30; // frames in which the menu may appear

// entries: returns pairs of [text, action].
function addToMenu(signal, entries) {
  const onclick = (event) => {
    if (menuButtonAt(event.target)) waitFor(entries, TRIES);
  };
  document.addEventListener("click", onclick, { signal });
}

function waitFor(entries, tries) {
  const list = menuList();
  if (!list && tries) return requestAnimationFrame(() => waitFor(entries, tries - 1));
  const own = list?.querySelector("button[role=menuitem]");
  if (!own || list?.querySelector("[data-entry]")) return;
  own.before(...entries().map(([text, act]) => entryLike(own, text, act)));
}

function entryLike(own, textContent, act) {
  const label = part("span", { className: menuLabelClass(own), textContent });
  const entry = part("button", { type: "button", className: own.className, tabIndex: 0 }, label);
  entry.setAttribute("role", "menuitem");
  entry.dataset.entry = "";
  entry.onclick = () => {
    toggleMenu(); // closes it
    act();
  };
  return entry;
}

// Saved views: a file that is dropped on a page, or chosen, is sent to Python as text.

function openDropped({ signal, send, largest }) {
  const takes = (event) => !event.defaultPrevented && event.dataTransfer?.types.includes("Files");
  const over = (event) => {
    if (takes(event)) event.preventDefault(); // else the browser would open the file
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
  input.onchange = () => sendFile(input.files?.[0], to);
  input.click();
}

// Sends a file, without its text if it is too large.
async function sendFile(file, { send, largest }) {
  if (file) send({ text: file.size > largest ? null : await file.text() });
}

// Reloads the page when its visitor has signed out, which leads to the sign-in page. Otherwise Streamlit, whose
// connection has ended and which is refused a new one, would show an error.

const CONFIG = "/_stcore/host-config";
const UNAUTHORIZED = 401;

function leaveWhenSignedOut(signal) {
  const observer = new PerformanceObserver((list) => {
    const entries = /** @type {PerformanceResourceTiming[]} */ (list.getEntries());
    const refused = ({ name, responseStatus }) => name.endsWith(CONFIG) && responseStatus === UNAUTHORIZED;
    if (entries.some(refused)) window.location.reload();
  });
  observer.observe({ type: "resource" });
  signal.addEventListener("abort", () => observer.disconnect());
}

// Reports a change between the light and the dark theme to Python, which draws again what has the server's colours.
// Drop-downs and dialogs are outside the app and take the colour scheme from the document.

const EVERY = 700; // ms
const SOON = 50; // ms after a change of the system's theme, which the page follows

function schemeOf() {
  const page = appElement();
  return page && getComputedStyle(page).colorScheme;
}

function watchTheme(signal, changed) {
  const look = () => {
    const now = schemeOf();
    const before = app().scheme; // kept on the window, because another theme mounts everything again
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

// Replaces the clipboard for Streamlit's copy buttons where the page has none, over plain http, by the old command.

function provideClipboard() {
  if (navigator.clipboard) return;
  Object.defineProperty(navigator, "clipboard", { value: { writeText: copyByCommand }, configurable: true });
}

async function copyByCommand(text) {
  const focused = activeElement();
  const field = part("textarea", { value: text, readOnly: true });
  field.style.cssText = "position: fixed; top: 0; opacity: 0";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  if (!done) throw new DOMException("This browser does not let the page copy.", "NotAllowedError");
}

// Scrolls to the current prediction, among the tokens and in the beam search.

const SPACE = 90; // px beside the place in the beam search

export const followPrediction = (signal) => whenDocumentChanges(signal, scrollToPredicted);

function scrollToPredicted() {
  for (const token of document.querySelectorAll(".chips .predicted")) scrollToToken(token);
  for (const mark of document.querySelectorAll(".beam-here")) scrollToMark(mark);
}

// Scrolls only once for each place, so that readers can scroll away.
function scrollToToken(token) {
  const row = token.parentElement;
  const at = `${token.dataset.position} ${row.scrollHeight}`;
  if (row.followed !== at) row.scrollTop = token.offsetTop - row.offsetTop - row.clientHeight / 2;
  row.followed = at;
}

function scrollToMark(mark) {
  const box = beamBox();
  const to = mark.dataset.across * (box?.scrollWidth ?? NaN);
  if (box && mark.followed !== to) {
    box.scrollLeft = Math.max(to + SPACE - box.clientWidth, Math.min(to - SPACE, box.scrollLeft));
  }
  mark.followed = to;
}
