// A film of the way from the whole model down to one number of a query: the camera holds at each level, whose name and
// sentence stand below.
import { text } from "#view/drawing/canvas.js";
import { keepFilm } from "#view/export/film/keep.js";
import { block } from "#view/page/elements.js";
import { fitted, inLinesOf } from "#view/model/paint/brushes.js";
import { describe } from "#view/model/words.js";
import { pictureOf } from "#view/model/moves.js";
import { hasNumber } from "#view/model/parts/numbers.js";
import { paintModel } from "#view/model/paint/paint.js";
import { LEVELS, cameraBetween, cameraOn } from "#view/model/parts/places.js";
import { change } from "#view/attention/selection.js";
import { BODY, SMALL, TITLE } from "#view/drawing/type.js";

const SIZE = { width: 1280, height: 720 };
const BELOW = 116; // px of the words
const EDGE = 24;
const FPS = { gif: 10, webm: 25, mp4: 25 };
const HOLD = 3; // seconds at each level
const FLIGHT = 1.6; // seconds between two
const PATIENCE_MS = 15_000; // for a number that has to be computed
const NO_NUMBER = "The film ends here: how one number of this query is made was not computed.";

// kind: of film; about: where the picture is from, in words; name: of the file.
export async function keepZoomFilm(model, { kind, about, name }) {
  const place = placeOf(model);
  const shot = await shotOf(model);
  const last = hasNumber(shot.view.message, shot.path[5]) ? 5 : 4;
  const scenes = scenesOf(last, FPS[kind]);
  const paint = (context, index) => paintScene(shot, context, scenes[index], { about, last });
  const lasts = (index) => scenes[index].lasts;
  model.view.root.dataset.film = LEVELS[last];
  return keepFilm(place, { name, kind, frames: scenes.length, paint, lasts, hold: 0, ...SIZE, fps: FPS[kind] });
}

// Where it says how far the film is.
function placeOf(model) {
  model.making ??= block("making");
  model.element.append(model.making);
  return model.making;
}

// Holds and the frames of flights: part of the way from a level to the next, and for how many frames it stays.
export function scenesOf(last, fps) {
  const scenes = [];
  const flight = Math.round(FLIGHT * fps);
  for (let level = 0; level <= last; level++) {
    scenes.push({ level, part: 0, lasts: HOLD * fps });
    if (level === last) break;
    for (let at = 1; at < flight; at++) scenes.push({ level, part: at / flight, lasts: 1 });
  }
  return scenes;
}

// The model as it is now, and stays whatever is looked at while the film is made.
async function shotOf(model) {
  const { view } = model;
  const { level, pair, feature } = view.selection;
  const asks = !hasNumber(view.message, model.path[5]);
  if (asks) {
    // the numbers of a number are sent to those who look at it
    const arrival = arrivalOf(model);
    change(view, { level: "number", pair: model.path[4].pair, feature: model.path[5].feature });
    await arrival;
  }
  const shot = { ...model, rivers: {}, focus: null, view: { ...view, selection: { ...view.selection } } };
  if (asks) change(view, { level, pair, feature });
  return shot;
}

// Resolves once the number looked at has come, or nobody waits for it any longer.
function arrivalOf(model) {
  return new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    const end = () => {
      clearTimeout(patience);
      model.arrives = null;
      resolve();
    };
    const patience = setTimeout(end, PATIENCE_MS);
    model.arrives = () => {
      if (hasNumber(model.view.message, model.path[5])) end();
    };
  });
}

const smooth = (part) => part * part * (3 - 2 * part);

function paintScene(shot, context, { level, part }, { about, last }) {
  const { path, view } = shot;
  const { theme } = view;
  const near = part < 0.5 ? level : level + 1;
  const selection = { ...view.selection, level: LEVELS[part ? level + 1 : level] };
  if (level < 4) selection.pair = null;
  const seen = { ...shot, view: { ...view, selection }, goesDeep: part > 0 && level > 2 };
  const camera = part
    ? cameraBetween(cameraOn(path[level]), cameraOn(path[level + 1]), smooth(part))
    : cameraOn(path[level]);
  const size = [SIZE.width, SIZE.height - BELOW];
  context.save();
  context.beginPath();
  context.rect(0, 0, ...size);
  context.clip();
  paintModel(context, pictureOf(seen, { camera, size, along: shot.stops.length }));
  context.restore();
  const ends = level === last && last < 5;
  paintWords(context, theme, describe(seen, path[near]), { about, level: near, more: ends ? ` ${NO_NUMBER}` : "" });
}

function paintWords(context, theme, { name, sentence }, { about, level, more }) {
  const { width, height } = SIZE;
  context.fillStyle = theme.page;
  context.fillRect(0, height - BELOW, width, BELOW);
  context.fillStyle = theme.stripe;
  context.fillRect(0, height - BELOW, width, 1);
  const top = height - BELOW;
  const counted = `${level + 1} of ${LEVELS.length}`;
  text(context, name, EDGE, top + 22, { colour: theme.ink, weight: 650, size: TITLE });
  text(context, counted, width - EDGE, top + 22, { colour: theme.muted, size: BODY, align: "right" });
  const lines = inLinesOf(sentence + more, width - 2 * EDGE, 16).slice(0, 2);
  lines.forEach((line, at) => text(context, line, EDGE, top + 50 + 21 * at, { colour: theme.ink, size: BODY }));
  const from = fitted(about, width - 2 * EDGE, 13) || about.slice(0, 150);
  text(context, from, EDGE, top + 102, { colour: theme.muted, size: SMALL });
}
