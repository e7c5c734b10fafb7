// Paints the picture of a model as a camera sees it, from the tokens at its foot to what comes next at its top.
import { stroke, text, widest } from "#view/drawing/canvas.js";
import { BAR, channels, css, inkOn, palette } from "#view/drawing/colours.js";
import { tilesOf } from "#view/pictures/grid.js";
import {
  TYPE,
  circle,
  coloursOf,
  fade,
  faded,
  fillShape,
  fitted,
  tokenIn,
  widthOf,
} from "#view/model/paint/brushes.js";
import { isSeen, screenOf, shapeText } from "#view/model/paint/brushes.js";
import { paintChanged } from "#view/model/parts/changed.js";
import { paintCell, paintHead, paintNumber } from "#view/model/paint/head.js";
import { carriedOf, drawnPart, followedAt, headEffect, mostEffect } from "#view/model/parts/numbers.js";
import { mostSeen, partEffect, seenBy, smallOf } from "#view/model/parts/numbers.js";
import { HEAD, inside } from "#view/model/parts/places.js";
import { groupOf } from "#view/text/names.js";
import { inPercent, partOfOne } from "#view/text/numbers.js";
import { wholeInfo } from "#view/attention/scores.js";
import { visible } from "#view/text/tokens.js";
import { SMALL } from "#view/drawing/type.js";
/** @import { ModelMessage } from "#view/message/fields.js" */
/** @import { AttentionKind, Message } from "#view/message/fields.js" */

const SEEN = 3; // px of a part that is drawn with anything in it
const APART = 14; // px of a head that is drawn by itself; smaller ones stand in lines
const LOW = 9;
const OPEN = 0.5; // of the picture's width that a head has which shows what is in it, and from where on that is all
const OPENED = 0.85;
const HIGH = 70; // px of a layer whose name stands in its corner
const NAMED = 560; // px of a layer that is named beside the stream
const FAINT = 0.06; // weight of a line that is drawn
const MOST_LINES = 600;
const VECTOR_CELLS = 12; // of a head on each side, in a file of lines and areas

// picture: {places, camera, size, message, selection, theme, focus, along, kind}; see model_view.js. along: how far the
// token has come, in parts of the stack.
export function paintModel(context, picture) {
  const { places, theme, size } = picture;
  context.fillStyle = theme.page;
  context.fillRect(0, 0, ...size);
  paintWires(context, picture, places.blocks.wires ?? [], [0, 0, 1, 1]);
  for (const part of places.stacks()) paintRiver(context, picture, part);
  for (const part of places.parts) {
    if (part.type === "stack") paintStack(context, picture, part);
    else paintBlock(context, picture, part);
  }
  paintLooks(context, picture);
  paintFocus(context, picture);
}

function write(context, words, x, y, room, options) {
  const shorter = fitted(words, room, options.size ?? TYPE, options.weight ?? 400);
  if (shorter) text(context, shorter, x, y, options);
}

// A stack, layer by layer.
function paintStack(context, picture, part) {
  const { places, size, theme } = picture;
  const box = screenOf(picture, part.box);
  if (!isSeen(box, size)) return;
  context.strokeStyle = theme.stripe;
  context.lineWidth = 1;
  context.strokeRect(...box);
  const count = part.block.layers.length;
  for (let layer = 0; layer < count; layer++) {
    const node = places.layer(part.id, layer);
    const place = screenOf(picture, node.box);
    if (isSeen(place, size)) paintLayer(context, picture, node, place);
  }
}

function paintLayer(context, picture, node, /** @type {number[]} */ [x, y, w, h]) {
  const { theme, places, selection } = picture;
  if (h < SEEN) return paintThin(context, picture, node, [x, y, w, h]);
  const mirrored = picture.mirrored[node.kind];
  context.strokeStyle = theme.forbidden;
  context.lineWidth = 1;
  context.strokeRect(x, y, w, h);
  const chosen = node.layer === selection.layer && node.kind === (selection.kind === "encoder" ? "encoder" : "decoder");
  const margin = 0.085 * w;
  const label = h < 2.2 * TYPE || w < NAMED ? String(node.layer) : `layer ${node.layer}`;
  const options = { colour: theme.muted, size: Math.min(TYPE, Math.max(9, h * 0.7)), weight: chosen ? 650 : 400 };
  if (h > HIGH) {
    // in its corner, beside what runs up its edge
    const align = mirrored ? "right" : "left";
    text(context, label, mirrored ? x + w - 6 : x + 6, y + 12, { ...options, align });
  } else if (h >= 9) {
    const shorter = widthOf(label) <= margin ? label : String(node.layer);
    text(context, shorter, mirrored ? x + w - margin / 2 : x + margin / 2, y + h / 2, { ...options, align: "center" });
  }
  if (h > 2 * LOW) paintWires(context, picture, node.block.wires ?? [], node.box);
  for (const part of places.partsOf(node)) {
    if (part.type === "attention") paintAttention(context, picture, part);
    else paintBlock(context, picture, part);
  }
  paintChanged(context, picture, node, [x, y, w, h]);
}

// A layer that has no more than a line: a colour for each head, of the strongest weight of the newest query in it.
function paintThin(context, picture, node, [x, y, w, h]) {
  for (const part of picture.places.partsOf(node)) {
    if (part.type === "attention")
      paintHeadLine(context, picture, part, [x + 0.285 * w, y, 0.7 * w, Math.max(1, h - 1)]);
  }
}

// Arrows and lines: into a part, out of it, from one stack to the other.
function paintWires(context, picture, wires, box) {
  const { theme, size } = picture;
  for (const { role, points } of wires) {
    if (role === "stream") continue; // the river says more
    const path = points.map(([x, y]) => screenOf(picture, inside(box, [x, y, 0, 0])).slice(0, 2));
    const [left, right] = [Math.min(...path.map(([x]) => x)), Math.max(...path.map(([x]) => x))];
    const [top, bottom] = [Math.min(...path.map(([, y]) => y)), Math.max(...path.map(([, y]) => y))];
    if (!isSeen([left, top, right - left + 1, bottom - top + 1], size)) continue;
    context.strokeStyle = role === "memory" ? coloursOf(picture, { type: "memory" })[1] : theme.muted;
    context.lineWidth = role === "memory" ? 2.5 : 1.2;
    stroke(context, ...path);
    arrowHead(context, path.at(-2), path.at(-1), role === "memory" ? 6 : 4);
  }
}

function arrowHead(context, /** @type {number[]} */ [x0, y0], /** @type {number[]} */ [x1, y1], size) {
  const long = Math.hypot(x1 - x0, y1 - y0);
  if (long < 2 * size) return;
  const [dx, dy] = [(x1 - x0) / long, (y1 - y0) / long];
  const [bx, by] = [x1 - size * dx, y1 - size * dy];
  fillShape(
    context,
    [
      [x1, y1],
      [bx - 0.6 * size * dy, by + 0.6 * size * dx],
      [bx + 0.6 * size * dy, by - 0.6 * size * dx],
    ],
    context.strokeStyle,
  );
}

// The box of a part in its colours, framed while the token is in it.
function paintBox(context, picture, part, box, wide) {
  const isHere = picture.here === part.id;
  const [fill, line] = coloursOf(picture, part);
  context.fillStyle = fill;
  context.fillRect(...box);
  context.strokeStyle = isHere ? picture.theme.mark : line;
  context.lineWidth = isHere ? 3 : wide;
  context.strokeRect(...box);
}

// A part that has no heads.
function paintBlock(context, picture, part) {
  const { size } = picture;
  const box = screenOf(picture, part.box);
  const [x, y, w, h] = box;
  if (!isSeen(box, size) || h < SEEN) return;
  if (part.type === "tokens") return paintTokens(context, picture, part, box);
  if (part.type === "sum") return paintSum(context, picture, part, box);
  paintBox(context, picture, part, box, 1);
  if (part.type === "answer" && paintAnswer(context, picture, box)) return;
  paintName(context, picture, part, [x, y, w, h]);
  paintEffect(context, picture, part, box);
}

// Its name in the middle, and below it what goes in and out, where there is room.
const nameSize = (h) => Math.min(TYPE, Math.max(9, h * 0.62));
function paintName(context, { theme, lengths }, part, /** @type {number[]} */ [x, y, w, h]) {
  if (h < 6) return;
  const size = nameSize(h);
  const room = w - 6;
  const narrow = part.type === "norm" && !fitted(part.block.name, Math.max(w, h) - 6, size, 650);
  const lines = [narrow ? "norm" : part.block.name];
  const shapes = shapesOf(part.block, lengths);
  if (h > 3.1 * TYPE && part.type !== "norm") lines.push([shapes, shareText(part.block)].filter(Boolean).join(" · "));
  if (h > 6 * TYPE && part.block.formula) lines.push(part.block.formula);
  if (h > 7.5 * TYPE && part.block.note) lines.push(part.block.note);
  const turn = h > 3 * w && w > 12;
  lines.forEach((words, at) => {
    const middle = y + h / 2 + (at - (lines.length - 1) / 2) * (TYPE + 5);
    const options = {
      colour: at ? theme.muted : theme.ink,
      size: at ? size - 1 : size,
      align: "center",
      weight: at ? 400 : 650,
    };
    if (turn && !at) write(context, words, x + w / 2, y + h / 2, h - 6, { ...options, turn: -Math.PI / 2 });
    else if (!turn) write(context, words, x + w / 2, middle, room, options);
  });
}

export function shapesOf({ takes = [], gives = [] }, lengths) {
  const [into, out] = [shapeText(takes, lengths), shapeText(gives, lengths)];
  return into && into !== out ? `${into} → ${out}` : out;
}

export function shareText({ parameters = 0, share = 0 }) {
  if (!parameters) return "";
  return `${parameters.toLocaleString("en")} parameters (${inPercent(share)})`;
}

function paintSum(context, { theme }, part, /** @type {number[]} */ [x, y, w, h]) {
  const r = Math.min(w, h) / 2;
  if (r < 2) return;
  const [cx, cy] = [x + w / 2, y + h / 2];
  const ring = circle([cx, cy], r);
  fillShape(context, ring, theme.page);
  context.strokeStyle = theme.ink;
  context.lineWidth = 1.2;
  stroke(context, ...ring);
  if (r < 4) return;
  stroke(context, [cx - 0.6 * r, cy], [cx + 0.6 * r, cy]);
  stroke(context, [cx, cy - 0.6 * r], [cx, cy + 0.6 * r]);
}

// The tokens of a stack, the one followed in the colour of what is new.
function paintTokens(context, picture, part, /** @type {number[]} */ [x, y, w, h]) {
  const { theme, message } = picture;
  const kind = part.id.split(".")[0];
  const tokens = picture.tokens[kind] ?? [];
  const looks = looksOf(picture, kind, tokens.length);
  const colours = palette(theme.dark);
  const each = w / Math.max(1, tokens.length);
  const size = Math.min(TYPE, Math.max(9, h * 0.6));
  tokens.forEach((token, at) => {
    const followed = kind === message.model?.stack && at === followedAt(message);
    const under = looks && !followed ? colours[256 + Math.round(256 * looks[at])].plain : null;
    const colour = followed ? inkOn(channels(theme.mark)) : under ? inkOn(under) : theme.ink;
    context.fillStyle = followed ? theme.mark : under ? css(under) : theme.forbidden;
    context.fillRect(x + at * each + 1, y + 1, Math.max(1, each - 2), h - 2);
    if (h < 10) return;
    const options = { colour, size, align: "center", weight: followed ? 650 : 400 };
    const label = tokenIn(token, each - 3, size);
    if (!label && each > 8) Object.assign(options, { size: h > 26 ? SMALL : 9, turn: -Math.PI / 2 });
    text(
      context,
      label || (options.turn && tokenIn(token, h - 3, options.size)) || "",
      x + (at + 0.5) * each,
      y + h / 2,
      options,
    );
  });
}

// How much the heads of the attention that the token is in look at each token, on average; null where it is in none.
function looksOf({ message, places, at }, side, count) {
  if (at?.type !== "attention" || side !== (at.kind === "decoder" ? "decoder" : "encoder")) return null;
  const mean = new Float32Array(count);
  const nodes = places.heads(at);
  for (const node of nodes) {
    const row = seenBy(message, node);
    const seen = row && drawnPart(message, node.kind, row);
    if (seen?.length !== count) return null;
    seen.forEach((weight, key) => {
      mean[key] += weight / nodes.length;
    });
  }
  return mean;
}

// The likeliest of what comes next, as bars.
function paintAnswer(context, picture, /** @type {number[]} */ [x, y, w, h]) {
  const rows = picture.message.step_view?.bars?.rows ?? picture.bars ?? [];
  const line = Math.min(20, h / Math.max(1, Math.min(3, Math.floor(h / 13))));
  const count = Math.min(rows.length, Math.floor(h / line), 5);
  if (!count || h < 11 || picture.message.step_view?.hide || picture.along < picture.stops.length) return false;
  const { theme } = picture;
  const top = y + (h - count * line) / 2;
  const size = Math.min(TYPE, line - 2);
  const labels = rows.slice(0, count).map(({ label }) => visible(label, 14));
  const room = Math.min(w * 0.45, widest(labels, 650, size) + 10);
  rows.slice(0, count).forEach(({ probability, chosen }, nth) => {
    const middle = top + (nth + 0.5) * line;
    const options = { colour: theme.ink, size, weight: chosen ? 650 : 400 };
    text(context, labels[nth], x + room - 4, middle, { ...options, align: "right" });
    context.fillStyle = chosen ? theme.mark : BAR;
    context.fillRect(x + room, middle - line * 0.35, Math.max(1, probability * (w - room - 66)), line * 0.7);
    write(context, inPercent(probability), x + w - 4, middle, 62, { ...options, align: "right" });
  });
  return true;
}

// An attention: its name, and its heads as they are.
function paintAttention(context, picture, part) {
  const { theme, size, places, lengths } = picture;
  const box = screenOf(picture, part.box);
  const [x, y, w, h] = box;
  if (!isSeen(box, size) || h < 1) return;
  paintBox(context, picture, part, box, 1.2);
  const { heads } = part.block;
  const above = heads.box[1] * h;
  if (above >= 9) {
    const type = Math.min(TYPE, above * 0.8);
    const more = `${part.block.name} · ${part.block.note} · ${shapesOf(part.block, lengths)}, ${shareText(part.block)}`;
    const some = fitted(more, w - 10, type) === more ? more : `${part.block.name} · ${part.block.note}`;
    write(context, some, x + 5, y + above / 2 + 1, w - 10, { colour: theme.ink, size: type, weight: 650 });
  }
  const one = screenOf(picture, places.head(part, 0).box);
  if (one[2] < APART || one[3] < LOW)
    paintHeadLine(context, picture, part, screenOf(picture, inside(part.box, heads.box)));
  else for (const node of places.heads(part)) paintOneHead(context, picture, node);
  paintShared(context, picture, part);
  paintEffect(context, picture, part, box);
}

// A line under the heads that share keys and values.
function paintShared(context, picture, part) {
  const { count, groups } = part.block.heads;
  const [, , w, h] = screenOf(picture, picture.places.head(part, 0).box);
  if (groups === count || w < APART || h < 2 * LOW) return;
  context.fillStyle = picture.theme.muted;
  for (const node of picture.places.heads(part)) {
    const { first, last } = groupOf({ heads: count, groups }, node.head);
    const [x, y] = screenOf(picture, node.box);
    const from = node.head === first ? 0.12 * w : 0;
    context.fillRect(x + from, y + h - 1, w - from - (node.head === last ? 0.12 * w : 0), 2);
  }
}

// Heads that are too many to be drawn apart, in rows: each the colour of where its newest query looks most.
function paintHeadLine(context, picture, part, /** @type {number[]} */ [x, y, w, h]) {
  const { count } = part.block.heads;
  const { theme, message, size } = picture;
  const columns = Math.max(1, Math.min(count, Math.floor(w / Math.max(3, Math.min(w / count, h)))));
  const rows = Math.ceil(count / columns);
  const colours = palette(theme.dark);
  for (let head = 0; head < count; head++) {
    const left = x + ((head % columns) * w) / columns;
    if (left > size[0] || left + w / columns < 0) continue;
    const most = mostOf(message, { kind: part.kind, layer: part.layer, head });
    context.fillStyle = most === null ? theme.forbidden : css(colours[256 + Math.round(256 * Math.sqrt(most))].plain);
    context.fillRect(
      left,
      y + (Math.floor(head / columns) * h) / rows,
      Math.max(1, w / columns - 0.5),
      Math.max(1, h / rows - 0.5),
    );
  }
}

/** @param {ModelMessage} message */
function mostOf(message, head) {
  const seen = seenBy(message, head);
  if (seen) return seen.reduce((most, one) => Math.max(most, one), 0);
  const small = smallOf(message, head.kind);
  if (!small) return null;
  const [, H, R, C] = small.shape;
  const start = (head.layer * H + head.head) * R * C;
  return (small.cells.subarray(start, start + R * C).reduce((most, one) => Math.max(most, one), 0) / 255) ** 2;
}

function paintOneHead(context, picture, node) {
  const { theme, size, selection } = picture;
  const box = screenOf(picture, node.box);
  const [x, y, w, h] = box;
  if (!isSeen(box, size)) return;
  const chosen = selection.kind === node.kind && selection.layer === node.layer && selection.head === node.head;
  const open = chosen ? fade(w / size[0], OPEN, OPENED) : 0;
  if (open < 1) faded(context, 1 - open, () => paintClosed(context, picture, node, [x, y, w, h], chosen));
  if (!open) return;
  faded(context, open, () => {
    if (open === 1) {
      context.fillStyle = theme.page;
      context.fillRect(...box);
    }
    paintHead(context, picture, node);
    paintChanged(context, picture, node, screenOf(picture, inside(node.box, HEAD.z)));
  });
  if (selection.pair || picture.deep) {
    const [, , , , cell, number] = picture.path;
    const place = screenOf(picture, cell.box);
    const near = fade(Math.min(place[2], place[3]), 60, 160);
    faded(context, near, () => paintCell(context, picture, cell));
    const last = screenOf(picture, number.box);
    if (picture.selection.level === "number" || picture.deep) {
      faded(context, fade(last[2], 90, 260), () => paintNumber(context, picture, number));
    }
  }
}

// A head as a small matrix, with its number and where the token followed looks most.
function paintClosed(context, picture, node, [x, y, w, h], chosen) {
  const { theme, message } = picture;
  const small = smallOf(message, node.kind);
  const caption = h > 60 ? 17 : 0;
  const size = [w - 4, h - 4 - caption];
  const info = message.kinds?.[node.kind];
  const place = [x + 2, y + 2 + caption, size[0], size[1]];
  // low ones are flatter than their matrix is, or they would be nothing but dots
  const flat = caption ? Math.max(1, Math.min(1.8, info ? lengthOf(info, 1) / lengthOf(info, 0) : 1)) : 3.2;
  place[2] = Math.min(size[0], size[1] * flat);
  place[0] = x + (w - place[2]) / 2;
  context.fillStyle = theme.forbidden;
  context.fillRect(...place);
  if (small && info) paintSmallHead(context, picture, node, small, info, place);
  context.strokeStyle = chosen ? theme.mark : theme.stripe;
  context.lineWidth = chosen ? 2 : 1;
  context.strokeRect(...place);
  paintChanged(context, picture, node, place);
  if (caption) {
    const most = mostSeen(message, node);
    const token = most && picture.tokens[node.kind === "decoder" ? "decoder" : "encoder"]?.[most.at];
    const looks =
      most && `→ ${token === undefined ? `token ${most.place}` : visible(token, 10)} ${partOfOne(most.weight, 2)}`;
    const words = looks ? `head ${node.head} · ${looks}` : `head ${node.head}`;
    write(context, words, x + w / 2, y + 9, w - 2, {
      colour: theme.ink,
      size: SMALL,
      align: "center",
      weight: chosen ? 650 : 400,
    });
  }
  const effect = headEffect(message, node);
  const most = mostEffect(message);
  if (effect !== null && most && h > 20)
    paintBar(context, theme, [place[0] + place[2] + 1, place[1], 3, place[3]], effect / most);
}

const lengthOf = (info, side) => info.whole?.[side] ?? (side ? info.keys : info.queries).length;

/** @param {AttentionKind} info */
function paintSmallHead(context, picture, node, { cells, shape }, info, /** @type {number[]} */ [x, y, w, h]) {
  const [, , R, C] = shape;
  const vector = context.vector;
  // halved until they are no finer than the screen: while it zooms few sizes are made
  const fitting = (count, room) => {
    let size = count;
    const least = vector ? VECTOR_CELLS / 2 : room;
    while (size > 1 && size / 2 >= least) size = Math.ceil(size / 2);
    return size;
  };
  const [dots, rows] = [fitting(C, w), fitting(R, h)];
  const grid = {
    info: wholeInfo(info, { kind: node.kind }),
    cells,
    shape,
    theme: picture.theme,
    scale: picture.selection.scale,
  };
  const tiles = tilesOf(grid, dots, rows);
  if (!vector) {
    context.imageSmoothingEnabled = false;
    context.drawImage(tiles, node.head * dots, node.layer * rows, dots, rows, x, y, w, h);
    return;
  }
  const { data } = tiles.getContext("2d").getImageData(node.head * dots, node.layer * rows, dots, rows);
  for (let at = 0; at < dots * rows; at++) {
    context.fillStyle = css([...data.subarray(4 * at, 4 * at + 3)]);
    context.fillRect(x + ((at % dots) * w) / dots, y + (Math.floor(at / dots) * h) / rows, w / dots, h / rows);
  }
}

// A bar that stands on the foot of a box: how much is added to the logit, blue, or taken from it, red.
function paintBar(context, theme, /** @type {number[]} */ [x, y, w, h], part) {
  const height = Math.max(1, Math.abs(part) * h);
  context.fillStyle = css(palette(theme.dark)[part < 0 ? 40 : 472].signed);
  context.fillRect(x, y + h - height, w, height);
}

function paintEffect(context, { message, theme }, part, /** @type {number[]} */ [x, y, w, h]) {
  if (h < 16 || !["attention", "feed_forward"].includes(part.type)) return;
  const effect = partEffect(message, part);
  const most = mostEffect(message);
  if (effect === null || !most) return;
  paintBar(context, theme, [x + w - 5, y + 2, 4, h - 4], Math.max(-1, Math.min(1, effect / most)));
}

// From below; it widens where something is added, a little before and after.
function riverPoints({ places, message, mirrored }, stack) {
  const carried = carriedOf(message, stack.id);
  const bank = (0.04 * stack.box[3]) / stack.block.layers.length;
  const points = []; // [y in the whole, norm], from below
  const middle = (mirrored[stack.id] ? 1 - 0.125 : 0.125) * stack.box[2] + stack.box[0];
  let at = 0;
  const norm = () => (carried ? carried.norms[Math.min(at, carried.norms.length - 1)] : 1);
  points.push([0.925, norm()], [stack.box[1] + stack.box[3], norm()]);
  stack.block.layers.forEach((_, layer) => {
    for (const part of places.partsOf(places.layer(stack.id, layer))) {
      if (part.type !== "sum") continue;
      const y = part.box[1] + part.box[3] / 2;
      points.push([y + bank, norm()]);
      at += 1;
      points.push([y - bank, norm()]);
    }
  });
  points.push([topOf(places, stack), norm()]);
  return { middle, points, carried };
}

function topOf(places, stack) {
  const above = places.parts.filter(({ id, type }) => id.startsWith(`${stack.id}.`) && type !== "tokens");
  return Math.min(stack.box[1], ...above.map(({ box }) => box[1] + box[3]));
}

// The residual stream of a stack: as wide as the vector in it is long, up to where the token has come in its colour.
function paintRiver(context, picture, stack) {
  const { theme, camera, size, message } = picture;
  const { middle, points, carried } = (picture.rivers[stack.id] ??= riverPoints(picture, stack));
  const [x] = screenOf(picture, [middle, 0, 0, 0]);
  const wide = screenOf(picture, [0, 0, 0.066 * stack.box[2], 0])[2];
  const most = Math.max(...points.map(([, norm]) => norm));
  const half = (norm) => Math.max(1, (0.5 * wide * norm) / (most || 1));
  const screenY = (y) => ((y - camera[1]) / camera[3]) * size[1];
  const shape = (some) => [
    ...some.map(([y, norm]) => [x - half(norm), screenY(y)]),
    ...[...some].reverse().map(([y, norm]) => [x + half(norm), screenY(y)]),
  ];
  const quiet = theme.stripe;
  fillShape(context, shape(points), carried ? quiet : theme.forbidden);
  paintStreamName(context, picture, stack);
  if (stack.id !== message.model?.stack || !carried) return;
  const to = picture.place[1];
  const done = points.filter(([y]) => y >= to);
  if (!done.length) return;
  faded(context, 0.85, () => fillShape(context, shape([...done, [to, done.at(-1)[1]]]), theme.mark));
}

function paintStreamName(context, picture, stack) {
  const [x, y, w, h] = screenOf(picture, stack.box);
  if (w < 330 || h < 130) return;
  const [top, bottom] = [Math.max(y, 0), Math.min(y + h, picture.size[1])];
  const at = x + (picture.mirrored[stack.id] ? 0.922 : 0.078) * w;
  const options = { colour: picture.theme.muted, size: SMALL, align: "center", turn: -Math.PI / 2 };
  write(context, "residual stream", at, (top + bottom) / 2, bottom - top, options);
}

// Where the token followed is, and what each head of the part that it is in looks at.
function paintLooks(context, picture) {
  const { theme, message, moving, at } = picture;
  if (!message.model?.parts) return;
  const [x, y] = screenOf(picture, [...picture.place, 0, 0]).slice(0, 2);
  if (moving) {
    const ring = circle([x, y], 7);
    fillShape(context, ring, theme.mark);
    context.strokeStyle = theme.page;
    context.lineWidth = 2;
    stroke(context, ...ring);
  }
  if (at?.type !== "attention") return;
  const side = at.kind === "decoder" ? "decoder" : "encoder";
  const row = picture.places.parts.find(({ id }) => id === `${side}.tokens`);
  const tokens = picture.tokens[side] ?? [];
  const [left, top, width] = screenOf(picture, row.box);
  let lines = 0;
  for (const node of picture.places.heads(at)) {
    const row = seenBy(message, node);
    const seen = row && drawnPart(message, node.kind, row);
    if (!seen || seen.length > tokens.length) continue;
    const [hx, hy, hw, hh] = screenOf(picture, node.box);
    seen.forEach((weight, key) => {
      if (weight < FAINT || lines > MOST_LINES) return;
      lines += 1;
      const to = [left + ((key + 0.5) * width) / tokens.length, top];
      context.strokeStyle = theme.mark;
      context.lineWidth = 0.6 + 2.4 * weight;
      faded(context, 0.15 + 0.75 * weight, () => stroke(context, [hx + hw / 2, hy + hh - 2], to));
    });
  }
  if (lines) nameAgain(context, picture);
}

// The names that lines run over, each on a ground of its own.
function nameAgain(context, picture) {
  const { places } = picture;
  const layers = places.parts.filter(({ type }) => type === "stack");
  const inside = layers.flatMap(({ id, block }) =>
    block.layers.flatMap((_, layer) => places.partsOf(places.layer(id, layer))),
  );
  for (const part of [...places.parts, ...inside]) {
    if (["stack", "tokens", "sum", "attention", "answer"].includes(part.type)) continue;
    const [x, y, w, h] = screenOf(picture, part.box);
    const name = isSeen([x, y, w, h], picture.size) && fitted(part.block.name, w - 6, nameSize(h), 650);
    if (!name || h < 10 || h > 3.1 * TYPE) continue;
    const wide = (widthOf(name, 650) * nameSize(h)) / SMALL + 4;
    context.fillStyle = coloursOf(picture, part)[0];
    context.fillRect(x + (w - wide) / 2, y + 2, wide, h - 4);
    paintName(context, picture, part, [x, y, w, h]);
  }
}

function paintFocus(context, picture) {
  const { focus, theme } = picture;
  if (!focus) return;
  const [x, y, w, h] = screenOf(picture, focus.box);
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.strokeRect(x - 1, y - 1, w + 2, h + 2);
}
