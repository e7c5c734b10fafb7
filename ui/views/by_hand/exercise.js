// A matrix to fill in. Cells are checked as they are left or with Enter; nothing goes to Python. What was typed is kept
// for as long as the browser's tab is open, under the exercise's own name.
// One object, `view`, holds the parts, the cells and which of them is looked at.
import STYLE from "./exercise.css";
import { dress, part } from "#view/page/elements.js";
import { judged, neighbour } from "./exercise/judge.js";

const SIGNS = { right: "✓", wrong: "✗", shown: "○" };
const SAID = { "": "empty", right: "right", wrong: "not right", shown: "shown" };
const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

export default function component({ data, parentElement }) {
  const root = parentElement.querySelector(".exercise");
  dress(root, STYLE);
  if (root.view?.data.name === data.name) return;
  /** @type {any} */
  const view = (root.view = { root, data, at: 0, cells: [] });
  build(view);
  for (const cell of view.cells) paint(cell);
  count(view);
  root.observer?.disconnect();
  root.observer = new ResizeObserver(() => root.classList.toggle("cut", view.box.scrollWidth > view.box.clientWidth));
  root.observer.observe(view.box);
}

function build(view) {
  const { data } = view;
  const kept = remembered(data.name);
  const corner = part("td");
  const head = part("tr", {}, corner, ...data.columns.map((name) => part("th", { scope: "col", textContent: name })));
  const rows = data.rows.map((name, row) => {
    const label = part("th", { scope: "row", textContent: name });
    const cells = data.columns.map((_, column) => cellOf(view, row, column, kept));
    return part("tr", { className: data.open.includes(row) ? "open" : "" }, label, ...cells);
  });
  view.places = view.cells.map(({ row, column }) => [row, column]);
  view.box = part("div", { className: "box" }, part("table", {}, part("thead", {}, head), part("tbody", {}, ...rows)));
  view.status = part("p", { className: "status", role: "status" });
  const caption = part("p", { className: "name" }, part("b", { textContent: data.title }), ` ${data.shape}`);
  caption.append(part("span", { className: "sign", textContent: "scroll sideways ↔" }));
  view.root.replaceChildren(caption, view.box, tools(view), view.status);
}

function tools(view) {
  const button = (textContent, onclick) => part("button", { type: "button", textContent, onclick });
  const reveal = (cells) => {
    for (const cell of cells) if (cell.state !== "right") settle(view, cell, cell.answer, "shown");
    tell(view, view.cells[view.at]);
  };
  return part(
    "div",
    { className: "tools" },
    button("Show this cell", () => reveal([view.cells[view.at]])),
    button("Show all", () => reveal(view.cells)),
    button("Start again", () => startAgain(view)),
  );
}

function startAgain(view) {
  for (const cell of view.cells) settle(view, cell, "", "");
  view.cells[0].input.focus();
  count(view);
}

function cellOf(view, row, column, kept) {
  const { data } = view;
  const answer = data.answers[row][column];
  if (!data.open.includes(row)) return part("td", { className: "given", textContent: answer });
  const at = view.cells.length;
  const label = `${data.rows[row]}, ${data.columns[column]}`;
  const input = part("input", { type: "text", autocomplete: "off", spellcheck: false, inputMode: data.keyboard });
  const mark = part("span", { className: "mark", ariaHidden: "true" });
  const [text, state] = kept[`${row},${column}`] ?? ["", ""];
  const cell = { row, column, at, label, answer, input, mark, state };
  input.value = text;
  input.onfocus = () => {
    view.at = at;
    input.select();
  };
  input.onchange = () => check(view, cell);
  input.onkeydown = (event) => pressed(view, cell, event);
  view.cells.push(cell);
  return part("td", { className: "cell" }, input, mark);
}

function check(view, cell) {
  const { low, high } = view.data;
  const text = cell.input.value;
  if (cell.state === "shown" && text === cell.answer) return;
  settle(view, cell, text, judged(text, low[cell.row][cell.column], high[cell.row][cell.column]));
  tell(view, cell);
}

// Letters stay here: the page has keys of its own.
function pressed(view, cell, event) {
  event.stopPropagation();
  if (event.key === "Enter") {
    check(view, cell);
    if (cell.state !== "wrong") forward(view, cell.at);
    else cell.input.select();
  }
  if (!ARROWS.includes(event.key) || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return;
  const { selectionStart, selectionEnd, value } = cell.input;
  const everything = selectionStart === 0 && selectionEnd === value.length;
  const inside = { ArrowLeft: selectionStart > 0, ArrowRight: selectionEnd < value.length }[event.key];
  if (inside && !everything) return;
  const next = neighbour(view.places, cell.at, event.key);
  if (next === null) return;
  event.preventDefault();
  view.cells[next].input.focus();
}

// On to the next cell that is not done, round to the first.
function forward(view, at) {
  const order = [...view.cells.slice(at + 1), ...view.cells.slice(0, at)];
  const next = order.find(({ state }) => state === "" || state === "wrong");
  next?.input.focus();
}

function settle(view, cell, text, state) {
  cell.input.value = text;
  cell.state = state;
  paint(cell);
  const kept = view.cells.filter(({ input }) => input.value !== "");
  remember(view.data.name, Object.fromEntries(kept.map((one) => [`${one.row},${one.column}`, pair(one)])));
}

const pair = ({ input, state }) => [input.value, state];

function paint({ input, mark, label, state }) {
  input.parentElement?.setAttribute("data-state", state);
  input.ariaLabel = `${label}: ${SAID[state]}`;
  input.ariaInvalid = String(state === "wrong");
  mark.textContent = SIGNS[state] ?? "";
}

function tell(view, cell) {
  count(view, `${cell.label}: ${SAID[cell.state]}. `);
}

function count(view, before = "") {
  const right = view.cells.filter(({ state }) => state === "right").length;
  const shown = view.cells.filter(({ state }) => state === "shown").length;
  const all = right + shown === view.cells.length ? "Done: " : "";
  view.status.textContent = `${before}${all}${right} of ${view.cells.length} right${shown ? `, ${shown} shown` : ""}`;
}

// A browser may refuse to keep anything.
function remembered(name) {
  try {
    return JSON.parse(sessionStorage.getItem(`exercise ${name}`) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

function remember(name, cells) {
  try {
    sessionStorage.setItem(`exercise ${name}`, JSON.stringify(cells));
  } catch {
    return;
  }
}
