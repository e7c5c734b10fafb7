// Attention weights out of a message: of one head, of a mean, of rollout, of a whole layer, and of all heads small.
/** @import { Message, Selection } from "#view/message/fields.js" */

// All heads small, out of a file's cells: as Pooled makes them in Python.
export function pooled({ arrays, shapes, block, kinds }) {
  for (const kind in kinds) {
    if (arrays[`grid/${kind}`] || !arrays[`cells/${kind}`]) continue;
    const [, L, H, Q, K] = shapes[`cells/${kind}`];
    const [down, across] = block[kind];
    const R = Math.ceil(Q / down);
    const C = Math.ceil(K / across);
    arrays[`grid/${kind}`] = largest(arrays[`cells/${kind}`], { heads: L * H, Q, K, R, C, down, across });
    shapes[`grid/${kind}`] = [L, H, R, C];
  }
}

function largest(cells, { heads, Q, K, R, C, down, across }) {
  const most = new Uint16Array(heads * R * C); // of both bytes of a cell
  const column = Uint16Array.from({ length: K }, (_, k) => Math.floor(k / across));
  const size = heads * Q * K;
  for (let row = 0, from = 0; row < heads * Q; row++) {
    const start = (Math.floor(row / Q) * R + Math.floor((row % Q) / down)) * C;
    for (let k = 0; k < K; k++, from++) {
      const cell = (cells[from] << 8) | cells[size + from];
      const to = start + column[k];
      if (cell > most[to]) most[to] = cell;
    }
  }
  const out = new Uint8Array(most.length);
  for (let i = 0; i < out.length; i++) out[i] = Math.round(most[i] / 257);
  return out;
}

export const sameHead = (a, b) =>
  a.kind === b.kind &&
  a.of === b.of &&
  (a.layer === b.layer || a.of === "mean_all") &&
  (a.head === b.head || a.of !== "head");

// What a cell of a small picture stands for: 0..255 is the square root of a weight, or of a value from 0 to the most
// there is; of a signed one 128 is 0. See on_scale in heads.py.
export function cellValue({ open }, cell) {
  if (!open) return (cell / 255) ** 2;
  return open.most * (open.signed ? (cell - 128) / 127 : (cell / 255) ** 2);
}

// One head's cells out of those of all heads, as weights.
/** @param {Message} message */
export function unquantised(message, kind, layer, head) {
  const values = message.arrays[`values/${kind}`]; // which are no weights, and sent as they are
  if (values) {
    const { heads, queries, keys } = message.kinds[kind];
    const at = (layer * heads + head) * queries.length * keys.length;
    return values.subarray(at, at + queries.length * keys.length);
  }
  const cells = message.arrays[`cells/${kind}`];
  const [, layers, heads, queries, keys] = message.shapes[`cells/${kind}`];
  const size = queries * keys;
  const start = (layer * heads + head) * size;
  const low = start + layers * heads * size;
  const out = new Float32Array(size);
  for (let i = 0; i < size; i++) out[i] = ((cells[start + i] * 256 + cells[low + i]) / 65535) ** 2;
  return out;
}

function mean(matrices) {
  const out = new Float32Array(matrices[0].length);
  for (const matrix of matrices) for (let i = 0; i < out.length; i++) out[i] += matrix[i] / matrices.length;
  return out;
}

// Abnar and Zuidema 2020, section 3: heads averaged, half residual, layers multiplied.
/** @param {Float32Array[]} layers @param {number} n */
export function rolledOut(layers, n) {
  /** @type {Float32Array | null} */
  let through = null;
  for (const layer of layers) {
    const mixed = layer.map((w, i) => (w + (i % (n + 1) === 0 ? 1 : 0)) / 2);
    through = through === null ? mixed : multiplied(mixed, through, n);
  }
  return /** @type {Float32Array} */ (through);
}

function multiplied(a, b, n) {
  const out = new Float32Array(n * n);
  for (let q = 0; q < n; q++) {
    for (let j = 0; j < n; j++) {
      const w = a[q * n + j];
      if (w) for (let k = 0; k < n; k++) out[q * n + k] += w * b[j * n + k];
    }
  }
  return out;
}

// Whether the weights of every head are here.
const hasAll = ({ arrays }, { kind }) => Boolean(arrays[`cells/${kind}`] ?? arrays[`values/${kind}`]);

// The weights looked at, or null where only Python has them.
/**
 * @param {Message} message
 * @param {Selection} selection
 */
export function weightsOf(message, selection) {
  if (message.arrays.weights && sameHead(selection, message.selection)) return message.arrays.weights;
  if (!hasAll(message, selection)) return null;
  const { layers, heads, queries } = message.kinds[selection.kind];
  const layer = (at) =>
    mean(Array.from({ length: heads }, (_, head) => unquantised(message, selection.kind, at, head)));
  if (selection.of === "head") return unquantised(message, selection.kind, selection.layer, selection.head);
  if (selection.of === "mean_heads") return layer(selection.layer);
  if (selection.of === "mean_all") return mean(Array.from({ length: layers }, (_, at) => layer(at)));
  return rolledOut(
    Array.from({ length: selection.layer + 1 }, (_, at) => layer(at)),
    queries.length,
  );
}

// The weights of all heads of the layer looked at, {values (H, q, k), first: [query, key], q, k}; null where they are
// not here.
/**
 * @param {Message} message
 * @param {Selection} selection
 */
export function layerOf(message, selection) {
  if (
    message.arrays.layer &&
    message.selection.kind === selection.kind &&
    message.selection.layer === selection.layer
  ) {
    const [, q, k] = message.shapes.layer;
    return { values: message.arrays.layer, first: message.window, q, k };
  }
  if (!hasAll(message, selection)) return null;
  const id = `layer,${selection.kind},${selection.layer}`;
  if (!message.made.has(id)) message.made.set(id, layerFromCells(message, selection));
  return message.made.get(id);
}

/**
 * @param {Message} message
 * @param {Selection} selection
 */
function layerFromCells(message, selection) {
  const { queries, keys, heads } = message.kinds[selection.kind];
  const Q = queries.length;
  const K = keys.length;
  const most = Math.max(32, Math.floor(Math.sqrt(1e6 / heads)));
  const first = [Math.max(0, Q - most), Math.max(0, K - most)];
  const q = Q - first[0];
  const k = K - first[1];
  const values = new Float32Array(heads * q * k);
  for (let head = 0; head < heads; head++) {
    const all = unquantised(message, selection.kind, selection.layer, head);
    for (let row = 0; row < q; row++) {
      const from = (first[0] + row) * K + first[1];
      values.set(all.subarray(from, from + k), (head * q + row) * k);
    }
  }
  return { values, first, q, k };
}
