// What a lecturer's strip has besides the desk: whether the room sees this tab, the way to the room's page, and keys.
import { part } from "#view/elements.js";
import { take } from "#view/pointer.js";
import { foldUp } from "./desk.js";
import { foundSince } from "./found.js";
import { button, named } from "./parts.js";

// Closes what can be asked, or is unfolded, before it leaves the presentation.
export function escapeFromBar(bar, event) {
  if (event.key === "Escape" && bar.root.isConnected && foldUp(bar.desk)) take(event);
}

// As if the lecturer had pressed it here; H hides what comes though nothing is presented.
export function pressHere(bar, key) {
  if (key === "h") {
    bar.trigger("hide", bar.data.page);
    return;
  }
  const options = { key, code: key, bubbles: true, cancelable: true, composed: true };
  document.body.dispatchEvent(new KeyboardEvent("keydown", options));
}

export function whoLeads(bar, leads) {
  if (leads) return part("span", { className: "leading", textContent: "The room sees this tab" });
  return named(
    button("Show this tab to the room", () => bar.trigger("lead", true)),
    "lead",
  );
}

// The way to the room's page, and what waits there.
export function toRoom({ state }) {
  const link = (textContent, act) =>
    named(part("a", { href: "./room", target: "_self", textContent, onclick: byTheMenu }), act);
  const found = foundSince(state);
  const waits = found
    ? [Object.assign(link(`${found} found`, "found"), { className: "found", title: "On the room’s page" })]
    : [];
  return [...waits, link("Manage the room", "manage")];
}

// Within the visit, which a page loaded anew would end; a drawer that is closed has no link.
function byTheMenu(event) {
  const link = document.querySelector(
    "[data-testid=stTopNavLink][href$='/room'], [data-testid=stSidebarNavLink][href$='/room']",
  );
  if (!link) return;
  event.preventDefault();
  link.click();
}
