// What all of the picture of a model is painted with.
import { widest } from "#view/drawing/canvas.js";
import { channels, css } from "#view/drawing/colours.js";
import { onScreen } from "#view/model/parts/places.js";
import { visible } from "#view/text/tokens.js";
import { SMALL, typeHasCome } from "#view/drawing/type.js";

export const TYPE = 13; // px of its text

export const screenOf = (/** @type {Record<string, any>} */ { camera, size }, box) => onScreen(camera, size, box);

export const isSeen = (/** @type {number[]} */ [x, y, w, h], /** @type {number[]} */ [width, height]) =>
  x < width && y < height && x + w > 0 && y + h > 0;

// Whether so much is drawn at all: from 0 below `from` to 1 above `to`.
export const fade = (value, from, to) => Math.min(1, Math.max(0, (value - from) / (to - from)));

export function faded(context, alpha, draw) {
  if (alpha <= 0) return;
  const before = context.globalAlpha ?? 1;
  context.globalAlpha = before * alpha;
  draw();
  context.globalAlpha = before;
}

const widths = new Map(); // of words in small type, which are asked for at each frame
export function widthOf(words, weight = 400) {
  const id = `${weight} ${words} ${typeHasCome()}`;
  if (!widths.has(id)) widths.set(id, widest([words], weight));
  return widths.get(id);
}

// Words that fit into so many pixels: all of them, what stands before a dot or bracket, or that without its sign; else
// nothing.
export function fitted(words, room, size = TYPE, weight = 400) {
  const wide = (some) => (widthOf(some, weight) * size) / SMALL;
  if (wide(words) <= room) return words;
  const first = words.split(/ [·(]/)[0];
  const shorter = [first, first.replace(/^[+×] /, "")].find((some) => wide(some) <= room);
  return shorter !== words && shorter ? shorter : "";
}

// A token as long as there is room for it.
export const tokenIn = (token, ...room) =>
  [12, 9, 6, 4, 3].map((longest) => visible(token, longest)).find((one) => fitted(one, ...room)) ?? "";

export function fillShape(context, points, colour) {
  context.fillStyle = colour;
  context.beginPath();
  points.forEach((/** @type {number[]} */ [x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.fill();
}

const circles = new Map();
export function circle(/** @type {number[]} */ [x, y], r, count = 20) {
  if (!circles.has(count)) {
    const turns = Array.from({ length: count + 1 }, (_, i) => (2 * Math.PI * i) / count);
    circles.set(
      count,
      turns.map((turn) => [Math.cos(turn), Math.sin(turn)]),
    );
  }
  return circles.get(count).map(([cos, sin]) => [x + r * cos, y + r * sin]);
}

// Words in as many lines as they need, each no wider than so many pixels.
export function inLinesOf(words, room, size = TYPE, weight = 400) {
  const wide = (some) => widest([some], weight, size);
  const lines = [];
  for (const word of words.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && wide(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// A shape with the lengths of this text in place of their letters.
export const shapeText = (shape, lengths) => shape.map((one) => (lengths[one] ?? one).toLocaleString("en")).join(" × ");

// What a part is filled with, and its line; in the dark its line's colour, much darker and a little lighter.
/** @param {any} picture @param {{type: string, kind?: string}} part */
export function coloursOf({ places, theme }, { type, kind }) {
  const { colours } = places.blocks;
  const [fill, line] = colours[type === "attention" && kind === "cross" ? "cross" : type] ?? colours.others;
  if (!theme.dark) return [fill, line];
  return [mixed(line, theme.page, 0.32), mixed(line, theme.ink, 0.7)];
}

const mixtures = new Map();
function mixed(one, other, part) {
  const id = [one, other, part].join();
  if (!mixtures.has(id)) {
    const [a, b] = [channels(one), channels(other)];
    mixtures.set(id, css(a.map((value, at) => Math.round(part * value + (1 - part) * b[at]))));
  }
  return mixtures.get(id);
}
