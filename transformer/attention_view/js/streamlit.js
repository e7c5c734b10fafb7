// Streamlit's page as the scripts know it. Its test ids and class names stand in this file alone. A page that was saved
// as a file has none of these elements.

export const appElement = () => document.querySelector("[data-testid=stApp]");
export const mainElement = () => document.querySelector("[data-testid=stMain]"); // the element that scrolls
export const mainBlock = () => document.querySelector("[data-testid=stMainBlockContainer]");
export const headerHeight = () => document.querySelector("header[data-testid=stHeader]")?.offsetHeight ?? 0;
export const scrolledBy = () => mainElement()?.scrollTop ?? 0;

// The page's own tree and those of its components.
export function pageTrees() {
  const hosts = mainElement()?.querySelectorAll("[data-testid=stBidiComponentIsolated]") ?? [];
  return [mainElement(), ...[...hosts].map((host) => host.shadowRoot)].filter(Boolean);
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
export const beamBox = () => document.querySelector("[class*=_beam_box]");

// The way out of presenting, and the page that is presented now, or null.
const LEAVE = "[class*=st-key-][class*=_leave]";
export const leaveButton = () => document.querySelector(`${LEAVE} button`);
export const presentedPage = () => document.querySelector(LEAVE)?.className.match(/st-key-(\w+)_leave/)?.[1] ?? null;

export const alertElements = () => [...(mainElement()?.querySelectorAll("[data-testid=stAlert]") ?? [])];

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
export const closeDrawer = () => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
export const pageLink = (page) => document.querySelector(`:is(${LINKS})[href$='/${page}']`);

// The menu of the app, behind three dots.

export const menuButtonAt = (element) => element.closest?.("[data-testid=stMainMenu]");
export const toggleMenu = () => document.querySelector("[data-testid=stMainMenu] button")?.click();
export const menuList = () => document.querySelector("[data-testid=stMainMenuList]");
export const menuLabelClass = (entry) => entry.querySelector("[data-testid=stMainMenuItemLabel]")?.className ?? "";
