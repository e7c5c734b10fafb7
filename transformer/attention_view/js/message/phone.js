// The message of phone_message.py for a phone, made into what the attention view reads.
/** @import { Message } from "#view/message/fields.js" */

/** @param {Message} message */
export function enlarged(message) {
  const { arrays, shapes, selection } = message;
  const { fine } = arrays;
  if (fine) {
    const [, rows, columns] = shapes.fine;
    arrays.weights = Float32Array.from({ length: rows * columns }, (_, at) => {
      return ((fine[at] * 256 + fine[rows * columns + at]) / 65535) ** 2;
    });
    shapes.weights = [rows, columns];
  }
  if (arrays.faint) {
    arrays.layer = Float32Array.from(arrays.faint, (cell) => (cell / 255) ** 2);
    shapes.layer = shapes.faint;
    message.window = [0, 0];
  }
  return {
    ...message,
    selection: arrays.fine ? { ...selection, stage: "weights" } : selection,
    asked: selection.stage,
  };
}

// Of how many tokens the picture holds a part, in words; empty where it holds all.
export function partText({ kinds, selection, of }) {
  if (!of) return "";
  const { queries, keys, first } = kinds[selection.kind];
  const sides = [queries, keys].map((side, at) => ({ drawn: side.length, all: of[at], first: first[at] }));
  const cut = sides.filter(({ drawn, all }) => drawn < all).sort((one, other) => other.all - one.all);
  if (!cut.length) return "";
  const [{ drawn, all, first: from }] = cut;
  const more = keys.length < of[1] ? ": a row adds up to 1 with the others" : "";
  return `The ${from ? "last" : "first"} ${drawn} of ${all.toLocaleString("en")} tokens are drawn${more}.`;
}
