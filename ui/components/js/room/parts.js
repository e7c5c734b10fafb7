// Small parts of what a lecturer sees.
import { part } from "#view/elements.js";

export const button = (textContent, onclick, more = {}) =>
  part("button", { type: "button", textContent, onclick, ...more });

// What is drawn anew keeps the focus where it was, by this name.
export function named(element, act) {
  element.dataset.act = act;
  return element;
}

// A field whose keys are its own: arrows and letters step nothing on the page behind.
export function ownKeys(field) {
  field.addEventListener("keydown", (event) => event.stopPropagation());
  return field;
}
