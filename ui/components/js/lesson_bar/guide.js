// The sign of a tour, beside the part that a stop points at, or in the middle if the page has no such part. The page
// stays usable, because its use completes the stop.
import SIGN from "./guide.css";
import { dress, part, stillMotion } from "#view/page/elements.js";
import { headerHeight, mainElement } from "#view/page/streamlit.js";
import { driver } from "../vendor/driver/driver.js";
import { remember } from "./actions.js";
import { partOf } from "./parts.js";
import { buttons, forTouch } from "./strip.js";

const LOOK_MS = 250; // between two checks of the part's place and the stop's completion
const PHONE = 700; // px
const GAP = 16; // px between the sign and its part
const LARGEST = { width: 408, height: 200 }; // px, of a sign
const NARROW = { width: 276, height: 235 };
const OPENS = ["aria-haspopup", "aria-expanded", "aria-controls"];
const PATIENCE = 12; // checks for a missing part before the sign goes to the middle

export function showGuide(view) {
  dress(document.documentElement, SIGN);
  const { data } = view;
  const moved = view.signAt !== data.at;
  if (moved) Object.assign(view, { signAt: data.at, finished: false, pointed: undefined, fresh: true, waited: 0 });
  view.before ??= document.activeElement;
  view.driver ??= driver({
    animate: false, // the sign has its own style
    smoothScroll: !stillMotion(),
    allowClose: false,
    allowKeyboardControl: false,
    overlayOpacity: 0.15, // so that changes elsewhere on the page are legible
    stagePadding: 6,
    stageRadius: 6,
    onHighlighted: removeDialogClaim,
  });
  remember(data.at);
  clearInterval(view.looks);
  view.looks = setInterval(() => followPart(view), LOOK_MS);
  followPart(view);
}

export function endGuide(view) {
  clearInterval(view.looks);
  if (!view.driver) return;
  view.driver.destroy();
  document.documentElement.classList.remove("sign-next");
  // the element that had the focus before the tour is usually gone with its page; then Tab starts in this one
  const returns = view.before !== document.body && view.before?.isConnected;
  (returns ? view.before : mainElement())?.focus({ preventScroll: true });
  Object.assign(view, { driver: undefined, before: undefined, signAt: undefined, pointed: undefined });
}

// Removes driver's claim that the part opens a dialog.
function removeDialogClaim(element) {
  const pointed = element ?? document.getElementById("driver-dummy-element");
  for (const name of OPENS) pointed?.removeAttribute(name);
}

function followPart(view) {
  if (!view.root.isConnected) return endGuide(view);
  const size = `${window.innerWidth} ${window.innerHeight}`;
  if (view.size !== size) Object.assign(view, { size, turned: Boolean(view.size) });
  const element = view.data.here ? partOf(view.data.point) : null;
  if (view.fresh && !element && view.data.point && view.waited++ < PATIENCE) return; // the page is being drawn
  const box = placeOf(view, element);
  if (view.pointed !== element) {
    view.pointed = element;
    point(view, element);
    view.box = placeOf(view, element); // where pointing has scrolled it to
  } else if (element && (view.box !== box || (view.turned && isCut(element)))) {
    // in a turned window it may be off the screen, even after a scroll to it that something else stopped; in any
    // window what is around it may stand elsewhere now
    if (view.turned || placeName(sideOf(view, element)) !== view.side) point(view, element);
    view.driver.refresh();
    placeOnPhone(view, element);
    view.box = placeOf(view, element);
  }
  removeDialogClaim(view.pointed);
  if (!view.finished && isDone(view.data)) {
    view.finished = true;
    view.status.textContent = doneText();
    view.status.classList.add("finished");
    fillNext(view);
  }
}

// One button is filled: Next, or the page's own where the stop is about taking a step.
function fillNext({ sign, data, finished }) {
  const steps = data.done === "step" && !finished;
  sign.classList.toggle("waits", steps);
  document.documentElement.classList.toggle("sign-next", !steps);
}

// The boxes that the sign should not cover: its part, and the part to watch.
const boxesOf = ({ data }, element) =>
  [element, data.see && partOf(data.see)].filter(Boolean).map((one) => one.getBoundingClientRect());

const placeOf = (view, element) =>
  boxesOf(view, element)
    .map(({ x, y, width, height }) => [x, y, width, height].map(Math.round))
    .join();

// Whether a part that fits into the window is not whole in sight.
function isCut(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return height <= window.innerHeight && (top < 0 || bottom > window.innerHeight);
}

// Points at a part. The sign gets the focus at a new stop; otherwise the focus stays on the page.
function point(view, element) {
  const held = view.fresh ? null : focusedNow();
  const { fresh } = view;
  view.fresh = false;
  const popover = { title: " ", description: " ", ...sideOf(view, element) };
  view.side = placeName(popover);
  popover.onPopoverRender = (sign) => fill(view, sign);
  view.driver.highlight({ element: element ?? undefined, popover });
  placeOnPhone(view, element);
  const focus = () => (fresh || held?.closest(".driver-popover") ? view.sign : held)?.focus({ preventScroll: true });
  setTimeout(focus, 0);
}

const overlap = (one, other) =>
  Math.max(0, Math.min(one.right, other.right) - Math.max(one.left, other.left)) *
  Math.max(0, Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top));

const boxAt = (left, top, { width, height }) => ({ left, top, right: left + width, bottom: top + height });

// The first place that covers least of these boxes.
function freest(places, boxes) {
  const covered = ({ box }) => boxes.reduce((sum, one) => sum + overlap(box, one), 0);
  return places.reduce((best, place) => (covered(place) < covered(best) ? place : best));
}

const placeName = ({ side, align }) => `${side} ${align}`;

// The side of its part on which the sign covers least of the part to watch.
function sideOf(view, element) {
  const [box, ...watched] = element ? boxesOf(view, element) : [];
  const places = [{ side: "bottom", align: "start", box: box && boxAt(box.left, box.bottom + GAP, LARGEST) }];
  if (!box) return places[0];
  for (const left of [box.left - GAP - LARGEST.width, box.right + GAP])
    places.push({ side: left < box.left ? "left" : "right", align: "start", box: boxAt(left, box.top, LARGEST) });
  places.push({ side: "top", align: "start", box: boxAt(box.left, box.top - GAP - LARGEST.height, LARGEST) });
  const under = boxAt(box.right - NARROW.width, box.bottom + GAP, NARROW);
  places.push({ side: "bottom", align: "end", popoverClass: "narrow", box: under });
  const beside = boxAt(box.right + GAP, box.top, NARROW);
  places.push({ side: "right", align: "start", popoverClass: "narrow", box: beside });
  const isInside = ({ left, top, right, bottom }) =>
    left >= 0 && top >= headerHeight() && right <= window.innerWidth && bottom <= window.innerHeight;
  const inside = places.filter((place) => isInside(place.box));
  return inside.length ? freest(inside, watched) : places[0];
}

// Places the sign on a phone, as wide as the screen: at its foot or top, or right above or below its part.
function placeOnPhone(view, element) {
  const { sign } = view;
  if (!isPhone() || !sign) return;
  const head = headerHeight() + 8;
  const foot = window.innerHeight - 12 - sign.offsetHeight;
  const boxes = boxesOf(view, element);
  const tops = [foot, head];
  for (const { top, bottom } of boxes.slice(0, 1)) {
    if (top + bottom > window.innerHeight) tops.reverse();
    tops.push(top - GAP - sign.offsetHeight, bottom + GAP);
  }
  const places = tops
    .filter((top) => top >= head && top <= foot)
    .map((top) => ({ top, box: boxAt(0, top, { width: window.innerWidth, height: sign.offsetHeight }) }));
  sign.style.setProperty("--sign-top", `${places.length ? freest(places, boxes).top : foot}px`);
}

function focusedNow() {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}

function fill(view, { wrapper, title, description }) {
  const { at, count, title: heading, text } = view.data;
  title.role = "none"; // a header would be a landmark
  title.replaceChildren(part("h2", { textContent: heading }));
  const place = `${at + 1} of ${count}`;
  view.status = part("p", { className: "sign-status", role: "status" });
  view.status.textContent = view.finished ? doneText() : taskText(view.data);
  view.status.classList.toggle("finished", view.finished);
  const bottom = part("div", { className: "sign-foot" }, part("span", { textContent: place }), buttons(view));
  description.replaceChildren(part("p", { textContent: forTouch(text) }), view.status, bottom);
  wrapper.tabIndex = -1;
  view.sign = wrapper;
  fillNext(view);
}

const isPhone = () => window.innerWidth <= PHONE; // which has no arrow keys

function taskText({ done }) {
  if (isPhone()) return done === "step" ? "Tap Step." : done ? "Try it." : "";
  return done === "step" ? "→ to take a step" : done ? "Try it, or → to go on" : "→ to go on";
}

const doneText = () => (isPhone() ? "Done." : "Done. → to go on");

// Whether the stop is completed: the page's address has other values than the stop's link.
function isDone({ watch, at }) {
  const there = new URLSearchParams(window.location.search);
  if (!watch || there.get("stop") !== String(at + 1)) return false;
  return Object.entries(watch).some(([name, value]) => (there.get(name) ?? "") !== (value ?? ""));
}
