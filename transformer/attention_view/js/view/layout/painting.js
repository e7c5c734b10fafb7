// What the painters are given of a view, without what the pointer is on.
import { headUnder, paintGrid } from "#view/pictures/grid.js";
import { manyOf, oneOfMany, paintMany } from "#view/pictures/many.js";
import { wholeInfo } from "#view/attention/scores.js";
import { inLines, infoOf, lit, stageNow } from "#view/attention/selection.js";
/** @import { Message } from "#view/message/fields.js" */

// What the picture of all heads needs; nothing where it is not here.
export function gridOf(view) {
  const { message, selection, theme } = view;
  const lines = inLines(view) ? lit(view) : null;
  const grid = { info: wholeInfo(infoOf(view), selection), selection, theme, scale: selection.scale, lit: lines };
  return withHeads(grid, message);
}

// With the cells of all heads, or of some of many, of which a map comes along.
/** @param {Message} message */
export function withHeads(grid, message) {
  const { kind } = grid.selection;
  if (message.shapes[`map/${kind}`]) return { ...grid, many: manyOf(message, grid.selection) };
  const cells = message.arrays[`grid/${kind}`];
  return cells ? { ...grid, cells, shape: message.shapes[`grid/${kind}`] } : null;
}

export const paintHeads = (context, box, grid) => (grid.many ? paintMany : paintGrid)(context, box, grid);

// The head at a point of what paintHeads has returned.
export const headAtSpot = (places, spot, sizes) =>
  places.many ? oneOfMany(places, spot) : headUnder(places, spot, sizes);

// The point below a head, of the same.
export function belowHead({ many, map, left, top, width, height, gap }, /** @type {number[]} */ [layer, head]) {
  return many
    ? [map.x + (head + 0.5) * map.cw, map.y + (layer + 1) * map.ch]
    : [left + (head + 0.5) * (width + gap), top + (layer + 1) * (height + gap)];
}

// What paintMatrix needs.
export function matrixOf(view, made = view.made) {
  const newest = view.message.newest && view.selection.kind !== "encoder";
  return { info: infoOf(view), stage: stageNow(view), selection: view.selection, ...made, newest, theme: view.theme };
}
