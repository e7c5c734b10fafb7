// A black screen, for a room that is to look at somebody; any key, or a click, brings the picture back.
import { part } from "#view/elements.js";

const BLACK = "heads-up-black";

export const blackened = () => document.querySelector(`.${BLACK}`);

export function darken() {
  const black = part("div", { className: BLACK, onclick: () => black.remove() });
  black.style.cssText = "position: fixed; inset: 0; background: #000; z-index: 1000000";
  document.body.append(black);
}
