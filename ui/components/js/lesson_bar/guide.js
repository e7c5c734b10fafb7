// The sign of a tour: beside the part that a stop is about, or in the middle where that part is not on the page. The
// page stays as usable as it is: a stop is done by doing it.
import SIGN from "./guide.css";
import { dress, part, stillMotion } from "#view/elements.js";
import { driver } from "../vendor/driver/driver.js";
import { remember } from "./acts.js";
import { partOf } from "./parts.js";
import { ways } from "./strip.js";

const LOOK_MS = 250; // between two looks whether the part has moved and the stop is done
const PHONE = 700; // px
const OPENS = ["aria-haspopup", "aria-expanded", "aria-controls"];
const PATIENCE = 12; // looks for a part that is not there, before the sign goes to the middle
// what the sign, which stands outside every component, takes from the theme
const THEME = ["font", "text-color", "background-color", "primary-color", "border-color", "button-radius"];
const TAKEN = [...THEME, "green-text-color"].map((name) => `--st-${name}`);

export function showGuide(view) {
  dress(document.documentElement, SIGN);
  const { data } = view;
  const moved = view.signAt !== data.at;
  if (moved) Object.assign(view, { signAt: data.at, finished: false, pointed: undefined, fresh: true, waited: 0 });
  view.before ??= document.activeElement;
  view.driver ??= driver({
    animate: false, // the sign comes with a style of its own
    smoothScroll: !stillMotion(),
    allowClose: false,
    allowKeyboardControl: false,
    overlayOpacity: 0.15, // what a click changes may stand elsewhere, and is to be read
    stagePadding: 6,
    stageRadius: 6,
    onHighlighted: opensNothing,
  });
  remember(data.at);
  clearInterval(view.looks);
  view.looks = setInterval(() => lookAgain(view), LOOK_MS);
  lookAgain(view);
}

export function endGuide(view) {
  clearInterval(view.looks);
  if (!view.driver) return;
  view.driver.destroy();
  view.before?.focus?.({ preventScroll: true });
  Object.assign(view, { driver: undefined, before: undefined, signAt: undefined, pointed: undefined });
}

// What is pointed at is said to open a dialog, whatever it is: even what stands for nothing at all.
function opensNothing(element) {
  const pointed = element ?? document.getElementById("driver-dummy-element");
  for (const name of OPENS) pointed?.removeAttribute(name);
}

function lookAgain(view) {
  if (!view.root.isConnected) return endGuide(view);
  const element = view.data.here ? partOf(view.data.point) : null;
  if (view.fresh && !element && view.data.point && view.waited++ < PATIENCE) return; // the page is being drawn
  if (view.pointed !== element) {
    view.pointed = element;
    point(view, element);
  } else if (element) {
    const { x, y, width, height } = element.getBoundingClientRect();
    const box = [x, y, width, height].map(Math.round).join();
    if (view.box !== box) view.driver.refresh();
    view.box = box;
  }
  opensNothing(view.pointed);
  if (!view.finished && isDone(view.data)) {
    view.finished = true;
    view.status.textContent = doneWords();
    view.status.classList.add("finished");
  }
}

// Whoever works on the page keeps the focus there when the part is drawn anew; at a new stop the sign gets it.
function point(view, element) {
  const held = view.fresh ? null : focusedNow();
  const { fresh } = view;
  view.fresh = false;
  const popover = { title: " ", description: " ", side: "bottom", align: "start" };
  popover.onPopoverRender = (sign) => fill(view, sign);
  view.driver.highlight({ element: element ?? undefined, popover });
  const box = element?.getBoundingClientRect();
  view.sign?.classList.toggle("above", Boolean(box) && box.y + box.height / 2 > window.innerHeight / 2);
  const focus = () => (fresh || held?.closest(".driver-popover") ? view.sign : held)?.focus({ preventScroll: true });
  setTimeout(focus, 0);
}

function focusedNow() {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}

function fill(view, { wrapper, title, description }) {
  const { at, count, title: words, text } = view.data;
  title.role = "none"; // a header would be a landmark
  title.replaceChildren(part("h2", { textContent: words }));
  const place = `${at + 1} of ${count}`;
  view.status = part("p", { className: "sign-status", role: "status" });
  view.status.textContent = view.finished ? doneWords() : toDo(view.data);
  view.status.classList.toggle("finished", view.finished);
  const bottom = part("div", { className: "sign-foot" }, part("span", { textContent: place }), ways(view));
  description.replaceChildren(part("p", { textContent: text }), view.status, bottom);
  const theme = getComputedStyle(view.root);
  for (const name of TAKEN) wrapper.style.setProperty(name, theme.getPropertyValue(name));
  wrapper.tabIndex = -1;
  view.sign = wrapper;
}

// A telephone has no arrow keys.
const touched = () => window.innerWidth <= PHONE;

function toDo({ done }) {
  if (touched()) return done === "step" ? "Tap Step." : done ? "Try it." : "";
  return done === "step" ? "→ to take a step" : done ? "Try it, or → to go on" : "→ to go on";
}

const doneWords = () => (touched() ? "Done." : "Done. → to go on");

// Whether what the stop asks for has been done: the address of the page says other values than the stop's link.
function isDone({ watch, at }) {
  const there = new URLSearchParams(window.location.search);
  if (!watch || there.get("stop") !== String(at + 1)) return false;
  return Object.entries(watch).some(([name, value]) => (there.get(name) ?? "") !== (value ?? ""));
}
