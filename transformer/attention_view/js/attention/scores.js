// Scores, q·k / √d or as the model makes them, in the one place of the browser that does, and what may look at what.
import { text, textWidth } from "#view/drawing/canvas.js";
import { css, palette } from "#view/drawing/colours.js";
import { SMALL } from "#view/drawing/type.js";
import { sameHead } from "#view/attention/weights.js";
/** @import { AttentionKind, Message, Selection } from "#view/message/fields.js" */

// Queries, keys, values, moved norms and what positions add to the scores of one head, where they were captured: {q, k,
// v, moved, bias, width, scale, cap}, or null.
/**
 * @param {Message} message
 * @param {Selection} selection
 */
export function rowsOf(message, selection) {
  if (selection.of !== "head") return null;
  const info = message.kinds[selection.kind];
  const { arrays, shapes } = message;
  const { scale, cap } = info;
  if (arrays.q && sameHead(selection, message.selection)) {
    const { q, k, v, moved, bias } = arrays;
    return { q, k, v, moved, bias, width: shapes.q[1], scale, cap };
  }
  if (!arrays[`q/${selection.kind}`]) return null;
  const at = selection.layer * info.heads + selection.head;
  const width = shapes[`q/${selection.kind}`][3];
  const cut = (name, size) => arrays[`${name}/${selection.kind}`]?.subarray(at * size, (at + 1) * size);
  return {
    q: cut("q", info.queries.length * width),
    k: cut("k", info.keys.length * width),
    v: cut("v", info.keys.length * width),
    moved: cut("moved", info.keys.length),
    bias: biasOf(message, selection),
    width,
    scale,
    cap,
  };
}

// Whether positions add to the scores of a kind.
/**
 * @param {Partial<Message>} message
 * @param {Selection} selection
 */
export function hasBias({ arrays }, { kind }) {
  return Boolean(arrays?.[`bias/${kind}`] ?? arrays?.bias);
}

// What positions add may be the same in every layer.
function biasOf({ arrays, shapes, kinds }, { kind, layer, head }) {
  const every = arrays[`bias/${kind}`];
  if (!every) return undefined;
  const { heads, queries, keys } = kinds[kind];
  const size = queries.length * keys.length;
  const at = (shapes[`bias/${kind}`][0] > 1 ? layer * heads : 0) + head;
  return every.subarray(at * size, (at + 1) * size);
}

// The window that hides something of what is looked at, or undefined: that of its layer, and of a mean of all layers
// only where all have one; what went through several layers has seen beyond it.
function windowOf({ near, layers }, /** @type {Record<string, any>} */ { of, layer }) {
  if (!near || of === "rollout") return undefined;
  return (of === "mean_all" ? near.layers.length === layers : near.layers.includes(layer)) ? near : undefined;
}

// The keys that a query may look at, [the first, the one after the last]. sees: how many of the first keys each query
// may look at, where that is not one more at each.
/** @param {any} info @param {number} query @param {Record<string, any>} selection */
export function span(info, query, selection = {}) {
  const { sees, causal, queries, keys, first = [0, 0] } = info;
  const near = windowOf(info, selection);
  if (near?.sees) return near.sees[query];
  const all = sees ? sees[query] : causal ? query + 1 + keys.length - queries.length : keys.length;
  if (!near) return [0, all];
  const own = query + first[0] - first[1]; // the key that is the query itself
  const end = own + (causal ? 1 : near.size);
  return [Math.max(0, own + 1 - near.size), Math.max(0, Math.min(keys.length, end))];
}

/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
export function mayLook(info, query, key, selection) {
  const [from, to] = span(info, query, selection);
  return key >= from && key < to;
}

// All heads are drawn on the whole text, of which the large picture may hold a part.
/** @param {AttentionKind} info */
export function wholeInfo(info, { kind }) {
  if (!info.whole) return info;
  const [queries, keys] = info.whole.map((length) => ({ length }));
  const near = info.near?.sees ? undefined : info.near;
  return { ...info, queries, keys, sees: undefined, first: undefined, near, causal: kind === "decoder" };
}

// The products q·k one by one, in the order of head_dim.
export const products = ({ q, k, width }, query, key) =>
  Array.from({ length: width }, (_, i) => q[query * width + i] * k[key * width + i]);

// What they add up to.
export function dot({ q, k, width }, query, key) {
  let sum = 0;
  for (let i = 0; i < width; i++) sum += q[query * width + i] * k[key * width + i];
  return sum;
}

// What positions add to the score of two tokens.
export const added = ({ bias, k, width }, query, key) => (bias ? bias[query * (k.length / width) + key] : 0);

export function score(rows, query, key) {
  const { width, scale = 1 / Math.sqrt(width), cap } = rows;
  const sum = dot(rows, query, key) * scale + added(rows, query, key);
  return cap ? cap * Math.tanh(sum / cap) : sum;
}

// What the softmax over the row makes of a score, as long as nothing is changed there.
/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
export function ownWeight(info, rows, [query, key], selection) {
  const [from, to] = span(info, query, selection);
  const scores = Array.from({ length: to - from }, (_, at) => score(rows, query, from + at));
  const most = Math.max(...scores);
  const total = scores.reduce((sum, one) => sum + Math.exp(one - most), 0);
  return Math.exp(scores[key - from] - most) / total;
}

export const SAME_WEIGHT = 0.005; // a difference of two weights that rounding makes

// How they are made, in words, of what `rowsOf` gives or of a kind.
/** @param {{scale?: number, cap?: number, bias?: unknown}} rows */
export function formula({ scale, cap, bias }) {
  const times = scale === undefined ? " / √d" : scale === 1 ? "" : ` × ${Number(scale.toPrecision(3))}`;
  return `q·k${times}${bias ? " + bias" : ""}${cap ? `, capped at ±${cap}` : ""}`;
}

// The products q·k of two tokens one by one, over an axis that numbers the dimensions.

export function paintProducts(context, whole, { rows, pair: [query, key], theme }) {
  const values = products(rows, query, key);
  const most = Math.max(1e-9, ...values.map(Math.abs));
  const label = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toPrecision(2);
  const margin = textWidth([label(-most)]) + 8;
  const box = { x: whole.x + margin, y: whole.y + 8, width: whole.width - margin, height: whole.height - 42 };
  const step = box.width / rows.width;
  const middle = box.y + box.height / 2;
  const bottom = box.y + box.height;
  for (const [value, y] of [
    [most, box.y + 2],
    [0, middle],
    [-most, bottom - 2],
  ]) {
    text(context, value ? label(value) : "0", box.x - 6, y, { colour: theme.ink, align: "right" });
  }
  const every = [1, 2, 4, 8, 16, 32, 64].find((n) => n * step >= 26) ?? 128;
  for (let i = 0; i < rows.width; i += every) {
    text(context, String(i), box.x + (i + 0.5) * step, bottom + 9, { colour: theme.ink, align: "center", size: SMALL });
  }
  text(context, "dimension of the head", box.x, bottom + 25, { colour: theme.muted });
  context.fillStyle = theme.muted;
  context.fillRect(box.x, middle - 0.5, box.width, 1);
  values.forEach((value, i) => {
    const height = (Math.abs(value) / most) * (box.height / 2 - 2);
    context.fillStyle = css(palette(theme.dark)[value < 0 ? 40 : 472].signed);
    context.fillRect(box.x + i * step, value < 0 ? middle : middle - height, Math.max(1, step - 1), height);
  });
}
