// The picture of the whole model in a view: its canvas, the way that leads to where one is, and the bar on which a
// token rises through the layers. What is looked at is the view's own selection; `level` says from how near.
import STYLE from "#view/model/model.css";
import { block, dress, field, part, say } from "#view/page/elements.js";
import { describe, heard, tell } from "#view/model/words.js";
import { filesOf } from "#view/model/files.js";
import { coloursOf } from "#view/model/paint/brushes.js";
import { Rise } from "#view/model/rise.js";
import { LEVELS, Places, cameraOn, levelOf } from "#view/model/parts/places.js";
import { listenToModel } from "#view/model/input.js";
import { listenToRemote } from "#view/model/remote.js";
import { drawModel, flyTo, goFurther, goNearer, lookAt } from "#view/model/moves.js";
import { drawnPart, seenBy } from "#view/model/parts/numbers.js";
import { infoOf, sizesOf } from "#view/attention/selection.js";
/** @import { AttentionKind } from "#view/message/fields.js" */

const layouts = new Map(); // of the blocks of a model, which are the same at each step

// Draws a view's picture of the model, and makes it where there is none yet.
export function showModel(view) {
  const first = !view.model;
  const model = (view.model ??= build(view));
  if (model.element.parentElement !== view.parts.main) view.parts.main.append(model.element);
  receive(view, model);
  model.arrives?.();
  flyTo(model, cameraOn(model.path[levelOf(view.selection)]));
  model.rise.receive();
  drawBar(view, model);
  drawModel(model);
  if (first && !view.still) view.redraw(); // the options have its pace
}

function build(view) {
  const model = { view, canvas: field("model"), crumbs: part("nav", { ariaLabel: "Where you are in the model" }) };
  model.rise = new Rise(model, () => drawModel(model));
  model.near = part("button", { textContent: "+", ariaLabel: "Zoom in", title: "Zoom in (+, Enter, double click)" });
  model.far = part("button", { textContent: "−", ariaLabel: "Zoom out", title: "Zoom out (−, Escape)" });
  model.legend = part("span", { className: "model-legend" });
  model.bar = block("model-bar", model.near, model.far, model.crumbs, model.rise.element);
  model.words = part("p", { className: "model-words" });
  const foot = block("model-foot", model.legend, model.words);
  model.element = block("model-picture", model.bar, block("model-room", model.canvas), foot);
  dress(view.root, STYLE);
  if (view.still) return asPicture(model);
  model.near.onclick = () => goNearer(model);
  model.far.onclick = () => goFurther(model);
  listenToModel(model);
  model.files = filesOf(model);
  listenToRemote(model);
  return model;
}

// One in which nobody goes anywhere.
function asPicture(model) {
  model.canvas = part("canvas", { className: "model", role: "img" });
  model.element = block("model-picture", block("model-room", model.canvas));
  return model;
}

// What is looked at, and where everything is.
function receive(view, model) {
  const { message, selection } = view;
  const id = JSON.stringify(message.model.tree);
  if (!layouts.has(id)) layouts.set(id, shared(new Places(message.model.tree)));
  model.places = layouts.get(id);
  model.rivers = {};
  model.lengths = lengthsOf(message);
  model.tokens = tokensOf(message);
  const info = infoOf(view);
  const pair = selection.pair ?? strongest(view, info);
  model.path = model.places.path(selection, sizesOf(view), pair);
}

// Each block with its share of all parameters.
function shared(places) {
  const all = places.blocks.parameters;
  const give = (one) => {
    one.share = (one.parameters ?? 0) / all;
    one.blocks?.forEach(give);
  };
  give(places.blocks);
  return places;
}

// What the colours are, where the boxes are too small to be named.
function drawLegend(model, at) {
  model.legend.hidden = at > LEVELS.indexOf("stack");
  if (model.legend.hidden) return;
  const layer = model.places.layer(model.path[1].kind, 0);
  const names = new Map();
  const all = model.places.stacks().flatMap(({ id }) => model.places.partsOf(model.places.layer(id, 0)));
  for (const one of [...model.places.partsOf(layer), ...all]) {
    const { type, kind, block: about } = one;
    if (["attention", "feed_forward", "norm"].includes(type)) {
      const name =
        kind === "cross" && type === "attention"
          ? "cross-attention"
          : { attention: "self-attention", norm: "norm" }[type];
      names.set(name ?? about.name, coloursOf({ places: model.places, theme: model.view.theme }, one));
    }
  }
  const items = [...names].map(([name, [fill, line]]) => {
    const square = part("i");
    square.style.cssText = `background: ${fill}; border-color: ${line}`;
    return part("span", {}, square, name);
  });
  model.legend.replaceChildren(...items);
}

const axisOf = (info, side) => info?.whole?.[side] ?? (side ? info?.keys : info?.queries)?.length;

function lengthsOf({ kinds }) {
  const T = axisOf(kinds.decoder ?? kinds.encoder, 0);
  return { T, S: axisOf(kinds.encoder, 0) ?? axisOf(kinds.cross, 1) };
}

function tokensOf({ kinds }) {
  const { encoder, decoder, cross } = kinds;
  return { encoder: encoder?.queries ?? cross?.keys, decoder: decoder?.queries ?? cross?.queries };
}

// The cell that is looked at where none is chosen: of the newest query, where it looks most.
/** @param {AttentionKind} info */
function strongest(view, info) {
  const query = info.queries.length - 1;
  const row = seenBy(view.message, view.selection);
  const seen = row && drawnPart(view.message, view.selection.kind, row);
  const key = seen?.length === info.keys.length ? seen.indexOf(Math.max(...seen)) : 0;
  return [query, Math.max(0, key)];
}

function drawBar(view, model) {
  if (view.still) return model.canvas.setAttribute("aria-label", heard(describe(model, model.path[0]).sentence));
  const { selection } = view;
  const at = levelOf(selection);
  model.far.disabled = at === 0;
  model.near.disabled = at === LEVELS.length - 1;
  drawLegend(model, at);
  const names = model.path.slice(0, at + 1).map((node) => describe(model, node).name);
  const crumbs = names.map((name, level) => {
    const crumb = part("button", { textContent: name, onclick: () => lookAt(model, model.path[level]) });
    if (level === at) crumb.ariaCurrent = "true";
    return crumb;
  });
  const { activeElement } = model.crumbs.getRootNode();
  const focused = model.crumbs.contains(activeElement);
  model.crumbs.replaceChildren(...crumbs);
  model.crumbs.scrollLeft = model.crumbs.scrollWidth; // where they have one line, the last is seen
  if (focused) crumbs.at(-1).focus();
  const hidden = [model.near, model.far].find((button) => button.disabled);
  if (hidden && hidden === activeElement) (at ? model.far : model.near).focus();
  const { sentence } = describe(model, model.path[at]);
  model.canvas.setAttribute(
    "aria-label",
    `${heard(sentence)} Arrow keys move between its parts, Enter and plus zoom in, Escape and minus zoom out.`,
  );
  tell(model, model.focus);
  if (model.saidLevel !== sentence) say(view.parts.live, heard(sentence));
  model.saidLevel = sentence;
}
