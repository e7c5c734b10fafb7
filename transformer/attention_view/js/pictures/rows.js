// What the rows of a picture are called: by the token read, or by that and the one predicted from it.
import { widest } from "#view/drawing/canvas.js";
import { placed, visible } from "#view/text/tokens.js";
import { SMALL, typeHasCome } from "#view/drawing/type.js";
/** @import { AttentionKind, Selection } from "#view/message/fields.js" */

export const ROOM = 150; // px
const LEAST = 4; // characters of a token

export const namedByBoth = (info, selection) => Boolean(info.makes) && selection.rows !== "read";

// The labels of all queries, as they are drawn: tokens are shortened until the widest label has room.
/**
 * @param {Pick<AttentionKind, "queries" | "makes">} info
 * @param {Selection} selection
 */
export function rowLabels(info, selection, room = ROOM, size = SMALL) {
  const { queries } = info;
  const makes = namedByBoth(info, selection) ? info.makes : null;
  return shortened(info, makes ? "both" : "queries", [room, size], (longest) =>
    makes
      ? queries.map((token, at) => `${visible(token, longest)} → ${visible(makes[at], longest)}`)
      : queries.map((token) => visible(token, longest)),
  );
}

// The same of all keys.
export const keyLabels = (info, room = ROOM, size = SMALL) =>
  shortened(info, "keys", [room, size], (longest) => info.keys.map((token) => visible(token, longest)));

const inRoom = new WeakMap(); // it is needed at every draw
function shortened(info, side, [room, size], spell) {
  if (!inRoom.has(info)) inRoom.set(info, {});
  const known = inRoom.get(info);
  const id = `${side} ${room} ${size} ${typeHasCome()}`;
  if (known[id]) return known[id];
  let longest = 16;
  let labels = spell(longest);
  while (longest > LEAST && widest(labels, 650, size) > room) labels = spell(--longest);
  return (known[id] = labels);
}

// The same in a file of numbers, where tokens are exact.
export const rowNames = (info, selection) => {
  const { queries, makes } = info.pieces ?? info;
  return info.queries.map((_, at) => (namedByBoth(info, selection) ? `${queries[at]} → ${makes[at]}` : queries[at]));
};
export const keyNames = (info) => info.keys.map((_, at) => (info.pieces ?? info).keys[at]);

// A query in a sentence: with its place, and what it is read to predict, which of a word is true of its end alone.
/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
export function rowText(info, selection, at) {
  const read = placed(info.queries, at, info.first?.[0]);
  if (!info.makes || !namedByBoth(info, selection)) return read;
  return `${read}, ${info.merged?.words ? "followed by" : "read to predict"} ${visible(info.makes[at], 40)},`;
}
