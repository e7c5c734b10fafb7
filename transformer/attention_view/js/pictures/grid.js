// All heads of a kind, small: layers down, heads across.
import { bitmap, text, textWidth } from "#view/drawing/canvas.js";
import { channels, pixelOf, pixelPalette, shade } from "#view/drawing/colours.js";
import { groupOf, numbered } from "#view/text/names.js";
import { span } from "#view/attention/scores.js";
import { scaleOf } from "#view/attention/stages.js";
import { cellValue } from "#view/attention/weights.js";
/** @import { AttentionKind, Selection } from "#view/message/fields.js" */
/** @typedef {Pick<AttentionKind, "causal" | "sees" | "near">} Mask */
/** @typedef {Mask & {queries: {length: number}, keys: {length: number}}} Shut */

const GAP = 4;
const SHARE = " · a line over those with shared keys";
export const INSET = 5; // px, of such a line at its ends

// How tall a head is that is so wide: a little flatter or higher than square, as its matrix is.
export const tileHeight = (width, queries, keys) =>
  Math.max(14, Math.round(width * Math.max(0.45, Math.min(1.2, queries / keys))));

export const tileWidth = (width, heads) => Math.max(4, Math.floor((width - 32) / heads) - GAP);

// All heads in one bitmap, `dots` by `rows` pixels each. Hovering and choosing change none of it, so it is kept.
const bitmaps = new WeakMap();
export function tilesOf(grid, dots, rows) {
  const { info, cells, shape, theme, scale } = grid;
  const [L, H] = shape;
  const id = [dots, rows, scale, theme.dark, info.queries.length, info.keys.length].join();
  if (bitmaps.get(cells)?.id === id) return bitmaps.get(cells).canvas;
  const on = scaleOf(info);
  const ramp = pixelPalette(theme.dark, on.signed ? "signed" : "plain");
  const forbidden = pixelOf(channels(theme.forbidden));
  const place = shade(on, scale);
  const colours = Uint32Array.from({ length: 256 }, (_, i) => ramp[place(cellValue(info, i))]);
  const far = shutCells(info, dots, rows);
  const near = info.near && shutCells(info, dots, rows, { layer: info.near.layers[0] });
  const most = largestCells(cells, shape, dots, rows, on.signed ? 128 : 0);
  const canvas = bitmap(H * dots, L * rows, (pixels) => {
    for (let tile = 0, from = 0; tile < L * H; tile++) {
      const layer = grid.many ? grid.many.drawn[tile][0] : Math.floor(tile / H);
      const shut = info.near?.layers.includes(layer) ? near : far;
      for (let row = 0; row < rows; row++) {
        let to = ((Math.floor(tile / H) * rows + row) * H + (tile % H)) * dots;
        for (let x = 0; x < dots; x++, from++, to++) {
          pixels[to] = shut[row * dots + x] ? forbidden : colours[most[from]];
        }
      }
    }
  });
  bitmaps.set(cells, { id, canvas });
  return canvas;
}

// Of the pixels of what is looked at, those that the mask forbids.
/**
 * @param {Shut} info
 * @param {Partial<Selection>} [selection]
 */
export function shutCells(info, dots, rows, selection) {
  const Q = info.queries.length;
  const K = info.keys.length;
  const shut = new Uint8Array(rows * dots);
  for (let row = 0; row < rows; row++) {
    const [from] = span(info, Math.floor((row * Q) / rows), selection);
    const [, to] = span(info, Math.ceil(((row + 1) * Q) / rows) - 1, selection);
    for (let x = 0; x < dots; x++) {
      const last = Math.ceil(((x + 1) * K) / dots) - 1;
      shut[row * dots + x] = Number(last < from || Math.floor((x * K) / dots) >= to);
    }
  }
  return shut;
}

// The cell that falls on each pixel and is furthest from `none`.
export function largestCells(cells, /** @type {number[]} */ [L, H, R, C], dots, rows, none = 0) {
  const column = Uint16Array.from({ length: C }, (_, c) => Math.floor((c * dots) / C));
  const most = new Uint8Array(L * H * rows * dots).fill(none);
  for (let row = 0, from = 0; row < L * H * R; row++) {
    const to = (Math.floor(row / R) * rows + Math.floor(((row % R) * rows) / R)) * dots;
    for (let c = 0; c < C; c++, from++) {
      const into = to + column[c];
      if (Math.abs(cells[from] - none) > Math.abs(most[into] - none)) most[into] = cells[from];
    }
  }
  return most;
}

// grid: {info, cells, shape, look, at, theme, scale, lit}; lit: the heads of the layer that are drawn as lines, where
// they are. Returns where the heads are, for the pointer: {left, top, width, height, gap}.
export function paintGrid(context, box, grid) {
  const [L, H, R, C] = grid.shape;
  const left = box.x + 30;
  const top = box.y + 34;
  const width = tileWidth(box.width, H);
  const there = partsThere(grid.info);
  const square = tileHeight(width, R / there[0], C / there[1]);
  const height = Math.max(4, Math.min(Math.floor((box.height - 36) / L) - GAP, square));
  const [across, down] = [width * there[1], height * there[0]]; // the rest is for tokens yet to come
  const dots = Math.max(1, Math.min(C, Math.floor(across * 2)));
  const rows = Math.max(1, Math.min(R, Math.floor(down * 2)));
  const tiles = tilesOf(grid, dots, rows);
  const places = { left, top, width, height, gap: GAP, there };
  context.imageSmoothingEnabled = false;
  for (let layer = 0; layer < L; layer++) {
    for (let head = 0; head < H; head++) {
      const x = left + head * (width + GAP);
      const y = top + layer * (height + GAP);
      context.drawImage(tiles, head * dots, layer * rows, dots, rows, x, y, across, down);
      if (there[0] < 1) paintRoom(context, [x, y, width, height], grid.theme);
      paintTile(context, [x, y, width, height], grid, layer, head);
    }
  }
  paintNumbers(context, box, places, grid);
  return places;
}

// How much of a head's rows and columns there is so far.
const partsThere = ({ queries, keys, ahead }) => [
  queries.length / (queries.length + (ahead?.queries.length ?? 0)),
  keys.length / (keys.length + (ahead?.keys.length ?? 0)),
];

function paintRoom(context, [x, y, width, height], theme) {
  context.strokeStyle = theme.forbidden;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
}

// The frame of a head that is looked at, or that the pointer is on.
export function paintTile(context, [x, y, width, height], { selection, at, lit, theme }, layer, head) {
  const ofHead = lit
    ? lit.includes(head)
    : (head === selection.head || selection.of !== "head") && selection.of !== "mean_all";
  const chosen = layer === selection.layer && ofHead;
  if (!chosen && !(at && at[0] === layer && at[1] === head)) return;
  context.strokeStyle = chosen ? theme.mark : theme.ink;
  context.lineWidth = chosen ? 3 : 2;
  context.strokeRect(x - 1.5, y - 1.5, width + 3, height + 3);
}

function paintNumbers(context, box, { left, top, width, height, gap }, { shape: [L, H], info, selection, lit, theme }) {
  for (let head = 0; head < H; head++) {
    const on = lit ? lit.includes(head) : head === selection.head && selection.of === "head";
    const options = { colour: theme.ink, align: "center", weight: on ? 650 : 400 };
    text(context, String(numbered(info, "heads", head)), left + head * (width + gap) + width / 2, top - 9, options);
  }
  for (let layer = 0; layer < L; layer++) {
    const options = { colour: theme.ink, align: "right", weight: layer === selection.layer ? 650 : 400 };
    const y = top + layer * (height + gap) + height / 2;
    text(context, String(numbered(info, "layers", layer)), left - 4, y, options);
  }
  const words = info.groups ? `head${SHARE}` : "head";
  const room = H * (width + gap);
  text(context, textWidth([words]) + 16 <= room ? words : "head", left, box.y + 8, { colour: theme.muted });
  if (info.groups) paintGroups(context, { left, top, width, gap }, { info, theme });
  text(context, "layer", box.x + 7, top, { colour: theme.muted, turn: -Math.PI / 2, align: "right" });
}

// A line over the numbers of the heads that share keys and values.
function paintGroups(context, { left, top, width, gap }, { info, theme }) {
  context.fillStyle = theme.muted;
  for (let head = 0; head < info.heads; head = groupOf(info, head).last + 1) {
    const { first, last } = groupOf(info, head);
    const x = left + first * (width + gap) + INSET;
    context.fillRect(x, top - 19, Math.max(1, (last - first + 1) * (width + gap) - gap - 2 * INSET), 2);
  }
}

// The head at a point of that picture, and where inside what there is of it, as parts of one, or nowhere; null beside
// them.
export function headUnder(
  { left, top, width, height, gap, there },
  /** @type {number[]} */ [across, down],
  /** @type {number[]} */ [layers, heads],
) {
  const x = (across - left) / (width + gap);
  const y = (down - top) / (height + gap);
  if (x < 0 || y < 0 || x >= heads || y >= layers) return null;
  const part = (at, size, whole) => Math.min(0.999, ((at % 1) * (size + gap)) / size) / whole;
  const inside = [part(y, height, there[0]), part(x, width, there[1])];
  return { at: [Math.floor(y), Math.floor(x)], inside: inside.every((one) => one < 1) ? inside : null };
}
