// What is looked at, in words.
import { checked, openText, rowSums } from "#view/attention/checks.js";
import { OF, groupOf, kindName, numbered, sharedText, windowText } from "#view/text/names.js";
import { thousands } from "#view/text/numbers.js";
import { stageName } from "#view/attention/stages.js";
import { plainly } from "#view/text/tokens.js";
import { boxed, inLines, infoOf, lit } from "#view/attention/selection.js";
import { onPhone } from "#view/page/window.js";
import { summary } from "#view/view/words/summary.js";
import { layerOf, weightsOf } from "#view/attention/weights.js";

const NARROWEST = 350; // px, of a window
const LINES_BRIEFLY = "Hover over a token to see only its lines, with their weights.";
const LINES = "Hover over a token to see only its lines, with their weights. Double click a head to see only that one.";

export const layerName = (view, at = view.selection.layer) => `layer ${numbered(infoOf(view), "layers", at)}`;
export const headName = (view, at = view.selection.head) => `head ${numbered(infoOf(view), "heads", at)}`;
export const headWords = (view, [layer, head]) => `${layerName(view, layer)}, ${headName(view, head)}`;

function named(view) {
  const { selection } = view;
  return selection.of === "head"
    ? headWords(view, [selection.layer, selection.head])
    : OF[selection.of](infoOf(view), selection);
}

export function shows(view) {
  return `${kindName(view.selection.kind)} attention, ${inLines(view) ? linesOf(view) : named(view)}`;
}

function linesOf(view) {
  const [head, ...others] = lit(view);
  return head === undefined || others.length ? layerName(view) : headWords(view, [view.selection.layer, head]);
}

const stageText = (view) => stageName(view.message, view.selection);
const withStage = (view) => `${shows(view)}: ${stageText(view)}`;
const capital = (words) => `${words[0].toUpperCase()}${words.slice(1)}`;

export function heading(view) {
  if (view.message.step_view?.brief) return "Where one head looks";
  const plain = inLines(view) || view.large || (boxed(view) && view.selection.stage === "weights");
  // beside the scale of the colours there may be no room for the kind, which stands above
  if (plain) return boxed(view) && !inLines(view) && window.innerWidth < NARROWEST ? capital(named(view)) : shows(view);
  return boxed(view) && onPhone() ? `${capital(named(view))}: ${stageText(view)}` : withStage(view);
}

export function source({ message }) {
  const { kinds } = message;
  const { checkpoint, step } = message.about;
  if (!checkpoint) return Object.values(kinds).some(({ open }) => open) ? "values given" : "weights given";
  return `${checkpoint} · training step ${step === undefined || step === null ? "not recorded" : thousands(step)}`;
}

// Two lines over every picture that is taken away, and more where pieces are merged or left out.
export function caption(view) {
  const { text, output } = view.message.about;
  const brief = (words) => words.slice(0, 200);
  const about = `${source(view)}${text ? ` · text: ${brief(text)}` : ""}${output ? ` → ${brief(output)}` : ""}`;
  const { open } = infoOf(view);
  return [
    inLines(view) ? shows(view) : withStage(view),
    about,
    ...mergedLines(view),
    ...(open ? [openText({ open })] : []),
  ];
}

// What a head shares, and how far its layer sees, where that is not all.
function detailed(view, shared) {
  const { selection } = view;
  const info = infoOf(view);
  const ofLayer = selection.of === "head" || selection.of === "mean_heads";
  return [
    selection.of === "head" && !inLines(view) && shared(info, selection.head),
    ofLayer && windowText(info, selection.layer),
  ].filter(Boolean);
}

// The same beside a heading.
export const briefly = (view) =>
  detailed(view, (info, head) => info.groups && `key-value head ${groupOf(info, head).at}`).join(" · ");

// What can be said of the head, or the mean, without pointing at anything in it.
export function known(view) {
  const words = detailed(view, sharedText).join("; ");
  const sentence = words && `${capital(words)}.`;
  return [checked(view.message, view.selection), sentence].filter(Boolean).join(" ");
}

// What the readout says while the pointer is on nothing.
export function atRest(view) {
  if (boxed(view) && !view.large) {
    // there is room for little: how words were made, and what is left out, comes first
    const more = inLines(view) ? LINES_BRIEFLY : checked(view.message, view.selection);
    return mergedText(view) || (onPhone() && summary(view)) || `${summary(view)} ${more}`.trim();
  }
  return inLines(view) && !view.large ? LINES : "";
}

// What is said of a picture of words, or of fewer tokens than there are: how it was made, and how much of the weight
// it does not show.

const HOW_WORDS = "Weights of a word’s pieces are added over keys and averaged over queries.";
const MOST_NAMED = 4; // tokens that are named

export const mergedText = (view) => mergedLines(view).join(" ");

function mergedLines(view) {
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
  const all = [...new Set(left.map(([token, what]) => `${plainly(token)}${what}`))];
  const more = all.length > MOST_NAMED ? [`${all.length - MOST_NAMED} more`] : [];
  return [...all.slice(0, MOST_NAMED), ...more].join(", ");
}

// How much of the weight is on what is left out.
function hiddenShare(view) {
  const [weights, whose] = weightsSeen(view);
  if (typeof weights === "string" || !weights?.length) return "";
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
