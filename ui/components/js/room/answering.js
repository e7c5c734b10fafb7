// How a phone answers: `entry` is one question in one round, until it is closed. value: what is chosen, typed or drawn;
// dirty: it is not what was sent last.
import { part, svgPart } from "#view/elements.js";
import { readNumber } from "#view/numbers.js";
import { drawForm } from "./drawn.js";
import { nameOf, numberSaid, sentence, SURE } from "./words.js";

const SENT = "Sent. You can change it until the lecturer closes the question.";
const WAITING = "No connection. Your answer is kept on this page and sent as soon as there is one.";

const FEW_LETTERS = 12;
const DARKEST_LOOK = 99; // in whole numbers, a weight of 1

const MAKE = { choice: choiceForm, number: numberForm, draw: drawForm, text: textForm };

export function enterAnswer({ spec, choices }) {
  const entry = { spec, choices, value: null, sure: null, given: null, dirty: false, sending: null };
  entry.give = (value) => {
    Object.assign(entry, { value, dirty: false });
    entry.onAnswer(value, entry.sure);
  };
  entry.changed = (value) => {
    Object.assign(entry, { value, dirty: true });
    entry.status.textContent = statusSaid(entry);
  };
  const form = MAKE[spec.form](entry);
  const sure = sureForm(entry);
  entry.status = part("p", { className: "status", role: "status" });
  entry.element = part("div", { className: "answering" }, form.element, sure.element, entry.status);
  form.element.querySelector(":scope > .send")?.before(sure.element); // which ends what is sent
  entry.update = ({ given, sending, onAnswer }) => {
    const first = !entry.onAnswer;
    Object.assign(entry, { given, sending, onAnswer });
    if (!entry.dirty && !sending)
      Object.assign(entry, { value: given?.[0] ?? null, sure: given ? given[1] : entry.sure });
    if (first || !entry.dirty) form.show(entry.value);
    sure.show();
    const words = statusSaid(entry);
    if (entry.status.textContent !== words) entry.status.textContent = words;
  };
  return entry;
}

function statusSaid({ spec, given, dirty, sending }) {
  if (sending?.state === "refused") return sending.why;
  if (sending?.state === "waiting") return WAITING;
  if (sending) return "Sending …";
  if (dirty) return given ? "Changed, but not sent yet." : "Not sent yet.";
  if (given) return SENT;
  return spec.form === "choice" ? "Tap your answer: it is sent at once." : "";
}

function choiceForm(entry) {
  const { spec, choices } = entry;
  const buttons = choices.map((choice, at) => {
    return part(
      "button",
      { type: "button", className: "choice", onclick: () => chosen(at) },
      ...choiceParts(spec, choice, at),
    );
  });
  const show = (value) => {
    for (const [at, button] of buttons.entries()) button.setAttribute("aria-pressed", String(at === value));
  };
  const chosen = (at) => {
    show(at);
    entry.give(at);
  };
  const element = part("div", { className: choicesClass(choices), role: "group" }, ...buttons);
  element.setAttribute("aria-label", "Your answer");
  return { element, show };
}

// A choice by its name; a head with where it looks from other tokens, darker where it looks more.
export function choiceParts(spec, choice, at) {
  const parts = [part("bdi", { textContent: nameOf(spec, choice) })];
  const rows = spec.other_rows?.[at];
  if (rows?.length) {
    const cells = rows.flatMap((row, y) =>
      row.map((weight, x) => svgPart("rect", { x, y, width: 1, height: 1, "fill-opacity": weight / DARKEST_LOOK })),
    );
    parts.push(
      svgPart(
        "svg",
        { class: "looks", viewBox: `0 0 ${rows[0].length} ${rows.length}`, "aria-hidden": "true" },
        ...cells,
      ),
    );
  }
  return parts;
}

// Short ones stand two in a row.
export const choicesClass = (choices) =>
  choices.every((choice) => choice.length <= FEW_LETTERS) ? "choices short" : "choices";

function numberForm(entry) {
  const { least, most, unit } = entry.spec;
  const ranged = typeof least === "number";
  const field = part("input", { type: "text", inputMode: "decimal", autocomplete: "off", maxLength: 24 });
  field.setAttribute("aria-label", unit ? `Your answer in ${unit === "%" ? "percent" : unit}` : "Your answer");
  if (!ranged || least < 0) field.inputMode = "text"; // some keyboards of numbers have no minus
  const why = part("p", { className: "why", role: "alert" });
  const wanted = ranged
    ? `a number from ${numberSaid({}, least)} to ${numberSaid({}, most)}`
    : "a number, such as −0.25";
  field.oninput = () => {
    why.textContent = "";
    entry.changed(readNumber(field.value));
  };
  const onsubmit = (event) => {
    event.preventDefault();
    const value = readNumber(field.value);
    const fits = value !== null && (!ranged || (value >= least && value <= most));
    why.textContent = fits ? "" : `Type ${wanted}.`;
    if (fits) entry.give(value);
  };
  const line = part("div", { className: "number" }, field, part("span", { textContent: unit }), sendButton());
  const hint = ranged ? [part("p", { className: "hint", textContent: sentence(wanted) })] : [];
  const element = part("form", { onsubmit, noValidate: true }, line, ...hint, why);
  const show = (value) => {
    if (value !== null && readNumber(field.value) !== value) field.value = numberSaid({}, value);
    else if (value === null && !entry.sending) field.value = "";
  };
  return { element, show };
}

function textForm(entry) {
  const { longest } = entry.spec;
  const field = part("textarea", { rows: 3, maxLength: longest, ariaLabel: "Your answer" });
  const left = part("p", { className: "hint" });
  const button = sendButton();
  const tell = () => {
    left.textContent = `${longest - field.value.length} characters left. The lecturer reads it before anybody sees it.`;
    button.disabled = !field.value.trim();
  };
  field.oninput = () => {
    tell();
    entry.changed(field.value);
  };
  const onsubmit = (event) => {
    event.preventDefault();
    if (field.value.trim()) entry.give(field.value.trim());
  };
  const show = (value) => {
    if (field.value.trim() !== (value ?? "")) field.value = value ?? "";
    tell();
  };
  return { element: part("form", { className: "text", onsubmit }, field, left, button), show };
}

export const sendButton = () => part("button", { type: "submit", className: "send", textContent: "Send" });

// How sure: not asked for, and taken back by a second tap.
function sureForm(entry) {
  const buttons = SURE.map((words, level) => {
    const onclick = () => {
      entry.sure = entry.sure === level ? null : level;
      show();
      if (entry.given && !entry.dirty) entry.give(entry.value ?? entry.given[0]);
    };
    return part("button", { type: "button", textContent: words, onclick });
  });
  const show = () => {
    for (const [level, button] of buttons.entries()) button.setAttribute("aria-pressed", String(level === entry.sure));
  };
  const choices = part("div", { className: "levels" }, ...buttons);
  const element = part(
    "fieldset",
    { className: "sure" },
    part("legend", { textContent: "How sure are you?" }),
    choices,
  );
  return { element, show };
}
