// What is looked at, and changing it.
import { rollsOut } from "#view/names.js";
import { stageOf } from "#view/stages.js";

export const infoOf = ({ message, look }) => message.kinds[look.kind];

export const sizesOf = (view) => [infoOf(view).queries.length, infoOf(view).keys.length];

// Whether the view fills a box that it is given, instead of being as tall as its picture.
export const boxed = ({ below }) => Boolean(below);

// Whether words, or fewer tokens than there are, are looked at.
export const merges = ({ tokens, special }) => tokens === "words" || special === "hidden";

export const inLines = ({ look }) => look.view === "lines";

export const stageNow = ({ message, look }) => stageOf(message, look);

const MOST_LIT = 16; // heads whose lines can be told apart

// The heads drawn as lines: until some are chosen all of them, or of many the one looked at.
export function lit({ message, look }) {
  const { heads } = message.kinds[look.kind];
  if (!look.lit && heads > MOST_LIT) return [look.head];
  return look.lit ?? Array.from({ length: heads }, (_, head) => head);
}

// What `lit` of a look says where all are drawn: of many that has to be said, or it would be the one looked at.
export function allLit({ message, look }) {
  const { heads } = message.kinds[look.kind];
  return heads > MOST_LIT ? Array.from({ length: heads }, (_, head) => head) : null;
}

// From the matrix to the lines: of a head its own, where no others were chosen with it.
export function showLines(view) {
  const { look } = view;
  const there = look.lit?.includes(look.head);
  change(view, { view: "lines", ...(look.of === "head" && !there && { lit: [look.head] }) });
}

export function change(view, fields) {
  const { look } = view;
  Object.assign(look, fields);
  if (look.of !== "head" || merges(look)) look.stage = "weights"; // a mean, a sum has neither scores nor values
  if ("tokens" in fields || "special" in fields) look.pair = null; // it was of others
  if (look.of === "rollout" && merges(look)) look.of = "head";
  if ("kind" in fields) {
    const info = infoOf(view);
    Object.assign(look, { layer: Math.min(look.layer, info.layers - 1), pair: null });
    if (look.of === "rollout" && !rollsOut(look.kind, info)) look.of = "head";
  }
  if ("kind" in fields || "tokens" in fields || "special" in fields) look.start = null;
  const [Q, K] = sizesOf(view);
  if (look.pair && (look.pair[0] >= Q || look.pair[1] >= K)) look.pair = null;
  view.sent += 1;
  view.send({ number: view.sent, ...look });
  view.redraw();
}

// A head chosen: in lines, those of this head and of no other.
export function choose(view, [layer, head]) {
  change(view, { layer, head, of: "head", ...(inLines(view) && { lit: [head] }) });
}
