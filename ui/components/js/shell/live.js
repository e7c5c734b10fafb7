// The page's one polite live region: when the script has run, what somebody who does not see it would miss. Pages that
// step say each step themselves.
const REGION = "heads-up-live";
const HIDDEN = "position: fixed; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)";

export function announce(signal) {
  const app = document.querySelector("[data-testid=stApp]");
  if (!app) return;
  const observer = new MutationObserver(() => {
    if (app.dataset.testScriptState === "notRunning") sayPage();
  });
  observer.observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] });
  signal.addEventListener("abort", () => observer.disconnect());
}

function sayPage() {
  if (window.headsUpKeys?.view?.root.isConnected) return;
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
