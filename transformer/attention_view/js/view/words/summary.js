// What a picture shows as a whole, in one sentence, worked out from its numbers.
import { figure, partOfOne } from "#view/text/numbers.js";
import { namedByBoth } from "#view/pictures/rows.js";
import { mayLook } from "#view/attention/scores.js";
import { visible } from "#view/text/tokens.js";
import { inLines, infoOf, lit, stageNow } from "#view/attention/selection.js";
import { layerOf } from "#view/attention/weights.js";
/** @import { AttentionKind, Selection } from "#view/message/fields.js" */

const MOSTLY = 0.5; // of a row
const PATTERN = 0.8; // of the rows, which is then worth a word

// of a row: the keys that it may look at, and which of them has the most
/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
export function strongestOf(info, selection, values, query) {
  const K = info.keys.length;
  /** @type {number | null} */
  let most = null;
  let open = 0;
  for (let key = 0; key < K; key++) {
    if (!mayLook(info, query, key, selection)) continue;
    open += 1;
    if (most === null || values[query * K + key] > values[query * K + most]) most = key;
  }
  return { key: most, open };
}

// name: how a token is spelled, to be read or to be heard.
export function summary(view, name = (token) => visible(token, 40)) {
  const { selection, message } = view;
  const info = infoOf(view);
  if (inLines(view)) {
    const layer = layerOf(message, selection);
    const heads = lit(view);
    if (!layer || layer.first.some(Boolean) || heads.length !== 1 || info.open) return "";
    const size = layer.q * layer.k;
    return weightsText(info, selection, layer.values.subarray(heads[0] * size, (heads[0] + 1) * size), name);
  }
  const { values, high } = stageNow(view);
  if (!values) return "";
  if (selection.stage === "weights" && !info.open) return weightsText(info, selection, values, name);
  return extremesText(info, selection, values, high, name);
}

/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
function weightsText(info, selection, weights, name) {
  const K = info.keys.length;
  // a row with one key to look at says nothing of its head
  const rows = info.queries.map((_, query) => ({ query, ...strongestOf(info, selection, weights, query) }));
  const free = rows
    .filter(({ open }) => open > 1)
    .map((row) => ({ ...row, weight: weights[row.query * K + (row.key ?? 0)] }));
  if (!free.length) return "";
  const mostly = free.filter(({ weight }) => weight > MOSTLY).length;
  const strongest = free.reduce((a, b) => (b.weight > a.weight ? b : a));
  const one = info.merged?.words ? "word" : "token";
  const whole = mostly === free.length || !mostly;
  const who = mostly === free.length ? `Each ${one}` : mostly ? `${mostly} of ${free.length} ${one}s` : `No ${one}`;
  const how = `${whole ? "puts" : "put"} more than half of ${whole ? "its" : "their"} weight on one ${one}`;
  const pair = pairText(info, selection, strongest, name);
  const most = `The largest weight is ${partOfOne(strongest.weight, 2)}, ${pair}.`;
  return `${who} ${how}${patternText(info, selection, free)}. ${most}`;
}

// Where most rows have their largest weight, of tokens that look at those of their own text.
/** @param {AttentionKind} info */
function patternText(info, { kind }, rows) {
  if (!["encoder", "decoder"].includes(kind) || rows.length < 3) return "";
  const [q, k] = info.first ?? [0, 0];
  const places = {
    "the token itself": ({ query, key }) => key + k === query + q,
    "the token before": ({ query, key }) => key + k === query + q - 1,
    "the next token": ({ query, key }) => key + k === query + q + 1,
    "the first token": ({ key }) => key + k === 0,
  };
  for (const [name, fits] of Object.entries(places)) {
    const count = rows.filter(fits).length;
    if (count >= PATTERN * rows.length) return `, and ${count} of ${rows.length} look most at ${name}`;
  }
  return "";
}

/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
function extremesText(info, selection, values, high, name) {
  const K = info.keys.length;
  /** @type {number | null} */
  let low = null;
  /** @type {number | null} */
  let top = null;
  for (let at = 0; at < values.length; at++) {
    if (!Number.isFinite(values[at]) || !mayLook(info, Math.floor(at / K), at % K, selection)) continue;
    if (low === null || values[at] < values[low]) low = at;
    if (top === null || values[at] > values[top]) top = at;
  }
  if (top === null) return "";
  const said = (at) => {
    const pair = pairText(info, selection, { query: Math.floor(at / K), key: at % K }, name);
    return `${figure(values[at], high)}, ${pair}`;
  };
  return `Highest: ${said(top)}; lowest: ${said(low)}.`;
}

// A row that is read to predict a token is known by that one.
/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
function pairText(info, selection, { query, key }, name) {
  const { queries, keys, merged } = info;
  const makes = namedByBoth(info, selection) && !merged?.words ? info.makes : null;
  const to = `to “${name(keys[key])}”`;
  return makes ? `${to} in predicting “${name(makes[query])}”` : `from “${name(queries[query])}” ${to}`;
}
