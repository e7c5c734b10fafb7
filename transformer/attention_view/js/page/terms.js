// A term inside a component, dressed as those on the page are; outside the app, where nobody explains them, plain text.
import { app } from "#view/page/app.js";
import { part } from "#view/page/elements.js";

export const TERM_STYLE = `dfn.term {
  font-style: normal;
  text-decoration-line: underline; /* by their long names, which WebKit needs */
  text-decoration-style: dotted;
  text-underline-offset: 0.2em;
  cursor: help;
}
dfn.term:focus-visible {
  outline: 3px solid var(--accent);
  border-radius: var(--radius-cell);
}`;

export function termLabel(name, shown = name) {
  const says = app().terms[name];
  if (!says) return part("span", { textContent: shown });
  const label = part("dfn", { className: "term", textContent: shown, tabIndex: 0, role: "button" });
  label.dataset.term = name;
  label.ariaLabel = `${shown}: ${says}`;
  return label;
}
