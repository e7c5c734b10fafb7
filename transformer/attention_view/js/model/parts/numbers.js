// What the picture of a model is told of one step: norms, what each part adds, effects, and what is looked at.
import { stackOf } from "#view/model/parts/places.js";
import { unquantised } from "#view/attention/weights.js";
/** @import { ModelMessage } from "#view/message/fields.js" */
/** @typedef {`${"norms" | "added" | "position" | "headNorms"}/${string}`} Row */

// The row of an array whose first axis are positions: of a live message there is one, of a file all.
/**
 * @param {ModelMessage} message
 * @param {Row} name
 */
function rowOf(message, name, position) {
  const array = message.arrays[name];
  if (!array) return null;
  const [count, size] = message.shapes[name];
  const at = count === 1 ? 0 : Math.min(position, count - 1);
  return array.subarray(at * size, (at + 1) * size);
}

// The mean over all positions, of a stack in which nobody is followed.
/**
 * @param {ModelMessage} message
 * @param {Row} name
 */
function meanOf(message, name) {
  const array = message.arrays[name];
  if (!array) return null;
  const [count, size] = message.shapes[name];
  const mean = new Float32Array(size);
  for (let at = 0; at < array.length; at++) mean[at % size] += array[at] / count;
  return mean;
}

// {parts, norms, added, mean} of a stack: names of its parts in the order of computation, and a number for each. mean:
// they are means over all tokens.
/**
 * @param {any} message
 * @param {string} stack
 * @returns {{parts: string[], norms: Float32Array, added: Float32Array, mean: boolean} | null}
 */
export function carriedOf(message, stack) {
  const { model } = message;
  const parts = model?.parts?.[stack];
  if (!parts || !message.arrays[`norms/${stack}`] || !message.arrays[`added/${stack}`]) return null;
  const mean = stack !== model.stack;
  const numbers = (/** @type {"norms" | "added"} */ name) =>
    mean ? meanOf(message, `${name}/${stack}`) : rowOf(message, `${name}/${stack}`, model.position);
  const [norms, added] = [numbers("norms"), numbers("added")];
  return norms && added && { parts, norms, added, mean };
}

// What a head adds to the row of the token followed: the length of it; null where that is not known.
/** @param {ModelMessage} message */
export function headNorm(message, { kind, layer, head }) {
  const name = `headNorms/${kind}`;
  const array = message.arrays[name];
  if (!array) return null;
  const [, positions, heads] = message.shapes[name];
  const number = (at) => array[(layer * positions + at) * heads + head];
  if (stackOf(kind) === message.model.stack)
    return number(positions === 1 ? 0 : Math.min(message.model.position, positions - 1));
  let sum = 0;
  for (let at = 0; at < positions; at++) sum += number(at) / positions;
  return sum;
}

/** @param {ModelMessage} message */
export function headEffect(message, { kind, layer, head }) {
  const array = message.arrays[`effects/${kind}`];
  return array ? array[layer * message.shapes[`effects/${kind}`][1] + head] : null;
}

// What a part of a layer adds to the logit: all heads of an attention together.
/** @param {ModelMessage} message */
export function partEffect(message, { type, kind, layer, block }) {
  if (type === "feed_forward") {
    const array = kind === message.model?.stack ? message.arrays["effects/feed_forward"] : null;
    return array ? array[layer] : null;
  }
  if (!message.arrays[`effects/${kind}`]) return null;
  let sum = 0;
  for (let head = 0; head < block.heads.count; head++) sum += headEffect(message, { kind, layer, head }) ?? 0;
  return sum;
}

// The largest effect of any head or part, which a full bar stands for.
/** @param {ModelMessage} message */
export function mostEffect(message) {
  if (!message.made.has("most effect")) {
    let most = 0;
    for (const [name, array] of Object.entries(message.arrays)) {
      if (name.startsWith("effects/") && name !== "effects/rest")
        for (const one of array) most = Math.max(most, Math.abs(one));
    }
    message.made.set("most effect", most);
  }
  return message.made.get("most effect");
}

// Whether the number that is looked at has come, taken apart: of the head that the message was made for, which a file
// says beside the number.
export function hasNumber({ model, arrays, selection }, { kind, layer, head, pair, feature }) {
  const { number } = model ?? {};
  if (!number || !arrays["number/weights"]) return false;
  const of = { ...selection, ...number };
  const same = of.kind === kind && of.layer === layer && of.head === head;
  const query = number.position - (model.first?.[kind]?.[0] ?? 0);
  return same && query === pair[0] && number.number === feature;
}

// Where the token followed looks in a head, a weight for each key; null for one that follows nobody.
/** @param {ModelMessage} message */
export function seenBy(message, { kind, layer, head }) {
  if (stackOf(kind) !== message.model?.stack) return null;
  const id = `seen,${kind},${layer},${head}`;
  if (!message.made.has(id)) message.made.set(id, seen(message, kind, layer, head));
  return message.made.get(id);
}

/** @param {ModelMessage} message */
function seen(message, kind, layer, head) {
  const array = message.arrays[`seen/${kind}`];
  if (array) {
    const [, heads, keys] = message.shapes[`seen/${kind}`];
    const start = (layer * heads + head) * keys;
    return Float32Array.from(array.subarray(start, start + keys), (cell) => (cell / 65535) ** 2);
  }
  if (!message.arrays[`cells/${kind}`]) return null;
  const { queries, keys } = message.kinds[kind];
  const row = Math.min(message.model.position, queries.length - 1);
  return unquantised(message, kind, layer, head).subarray(row * keys.length, (row + 1) * keys.length);
}

// All heads of a kind small, {cells, shape: (L, H, rows, columns)}; null where they are not here.
export function smallOf({ arrays, shapes }, kind) {
  const name = arrays[`small/${kind}`] ? `small/${kind}` : `grid/${kind}`;
  return arrays[name] ? { cells: arrays[name], shape: shapes[name] } : null;
}

// The first query and key that are drawn of a long text.
const firstOf = ({ kinds }, kind) => kinds[kind].first ?? [0, 0];

// The part of a row of weights that is drawn.
/** @param {ModelMessage} message */
export function drawnPart(message, kind, row) {
  const { keys } = message.kinds[kind];
  const [, first] = firstOf(message, kind);
  return row.length === keys.length ? row : row.subarray(first, first + keys.length);
}

// Where the token followed looks most in a head: {at, weight}, at among the keys drawn, or undefined with its `place`
// in the whole text where it lies outside of them; null where nobody is followed.
/** @param {ModelMessage} message */
export function mostSeen(message, head) {
  const row = seenBy(message, head);
  if (!row) return null;
  const place = row.reduce((best, weight, at) => (weight > row[best] ? at : best), 0);
  const count = message.kinds[head.kind].keys.length;
  const at = row.length === count ? place : place - firstOf(message, head.kind)[1];
  return { at: at >= 0 && at < count ? at : undefined, place, weight: row[place] };
}

// The place of the token followed among those that are drawn of its stack.
export function followedAt({ model, kinds }) {
  const kind = model?.stack === "encoder" ? "encoder" : kinds.decoder ? "decoder" : "cross";
  return model ? model.position - (kinds[kind]?.first?.[0] ?? 0) : -1;
}
