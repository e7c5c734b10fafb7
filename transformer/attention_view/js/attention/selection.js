// What is looked at, and changing it.
import SHARED from "#view/message/shared.json";
import { stageOf } from "#view/attention/stages.js";
/** @import { Selection } from "#view/message/fields.js" */

/** @param {Record<string, any>} view of which it needs what was sent and what is looked at */
export const infoOf = ({ message, selection }) => message.kinds[selection.kind];

export const sizesOf = (view) => [infoOf(view).queries.length, infoOf(view).keys.length];

// Whether the view fills a box that it is given, instead of being as tall as its picture.
export const boxed = ({ below }) => Boolean(below);

export const inModel = ({ selection }) => selection.view === "model";

// Whether a presenter's remote goes through the levels of the model, and not through the steps.
export const walksLevels = (view) => Boolean(view.large) && inModel(view);

export const inLines = ({ selection }) => selection.view === "lines";

export const stageNow = ({ message, selection }) => stageOf(message, selection);

const MOST_LIT = SHARED.most_lit;

// The heads drawn as lines: until some are chosen all of them, or of many the one looked at.
export function lit({ message, selection }) {
  const { heads } = message.kinds[selection.kind];
  if (!selection.lit && heads > MOST_LIT) return [selection.head];
  return selection.lit ?? Array.from({ length: heads }, (_, head) => head);
}

// What `lit` of a selection says where all are drawn: of many that has to be said, or it would be the one looked at.
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

// The name of a part of the selection that would have to be another for a choice to be possible, if there is one: a
// mean has neither scores nor values.
export const unmet = (selection, name, choice) =>
  Object.entries(SHARED.needs[name][choice] ?? {}).find(([other, needed]) => !needed.includes(selection[other]))?.[0];

// The usual choice in place of what there is not, as `settled` in shared.py.
/** @param {Selection} selection */
function settle(selection, { rolls }) {
  if (!rolls && selection.of === "rollout") [selection.of] = SHARED.choices.of;
  for (const name of Object.keys(SHARED.needs)) {
    if (unmet(selection, name, selection[name])) [selection[name]] = SHARED.choices[name];
  }
}

export function change(view, fields) {
  const { selection } = view;
  const isOther = "kind" in fields && fields.kind !== selection.kind; // of other queries and keys
  Object.assign(selection, fields);
  if ("tokens" in fields || "special" in fields) selection.pair = null; // it was of others
  if (isOther) {
    const { layers, heads } = infoOf(view);
    const [layer, head] = [Math.min(selection.layer, layers - 1), Math.min(selection.head, heads - 1)];
    Object.assign(selection, { layer, head, pair: fields.pair ?? null });
  }
  settle(selection, infoOf(view));
  if (isOther || "tokens" in fields || "special" in fields) selection.start = null;
  const [Q, K] = sizesOf(view);
  if (selection.pair && (selection.pair[0] >= Q || selection.pair[1] >= K)) selection.pair = null;
  view.sent += 1;
  view.send({ number: view.sent, ...selection });
  view.redraw();
}

// A head chosen: in lines, those of this head and of no other.
export function choose(view, /** @type {number[]} */ [layer, head]) {
  change(view, { layer, head, of: "head", ...(inLines(view) && { lit: [head] }) });
}
