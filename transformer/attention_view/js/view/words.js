// What is looked at, in words.
import { kindName, numbered, OF } from "#view/names.js";
import { STAGES } from "#view/stages.js";
import { thousands } from "#view/numbers.js";
import { inLines, infoOf } from "#view/view/look.js";
import { mergedLines } from "#view/view/merged.js";

const LINES = "Hover over a token to see only its lines, with their weights. Double click a head to see only that one.";

export const layerName = (view, at = view.look.layer) => `layer ${numbered(infoOf(view), "layers", at)}`;
export const headName = (view, at = view.look.head) => `head ${numbered(infoOf(view), "heads", at)}`;
export const headWords = (view, [layer, head]) => `${layerName(view, layer)} · ${headName(view, head)}`;

export function named(view) {
  const { look } = view;
  return look.of === "head" ? headWords(view, [look.layer, look.head]) : OF[look.of](infoOf(view), look);
}

export function shows(view) {
  return `${kindName(view.look.kind)} attention, ${inLines(view) ? layerName(view) : named(view)}`;
}

const withStage = (view) => `${shows(view)}: ${STAGES[view.look.stage]}`;

export const heading = (view) => (inLines(view) || view.large ? shows(view) : withStage(view));

export function source({ message }) {
  const { checkpoint, step } = message.about;
  if (!checkpoint) return "weights given";
  return `${checkpoint} · training step ${step === undefined || step === null ? "not recorded" : thousands(step)}`;
}

// Two lines over every picture that is taken away, and more where pieces are merged or left out.
export function caption(view) {
  const { text, output } = view.message.about;
  const brief = (words) => words.slice(0, 200);
  const about = `${source(view)}${text ? ` · text: ${brief(text)}` : ""}${output ? ` → ${brief(output)}` : ""}`;
  return [inLines(view) ? shows(view) : withStage(view), about, ...mergedLines(view)];
}

// What the readout says while the pointer is on nothing.
export const atRest = (view) => (inLines(view) && !view.large ? LINES : "");
export const isAtRest = (words) => ["", LINES].includes(words);
