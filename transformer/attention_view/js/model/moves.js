// The camera of the picture of a model: drawn, flown from one level to another, and what is looked at changed with it.
import { resized, zoomOf } from "#view/drawing/canvas.js";
import { stillMotion } from "#view/page/elements.js";
import { paintModel } from "#view/model/paint/paint.js";
import { LEVELS, cameraBetween, levelOf } from "#view/model/parts/places.js";
import { change, infoOf } from "#view/attention/selection.js";

const FLIGHT_MS = 420;

export function drawModel(model) {
  const { view, canvas } = model;
  if (!model.places || !canvas.isConnected) return;
  const room = canvas.parentElement;
  const size = [room.clientWidth, Math.max(120, room.clientHeight)];
  if (!size[0]) return;
  const [width, height] = model.size ?? [];
  if (model.context === undefined || width !== size[0] || height !== size[1] || model.zoom !== zoomOf(view)) {
    model.zoom = zoomOf(view);
    model.context = resized(canvas, size[0], size[1], model.zoom);
  }
  model.size = size;
  paintModel(model.context, pictureOf(model));
  const { selection } = view;
  view.root.dataset.level = selection.level;
  view.root.dataset.drawn = [selection.kind, selection.layer, selection.head, infoOf(view).queries.length];
}

// What is painted: see paint.js. along: how far the token has come, where that is not as it is on the screen.
/**
 * @param {any} model
 * @param {{camera?: number[], size?: number[], along?: number}} options
 */
export function pictureOf(model, { camera = model.camera, size = model.size, along } = {}) {
  const { view, places, path, tokens, lengths, focus, rivers } = model;
  const { message, selection, theme } = view;
  const mirrored = Object.fromEntries(places.stacks().map(({ id, block: one }) => [id, Boolean(one.mirrored)]));
  return {
    ...{ places, camera, size, message, selection, theme, path, tokens, lengths, focus, rivers, mirrored },
    ...model.rise.picture(along),
    bars: message.model.bars,
    deep: levelOf(selection) >= LEVELS.indexOf("cell") || model.goesDeep,
  };
}

// The camera moves, or where nothing is to move is there.
export function flyTo(model, camera) {
  if (!model.camera || stillMotion() || model.view.message.step_view?.brief) model.camera = camera;
  if (String(model.target) === String(camera) && (model.flight || !model.pulled)) return;
  model.target = camera;
  model.pulled = 0;
  cancelAnimationFrame(model.flight);
  model.flight = 0;
  if (String(model.camera) === String(camera)) return;
  const from = model.camera;
  const start = performance.now();
  const fly = (now) => {
    const part = Math.min(1, Math.max(0, (now - start) / FLIGHT_MS));
    model.camera = cameraBetween(from, camera, part * part * (3 - 2 * part));
    model.flight = part < 1 ? requestAnimationFrame(fly) : 0;
    model.goesDeep = Boolean(model.flight);
    drawModel(model);
  };
  model.flight = requestAnimationFrame(fly);
}

// One level nearer to a node of the next level, or to what is selected.
export function goNearer(model, node = null) {
  const { view } = model;
  const level = levelOf(view.selection) + 1;
  if (level >= LEVELS.length) return;
  const to = node ?? model.path[level];
  lookAt(model, to);
}

export function goFurther(model) {
  const level = levelOf(model.view.selection) - 1;
  if (level >= 0) lookAt(model, model.path[level]);
}

// Makes a node the one that is looked at, from as near as it is.
export function lookAt(model, { level, kind, layer, head, pair, feature }) {
  const { view } = model;
  const { selection } = view;
  const fields = { level: LEVELS[level] };
  if (level === 1 && (kind === "encoder") !== (selection.kind === "encoder")) fields.kind = kind;
  if (level === 2) {
    const own = (kind === "encoder") === (selection.kind === "encoder");
    Object.assign(fields, { layer, ...(own ? {} : { kind }) });
  }
  if (level >= 3) Object.assign(fields, { kind, layer, head, of: "head" });
  if (level === 3) fields.pair = selection.kind === kind && selection.layer === layer ? selection.pair : null;
  if (level >= 4) fields.pair = pair ?? model.path[4].pair;
  if (level >= 5) fields.feature = feature ?? model.path[5].feature;
  model.focus = null;
  change(view, fields);
}
