// The stage: one object, `stage`, made once for an element. It holds the controls and the attention view, each as the
// object that it is elsewhere, and gives both what was sent last.
import { listenToSteps } from "#view/controls/keys.js";
import { buildControls } from "#view/controls/build.js";
import { act, beginSteps, receiveSteps, showSteps } from "#view/controls/steps.js";
import { redrawWhenMoved, say, scrollUpTo, stillMotion } from "#view/elements.js";
import { unpack } from "#view/message.js";
import { topOnPage } from "#view/view/sizes.js";
import { mountView } from "#view/view/mount.js";
import { drawBars } from "#view/stage/bars.js";
import { buildStage } from "#view/stage/build.js";
import { keepDecodeFilm } from "#view/stage/film.js";
import { withoutNext } from "#view/stage/covered.js";
import { fit } from "#view/stage/fit.js";
import { drawRows, shadeRows } from "#view/stage/rows.js";

const SEEN_LEAST = 150; // px of it, below the head of the window
const FIRST_MS = 1300; // between steps that it takes by itself

export const mountStage = (root, data, send) => mountMessage(root, unpack(data), send);

// message: unpacked already; send: {move, look, choose, film}, who are told.
export function mountMessage(root, sent, send) {
  const message = sent.stage.hide ? withoutNext(sent) : sent;
  const stage = (root.stage ??= newStage(root));
  Object.assign(stage, { message, send, data: message.stage, large: Boolean(message.large) });
  root.classList.toggle("large", stage.large);
  root.classList.toggle("brief", Boolean(stage.data.brief));
  root.redraw = () => drawStage(stage);
  redrawWhenMoved(root, () => topOnPage(root));
  drawStage(stage);
}

function newStage(root) {
  root.removeAttribute("style"); // which kept its place until now
  return { root, parts: buildStage(root), controls: null };
}

// Another text shown from further down the page: the stage comes into sight.
function bringIntoSight(stage) {
  const { text } = stage.message.about;
  const shown = stage.text;
  stage.text = text;
  if (shown !== undefined && shown !== text && stage.root.getBoundingClientRect().bottom < SEEN_LEAST)
    scrollUpTo(stage.root);
}

function drawStage(stage) {
  bringIntoSight(stage);
  const { parts, message, data, send } = stage;
  drawSteps(stage);
  drawRows(stage);
  drawBars(stage);
  fit(stage);
  const film = filmOf(stage);
  mountView(parts.picture, message, send.look, { below: parts.below, drawn: () => shadeRows(stage), film });
  makeFilm(stage);
  if (parts.live.textContent !== data.said) say(parts.live, data.said);
}

// What asks for a film of the way to this step: its bytes are sent for once.
function filmOf(stage) {
  if (!stage.data.films) return null;
  return (kind) => {
    stage.filming = { kind, number: (stage.filming?.number ?? 0) + 1 };
    if (stage.message.arrays.film) makeFilm(stage);
    else stage.send.film({ number: stage.filming.number });
  };
}

function makeFilm(stage) {
  const { message, filming } = stage;
  const bytes = message.arrays.film;
  if (!bytes || !filming?.kind) return;
  const { kind } = filming;
  filming.kind = null;
  keepDecodeFilm(stage, bytes, kind);
}

function drawSteps(stage) {
  const { parts, data, send } = stage;
  parts.controls.hidden = !data.steps;
  if (!data.steps) return;
  const { steps } = data;
  const controls = (stage.controls ??= newControls(parts.controls, steps));
  controls.send = send.move;
  receiveSteps(controls, { ...steps, large: stage.large, remote: stage.message.standalone });
  if (window.headsUpKeys?.view !== controls) listenToSteps(controls);
  showSteps(controls);
  if (data.plays && !stage.played) playFirst(stage, data.plays);
}

// A few steps by themselves, until somebody takes over; at once where nothing is to move.
function playFirst(stage, count) {
  stage.played = true;
  const { controls, root } = stage;
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
  beginSteps(view, steps, window.headsUpKeys?.view);
  view.parts = buildControls(view);
  return view;
}
