// More heads than fit: a map of all of them, a square each, and beside it some of them large enough to be read.
import SHARED from "#view/message/shared.json";
import { bitmap, text } from "#view/drawing/canvas.js";
import { pixelPalette } from "#view/drawing/colours.js";
import { INSET, paintTile, tileHeight, tilesOf } from "#view/pictures/grid.js";
import { groupOf, numbered } from "#view/text/names.js";
import { SMALL } from "#view/drawing/type.js";
/** @import { Message, Selection } from "#view/message/fields.js" */

const { few_heads: MOST_DRAWN } = SHARED;
const BETWEEN = 4;
const LEAST_TILE = 30; // px of a head, where there is room
const SMALLEST_TILE = 16;
const MOST_TILE = 84;
const OVER_TILE = 13; // px, of what stands over a head
const MOST_MAP = 0.34; // of the width
const WIDEST_SQUARE = 5; // px, of the map

// How many layers are drawn at once, in the order of layers, of so many that fit: groups of one size where they can be.
const evenly = (layers, fit) => Math.ceil(layers / Math.ceil(layers / fit));

// The heads of a kind that there are pictures of, in order, the number of every head, and their cells: as Python chose
// them, or chosen here out of a file that has all.
/**
 * @param {Message} message
 * @param {Selection} selection
 */
export function manyOf(message, selection) {
  const { kind, order } = selection;
  const { arrays, shapes, kinds } = message;
  const [, layers, heads] = shapes[`map/${kind}`];
  const map = kinds[kind].open ? 0 : Math.max(0, message.maps.indexOf(order));
  const numbers = arrays[`map/${kind}`].subarray(map * layers * heads, (map + 1) * layers * heads);
  if (arrays[`tiles/${kind}`]) {
    const places = arrays[`places/${kind}`];
    const drawn = Array.from({ length: places.length / 2 }, (_, at) => [places[2 * at], places[2 * at + 1]]);
    return { layers, heads, numbers, drawn, cells: arrays[`tiles/${kind}`], shape: shapes[`tiles/${kind}`] };
  }
  const drawn = drawnFirst(numbers, layers, heads, selection);
  const [, , R, C] = shapes[`grid/${kind}`];
  const id = ["many", kind, ...drawn.flat()].join();
  if (!message.made.has(id)) message.made.set(id, cellsOf(arrays[`grid/${kind}`], drawn, heads, R * C));
  return { layers, heads, numbers, drawn, cells: message.made.get(id), shape: [drawn.length, R, C] };
}

// As Numbers.first in head_order.py.
export function drawnFirst(numbers, layers, heads, { order, layer }) {
  const every = Array.from(numbers, (_, at) => [Math.floor(at / heads), at % heads]);
  if (order !== "layers") {
    const at = (/** @type {number[]} */ [one, head]) => numbers[one * heads + head];
    return every.sort((a, b) => at(b) - at(a)).slice(0, MOST_DRAWN);
  }
  const group = Math.max(1, Math.floor(MOST_DRAWN / heads));
  return every.filter((/** @type {number[]} */ [one]) => Math.floor(one / group) === Math.floor(layer / group));
}

function cellsOf(cells, drawn, heads, size) {
  const out = new Uint8Array(drawn.length * size);
  drawn.forEach((/** @type {number[]} */ [layer, head], at) => {
    const from = (layer * heads + head) * size;
    out.set(cells.subarray(from, from + size), at * size);
  });
  return out;
}

// Where the map and the heads go: {map: {x, y, cw, ch}, tiles: [{at: [layer, head], nth, x, y}], width, height, group}.
/** @param {Selection} selection */
export function layoutMany(box, many, selection) {
  const { layers, heads } = many;
  const left = box.x + 22;
  const top = box.y + 16;
  const cw = Math.min(WIDEST_SQUARE, (box.width * MOST_MAP) / heads);
  const ch = Math.min(10, (box.height - 20) / layers);
  const map = { x: left, y: top, cw, ch, width: cw * heads, height: ch * layers };
  const x = left + map.width + (selection.order === "layers" ? 28 : 14);
  const room = { x, y: top, width: box.x + box.width - x, height: box.height - 20 };
  const laid = selection.order === "layers" ? inLayers(room, many, selection) : ranked(room, many);
  return { many, map, ...laid, columns: laid.columns };
}

function tileFor(room, count, least, /** @type {number[]} */ [, R, C]) {
  const columns = Math.max(1, Math.min(count, Math.floor((room.width + BETWEEN) / (least + BETWEEN))));
  const lines = Math.ceil(count / columns);
  const even = Math.ceil(count / lines);
  const width = Math.max(4, Math.min(MOST_TILE, Math.floor((room.width + BETWEEN) / even) - BETWEEN));
  return { columns: even, lines, width, height: tileHeight(width, R, C) };
}

// Whole layers, in groups that stay as they are until a head of another one is chosen.
/** @param {Selection} selection */
function inLayers(room, { layers, heads, drawn, shape }, selection) {
  const high = (one) => one.lines * (one.height + OVER_TILE + BETWEEN) + 6;
  let tile = tileFor(room, heads, LEAST_TILE, shape);
  for (let least = LEAST_TILE - 2; least >= SMALLEST_TILE && high(tile) > room.height; least -= 2)
    tile = tileFor(room, heads, least, shape);
  const layer = high(tile);
  const first = drawn[0][0];
  const there = drawn.at(-1)[0] - first + 1;
  const count = Math.min(there, evenly(layers, Math.max(1, Math.floor(room.height / layer))));
  const start = first + Math.floor(Math.max(0, Math.min(there - 1, selection.layer - first)) / count) * count;
  const end = Math.min(first + there, start + count);
  const tiles = drawn
    .map((at, nth) => ({ at, nth }))
    .filter(({ at: [one] }) => one >= start && one < end)
    .map(({ at: [one, head], nth }) => ({
      at: [one, head],
      nth,
      x: room.x + (head % tile.columns) * (tile.width + BETWEEN),
      y:
        room.y +
        (one - start) * layer +
        Math.floor(head / tile.columns) * (tile.height + OVER_TILE + BETWEEN) +
        OVER_TILE,
    }));
  return { tiles, ...tile, group: [start, end], layer };
}

// The first of a ranking, line by line.
function ranked(room, { drawn, shape }) {
  const { width, height, columns } = tileFor(room, drawn.length, LEAST_TILE, shape);
  const lines = Math.max(1, Math.floor(room.height / (height + OVER_TILE + BETWEEN)));
  const tiles = drawn.slice(0, columns * lines).map((at, nth) => ({
    at,
    nth,
    x: room.x + (nth % columns) * (width + BETWEEN),
    y: room.y + Math.floor(nth / columns) * (height + OVER_TILE + BETWEEN) + OVER_TILE,
  }));
  return { tiles, width, height, columns, group: null };
}

// grid: {info, many, look, at, theme, scale, lit}. Returns where everything is, for the pointer.
export function paintMany(context, box, grid) {
  const { info, many, selection, theme } = grid;
  const places = layoutMany(box, many, selection);
  const { tiles, width, height } = places;
  const [count, R, C] = many.shape;
  const dots = Math.max(1, Math.min(C, width * 2));
  const rows = Math.max(1, Math.min(R, height * 2));
  const pictures = tilesOf({ ...grid, cells: many.cells, shape: [count, 1, R, C] }, dots, rows);
  paintMap(context, places, grid);
  context.imageSmoothingEnabled = false;
  for (const { at, nth, x, y } of tiles) {
    context.drawImage(pictures, 0, nth * rows, dots, rows, x, y, width, height);
    paintTile(context, [x, y, width, height], grid, ...at);
    const name = places.group ? [] : [numbered(info, "layers", at[0])];
    const words = [...name, numbered(info, "heads", at[1])].join(".");
    const on = at[0] === selection.layer && at[1] === selection.head && selection.of === "head";
    const options = { colour: theme.ink, align: "center", size: SMALL, weight: on ? 650 : 400 };
    text(context, words, x + width / 2, y - 7, options);
  }
  if (places.group) paintLayers(context, places, grid);
  if (places.group && info.groups) paintShared(context, places, grid);
  return places;
}

// A line under the heads of a layer that share keys and values.
function paintShared(context, { tiles, width, height }, { info, theme }) {
  context.fillStyle = theme.muted;
  for (const [nth, { at, x, y }] of tiles.entries()) {
    const next = tiles[nth + 1];
    const joined = next?.y === y && at[1] < groupOf(info, at[1]).last;
    const from = x + (at[1] === groupOf(info, at[1]).first ? INSET : 0);
    context.fillRect(from, y + height + 1, (joined ? next.x : x + width - INSET) - from, 2);
  }
}

function paintLayers(context, { tiles, group, layer: tall, map }, { info, selection, theme }) {
  const [start, end] = group;
  for (let layer = start; layer < end && tiles.length; layer++) {
    const options = { colour: theme.ink, align: "right", weight: layer === selection.layer ? 650 : 400 };
    const y = tiles[0].y + (layer - start) * tall + 8;
    text(context, String(numbered(info, "layers", layer)), tiles[0].x - 5, y, options);
  }
  context.strokeStyle = theme.mark;
  context.lineWidth = 2;
  context.strokeRect(map.x - 2, map.y + start * map.ch - 1, map.width + 4, (end - start) * map.ch + 2);
}

function paintMap(context, { map }, { many, selection, at, theme, info }) {
  const { layers, heads, numbers } = many;
  const colours = pixelPalette(theme.dark, "plain");
  const most = Math.max(1, ...numbers);
  const squares = bitmap(heads, layers, (pixels) => {
    numbers.forEach((number, i) => {
      pixels[i] = colours[256 + Math.round((256 * number) / most)];
    });
  });
  context.imageSmoothingEnabled = false;
  context.drawImage(squares, map.x, map.y, map.width, map.height);
  const every = [1, 2, 5, 10, 20, 50].find((n) => n * map.ch >= 14) ?? 100;
  for (let layer = 0; layer < layers; layer += every) {
    const y = map.y + (layer + 0.5) * map.ch;
    text(context, String(numbered(info, "layers", layer)), map.x - 5, y, {
      colour: theme.ink,
      align: "right",
      size: SMALL,
    });
  }
  text(context, "layer", map.x - 20, map.y - 9, { colour: theme.muted, size: SMALL });
  const marked = selection.of === "head" ? [[selection.layer, selection.head, theme.mark]] : [];
  for (const [layer, head, colour] of [...marked, ...(at ? [[...at, theme.ink]] : [])]) {
    const [width, height] = [Math.max(7, map.cw + 2), Math.max(7, map.ch + 2)]; // a square of two pixels is not seen
    context.strokeStyle = colour;
    context.lineWidth = 2;
    const x = map.x + (head + 0.5) * map.cw - width / 2;
    context.strokeRect(x, map.y + (layer + 0.5) * map.ch - height / 2, width, height);
  }
}

// The head at a point, on the map or large, and where inside the large one, as parts of it; null beside them.
export function oneOfMany({ map, tiles, width, height, many }, /** @type {number[]} */ [x, y]) {
  const [head, layer] = [Math.floor((x - map.x) / map.cw), Math.floor((y - map.y) / map.ch)];
  if (head >= 0 && layer >= 0 && head < many.heads && layer < many.layers) return { at: [layer, head], inside: null };
  const tile = tiles.find((one) => x >= one.x && x < one.x + width && y >= one.y && y < one.y + height);
  return tile ? { at: tile.at, inside: [(y - tile.y) / height, (x - tile.x) / width], nth: tile.nth } : null;
}

// A step by the arrow keys: on the map, and in a ranking among its heads.
export function nextHead({ tiles, group, columns }, at, /** @type {number[]} */ [down, across]) {
  if (group) return null;
  const now = tiles.findIndex((one) => one.at[0] === at[0] && one.at[1] === at[1]);
  if (now < 0) return tiles[0].at;
  return tiles[Math.max(0, Math.min(tiles.length - 1, now + across + down * columns))].at;
}
