// What the rows of a picture are called: by the token read, or by that and the one predicted from it.
import { widest } from "#view/canvas.js";
import { placed, visible } from "#view/tokens.js";

export const ROOM = 150; // px
const LEAST = 4; // characters of a token

export const namedByBoth = (info, look) => Boolean(info.makes) && look.rows !== "read";

const inRoom = new WeakMap(); // asked for at every draw
// The labels of all queries, as they are drawn: both tokens shortened until the widest label has room.
export function rowLabels(info, look, room = ROOM) {
  if (!namedByBoth(info, look)) return info.queries.map((token) => visible(token));
  if (inRoom.get(info)?.room !== room) inRoom.set(info, { room, labels: shortened(info, room) });
  return inRoom.get(info).labels;
}

function shortened({ queries, makes }, room) {
  for (let longest = 16; ; longest--) {
    const labels = queries.map((token, at) => `${visible(token, longest)} → ${visible(makes[at], longest)}`);
    if (longest <= LEAST || widest(labels, 700) <= room) return labels;
  }
}

// The same in a file of numbers, as the tokens are.
export const rowNames = (info, look) =>
  namedByBoth(info, look) ? info.queries.map((token, at) => `${token} → ${info.makes[at]}`) : info.queries;

// A query in a sentence: with its place, and what it is read to predict, which of a word is true of its end alone.
export function rowSaid(info, look, at) {
  const read = placed(info.queries, at, info.first?.[0]);
  if (!namedByBoth(info, look)) return read;
  return `${read}, ${info.merged?.words ? "followed by" : "read to predict"} ${visible(info.makes[at], 40)},`;
}
