// What was changed in the pass that is drawn, and its marks: a head that is off is crossed out, what was changed in
// another way has a dashed frame.
import { stroke } from "#view/drawing/canvas.js";
import { stackOf } from "#view/model/parts/places.js";

const LEAST = 5; // px of a side that has room for a mark

// The changes of a head, or of a layer's rows.
export function changesOf({ model }, { type, kind, layer, head }) {
  return (model?.changes ?? []).filter((one) => {
    if (one.layer !== layer || one.kind === undefined) return false;
    if (type === "layer") return !one.heads && stackOf(one.kind) === stackOf(kind);
    return type === "head" && one.kind === kind && one.heads?.includes(head);
  });
}

export function paintChanged(context, { message, theme }, node, /** @type {number[]} */ [x, y, w, h]) {
  const changes = changesOf(message, node);
  if (!changes.length || Math.min(w, h) < LEAST) return;
  context.strokeStyle = theme.ink;
  context.lineWidth = Math.min(w, h) < 20 ? 1.5 : 2.5;
  if (changes.some(({ off }) => off)) {
    stroke(context, [x, y], [x + w, y + h]);
    stroke(context, [x, y + h], [x + w, y]);
    return;
  }
  context.setLineDash?.([4, 3]);
  context.strokeRect(x, y, w, h);
  context.setLineDash?.([]);
}

// What is said of them, "" where nothing was changed.
export const changedText = (message, node) =>
  changesOf(message, node)
    .map(({ words }) => `It was ${words}.`)
    .join(" ");

// What is said under the whole picture.
export function allChanges({ model }) {
  const count = new Set((model?.changes ?? []).map(({ number }) => number)).size;
  if (!count) return "";
  return `This pass was changed in ${count === 1 ? "one place" : `${count} places`}, which the picture marks.`;
}
