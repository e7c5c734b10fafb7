// How a phone answers: `entry` is one question in one round, until it is closed. value: what is chosen, typed or drawn;
// dirty: it is not what was sent last.
import { part, svgPart } from "#view/elements.js";
import { readNumber } from "#view/numbers.js";
import { shares, wholePercents } from "./shares.js";
import { SURE, nameOf, numberSaid, sentence } from "./texts.js";

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

const sendButton = () => part("button", { type: "submit", className: "send", textContent: "Send" });

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

// Bars that are drawn: dragged with a finger or a mouse, or set with the arrow keys. Only how they compare counts.

const TALLEST = 100;
const BAR_KEYS = {
  ArrowRight: 2,
  ArrowUp: 2,
  ArrowLeft: -2,
  ArrowDown: -2,
  PageUp: 10,
  PageDown: -10,
  Home: -TALLEST,
  End: TALLEST,
};

const heightOf = (height) => Math.max(0, Math.min(TALLEST, Math.round(height)));

function drawForm(entry) {
  const { spec } = entry;
  const form = { heights: spec.labels.map(() => 0) };
  const button = part("button", { type: "submit", className: "send", textContent: "Send" });
  form.rows = spec.labels.map((label, at) => barRow(form, nameOf(spec, label), at));
  form.put = (at, height) => {
    if (form.heights[at] === heightOf(height)) return;
    form.heights[at] = heightOf(height);
    showBars(form, button);
    entry.changed([...form.heights]);
  };
  const onsubmit = (event) => {
    event.preventDefault();
    if (form.heights.some(Boolean)) entry.give([...form.heights]);
  };
  const list = part("div", { className: "bars" }, ...form.rows.map(({ element }) => element));
  const hint = part("p", {
    className: "hint",
    textContent: "Drag the bars. Only their relative lengths count.",
  });
  const show = (value) => {
    if (value === null) form.heights.fill(0);
    else if (value.some((one, at) => one !== form.heights[at])) {
      const most = Math.max(...value);
      const drawn = wholePercents(shares(form.heights)).join() === wholePercents(shares(value)).join();
      if (!drawn) form.heights = value.map((one) => heightOf((TALLEST * one) / most));
    }
    showBars(form, button);
  };
  return { element: part("form", { className: "drawing", onsubmit }, hint, list, button), show };
}

function showBars({ heights, rows }, button) {
  const any = heights.some(Boolean);
  const percents = any ? wholePercents(shares(heights)) : heights;
  for (const [at, { slider, bar, number }] of rows.entries()) {
    bar.style.width = `${heights[at]}%`;
    number.textContent = any ? `${percents[at]}%` : "–";
    slider.setAttribute("aria-valuenow", String(heights[at]));
    slider.setAttribute("aria-valuetext", any ? `${percents[at]}% of all` : "empty");
  }
  button.disabled = !any;
}

function barRow(form, label, at) {
  const name = part("bdi", { textContent: label });
  const bar = part("i");
  const number = part("span", { className: "percent" });
  const slider = part("div", { className: "track", tabIndex: 0, role: "slider", ariaLabel: label }, bar);
  for (const [attribute, value] of [
    ["aria-valuemin", 0],
    ["aria-valuemax", TALLEST],
  ])
    slider.setAttribute(attribute, String(value));
  listenToBar(slider, { get: () => form.heights[at], put: (height) => form.put(at, height) });
  const element = part("div", { className: "bar" }, name, slider, number);
  element.dataset.at = at;
  return { element, slider, bar, number };
}

function listenToBar(slider, { get, put }) {
  let before = null; // the height to go back to where a drag turns out to scroll the page
  const under = (event) => {
    const box = slider.getBoundingClientRect();
    return (TALLEST * (event.clientX - box.left)) / box.width;
  };
  slider.onpointerdown = (event) => {
    if (event.button) return;
    before = get();
    slider.setPointerCapture(event.pointerId);
    put(under(event));
  };
  slider.onpointermove = (event) => {
    if (before !== null) put(under(event));
  };
  slider.onpointerup = () => {
    before = null;
  };
  slider.onpointercancel = () => {
    if (before !== null) put(before);
    before = null;
  };
  slider.onkeydown = (event) => {
    if (!(event.key in BAR_KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    put(get() + BAR_KEYS[event.key]);
  };
}
