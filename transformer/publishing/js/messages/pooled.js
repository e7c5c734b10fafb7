// All heads of a kind small, as `Pooled` in transformer/attention_view/heads.py has them.
//
// L layers, H heads, Tq queries, Tk keys.
/** @import { Words } from "./sources.js" */
import { Part, Whole } from "./sources.js";

const POOLED = 64; // cells of a pooled head, along each side
const MOST_POOLED = 2_000_000; // cells of all heads of a kind
const FEWEST_CELLS = 16; // cells along a side, however many heads there are
const MOST_SMALL = 300_000; // cells of all heads of all kinds, where all are drawn at once

// Tokens to a cell: a power of two, so that cells of one size merge into cells of the next.
function blockOf(tokens, most) {
  let block = 1;
  while (Math.ceil(tokens / block) > most) block *= 2;
  return block;
}

// Queries and keys to a cell of a kind's heads, of which at most `POOLED` are along a side.
export function blockOfHeads(source, kind) {
  const [layers, heads] = source.shape(kind);
  const most = Math.min(POOLED, Math.max(FEWEST_CELLS, Math.floor(Math.sqrt(MOST_POOLED / (layers * heads)))));
  return source.axes(kind).map(({ length }) => blockOf(length, most));
}

// Queries and keys to a cell of the picture of all heads of a kind, which is no longer along one side than its cells
// would be along both.
function blockOfGrid(source, kind) {
  const sizes = source.axes(kind).map(({ length }) => Math.ceil(length / blockOf(length, POOLED)));
  const most = Math.max(4, Math.floor(Math.sqrt(sizes[0] * sizes[1])));
  return source.axes(kind).map(({ length }, side) => blockOf(length, POOLED) * blockOf(sizes[side], most));
}

// The same of every kind, where all of them are drawn at once: see `_small` in transformer/attention_view/
// model_message.py.
export function blocksOfAll(source) {
  const made = source.kinds.map((kind) => {
    const [layers, heads] = source.shape(kind);
    const tokens = source.axes(kind).map(({ length }) => length);
    return { kind, heads: layers * heads, side: POOLED, tokens, pooled: blockOfHeads(source, kind) };
  });
  const block = ({ tokens, pooled, side }) =>
    tokens.map((count, at) => pooled[at] * blockOf(Math.ceil(count / pooled[at]), side));
  const cells = (one) => block(one).reduce((all, size, at) => all * Math.ceil(one.tokens[at] / size), 1);
  while (made.reduce((all, one) => all + one.heads * cells(one), 0) > MOST_SMALL) {
    const larger = made.filter(({ side }) => side > 1);
    if (!larger.length) break;
    larger.reduce((most, one) => (cells(one) > cells(most) ? one : most)).side /= 2;
  }
  return Object.fromEntries(made.map((one) => [one.kind, block(one)]));
}

/**
 * @typedef {object} Pooled
 * @property {Part | Whole | Words} source
 * @property {Float32Array} largest
 * @property {Uint8Array} cells
 * @property {number[]} shape
 * @property {number[]} block
 */

// All heads of a kind small, {cells (L, H, rows, columns), shape, block}: the square root of the largest weight of a
// cell. before: the same of an earlier step of a text, of which what is still so is taken. block: queries and keys to a
// cell.
/**
 * @param {Part | Whole | Words} source
 * @param {string} kind
 * @param {Pooled | null} [before]
 * @returns {Pooled}
 */
export function pooledHeads(source, kind, before = null, block = blockOfGrid(source, kind)) {
  const [layers, heads] = source.shape(kind);
  const [Tq, Tk] = source.axes(kind).map((axis) => axis.length);
  const [rows, columns] = [Math.ceil(Tq / block[0]), Math.ceil(Tk / block[1])];
  const largest = new Float32Array(layers * heads * rows * columns);
  const first = before && String(block) === String(before.block) ? queriesInCommon(source, kind, before.source) : 0;
  if (before && first) spreadOut(before, largest, rows, columns);
  const column = Uint16Array.from({ length: Tk }, (_, key) => Math.floor(key / block[1]));
  for (let layer = 0; layer < layers; layer++) {
    const weightsOf = weightsOfQueries(source, kind, layer);
    for (let query = first; query < Tq; query++) {
      const weights = weightsOf(query);
      const size = weights.length / heads;
      for (let head = 0, from = 0; head < heads; head++) {
        const start = ((layer * heads + head) * rows + Math.floor(query / block[0])) * columns;
        for (let key = 0; key < size; key++, from++) {
          const to = start + column[key];
          if (weights[from] > largest[to]) largest[to] = weights[from];
        }
      }
    }
  }
  const cells = new Uint8Array(largest.length);
  for (let at = 0; at < cells.length; at++) cells[at] = Math.round(Math.sqrt(Math.min(1, largest[at])) * 255);
  return { source, largest, cells, shape: [layers, heads, rows, columns], block };
}

// So many queries of a source are as they were for another.
function queriesInCommon(source, kind, before) {
  if (source instanceof Whole && before instanceof Whole) return source.inCommon(kind, before);
  if (!(source instanceof Part && before instanceof Part) || source.of !== before.of) return 0;
  return String(source.places[kind]) === String(before.places[kind]) ? source.axes(kind)[0].length : 0;
}

// Puts the cells of an earlier step where they stand among more.
function spreadOut({ largest, shape }, into, rows, columns) {
  const [layers, heads, R, C] = shape;
  for (let row = 0; row < layers * heads * R; row++) {
    const to = (Math.floor(row / R) * rows + (row % R)) * columns;
    into.set(largest.subarray(row * C, (row + 1) * C), to);
  }
}

// The weights of a layer's queries in all heads: query -> (H, keys).
function weightsOfQueries(source, kind, layer) {
  if (source instanceof Whole) return (query) => source.row(kind, layer, query);
  const [Tq, Tk] = source.axes(kind).map((axis) => axis.length);
  const weights = source.weights(kind, layer);
  const heads = weights.length / (Tq * Tk);
  return (query) => {
    const out = new Float32Array(heads * Tk);
    for (let head = 0; head < heads; head++) {
      out.set(weights.subarray((head * Tq + query) * Tk, (head * Tq + query + 1) * Tk), head * Tk);
    }
    return out;
  };
}
