// Scores, q·k / √d, in the one place of the browser that makes them, and what may look at what.
import { sameHead } from "#view/weights.js";

// Queries, keys, moved norms and what positions add to the scores of one head, where they were captured: {q, k, moved,
// bias, width}, or null.
export function rowsOf(message, look) {
  if (look.of !== "head") return null;
  const info = message.kinds[look.kind];
  const { arrays, shapes } = message;
  if (arrays.q && sameHead(look, message.look)) {
    return { q: arrays.q, k: arrays.k, moved: arrays.moved, bias: arrays.bias, width: shapes.q[1] };
  }
  if (!arrays[`q/${look.kind}`]) return null;
  const at = look.layer * info.heads + look.head;
  const width = shapes[`q/${look.kind}`][3];
  const cut = (name, size) => arrays[`${name}/${look.kind}`]?.subarray(at * size, (at + 1) * size);
  return {
    q: cut("q", info.queries.length * width),
    k: cut("k", info.keys.length * width),
    moved: cut("moved", info.keys.length),
    bias: biasOf(arrays[`bias/${look.kind}`], look.head, info),
    width,
  };
}

// Positions add the same in every layer.
function biasOf(every, head, { queries, keys }) {
  const size = queries.length * keys.length;
  return every?.subarray(head * size, (head + 1) * size);
}

// sees: how many of the first keys each query may look at, where that is not one more at each.
export function mayLook(info, query, key) {
  if (info.sees) return key < info.sees[query];
  return !info.causal || key <= query + info.keys.length - info.queries.length;
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

export const score = (rows, query, key) => dot(rows, query, key) / Math.sqrt(rows.width) + added(rows, query, key);
