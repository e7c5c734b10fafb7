// What is looked at, and changing it.
import { rollsOut } from "#view/names.js";
import { stageOf } from "#view/stages.js";

export const infoOf = ({ message, selection }) => message.kinds[selection.kind];

export const sizesOf = (view) => [infoOf(view).queries.length, infoOf(view).keys.length];

// Whether the view fills a box that it is given, instead of being as tall as its picture.
export const boxed = ({ below }) => Boolean(below);

// Whether words, or fewer tokens than there are, are looked at.
export const merges = ({ tokens, special }) => tokens === "words" || special === "hidden";

export const inLines = ({ selection }) => selection.view === "lines";

export const stageNow = ({ message, selection }) => stageOf(message, selection);

const MOST_LIT = 16; // heads whose lines can be told apart

// The heads drawn as lines: until some are chosen all of them, or of many the one looked at.
export function lit({ message, selection }) {
  const { heads } = message.kinds[selection.kind];
  if (!selection.lit && heads > MOST_LIT) return [selection.head];
  return selection.lit ?? Array.from({ length: heads }, (_, head) => head);
}

// What `lit` of a look says where all are drawn: of many that has to be said, or it would be the one looked at.
export function allLit({ message, selection }) {
  const { heads } = message.kinds[selection.kind];
  return heads > MOST_LIT ? Array.from({ length: heads }, (_, head) => head) : null;
}

// From the matrix to the lines: of a head its own, where no others were chosen with it.
export function showLines(view) {
  const { selection } = view;
  const there = selection.lit?.includes(selection.head);
  change(view, { view: "lines", ...(selection.of === "head" && !there && { lit: [selection.head] }) });
}

export function change(view, fields) {
  const { selection } = view;
  Object.assign(selection, fields);
  if (selection.of !== "head" || merges(selection)) selection.stage = "weights"; // a mean has no scores and no values
  if ("tokens" in fields || "special" in fields) selection.pair = null; // it was of others
  if (selection.of === "rollout" && merges(selection)) selection.of = "head";
  if ("kind" in fields) {
    const info = infoOf(view);
    Object.assign(selection, { layer: Math.min(selection.layer, info.layers - 1), pair: null });
    if (selection.of === "rollout" && !rollsOut(selection.kind, info)) selection.of = "head";
  }
  if ("kind" in fields || "tokens" in fields || "special" in fields) selection.start = null;
  const [Q, K] = sizesOf(view);
  if (selection.pair && (selection.pair[0] >= Q || selection.pair[1] >= K)) selection.pair = null;
  view.sent += 1;
  view.send({ number: view.sent, ...selection });
  view.redraw();
}

// A head chosen: in lines, those of this head and of no other.
export function choose(view, [layer, head]) {
  change(view, { layer, head, of: "head", ...(inLines(view) && { lit: [head] }) });
}
