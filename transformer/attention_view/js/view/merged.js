// What is said of a picture of words, or of fewer tokens than there are: how it was made, and how much of the weight
// it does not show.
import { rowSums } from "#view/checks.js";
import { visible } from "#view/tokens.js";
import { layerOf, weightsOf } from "#view/weights.js";
import { infoOf, inLines, lit } from "#view/view/look.js";

const HOW_WORDS = "Weights of a word’s pieces are added over keys and averaged over queries.";
const MOST_NAMED = 6; // tokens that are named

export function mergedSaid(view) {
  const { merged } = infoOf(view);
  if (!merged) return "";
  const left = [...merged.special.map((one) => [one, ""]), ...merged.sinks.map((one) => [one, " (a sink)"])];
  const hides = view.message.look.special === "hidden";
  const without = left.length
    ? `${leftOut(left)} ${hiddenShare(view)}`
    : hides && "No special token and no sink to leave out.";
  return [merged.words && HOW_WORDS, without].filter(Boolean).join(" ");
}

function leftOut(left) {
  const names = left.slice(0, MOST_NAMED).map(([token, what]) => `${visible(token)}${what}`);
  if (left.length > MOST_NAMED) names.push(`${left.length - MOST_NAMED} more`);
  return `Left out: ${names.join(", ")}.`;
}

// How much of the weight is on what is left out.
function hiddenShare(view) {
  const [weights, what] = weightsSeen(view);
  if (!weights) return "";
  const [least, most] = rowSums(weights, infoOf(view).keys.length);
  const rows = weights.length / infoOf(view).keys.length;
  const hidden = 1 - weights.reduce((sum, weight) => sum + weight, 0) / rows;
  const range = rows > 1 ? `, ${percent(1 - most)} to ${percent(1 - least)} of a row` : "";
  return `That hides ${percent(hidden)} of the weight ${what}${range}; the rest is as it was.`;
}

function weightsSeen(view) {
  const { message, look } = view;
  if (!inLines(view)) return [weightsOf(message, look), look.of === "head" ? "of this head" : "of this mean"];
  const layer = layerOf(message, look);
  if (!layer || layer.first.some(Boolean)) return [null];
  const size = layer.q * layer.k;
  const heads = lit(view).map((head) => layer.values.subarray(head * size, (head + 1) * size));
  return [Float32Array.from(heads.flatMap((head) => [...head])), "of these heads"];
}

const percent = (part) => `${(100 * Math.max(0, part)).toFixed(part > 0 && part < 0.0995 ? 1 : 0)}%`;
