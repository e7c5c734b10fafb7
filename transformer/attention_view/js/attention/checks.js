// What a reader can hold the weights against: the sums of their rows, and the softmax made again from queries and keys.
import { plain } from "#view/text/numbers.js";
import { formula, mayLook, score } from "#view/attention/scores.js";
import { stageOf } from "#view/attention/stages.js";
/** @import { AttentionKind, Message, Selection } from "#view/message/fields.js" */

const CLOSE = 1e-6; // to which a softmax in float32 and one in float64 agree
// a row whose sum is further from 1 is not all of one, with weights of that type
const WHOLE = { bfloat16: 1e-2, float16: 2e-3, undefined: 1e-3 };

// The least and the largest sum of a row.
export function rowSums(weights, keys) {
  let [least, most] = [Infinity, -Infinity];
  for (let at = 0; at < weights.length; at += keys) {
    const sum = weights.subarray(at, at + keys).reduce((a, b) => a + b, 0);
    [least, most] = [Math.min(least, sum), Math.max(most, sum)];
  }
  return [least, most];
}

// The softmax of the masked scores of every row, and how far any weight is from it.
/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
export function largestDifference(info, rows, weights, selection) {
  const K = info.keys.length;
  let largest = 0;
  info.queries.forEach((_, q) => {
    const scores = info.keys.map((key, k) => (mayLook(info, q, k, selection) ? score(rows, q, k) : -Infinity));
    const highest = scores.reduce((a, b) => Math.max(a, b));
    const powers = scores.map((one) => Math.exp(one - highest));
    const total = powers.reduce((a, b) => a + b, 0);
    powers.forEach((power, k) => {
      largest = Math.max(largest, Math.abs(power / total - weights[q * K + k]));
    });
  });
  return largest;
}

// The same in words, for the head or the mean that is looked at; nothing where its weights are not here.
/**
 * @param {Message} message
 * @param {Selection} selection
 */
export function checked(message, selection) {
  const id = ["checked", selection.kind, selection.layer, selection.head, selection.of].join();
  if (!message.made.has(id)) message.made.set(id, words(message, selection));
  return message.made.get(id);
}

/**
 * @param {Message} message
 * @param {Selection} selection
 */
function words(message, selection) {
  const { weights, rows } = stageOf(message, { ...selection, stage: "weights" });
  if (!weights) return "";
  const info = message.kinds[selection.kind];
  const [least, most] = rowSums(weights, info.keys.length);
  const off = Math.max(1 - least, most - 1);
  if (info.open || off > WHOLE[info.rounded]) {
    const ends = [least, most].map((sum) => plain(three(sum)));
    const add = `Rows add up to ${[...new Set(ends)].join(" to ")}`;
    if (info.open) return `${add}.`; // what they are stands beside their scale
    // what is beyond an edge is known of a part of a text alone
    return info.whole || info.cut ? `${add}; the rest is on tokens not drawn here.` : `${add}, not to 1.`;
  }
  const within = `Each row adds up to 1, within ${brief(off)}${info.rounded ? `, in ${info.rounded}` : ""}`;
  const sums = off <= CLOSE ? "Each row adds up to 1" : within;
  if (!rows) return `${sums}.`;
  const difference = largestDifference(info, rows, weights, selection);
  const what = `${formula(rows)}${rows.cap ? "," : ""} + mask`;
  if (weights !== message.arrays.weights) {
    return `${sums}; weights are rounded in this file: softmax(${what}) differs by up to ${brief(difference)}.`;
  }
  const agrees = difference <= CLOSE ? `agrees to ${brief(CLOSE)}` : `differs by up to ${brief(difference)}`;
  return `${sums}; softmax(${what}) was checked in your browser and ${agrees}.`;
}

const three = (value) => Number(value.toFixed(Math.abs(value) < 0.1 ? 6 : 3));

// What values that are no attention weights are drawn as, beside the scale of their colours.
export function openText({ open }) {
  const most = plain(Number(open.most.toPrecision(3)));
  return open.signed
    ? `Not attention weights: values below 0 in red, above in blue, up to ±${most}.`
    : `Not attention weights: values from 0 to ${most}.`;
}

// One digit; what is less than a millionth is only said to be less.
function brief(value) {
  if (value <= CLOSE) return "1e-6";
  return value < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(1)));
}
