// The step view: one object, `stepView`, made once for an element, holds the controls and the attention view, each the
// object that it is elsewhere, and gives both what was sent last.
import CONTROLS from "#view/step_view/controls.css";
import PLACES from "#view/step_view/places.css";
import STEP_VIEW from "#view/step_view/step_view.css";
import VIEW from "#view/view/view.css";
import { app } from "#view/page/app.js";
import { act, beginSteps, buildControls, listenToSteps, receiveSteps, showSteps } from "#view/step_view/controls.js";
import { dress, part, redrawWhenMoved, say, scrollUpTo, stillMotion } from "#view/page/elements.js";
import { expose } from "#view/export/figures/expose.js";
import { unpack, withoutNext } from "#view/message/message.js";
import { drawBars, keepChosenInSight } from "#view/step_view/bars.js";
import { keepDecodeFilm } from "#view/step_view/film.js";
import { drawRows, letKeyboardScroll, shadeRows, spills } from "#view/step_view/rows.js";
import { TERM_STYLE } from "#view/page/terms.js";
import { mountView } from "#view/view/view.js";
import { figureFiles } from "#view/view/save.js";
import { walksLevels } from "#view/attention/selection.js";
import { footHeight, onPhone, topOnPage } from "#view/page/window.js";

// What Streamlit calls with every message.
export default function showStepView({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".step-view");
  dress(root, TERM_STYLE, VIEW, CONTROLS, STEP_VIEW, PLACES);
  expose(root, "attention", () => figureFiles(root.stepView.parts.picture.view));
  mountMessage(root, unpack(data), {
    move: (move) => setStateValue("move", move),
    selection: (selection) => setTriggerValue("selection", selection),
    choose: (bar) => setTriggerValue("choose", bar),
    film: (asked) => setTriggerValue("film", asked),
    whatIf: (asked) => setTriggerValue("what_if", asked),
  });
}

const SEEN_LEAST = 150; // px of it, below the head of the window
const FIRST_MS = 1300; // between steps that it takes by itself

// send: {move, selection, choose, film, whatIf}, functions that tell Python, or a page that holds all steps.
export function mountMessage(root, sent, send) {
  const message = sent.step_view.hide ? withoutNext(sent) : sent;
  const stepView = (root.stepView ??= newStepView(root));
  Object.assign(stepView, { message, send, data: message.step_view, large: Boolean(message.large) });
  root.classList.toggle("large", stepView.large);
  root.classList.toggle("brief", Boolean(stepView.data.brief));
  root.classList.toggle("changes", Boolean(stepView.data.changes));
  root.redraw = () => drawStepView(stepView);
  redrawWhenMoved(root, () => topOnPage(root));
  drawStepView(stepView);
}

function newStepView(root) {
  root.removeAttribute("style"); // which kept its place until now
  return { root, parts: buildStepView(root), controls: null };
}

// Another text shown from further down the page: the step view comes into sight.
function bringIntoSight(stepView) {
  const { text } = stepView.message.about;
  const shown = stepView.text;
  stepView.text = text;
  if (shown !== undefined && shown !== text && stepView.root.getBoundingClientRect().bottom < SEEN_LEAST)
    scrollUpTo(stepView.root);
}

function drawStepView(stepView) {
  bringIntoSight(stepView);
  const { parts, message, data, send } = stepView;
  drawSteps(stepView);
  drawRows(stepView);
  drawBars(stepView);
  fit(stepView);
  const film = filmOf(stepView);
  const drawn = () => shadeRows(stepView);
  const whatIf = data.changes ? send.whatIf : null;
  mountView(parts.picture, message, send.selection, { below: parts.below, drawn, film, whatIf });
  makeFilm(stepView);
  if (parts.live.textContent !== data.said) say(parts.live, data.said);
}

// What asks for a film of the way to this step: its bytes are sent for once.
function filmOf(stepView) {
  if (!stepView.data.films) return null;
  return (kind) => {
    stepView.filming = { kind, number: (stepView.filming?.number ?? 0) + 1 };
    if (stepView.message.arrays.film) makeFilm(stepView);
    else stepView.send.film({ number: stepView.filming.number });
  };
}

function makeFilm(stepView) {
  const { message, filming } = stepView;
  const bytes = message.arrays.film;
  if (!bytes || !filming?.kind) return;
  const { kind } = filming;
  filming.kind = null;
  keepDecodeFilm(stepView, bytes, kind);
}

function drawSteps(stepView) {
  const { parts, data, send } = stepView;
  parts.controls.hidden = !data.steps;
  if (!data.steps) return;
  const { steps } = data;
  const controls = (stepView.controls ??= newControls(parts.controls, steps));
  controls.send = send.move;
  controls.leavesRemote = () => Boolean(parts.picture.view) && walksLevels(parts.picture.view);
  receiveSteps(controls, { ...steps, large: stepView.large, remote: stepView.message.standalone });
  if (app().keys?.view !== controls) listenToSteps(controls);
  showSteps(controls);
  if (data.plays && !stepView.played) playFirst(stepView, data.plays);
}

// A few steps by themselves, until somebody takes over; at once where nothing is to move.
function playFirst(stepView, count) {
  stepView.played = true;
  const { controls, root } = stepView;
  if (stillMotion()) {
    for (let at = 0; at < count; at++) act(controls, "step");
    return;
  }
  const listening = new AbortController();
  const stop = () => listening.abort();
  for (const kind of ["pointerdown", "keydown"]) {
    window.addEventListener(kind, stop, { signal: listening.signal, capture: true });
  }
  const next = (left) => {
    if (listening.signal.aborted || !root.isConnected) return;
    act(controls, "step");
    if (left > 1) setTimeout(next, FIRST_MS, left - 1);
    else stop();
  };
  setTimeout(next, FIRST_MS, count);
}

function newControls(root, steps) {
  const view = { root };
  beginSteps(view, steps, app().keys?.view);
  view.parts = buildControls(view);
  return view;
}

// The elements of the step view: the controls, the rows of tokens, the attention view and the bars.

function buildStepView(root) {
  const block = (className, name, ...children) => {
    const element = part("div", { className }, ...children);
    if (name) element.dataset.part = name;
    return element;
  };
  const parts = {
    controls: block("controls", "controls"),
    rows: block("rows"),
    picture: block("attention-view"),
    bars: block("bars", "candidates"),
    below: block("below"),
    making: block("making"),
    live: part("output", { className: "unseen", ariaLive: "polite" }),
  };
  parts.controls.setAttribute("role", "toolbar");
  parts.controls.setAttribute("aria-label", "Steps");
  const { controls, rows, picture, bars, below, making, live } = parts;
  parts.screen = block("screen", null, controls, rows, picture, bars);
  root.replaceChildren(parts.screen, making, below, live);
  return parts;
}

// How tall the step view is: all of it that a click changes is on one screen, whatever the window.

const LOWEST = 430; // px, of a window too low for it
const LOWEST_ON_PHONE = 560;
const OF_A_MODEL = 110; // px more there, for the picture of the whole model
const BELOW_IT = 8; // px
const MOST_OF_BARS = 0.5; // of what is beside the picture
const UNDER_HEADS = 16; // px, between all heads and what comes next
const CAPTION = 28; // px, where a file says below it what it is of
const HIGHEST_FIRST_LOOK = 600; // px
const HIGHEST_ON_PHONE = 600;

function fit(stepView) {
  const { root, parts } = stepView;
  root.classList.toggle("phone", onPhone());
  root.classList.toggle("taught", footHeight() > 0);
  root.classList.toggle("spills", spills(parts.rows));
  const beside = BELOW_IT + (stepView.message.standalone ? CAPTION : 0) + footHeight();
  const room = window.innerHeight - topOnPage(root) - beside;
  const first = onPhone() ? HIGHEST_ON_PHONE : HIGHEST_FIRST_LOOK;
  const most = stepView.data.brief ? first : Infinity;
  const more = stepView.message.selection.view === "model" ? OF_A_MODEL : 0;
  const least = onPhone() && !stepView.data.brief ? LOWEST_ON_PHONE + more : LOWEST;
  // the versions of a sentence take nothing from the picture, nor at a first look what comes next
  const under = onPhone() && (stepView.data.brief ? parts.bars : parts.bars.querySelector(".branches"));
  const height = Math.max(least, Math.min(most, Math.floor(room))) + (under?.offsetHeight ?? 0);
  parts.screen.style.height = `${height}px`;
  // all heads have at least half of what is beside the picture
  const picture = height - Math.max(parts.controls.offsetHeight, parts.rows.offsetHeight);
  parts.screen.style.setProperty("--bars-most", `${Math.round(picture * MOST_OF_BARS)}px`);
  letKeyboardScroll(parts.rows);
  keepChosenInSight(parts.bars);
  parts.screen.style.setProperty("--bars", `${parts.bars.hidden ? 0 : parts.bars.offsetHeight + UNDER_HEADS}px`);
}
