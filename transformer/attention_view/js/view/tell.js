// What the pointer or the keyboard is on, said and drawn.
import { say } from "#view/elements.js";
import { plain } from "#view/numbers.js";
import { same } from "#view/pointer.js";
import { rowSaid } from "#view/rows.js";
import { mayLook, score } from "#view/scores.js";
import { placed } from "#view/tokens.js";
import { drawGrid, drawMain } from "#view/view/draw.js";
import { change, infoOf, inLines, lit, sizesOf, stageNow } from "#view/view/look.js";
import { atRest, headWords } from "#view/view/words.js";

// Whether there is a matrix for the pointer to be on.
export const hasCells = (view) => !inLines(view) && view.made && stageNow(view).values;

export function putCursor(view, to) {
  if (same(to, view.cursor)) return;
  view.cursor = to;
  drawMain(view);
  tellCell(view);
}

// What the pointer is on, or what is said where it is on nothing.
function tell(view, words, marks = {}) {
  view.told = Boolean(words);
  say(view.parts.readout, words || atRest(view), marks);
}

function tellCell(view) {
  const { cursor, look } = view;
  const { values, weights, rows } = stageNow(view);
  if (!cursor || !values) return tell(view, "");
  const info = infoOf(view);
  const [query, key] = cursor;
  const weight = weights[query * sizesOf(view)[1] + key];
  const said = mayLook(info, query, key) ? `weight ${plain(weight)}` : "masked, weight 0";
  const words = [`${rowSaid(info, look, query)} looks at ${placed(info.keys, key)}: ${said}`];
  if (rows) words.push(`score ${plain(score(rows, query, key))}`);
  if (rows?.moved) {
    const length = plain(Number((weight * rows.moved[key]).toPrecision(4)));
    words.push(`adds a vector of length ${length} to the query's (weight × ‖value·W_O‖)`);
  }
  const { layer, head, kind } = look;
  tell(view, words.join(" · "), { query, key, weight, layer, head, kind });
}

export function comparePair(view, pair) {
  change(view, { pair: same(pair, view.look.pair) ? null : pair });
}

// to: [side, token] of the lines, or null.
export function putHover(view, to) {
  if (same(to, view.hover)) return;
  view.hover = to;
  tell(view, to ? hoverWords(view, to) : "");
  drawMain(view);
}

function hoverWords(view, [side, token]) {
  const info = infoOf(view);
  const at = view.layer.first[side] + token;
  const what = side ? `what looks at ${placed(info.keys, at)}` : `where ${rowSaid(info, view.look, at)} looks`;
  const largest = "the largest weight among the heads shown, and that head";
  return `${what}; ${lit(view).length > 1 ? `each number is ${largest}` : "the numbers are weights"}`;
}

// The head of the small pictures, or null; inside: where in it, as parts of one.
export function putHead(view, at, inside) {
  if (!same(at, view.at)) {
    view.at = at;
    drawGrid(view);
  }
  tell(view, at ? headSaid(view, at, inside) : "");
}

function headSaid(view, at, inside) {
  if (!inside) return headWords(view, at);
  const { message, look } = view;
  const { queries, keys } = infoOf(view);
  const name = `grid/${look.kind}`;
  const [, H, R, C] = message.shapes[name];
  const block = message.block[look.kind];
  const [r, c] = [Math.floor(inside[0] * R), Math.floor(inside[1] * C)];
  const weight = (message.arrays[name][(at[0] * H + at[1]) * R * C + r * C + c] / 255) ** 2;
  const span = (tokens, from, size) => {
    if (size === 1) return placed(tokens, from);
    return `${placed(tokens, from)} … ${placed(tokens, Math.min(tokens.length, from + size) - 1)}`;
  };
  const between = `${span(queries, r * block[0], block[0])} looks at ${span(keys, c * block[1], block[1])}`;
  return `${headWords(view, at)}: ${between}, ${block[0] * block[1] > 1 ? "at most " : ""}about ${weight.toFixed(2)}`;
}
