// The question of a stop, and what is said to an answer.
import { part } from "#view/elements.js";
import { readNumber } from "#view/numbers.js";
import { answerWith } from "./acts.js";

const KINDS = { "next token": choices, cell: row, number, "free text": freeText };

export function questionOf(view) {
  const { question } = view.data;
  if (!question) return [];
  const block = part("div", { className: "question" });
  if (question.problem) {
    block.append(part("p", { className: "problem", textContent: question.problem }));
    return [block];
  }
  block.append(part("p", { className: "ask", textContent: question.ask, id: "lesson-ask" }));
  block.append(KINDS[question.kind](view, question));
  const verdict = part("p", { className: "verdict", textContent: question.said ?? "", role: "status" });
  verdict.classList.add(question.right === null ? "kept" : question.right ? "right" : "wrong");
  if (question.said) block.append(verdict);
  return [block];
}

function choices(view, { choices: tokens, given }) {
  const buttons = tokens.map((textContent, nth) => {
    const button = part("button", { type: "button", textContent, className: "choice" });
    button.dataset.act = `choice-${nth}`;
    button.disabled = given !== undefined;
    button.setAttribute("aria-pressed", given === nth);
    button.onclick = () => answerWith(view, nth);
    return button;
  });
  const group = part("div", { className: "choices", role: "group" }, ...buttons);
  group.setAttribute("aria-labelledby", "lesson-ask");
  return group;
}

function row(view, { row: token, given }) {
  const words = given === undefined ? `Click in the row of ${token}.` : "";
  return part("p", { className: "hint", textContent: words });
}

function number(view, { given }) {
  const field = entry(view, given, "text", "A number, then Enter"); // some keyboards of numbers have no minus
  field.onchange = () => {
    const value = readNumber(field.value);
    field.setCustomValidity(value === null ? "Type a number, such as −0.25" : "");
    if (value !== null) answerWith(view, value);
    else field.reportValidity();
  };
  return field;
}

function freeText(view, { given }) {
  const field = entry(view, given, "text", "Your answer, then Enter");
  field.maxLength = 400;
  field.onchange = () => {
    if (field.value.trim()) answerWith(view, field.value.trim());
  };
  return field;
}

function entry(view, given, inputMode, placeholder) {
  const field = part("input", { type: "text", inputMode, placeholder, autocomplete: "off" });
  field.dataset.act = "field";
  field.setAttribute("aria-labelledby", "lesson-ask");
  if (given !== undefined) Object.assign(field, { value: given, readOnly: true });
  field.onkeydown = (event) => {
    event.stopPropagation(); // what is typed steps nothing
    if (event.key === "Enter") setTimeout(() => field.blur(), 0); // and the next key is for the lesson again
  };
  return field;
}
