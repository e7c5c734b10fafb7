// The parts of a page that a tour points at, by the names that a lesson gives them.
import { CANDIDATES, keySelector, pageTrees } from "#view/streamlit.js";

// Where a part carries no name of its own, what stands for it.
const OTHERWISE = {
  source: '.chips[aria-label="source tokens"], .chips[aria-label="tokens"]',
  target: '.chips[aria-label="target tokens"], .chips[aria-label="tokens"]',
  head: "canvas.matrix",
  heads: "canvas.grid",
  product: ".between",
  controls: ".controls",
  candidates: CANDIDATES,
  weights: 'figure.matrix[data-name="weights"]',
  numbers: "figure.matrix",
};

export function partOf(name) {
  if (!name) return null;
  const page = window.location.pathname.split("/").pop() || "home";
  const selectors = [`[data-part="${name}"]`, OTHERWISE[name] ?? keySelector(`${page}_${name}`)];
  for (const selector of selectors) {
    for (const tree of pageTrees()) {
      const element = [...(tree.querySelectorAll(selector) ?? [])].find(seen);
      if (element) return element;
    }
  }
  return null;
}

function seen(element) {
  const { width, height } = element.getBoundingClientRect();
  return width > 0 && height > 0;
}
