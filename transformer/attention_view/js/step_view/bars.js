// What may come next, or the classes of a text: a bar for each, to be clicked.
import { chooseCandidate } from "#view/step_view/controls.js";
import { onPhone } from "#view/page/window.js";
import { activeElement, part } from "#view/page/elements.js";
import { inPercent } from "#view/text/numbers.js";
import { referenceOf } from "#view/step_view/rows.js";
import { visible } from "#view/text/tokens.js";

const DIGITS = "1234567890";
const SEEN = 0.005; // what is less likely has no bar that could be seen
const FEW = 4; // where there is little room
const FEW_ON_PHONE = 3; // in one line

export function drawBars(stepView) {
  const { parts, data, large } = stepView;
  const { bars } = data;
  parts.bars.hidden = !bars;
  stepView.root.classList.toggle("alone", !bars);
  if (!bars) return;
  const head = part("h2", { textContent: bars.title });
  if (bars.help) head.title = bars.help;
  const list = part("div", { className: "next-tokens", role: "group", ariaLabel: bars.label });
  const little = large || data.brief || onPhone();
  const few = onPhone() && !large ? FEW_ON_PHONE : FEW;
  const most = stepView.all && !large ? bars.rows.length : little ? few : bars.most;
  const rows = bars.rows.slice(0, most).filter((row, at) => at < bars.least || row.probability >= SEEN || stepView.all);
  list.append(...rows.map((row, nth) => barOf(stepView, row, nth)));
  const rest = bars.rest === null ? null : bars.rest + sum(bars.rows.slice(rows.length));
  if (rest !== null && rest > 0) list.append(othersOf(stepView, rest, rows.length));
  parts.bars.classList.toggle("covered", Boolean(data.hide));
  parts.bars.replaceChildren(head, list);
  const note = [bars.note, !onPhone() && bars.invites].filter(Boolean).join(" ");
  if (note) parts.bars.append(part("p", { className: "note", textContent: note }));
  const reference = referenceOf(data);
  if (reference) parts.bars.append(reference);
  if (data.branches?.length) parts.bars.append(branchesOf(stepView));
}

// Of more bars than there is room for, the one chosen is seen.
export function keepChosenInSight(bars) {
  const chosen = bars.querySelector(".chosen");
  if (!chosen) return;
  bars.scrollTop += Math.max(0, chosen.getBoundingClientRect().bottom - bars.getBoundingClientRect().bottom);
}

// The versions of the text: the one looked at, and the others to go back to.
function branchesOf(stepView) {
  const [here, ...others] = stepView.data.branches;
  const now = part("button", { textContent: `● ${here}`, disabled: true });
  const back = others.map((ends, branch) => {
    const onclick = () => stepView.send.choose({ branch });
    return part("button", { textContent: `○ ${ends}`, title: "Go back to this branch", onclick });
  });
  const title = part("h3", { textContent: `Branches · ${others.length + 1}` });
  return part("div", { className: "branches" }, title, now, ...back);
}

const sum = (rows) => rows.filter((row) => !row.excluded).reduce((all, row) => all + row.probability, 0);

function barOf(stepView, row, nth) {
  const { bars } = stepView.data;
  const label = bars.tokens ? visible(row.label).slice(1, -1) : row.label;
  const bar = part("i");
  bar.style.setProperty("--part", row.probability >= SEEN ? row.probability.toFixed(4) : 0);
  const name = part("bdi", { textContent: label, title: label });
  const number = part("span", { textContent: inPercent(row.probability) });
  const key = bars.keys ? part("kbd", { textContent: DIGITS[nth] ?? "" }) : part("b");
  const element = part("button", { title: bars.hint }, key, name, bar, number);
  element.className = [row.chosen && "chosen", row.excluded && "excluded"].filter(Boolean).join(" ");
  element.dataset.nth = nth;
  element.onclick = (event) => {
    if (event.detail) element.blur();
    if (stepView.controls) chooseCandidate(stepView.controls, nth);
    else stepView.send.choose({ nth, number: (stepView.chosen = (stepView.chosen ?? 0) + 1) });
  };
  return element;
}

function othersOf(stepView, rest, shown) {
  const { bars } = stepView.data;
  const words = part("bdi", { textContent: "all others" });
  const bar = part("i");
  bar.style.setProperty("--part", rest >= SEEN ? rest.toFixed(4) : 0);
  const cells = [part("b"), words, bar, part("span", { textContent: inPercent(rest) })];
  if (shown >= bars.rows.length && !stepView.all) return part("div", { className: "others" }, ...cells);
  const title = stepView.all ? "show only the likeliest" : `show the ${bars.rows.length} likeliest`;
  const onclick = (event) => {
    if (event.detail) activeElement()?.blur();
    stepView.all = !stepView.all;
    drawBars(stepView);
  };
  return part("button", { className: "others", title, onclick }, ...cells);
}
