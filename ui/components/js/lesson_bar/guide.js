// The sign of a walk: beside the part that a stop is about, or in the middle where that part is not on the page. The
// page stays as usable as it is: a stop is done by doing it.
import SIGN from "./guide.css";
import { dress, part, stillMotion } from "#view/elements.js";
import { driver } from "../vendor/driver/driver.js";
import { partOf } from "./parts.js";
import { remember } from "./stored.js";
import { ways } from "./strip.js";

const LOOK_MS = 250; // between two looks whether the part has moved and the stop is done

export function showGuide(view) {
  dress(document.documentElement, SIGN);
  const { data } = view;
  const moved = view.signAt !== data.at;
  if (moved) Object.assign(view, { signAt: data.at, finished: false, pointed: undefined, fresh: true });
  view.before ??= document.activeElement;
  view.driver ??= driver({
    animate: !stillMotion(),
    smoothScroll: !stillMotion(),
    allowClose: false,
    allowKeyboardControl: false,
    overlayOpacity: 0.3,
    stagePadding: 6,
    stageRadius: 6,
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

function lookAgain(view) {
  if (!view.root.isConnected) return endGuide(view);
  const element = view.data.here ? partOf(view.data.point) : null;
  if (view.pointed !== element) {
    view.pointed = element;
    point(view, element);
  } else if (element) {
    const { x, y, width, height } = element.getBoundingClientRect();
    const box = [x, y, width, height].map(Math.round).join();
    if (view.box !== box) view.driver.refresh();
    view.box = box;
  }
  if (!view.finished && isDone(view.data)) {
    view.finished = true;
    view.status.textContent = "Done. → to go on";
    view.status.classList.add("finished");
  }
}

function point(view, element) {
  const popover = { title: " ", description: " ", side: "bottom", align: "start" };
  popover.onPopoverRender = (sign) => fill(view, sign);
  view.driver.highlight({ element: element ?? undefined, popover });
}

function fill(view, { wrapper, title, description }) {
  const { at, count, title: words, text } = view.data;
  title.textContent = words;
  const place = `${at + 1} of ${count}`;
  view.status = part("p", { className: "sign-status", role: "status" });
  view.status.textContent = view.finished ? "Done. → to go on" : toDo(view.data);
  view.status.classList.toggle("finished", view.finished);
  const bottom = part("div", { className: "sign-foot" }, part("span", { textContent: place }), ways(view));
  description.replaceChildren(part("p", { textContent: text }), view.status, bottom);
  wrapper.tabIndex = -1;
  if (view.fresh) setTimeout(() => wrapper.focus({ preventScroll: true }), 0);
  view.fresh = false;
}

const toDo = ({ done }) => (done === "step" ? "→ to take a step" : "→ to go on");

// Whether what the stop asks for has been done: the address of the page says other values than the stop's link.
function isDone({ watch, at }) {
  const there = new URLSearchParams(window.location.search);
  if (!watch || there.get("stop") !== String(at + 1)) return false;
  return Object.entries(watch).some(([name, value]) => (there.get(name) ?? "") !== (value ?? ""));
}
