// What is taken along of the picture of a model: the picture at the level it is seen from, its words, its numbers as a
// table, and a film of the way from the whole down to a number.
import { inLinesOf } from "#view/model/paint/brushes.js";
import { describe } from "#view/model/words.js";
import { pictureOf } from "#view/model/moves.js";
import { carriedOf, headEffect, headNorm, partEffect } from "#view/model/parts/numbers.js";
import { paintModel } from "#view/model/paint/paint.js";
import { cameraOn, levelOf } from "#view/model/parts/places.js";
import { keepZoomFilm } from "#view/model/zoom_film.js";
import { fileName } from "#view/text/names.js";

const CAPTION = 12; // px of its text
const HEADER = ["stack", "kind", "layer", "part", "head", "of", "norm after", "norm added", "direct effect"];

// For save.js, which is there before the model is.
export const filesOf = (model) => ({
  paint: (context, view, size) => paintFile({ ...model, view, focus: null }, context, size),
  words: (room) => wordsOf(model, room),
  table: () => [HEADER, ...rowsOfTable(model)],
  name: () => nameAt(model),
  film: (kind, about) => keepZoomFilm(model, { kind, about, name: fileName(...namesOf(model), "zoom") }),
});

const lookedAt = ({ path, view }) => path[levelOf(view.selection)];

// The level from its own camera, wherever a flight or a hand has the one on the screen.
function paintFile(model, context, size) {
  const { rise } = model;
  const along = rise.frame ? rise.stops.length : rise.along; // a token that rises by itself has arrived
  context.save();
  context.beginPath();
  context.rect(0, 0, ...size);
  context.clip();
  paintModel(context, { ...pictureOf(model, { camera: cameraOn(lookedAt(model)), size, along }), rivers: {} });
  context.restore();
}

// {title, lines}: the way to what fills the picture, and what is said of it.
function wordsOf(model, room) {
  const { path, view } = model;
  const level = levelOf(view.selection);
  const title = path.slice(0, level + 1).map((node) => describe(model, node).name);
  const { why } = view.message.model;
  const said = describe(model, lookedAt(model)).sentence;
  return { title: title.join(" › "), lines: inLinesOf(why ? `${said} ${why}` : said, room, CAPTION) };
}

const namesOf = ({ view }) => [view.message.about.checkpoint ?? "model", "model"];

// The level, and what tells the place from others of that level.
function nameAt(model) {
  const { level } = model.view.selection;
  const { kind, layer, head, pair, feature } = lookedAt(model);
  const places = [
    kind,
    layer !== undefined && `layer${layer}`,
    head !== undefined && `head${head}`,
    pair && `query${pair[0]}-key${pair[1]}`,
    feature !== undefined && `q${feature}`,
  ];
  return fileName(...namesOf(model), level, ...places.filter(Boolean));
}

const cell = (value) => (typeof value === "number" ? Number(value.toPrecision(6)) : value);

// A row for each part in the order of computation, and one for each head under its part.
function rowsOfTable({ view, places }) {
  const { message } = view;
  const rows = [];
  for (const stack of places.stacks()) {
    const followed = stack.id === message.model.stack;
    const whose = followed ? message.model.token : "mean over tokens";
    const carried = carriedOf(message, stack.id);
    const rest = followed ? message.arrays["effects/rest"] : null;
    const add = (kind, layer, part, head, ...numbers) =>
      rows.push([stack.id, kind, layer, part, head, whose, ...numbers].map(cell));
    const carriedAt = (name) => {
      const at = carried ? carried.parts.indexOf(name) : -1;
      return carried && at >= 0 ? [carried.norms[at], carried.added[at]] : [null, null];
    };
    add(stack.id, null, "embedding", null, ...carriedAt("embedding"), rest?.[0]);
    if (rest) add(stack.id, null, "positions", null, null, null, rest[1]);
    if (rest) add(stack.id, null, "biases", null, null, null, rest[2]);
    stack.block.layers.forEach((_, layer) => {
      for (const part of places.partsOf(places.layer(stack.id, layer))) {
        if (!["attention", "feed_forward"].includes(part.type)) continue;
        const name = part.type === "attention" ? (part.kind === "cross" ? "cross" : "attention") : "feed_forward";
        add(part.kind, layer, name, null, ...carriedAt(`${layer}.${name}`), partEffect(message, part));
        if (part.type !== "attention") continue;
        for (const head of places.heads(part))
          add(part.kind, layer, "head", head.head, null, headNorm(message, head), headEffect(message, head));
      }
    });
  }
  return rows;
}
