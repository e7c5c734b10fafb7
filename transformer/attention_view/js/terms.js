// A term inside a component, dressed as those on the page are: its sentence is shown by whoever listens there, which
// outside the app is nobody but the browser's own title.
import { part } from "#view/elements.js";

export const TERM_STYLE = `dfn.term {
  font-style: normal;
  text-decoration: underline dotted;
  text-underline-offset: 0.2em;
  cursor: help;
}`;

// sentences: what is said of each term; without it, the page's own.
export function termLabel(name, shown = name, sentences = window.headsUpTerms) {
  const says = sentences?.[name];
  if (!says) return part("span", { textContent: shown });
  const label = part("dfn", { className: "term", textContent: shown, tabIndex: 0, role: "button" });
  label.dataset.term = name;
  label.ariaLabel = `${shown}: ${says}`;
  if (!window.headsUpTerms) label.title = says;
  return label;
}
