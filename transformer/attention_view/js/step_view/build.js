// The elements of the step view: the controls, the rows of tokens, the attention view and the bars.
import { part } from "#view/elements.js";

export function buildStepView(root) {
  const block = (className, name, ...children) => {
    const element = part("div", { className }, ...children);
    if (name) element.dataset.part = name;
    return element;
  };
  const parts = {
    controls: block("controls", "controls"),
    rows: block("rows"),
    picture: block("attention-view"),
    bars: block("bars", "candidates"),
    below: block("below"),
    making: block("making"),
    live: part("output", { className: "unseen", ariaLive: "polite" }),
  };
  parts.controls.setAttribute("role", "toolbar");
  parts.controls.setAttribute("aria-label", "Steps");
  const { controls, rows, picture, bars, below, making, live } = parts;
  parts.screen = block("screen", null, controls, rows, picture, bars);
  root.replaceChildren(parts.screen, making, below, live);
  return parts;
}
