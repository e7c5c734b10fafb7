// What is looked at, in words.
import { checked, openSaid } from "#view/checks.js";
import { groupOf, kindName, numbered, OF, sharedSaid, windowSaid } from "#view/names.js";
import { stageName } from "#view/stages.js";
import { thousands } from "#view/numbers.js";
import { boxed, inLines, infoOf, lit } from "#view/view/selection.js";
import { mergedLines, mergedSaid } from "#view/view/merged.js";
import { summary } from "#view/view/summary.js";
import { onPhone } from "#view/view/sizes.js";

const LINES_BRIEFLY = "Hover over a token to see only its lines, with their weights.";
const LINES = "Hover over a token to see only its lines, with their weights. Double click a head to see only that one.";

export const layerName = (view, at = view.selection.layer) => `layer ${numbered(infoOf(view), "layers", at)}`;
export const headName = (view, at = view.selection.head) => `head ${numbered(infoOf(view), "heads", at)}`;
export const headWords = (view, [layer, head]) => `${layerName(view, layer)} · ${headName(view, head)}`;

export function named(view) {
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

const stageSaid = (view) => stageName(infoOf(view), view.selection.stage);
const withStage = (view) => `${shows(view)}: ${stageSaid(view)}`;
const capital = (words) => `${words[0].toUpperCase()}${words.slice(1)}`;

export function heading(view) {
  if (view.message.step_view?.brief) return "Where one head looks";
  const plain = inLines(view) || view.large || (boxed(view) && view.selection.stage === "weights");
  if (plain) return shows(view);
  // beside the scale of the colours there is no room for the kind, which stands above
  return boxed(view) && onPhone() ? `${capital(named(view))}: ${stageSaid(view)}` : withStage(view);
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
    ...(open ? [openSaid({ open })] : []),
  ];
}

// What a head shares, and how far its layer sees, where that is not all.
function detailed(view, shared) {
  const { selection } = view;
  const info = infoOf(view);
  const ofLayer = selection.of === "head" || selection.of === "mean_heads";
  return [
    selection.of === "head" && !inLines(view) && shared(info, selection.head),
    ofLayer && windowSaid(info, selection.layer),
  ].filter(Boolean);
}

// The same beside a heading.
export const briefly = (view) =>
  detailed(view, (info, head) => info.groups && `key-value head ${groupOf(info, head).at}`).join(" · ");

// What can be said of the head, or the mean, without pointing at anything in it.
export function known(view) {
  const words = detailed(view, sharedSaid).join("; ");
  const sentence = words && `${capital(words)}.`;
  return [checked(view.message, view.selection), sentence].filter(Boolean).join(" ");
}

// What the readout says while the pointer is on nothing.
export function atRest(view) {
  if (boxed(view) && !view.large) {
    // there is room for little: how words were made, and what is left out, comes first
    const more = inLines(view) ? LINES_BRIEFLY : checked(view.message, view.selection);
    return mergedSaid(view) || (onPhone() && summary(view)) || `${summary(view)} ${more}`.trim();
  }
  return inLines(view) && !view.large ? LINES : "";
}
