// What the pointer or the keyboard is on: drawn, and said in the readout.
import { say } from "#view/page/elements.js";
import { sharedText, windowText } from "#view/text/names.js";
import { figure, numberSpoken, partOfOne, plain, weightText } from "#view/text/numbers.js";
import { same } from "#view/page/pointer.js";
import { rowText } from "#view/pictures/rows.js";
import { mayLook, score } from "#view/attention/scores.js";
import { placed, spoken } from "#view/text/tokens.js";
import { drawGrid, drawMain } from "#view/view/draw.js";
import { orderText } from "#view/view/layout/ordering.js";
import { change, inLines, infoOf, lit, sizesOf, stageNow } from "#view/attention/selection.js";
import { sound } from "#view/view/sound.js";
import { atRest, headWords } from "#view/view/words/words.js";
import { cellValue } from "#view/attention/weights.js";

// Whether there is a matrix for the pointer to be on.
export const hasCells = (view) => !inLines(view) && view.made && stageNow(view).values;

export function putCursor(view, to) {
  if (same(to, view.cursor)) return;
  view.cursor = to;
  drawMain(view);
  tellCell(view);
}

// Shows words about what the pointer or the keyboard is on, or the usual ones where it is on nothing. spoken: the words
// for who hears the page.
function tell(view, words, marks = {}, spoken = words) {
  view.pointing = Boolean(words);
  say(view.parts.readout, words || atRest(view), marks);
  say(view.parts.live, spoken);
}

function tellCell(view) {
  const { cursor, selection } = view;
  const { values, weights, rows } = stageNow(view);
  if (!cursor || !values) return tell(view, "");
  const info = infoOf(view);
  const [query, key] = cursor;
  const weight = weights[query * sizesOf(view)[1] + key];
  const seen = mayLook(info, query, key, selection);
  const number = info.open ? `value ${plain(weight)}` : seen ? `weight ${weightText(weight)}` : "masked, weight 0";
  const looks = info.open ? "and" : "looks at"; // what is between two tokens need not be a look
  const words = [`${rowText(info, selection, query)} ${looks} ${placed(info.keys, key, info.first?.[1])}: ${number}`];
  if (rows) words.push(`score ${plain(score(rows, query, key))}`);
  if (rows?.moved) {
    const length = plain(Number((weight * rows.moved[key]).toPrecision(4)));
    words.push(`adds a vector of length ${length} to the query's (weight × ‖value·W_O‖)`);
  }
  const { layer, head, kind } = selection;
  const spoken = cellSpoken(view, values[query * info.keys.length + key]);
  tell(view, words.join(" · "), { query, key, weight, layer, head, kind }, spoken);
  const { high } = stageNow(view);
  sound(view, key, info.keys.length, Math.abs(values[query * info.keys.length + key]) / high);
}

// The query, the key and the number there, short enough to be heard at each press of an arrow.
function cellSpoken({ cursor: [query, key], selection, ...view }, value) {
  const info = infoOf({ ...view, selection });
  const what =
    selection.stage === "weights" ? (info.open ? "value" : "weight") : selection.stage === "moved" ? "moves" : "score";
  const shut = !mayLook(info, query, key, selection);
  const number = shut && selection.stage === "weights" ? "masked" : `${what} ${numberSpoken(value)}`;
  return `${spoken(info.queries[query])}, ${spoken(info.keys[key])}, ${number}`;
}

export function comparePair(view, pair) {
  change(view, { pair: same(pair, view.selection.pair) ? null : pair });
}

// to: [side, token] of the lines, or null.
export function putHover(view, to) {
  if (same(to, view.hover)) return;
  view.hover = to;
  tell(view, to ? hoverWords(view, to) : "", {}, to ? lineSpoken(view, to) : "");
  drawMain(view);
}

// The token, and its strongest line among the heads drawn, as it is heard.
function lineSpoken(view, /** @type {number[]} */ [side, token]) {
  const info = infoOf(view);
  const { values, q, k, first } = view.layer;
  const tokens = side ? [info.keys, info.queries] : [info.queries, info.keys];
  const found = lit(view).flatMap((head) =>
    Array.from({ length: side ? q : k }, (_, other) => {
      return { other, value: values[(head * q + (side ? other : token)) * k + (side ? token : other)] };
    }),
  );
  const { other, value } = found.reduce((a, b) => (Math.abs(b.value) > Math.abs(a.value) ? b : a));
  const most = `${spoken(tokens[1][first[1 - side] + other])}, ${numberSpoken(value)}`;
  return `${side ? "key" : "query"} ${spoken(tokens[0][first[side] + token])}, most with ${most}`;
}

function hoverWords(view, /** @type {number[]} */ [side, token]) {
  const info = infoOf(view);
  const at = view.layer.first[side] + token;
  const what = side
    ? `what looks at ${placed(info.keys, at, info.first?.[1])}`
    : `where ${rowText(info, view.selection, at)} looks`;
  const largest = "the largest weight among the heads shown, and that head";
  return `${what}; ${lit(view).length > 1 ? `each number is ${largest}` : "the numbers are weights"}`;
}

// Puts the pointer on a head of the small pictures, {at, inside, nth}, or on none. inside: where in it, in parts of 1.
export function putHead(view, head) {
  const at = head?.at ?? null;
  if (!same(at, view.at)) {
    view.at = at;
    drawGrid(view);
  }
  tell(view, at ? headText(view, head) : "");
}

function headText(view, { at, inside, nth }) {
  const { message, selection } = view;
  const info = infoOf(view);
  const { queries, keys, heads, whole } = info;
  const many = view.tiles?.many;
  const about = [windowText(info, at[0]), sharedText(info, at[1])];
  const name = [
    headWords(view, at),
    ...about,
    many && orderText(info, selection, many.numbers[at[0] * many.heads + at[1]] / 255),
  ];
  const words = name.filter(Boolean).join(", ");
  if (!inside) return words;
  const [cells, [R, C]] = many
    ? [many.cells, many.shape.slice(1)]
    : [message.arrays[`grid/${selection.kind}`], message.shapes[`grid/${selection.kind}`].slice(2)];
  const block = message.block[selection.kind];
  const [r, c] = [Math.floor(inside[0] * R), Math.floor(inside[1] * C)];
  const value = cellValue(info, cells[(many ? nth : at[0] * heads + at[1]) * R * C + r * C + c]);
  const one = (tokens, place) => (whole ? `token ${place}` : placed(tokens, place));
  const span = (tokens, count, from, size) => {
    if (size === 1) return one(tokens, from);
    return `${one(tokens, from)} … ${one(tokens, Math.min(count, from + size) - 1)}`;
  };
  const [Q, K] = whole ?? [queries.length, keys.length];
  const looks = info.open ? "and" : "looks at";
  const between = `${span(queries, Q, r * block[0], block[0])} ${looks} ${span(keys, K, c * block[1], block[1])}`;
  const few = message.every > 1 ? `, of every ${message.every}th query` : "";
  const merged = block[0] * block[1] > 1;
  if (info.open)
    return `${words}: ${between}, ${merged ? "furthest from 0: " : ""}about ${figure(value, info.open.most)}`;
  return `${words}: ${between}, ${merged ? "at most " : ""}about ${partOfOne(value, 2)}${few}`;
}
