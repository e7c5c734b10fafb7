// Pointer, wheel, fingers and keys on the picture of a model.
import { chooserIn, say } from "#view/page/elements.js";
import { describe, heard, tell } from "#view/model/words.js";
import { cameraBetween, cameraOn, holds, inWhole, levelOf } from "#view/model/parts/places.js";
import { drawModel, flyTo, goFurther, goNearer, lookAt } from "#view/model/moves.js";
import { isCovered, spot, take, withModifier } from "#view/page/pointer.js";
import { scrolledBy } from "#view/page/streamlit.js";
import { sizesOf } from "#view/attention/selection.js";

const PULL = 0.0022; // of a level, for a pixel of a wheel
const HALF = 0.2; // of a level, from where on the rest follows
const REST_MS = 170;
const WAYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

export function listenToModel(model) {
  const { canvas } = model;
  canvas.onpointermove = (event) => {
    if (event.pointerType !== "touch") put(model, under(model, spot(event, canvas)));
  };
  canvas.onpointerleave = () => put(model, null);
  const goIn = (event) => {
    event.preventDefault();
    const node = nextUnder(model, spot(event, canvas));
    if (node) goNearer(model, node);
  };
  // at a first look a click is enough, and nothing is said of what it is on
  const isFirstLook = () => model.view.message.step_view?.brief;
  canvas.onclick = (event) => (isFirstLook() ? goIn(event) : put(model, under(model, spot(event, canvas)), true));
  canvas.ondblclick = (event) => {
    if (!isFirstLook()) goIn(event);
  };
  canvas.addEventListener("wheel", (event) => onWheel(model, event), { passive: false });
  listenToFingers(model);
  canvas.onkeydown = (event) => onKey(model, event);
}

// The nodes that can be pointed at, from where one is.
function parts(model) {
  const { places, view, path } = model;
  const level = levelOf(view.selection);
  if (level === 0)
    return places.parts.flatMap((one) => (one.type === "stack" ? [{ ...one, level: 1, kind: one.id }] : [one]));
  if (level === 1)
    return Array.from({ length: path[1].block.layers.length }, (_, at) => places.layer(path[1].kind, at));
  if (level === 2) {
    return places.partsOf(path[2]).flatMap((one) => (one.type === "attention" ? [one, ...places.heads(one)] : [one]));
  }
  return []; // deeper down they are found by arithmetic
}

const pointOf = ({ camera, size }, place) => inWhole(camera, size, place);

// What is under a point: the smallest thing that can be told apart there.
function under(model, place) {
  const point = pointOf(model, place);
  const level = levelOf(model.view.selection);
  if (level === 5) return productAt(model, point);
  if (level >= 3) return nextUnder(model, place);
  const { places } = model;
  const top = places.parts.find(({ box, type }) => type !== "stack" && holds(box, point));
  if (top) return top;
  const stack = places.stacks().find(({ box }) => holds(box, point));
  if (!stack) return null;
  const stream = places.stream(stack, point);
  const layer = layerAt(places, stack, point);
  const inLayer = places.partsOf(layer).filter(({ box }) => holds(box, point));
  const [part] = inLayer.sort((a, b) => a.box[2] * a.box[3] - b.box[2] * b.box[3]);
  if (part?.type !== "attention") return part ?? stream ?? layer;
  return places.heads(part).find(({ box }) => holds(box, point)) ?? part;
}

function layerAt(places, stack, /** @type {number[]} */ [, y]) {
  const count = stack.block.layers.length;
  const at = Math.floor((1 - (y - stack.box[1]) / stack.box[3]) * count);
  return places.layer(stack.id, Math.max(0, Math.min(count - 1, at)));
}

// The node of the next level under a point: where a wheel or a double click leads.
function nextUnder(model, place) {
  const { places, path, view } = model;
  const point = pointOf(model, place);
  const level = levelOf(view.selection);
  if (level === 0) {
    const stack = places.stacks().find(({ box: [x, , w] }) => point[0] >= x && point[0] < x + w);
    return stack && { ...stack, level: 1, kind: stack.id };
  }
  if (level === 1) return layerAt(places, path[1], point);
  if (level === 2) {
    const attentions = places.partsOf(path[2]).filter(({ type }) => type === "attention");
    const heads = attentions.flatMap((one) => places.heads(one));
    return heads.find(({ box }) => holds(box, point)) ?? nearestTo(heads, point, model.camera);
  }
  if (level === 3) return cellAt(model, point);
  if (level === 4) return numberAt(model, point);
  return null;
}

// One of the products that make a number.
function productAt({ places, path, view }, /** @type {number[]} */ [px]) {
  const count = view.message.arrays["number/weights"]?.length;
  if (!count) return null;
  const [x, , w] = places.product(path[5], 0, 1).box;
  const at = Math.floor(((px - x) / w) * count);
  return at < 0 || at >= count ? null : places.product(path[5], at, count);
}

// The node whose middle is nearest on the screen.
function nearestTo(nodes, /** @type {number[]} */ [px, py], /** @type {number[]} */ [, , cw, ch]) {
  const far = ({ box: [x, y, w, h] }) => Math.hypot((x + w / 2 - px) / cw, (y + h / 2 - py) / ch);
  return nodes.reduce((least, one) => (far(one) < far(least) ? one : least));
}

function cellAt({ places, path, view }, /** @type {number[]} */ [px, py]) {
  const [queries, keys] = sizesOf(view);
  const whole = places.cell(path[3], [0, 0], [1, 1]).box;
  const query = Math.floor(((py - whole[1]) / whole[3]) * queries);
  const key = Math.floor(((px - whole[0]) / whole[2]) * keys);
  const inside = (at, count) => Math.max(0, Math.min(count - 1, at));
  return places.cell(path[3], [inside(query, queries), inside(key, keys)], [queries, keys]);
}

function numberAt({ places, path }, /** @type {number[]} */ [px]) {
  const { width } = path[4].block.heads;
  const all = places.number(path[4], 0, 1).box;
  const feature = Math.floor(((px - all[0]) / all[2]) * width);
  return feature < 0 || feature >= width ? null : places.number(path[4], feature, width);
}

// Has something pointed at: it is framed, and said.
function put(model, node, isChosen = false) {
  if (node?.id === model.focus?.id && !isChosen) return;
  if (!node && model.kept) return;
  model.kept = isChosen && Boolean(node);
  model.focus = node;
  tell(model, node);
  say(model.view.parts.live, node ? heard(describe(model, node).sentence) : "");
  drawModel(model);
}

// A wheel pulls the picture from one level towards the next; let go, it goes on or back.
function onWheel(model, event) {
  const level = levelOf(model.view.selection);
  const nearer = event.deltaY < 0;
  // where there is nothing further away, or the page is scrolled, the wheel is the page's
  if (!event.ctrlKey && level === 0 && (!nearer || scrolledBy() > 0) && !model.pulled) return;
  take(event);
  pull(model, -event.deltaY * PULL * (event.deltaMode ? 30 : 1) * (event.ctrlKey ? 4 : 1), spot(event, model.canvas));
  clearTimeout(model.rests);
  model.rests = setTimeout(() => letGo(model), REST_MS);
}

function pull(model, by, place) {
  const { view, path } = model;
  const level = levelOf(view.selection);
  const before = model.pulled || 0;
  cancelAnimationFrame(model.flight);
  model.flight = 0;
  if (!before || Math.sign(before) !== Math.sign(before + by)) {
    model.pullTo = before + by > 0 ? nextUnder(model, place) : path[level - 1];
    if (model.pullTo?.level > level) aim(model, model.pullTo);
  }
  if (!model.pullTo) {
    model.pulled = 0;
    return;
  }
  model.pulled = Math.max(-1, Math.min(1, before + by));
  model.goesDeep = true;
  model.camera = cameraBetween(cameraOn(path[level]), cameraOn(model.pullTo), Math.abs(model.pulled));
  drawModel(model);
  if (Math.abs(model.pulled) === 1) arriveAt(model);
}

// What is pulled nearer is drawn as what is looked at, before it is.
function aim(model, node) {
  const { path } = model;
  model.path = path.map((one, at) => (at === node.level ? node : one));
  if (node.level === 3) {
    model.path[4] = model.places.cell(node, path[4].pair, sizesOf(model.view));
  }
}

function arriveAt(model) {
  const to = model.pullTo;
  model.pulled = 0;
  model.pullTo = null;
  model.target = cameraOn(to);
  lookAt(model, to);
}

function letGo(model) {
  if (!model.pulled) return;
  if (Math.abs(model.pulled) > HALF) return arriveAt(model);
  model.target = null;
  flyTo(model, cameraOn(model.path[levelOf(model.view.selection)]));
  model.pulled = 0;
}

// Two fingers.
function listenToFingers(model) {
  const { canvas } = model;
  const apart = ([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  let before = 0;
  canvas.addEventListener(
    "touchmove",
    (event) => {
      if (event.touches.length !== 2) return;
      event.preventDefault();
      const now = apart(event.touches);
      const [a, b] = event.touches;
      const middle = { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 };
      if (before) pull(model, Math.log2(now / before) * 0.8, spot(middle, canvas));
      before = now;
    },
    { passive: false },
  );
  canvas.addEventListener("touchend", () => {
    before = 0;
    letGo(model);
  });
}

// Once the pointer has been here and nothing else has the focus, the keys that zoom are heard on the whole page; the
// arrow keys are the step controls'.
export function listenOnPage(model, signal) {
  document.addEventListener(
    "keydown",
    (event) => {
      const [at] = event.composedPath();
      const free = at === document.body || at === document.documentElement;
      const { view } = model;
      if (!free || !model.canvas.isConnected || view.selection.view !== "model" || isCovered()) return;
      if (event.key in WAYS || (event.key === "Escape" && (levelOf(view.selection) === 0 || view.large))) return;
      onKey(model, event);
    },
    { signal },
  );
}

function onKey(model, event) {
  const { key } = event;
  const { view } = model;
  const own = key in WAYS || ["Enter", "Escape", "+", "=", "-", "[", "]"].includes(key);
  if (withModifier(event) || !own) return;
  if (key === "Escape" && levelOf(view.selection) === 0) {
    if (view.large) return; // ends presenting
    take(event);
    put(model, null);
    model.canvas.blur();
    chooserIn(view.parts.bar, "Head")?.focus();
    return;
  }
  take(event);
  if (key === "[" || key === "]") model.rise.step(key === "]" ? 1 : -1);
  else if (key === "+" || key === "=") goNearer(model);
  else if (key === "-" || key === "Escape") goFurther(model);
  else if (key === "Enter") enter(model);
  else move(model, WAYS[key]);
}

function enter(model) {
  const level = levelOf(model.view.selection);
  const { focus } = model;
  if (!focus) return goNearer(model);
  if (focus.level === level + 1) goNearer(model, focus);
  else if (focus.type === "attention") goNearer(model, model.places.head(focus, 0));
  else if (level === 0 && focus.type !== "stack") goNearer(model);
}

// To the nearest part in a direction; where there is none, to the neighbour of what fills the picture.
function move(model, /** @type {number[]} */ [right, down]) {
  const level = levelOf(model.view.selection);
  if (level === 3) return moveCell(model, right, down);
  if (level === 4) return moveNumber(model, right);
  if (level === 5) return moveProduct(model, right);
  const all = parts(model);
  if (!all.length) return;
  if (!model.focus) return put(model, level === 1 ? all[0] : (all.find(({ type }) => type === "head") ?? all[0]));
  const middle = ({ box: [x, y, w, h] }) => [x + w / 2, y + h / 2];
  const [x, y] = middle(model.focus);
  const [cw, ch] = [model.camera[2], model.camera[3]];
  const far = (one) => {
    const [dx, dy] = [(middle(one)[0] - x) / cw, (middle(one)[1] - y) / ch];
    const along = dx * right + dy * down;
    return along < 1e-4 ? Infinity : along + 3 * Math.abs(right ? dy : dx);
  };
  const best = all.reduce((least, one) => (far(one) < far(least) ? one : least));
  if (far(best) < Infinity) return put(model, best, true);
  if (level === 2) toNeighbour(model, -down);
}

function toNeighbour(model, by) {
  const layer = model.path[2].layer + by;
  if (by && layer >= 0 && layer < model.path[1].block.layers.length)
    lookAt(model, model.places.layer(model.path[1].kind, layer));
}

function moveCell(model, right, down) {
  const sizes = sizesOf(model.view);
  const from = model.focus?.pair ?? model.path[4].pair;
  const pair = [from[0] + down, from[1] + right].map((at, side) => Math.max(0, Math.min(sizes[side] - 1, at)));
  put(model, model.places.cell(model.path[3], pair, sizes), true);
}

function moveNumber(model, right) {
  const { width } = model.path[4].block.heads;
  const from = model.focus?.feature ?? model.path[5].feature;
  put(model, model.places.number(model.path[4], Math.max(0, Math.min(width - 1, from + right)), width), true);
}

function moveProduct(model, right) {
  const count = model.view.message.arrays["number/weights"]?.length ?? 0;
  if (!count) return;
  const at = Math.max(0, Math.min(count - 1, (model.focus?.at ?? -1) + right));
  put(model, model.places.product(model.path[5], at, count), true);
}
