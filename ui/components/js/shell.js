// Mounted once for all pages. Runs again with every page; the listeners of the run before are let go first.
import { freeKeys } from "#view/controls/focus.js";
import { keepAllFigures } from "#view/figures/expose.js";
import { keepInSight } from "./follow.js";
import { lendClipboard } from "./shell/clipboard.js";
import { addToMenu } from "./shell/menu.js";
import { chooseView, openDropped } from "./shell/saved_views.js";
import { keepEnlarged } from "./shell/enlarge.js";
import { announce } from "./shell/live.js";
import { present } from "./shell/presenter.js";
import { leaveWhenSignedOut } from "./shell/signed_out.js";
import { explainTerms } from "./shell/terms.js";
import { watchTheme } from "./shell/theme.js";

const NARROW = "(max-width: 768px)"; // where Streamlit turns the menu on top into a drawer
const BOX = "[data-testid=stMain] [class*=_text] :is(textarea, input[type=text])"; // a stepper's
const MENU = "[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]";

export default function component({ data, setStateValue, setTriggerValue }) {
  window.headsUpShell?.abort();
  window.headsUpShell = new AbortController();
  const { signal } = window.headsUpShell;
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
  if (!window.headsUpHistory) tidyHistory();
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
  const ours = [...(window.headsUpFigures ?? [])].some(({ root }) => root.isConnected);
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
  if (window.headsUpHistory && !leaving) window.headsUpHistory.fresh = false;
}

// One place in the history for each change of page: going to a page is one, and the address that the page then writes
// of itself, before anybody has touched it, takes its place.
function tidyHistory() {
  window.headsUpHistory = { fresh: true };
  const push = window.history.pushState.bind(window.history);
  window.history.pushState = (state, unused, url) => {
    const same = url && new URL(url, window.location.href).pathname === window.location.pathname;
    if (same && window.headsUpHistory.fresh) return window.history.replaceState(state, unused, url);
    window.headsUpHistory.fresh = !same;
    return push(state, unused, url);
  };
}
