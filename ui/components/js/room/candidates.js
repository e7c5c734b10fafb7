// What may come next, or the classes of a text, as bars that nobody can choose.
import { part } from "#view/elements.js";
import { inPercent } from "#view/numbers.js";
import { visible } from "#view/tokens.js";

const LEAST_BAR = 0.005; // what is less likely has no bar that could be seen
const MOST_BARS = 8;

export function drawCandidates(root, stepView) {
  const bars = stepView?.bars;
  root.hidden = !bars;
  if (!bars) return;
  const title = part("h2", { textContent: stepView.hide ? `${bars.title} (hidden)` : bars.title });
  if (stepView.hide) {
    root.replaceChildren(title);
    return;
  }
  const rows = bars.rows.slice(0, MOST_BARS).filter((row, at) => at < bars.least || row.probability >= LEAST_BAR);
  const named = rows.map((row) => [bars.tokens ? visible(row.label).slice(1, -1) : row.label, row.probability, row]);
  const left = bars.rows.slice(rows.length).filter((row) => !row.excluded);
  const rest = bars.rest === null ? 0 : left.reduce((all, row) => all + row.probability, bars.rest);
  if (rest > 0) named.push(["all others", rest, { others: true }]);
  const list = part("ul", { ariaLabel: bars.label }, ...named.map((one) => candidateRow(...one)));
  root.replaceChildren(title, list);
  if (bars.note) root.append(part("p", { className: "note", textContent: bars.note }));
}

function candidateRow(label, probability, row) {
  const bar = part("i");
  bar.style.width = `${probability < LEAST_BAR ? 0 : 100 * probability}%`;
  const line = part("span", { className: "line", ariaHidden: "true" }, bar);
  const name = part("bdi", { textContent: label });
  const element = part("li", {}, name, line, part("span", { textContent: inPercent(probability) }));
  element.className = ["chosen", "excluded", "others"].filter((kind) => row[kind]).join(" ");
  return element;
}
