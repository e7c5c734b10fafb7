// The parts of a page that a tour can point at, by their names in lessons.
import { CANDIDATES, keySelector, pageTrees } from "#view/page/streamlit.js";

// Selectors for parts without an attribute `data-part`.
const SELECTORS = {
  source: '.chips[aria-label="source tokens"], .chips[aria-label="tokens"]',
  target: '.chips[aria-label="target tokens"], .chips[aria-label="tokens"]',
  head: "canvas.matrix",
  heads: "canvas.grid",
  model: "canvas.model",
  product: ".between",
  controls: ".controls",
  candidates: CANDIDATES,
  weights: 'figure.matrix[data-name="weights"]',
  numbers: "figure.matrix",
};

export function partOf(name) {
  if (!name) return null;
  const page = window.location.pathname.split("/").pop() || "home";
  const selectors = [`[data-part="${name}"]`, SELECTORS[name] ?? keySelector(`${page}_${name}`)];
  for (const selector of selectors) {
    for (const tree of pageTrees()) {
      const element = [...tree.querySelectorAll(selector)].find(isVisible);
      if (element) return element;
    }
  }
  return null;
}

function isVisible(element) {
  const { width, height } = element.getBoundingClientRect();
  return width > 0 && height > 0;
}
