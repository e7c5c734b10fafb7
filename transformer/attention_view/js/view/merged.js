// What is said of a picture of words, or of fewer tokens than there are: how it was made, and how much of the weight
// it does not show.
import { rowSums } from "#view/checks.js";
import { visible } from "#view/tokens.js";
import { layerOf, weightsOf } from "#view/weights.js";
import { infoOf, inLines, lit } from "#view/view/selection.js";

const HOW_WORDS = "Weights of a word’s pieces are added over keys and averaged over queries.";
const MOST_NAMED = 4; // tokens that are named

export const mergedSaid = (view) => mergedLines(view).join(" ");

export function mergedLines(view) {
  const { merged } = infoOf(view);
  if (!merged) return [];
  const left = [...merged.special.map((one) => [one, ""]), ...merged.sinks.map((one) => [one, " (a sink)"])];
  const hides = view.message.selection.special === "hidden";
  const without = left.length
    ? `Left out: ${names(left)}${hiddenShare(view)}. What is left is not scaled up.`
    : hides && "There is no special token and no sink to leave out.";
  return [merged.words && HOW_WORDS, without].filter(Boolean);
}

function names(left) {
  const all = [...new Set(left.map(([token, what]) => `${visible(token)}${what}`))];
  const more = all.length > MOST_NAMED ? [`${all.length - MOST_NAMED} more`] : [];
  return [...all.slice(0, MOST_NAMED), ...more].join(", ");
}

// How much of the weight is on what is left out.
function hiddenShare(view) {
  const [weights, whose] = weightsSeen(view);
  if (!weights?.length) return "";
  const [least, most] = rowSums(weights, infoOf(view).keys.length);
  const rows = weights.length / infoOf(view).keys.length;
  const hidden = 1 - weights.reduce((sum, weight) => sum + weight, 0) / rows;
  const range = rows > 1 ? ` (${percent(1 - most)} to ${percent(1 - least)} of a row)` : "";
  return `, with ${percent(hidden)} of ${whose} weight${range}`;
}

function weightsSeen(view) {
  const { message, selection } = view;
  if (!inLines(view)) return [weightsOf(message, selection), selection.of === "head" ? "this head’s" : "this mean’s"];
  const layer = layerOf(message, selection);
  if (!layer || layer.first.some(Boolean)) return [null];
  const size = layer.q * layer.k;
  const heads = lit(view).map((head) => layer.values.subarray(head * size, (head + 1) * size));
  return [Float32Array.from(heads.flatMap((head) => [...head])), "these heads’"];
}

const percent = (part) => `${Number((100 * Math.max(0, part)).toFixed(part < 0.0995 ? 1 : 0))}%`;
