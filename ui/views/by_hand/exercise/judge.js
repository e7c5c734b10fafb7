// Whether what was typed into a cell is right: a number between the least and the largest answer that counts.

import { readNumber } from "#view/text/numbers.js";

const INFINITE = /^[-−–](inf|infinity|∞)$/i;

// The number that was typed, a decimal comma among it; NaN for none.
export function numberOf(text) {
  return INFINITE.test(text.trim()) ? -Infinity : (readNumber(text) ?? NaN);
}

// "" before anything is typed, "right" or "wrong"; a bound of null is minus infinity.
export function judged(text, low, high) {
  if (text.trim() === "") return "";
  const value = numberOf(text);
  return value >= (low ?? -Infinity) && value <= (high ?? -Infinity) ? "right" : "wrong";
}

// Where a key leads from a cell, among the places that are open, row by row; null where it leads nowhere.
export function neighbour(places, at, key) {
  const [row, column] = places[at];
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const next = at + (key === "ArrowRight" ? 1 : -1);
    return places[next]?.[0] === row ? next : null;
  }
  const by = key === "ArrowDown" ? 1 : -1;
  const next = places.findIndex(([r, c]) => r === row + by && c === column);
  return next < 0 ? null : next;
}
