// Streamlit's page as the scripts know it. Its test ids and class names stand in this file alone. A page that was saved
// as a file has none of these elements.

/** @returns {HTMLElement | null} */
export const appElement = () => document.querySelector("[data-testid=stApp]");
/** @returns {HTMLElement | null} the element that scrolls */
export const mainElement = () => document.querySelector("[data-testid=stMain]");
/** @returns {HTMLElement | null} */
export const mainBlock = () => document.querySelector("[data-testid=stMainBlockContainer]");
/** @returns {HTMLElement | null} */
const headerElement = () => document.querySelector("header[data-testid=stHeader]");
export const headerHeight = () => headerElement()?.offsetHeight ?? 0;
export const scrolledBy = () => mainElement()?.scrollTop ?? 0;

// The page's own tree and those of its components.
export function pageTrees() {
  const hosts = mainElement()?.querySelectorAll("[data-testid=stBidiComponentIsolated]") ?? [];
  return [mainElement(), ...[...hosts].map((host) => host.shadowRoot)].filter((tree) => tree !== null);
}

// Calls `listener` whenever the page's script has run.
export function onScriptEnd(signal, listener) {
  const element = appElement();
  if (!element) return;
  const observer = new MutationObserver(() => element.dataset.testScriptState === "notRunning" && listener());
  observer.observe(element, { attributes: true, attributeFilter: ["data-test-script-state"] });
  signal.addEventListener("abort", () => observer.disconnect());
}

// Elements by the keys that Python gives them.

export const keySelector = (key) => `.st-key-${key}`;
export const KEYED = '[class*="st-key-"]';
export const elementKey = (element) => [...element.classList].find((name) => name.startsWith("st-key-"))?.slice(7);

export const TEXT_BOX = "[data-testid=stMain] [class*=_text] :is(textarea, input[type=text])"; // of a page that steps
export const CANDIDATES = "[class*=st-key-][class*=_candidates]";
/** @returns {HTMLElement | null} */
export const beamBox = () => document.querySelector("[class*=_beam_box]");

// The way out of presenting, and the page that is presented now, or null.
const LEAVE = "[class*=st-key-][class*=_leave]";
/** @returns {HTMLElement | null} */
export const leaveButton = () => document.querySelector(`${LEAVE} button`);
export const presentedPage = () => document.querySelector(LEAVE)?.className.match(/st-key-(\w+)_leave/)?.[1] ?? null;

/** @returns {NodeListOf<HTMLElement> | undefined} */
const alertsIn = (tree = mainElement()) => tree?.querySelectorAll("[data-testid=stAlert]");
export const alertElements = () => [...(alertsIn() ?? [])];

// What the page is made of, but for the bars over its foot.
export const PAGE_PARTS = ".stElementContainer:not(:is(.st-key-lesson, .st-key-room, [class*=_title]) *)";

// Charts.

export const CHARTS = "[data-testid=stPlotlyChart], [data-testid=stVegaLiteChart]";
export const COMPONENTS = ".stBidiComponentIsolated";
export const PLOTLY = ".js-plotly-plot";
export const VEGA = ".vega-embed";

// The menu of pages: links and sections on top, or links in a drawer where the window is narrow, and the mark, which
// leads to the first page.

const MENU = "[data-testid=stTopNav], [data-testid=stTopNavPopover], [data-testid=stSidebarNav]";
const DRAWER_LINK = "[data-testid=stSidebarNavLink]";
const LINKS = `[data-testid=stTopNavLink], [data-testid=stTopNavDropdownLink], ${DRAWER_LINK}`;
const MARK = "[data-testid=stLogoLink]";

export const pageLinkAt = (element) => element.closest?.(`${LINKS}, ${MARK}`);
export const menuAt = (element) => element.closest?.(`${MENU}, ${MARK}`);
export const drawerLinkAt = (element) => element.closest?.(`${DRAWER_LINK}, [data-testid=stSidebar] ${MARK}`);
export const drawerLists = () => document.querySelectorAll("[data-testid=stSidebarNav] :is(ul, li):not([role])");
/** @param {string} selector */
const press = (selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector))?.click();
export const closeDrawer = () => press("[data-testid=stSidebarCollapseButton] button");
/** @param {string} page @returns {HTMLElement | null} */
export const pageLink = (page) => document.querySelector(`:is(${LINKS})[href$='/${page}']`);

// The menu of the app, behind three dots.

export const menuButtonAt = (element) => element.closest?.("[data-testid=stMainMenu]");
export const toggleMenu = () => press("[data-testid=stMainMenu] button");
/** @returns {HTMLElement | null} */
export const menuList = () => document.querySelector("[data-testid=stMainMenuList]");
export const menuLabelClass = (entry) => entry.querySelector("[data-testid=stMainMenuItemLabel]")?.className ?? "";
