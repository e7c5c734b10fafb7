// The strip of a lesson: the progress, the text, the question, and the buttons.
import { part } from "#view/page/elements.js";
import { readNumber } from "#view/text/numbers.js";
import { headerHeight, mainElement } from "#view/page/streamlit.js";
import { footHeight, topOnPage } from "#view/page/window.js";
import { folds, roomState, unfold, unfolded, unfolder } from "../foot.js";
import { holdPlace } from "../hold_place.js";
import { answerWith, goTo, leaveLesson } from "./actions.js";
import { partOf } from "./parts.js";

const TYPED = "input:not([readonly])"; // what is not answered yet

export function showStrip(view) {
  const { data, root } = view;
  const room = roomState();
  const moved = view.shownAt !== data.at;
  if (moved && unfolded() === "lesson") unfold(null); // the subject of the stop comes first
  const now = JSON.stringify({ ...data, served: 0, room, folds: folds(), unfolded: unfolded() });
  if (view.drawn === now) return; // only the page has changed
  const focused = root.getRootNode().activeElement?.dataset?.act;
  const typed = moved ? "" : root.querySelector(TYPED)?.value;
  Object.assign(view, { drawn: now, shownAt: data.at });
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", `Lesson: ${data.name}`);
  const asks = room === "asks";
  const oneLine = asks || Boolean(room && data.large); // the room has the screen and asks the questions
  root.classList.toggle("one-line", oneLine && !folds());
  root.classList.toggle("folds", folds());
  root.classList.toggle("whole-line", folds() && !room);
  root.classList.toggle("waits", asks || room === "answers"); // the next press is the room's
  const why = asks && data.question ? [part("p", { className: "hint", textContent: "The room is being asked." })] : [];
  const question = oneLine ? why : questionOf(view);
  const strip = folds() ? folded(view, question) : [textOf(data, [heading(data)]), ...question, buttons(view)];
  root.replaceChildren(progress(data), ...strip);
  const field = root.querySelector(TYPED);
  if (field && typed) field.value = typed;
  if (moved) toTop();
  if (moved && data.see) scrollTo(view);
  if (focused && !moved) root.querySelector(`[data-act="${focused}"]`)?.focus({ preventScroll: true });
}

// The strip in one line: the heading and the buttons; the rest unfolds.
function folded(view, question) {
  const rest = roomState() ? "Lesson" : question.length ? "Question" : "Text";
  const more = part("div", { className: "unfolded", hidden: unfolded() !== "lesson" });
  more.append(textOf(view.data), ...question, buttons(view, ["leave"]));
  return [heading(view.data), buttons(view, ["back", "next"]), unfolder("lesson", rest), more];
}

// Scrolls to the top, where every stop begins.
function toTop() {
  mainElement()?.scrollTo({ top: 0, behavior: "instant" });
}

// Scrolls to the part of the stop as soon as the page has drawn it, no farther than it takes: what is above the part
// stays in sight too. Where the layout changes later, it goes from the top again, so that the place does not depend on
// what was there before: a strip that was taller, a window that was turned.
function scrollTo(view) {
  const { at, see } = view.data;
  let before;
  holdPlace(view.root, () => {
    if (view.data.at !== at) return null;
    const element = view.data.here ? partOf(see) : null;
    if (!element) return false;
    const layout = layoutOf(element);
    if (layout !== before) toTop();
    before = layout;
    if (!isInSight(element)) bringIntoSight(element);
    return true;
  });
}

// Where a part is on its page, and how much of the page is seen.
function layoutOf(element) {
  const { width, height } = element.getBoundingClientRect();
  return [topOnPage(element), width, height, window.innerHeight - footHeight() - headerHeight()].map(Math.round).join();
}

// To the foot of the free part of the window or, if it is taller, with its top at the top.
function bringIntoSight(element) {
  element.style.scrollMarginTop = `calc(${headerHeight()}px + var(--stuck, 0px) + 0.75rem)`;
  element.style.scrollMarginBottom = "0.75rem"; // the page ends above the strip
  element.scrollIntoView({ block: "nearest", behavior: "auto" });
}

// Whether all of it is visible, between the header and the bars at the foot.
function isInSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= headerHeight() && bottom <= window.innerHeight - footHeight();
}

function progress({ at, count }) {
  const bar = part("div", { className: "progress", ariaHidden: "true" });
  bar.style.setProperty("--part", `${(100 * (at + 1)) / count}%`);
  return bar;
}

// The heading of a stop, announced on arrival.
function heading({ at, count, title, name }) {
  const place = part("span", { className: "place", textContent: `${at + 1} of ${count}`, title: name });
  return part("h2", { ariaLive: "polite" }, place, " ", title);
}

// The text of a stop, worded for touch screens on those.
export function forTouch(text) {
  if (!matchMedia("(pointer: coarse)").matches) return text;
  return text.replace(/, or press \w+(?=[.,;])/g, "").replace(/\b(c)lick\b/gi, (_, c) => (c === "C" ? "Tap" : "tap"));
}

function textOf({ text, note }, over = []) {
  const block = part("div", { className: "words" }, ...over, part("p", { textContent: forTouch(text) }));
  if (note) {
    const summary = part("summary", { textContent: "Teacher's note" });
    block.append(part("details", {}, summary, part("p", { textContent: note })));
  }
  return block;
}

export function buttons(view, acts = ["back", "next", "leave"]) {
  const { at, count } = view.data;
  const last = at + 1 === count;
  const button = (act, textContent, onclick, more = {}) => {
    const one = part("button", { type: "button", textContent, onclick, className: act, ...more });
    one.dataset.act = act;
    return one;
  };
  const all = {
    back: () =>
      button("back", "Back", () => goTo(view, view.target - 1), { disabled: at === 0, title: "Back (Page Up)" }),
    next: () =>
      button("next", last ? "Finish" : view.data.guided ? "Next" : "Next stop", () => goTo(view, view.target + 1), {
        title: "Next (Page Down)",
      }),
    leave: () => button("leave", "Leave", () => leaveLesson(view), { title: "Leave the lesson" }),
  };
  return part("div", { className: "ways" }, ...acts.map((act) => all[act]()));
}

// The question of a stop, and the verdict on an answer.

const KINDS = { "next token": choices, cell: row, number, "free text": freeText };

function questionOf(view) {
  const { question } = view.data;
  if (!question) return [];
  const block = part("div", { className: "question" });
  if (question.problem) {
    block.append(part("p", { className: "problem", textContent: question.problem }));
    return [block];
  }
  block.append(part("p", { className: "ask", textContent: forTouch(question.ask), id: "lesson-ask" }));
  block.append(KINDS[question.kind](view, question));
  block.classList.toggle("free", question.kind === "free text");
  const verdict = part("p", { className: "verdict", textContent: question.verdict ?? "", role: "status" });
  verdict.classList.add(question.right === null ? "kept" : question.right ? "right" : "wrong");
  if (question.verdict) block.append(verdict);
  return [block];
}

function choices(view, { choices: tokens, given }) {
  const buttons = tokens.map((textContent, nth) => {
    const button = part("button", { type: "button", textContent, className: "choice" });
    button.dataset.act = `choice-${nth}`;
    button.disabled = given !== undefined;
    button.setAttribute("aria-pressed", String(given === nth));
    button.onclick = () => answerWith(view, nth);
    return button;
  });
  const group = part("div", { className: "choices", role: "group" }, ...buttons);
  group.setAttribute("aria-labelledby", "lesson-ask");
  return group;
}

function row(view, { row: token, given }) {
  const hint = given === undefined ? forTouch(`Click in the row of ${token}.`) : "";
  return part("p", { className: "hint", textContent: hint });
}

function number(view, { given }) {
  return entry(view, given, "A number, then Enter", (field) => {
    const value = readNumber(field.value);
    field.setCustomValidity(value === null ? "Type a number, such as −0.25" : "");
    if (value === null) return field.reportValidity();
    answerWith(view, value);
    return true;
  });
}

function freeText(view, { given }) {
  return entry(view, given, "Your answer, then Enter", (field) => {
    const text = field.value.trim();
    if (text) answerWith(view, text);
    return Boolean(text);
  });
}

// take: answers with what is typed, and returns whether it could; called once for each text. Browsers see no change
// where the strip was drawn anew while somebody typed, so Enter takes it too.
function entry(view, given, placeholder, take) {
  const field = part("input", { type: "text", placeholder, autocomplete: "off", maxLength: 400 });
  field.dataset.act = "field";
  field.setAttribute("aria-labelledby", "lesson-ask");
  if (given !== undefined) Object.assign(field, { value: given, readOnly: true });
  /** @type {string | null} */
  let taken = null;
  const takeOnce = () => {
    if (field.value !== taken && take(field)) taken = field.value;
  };
  field.onchange = takeOnce;
  field.onkeydown = (event) => {
    event.stopPropagation(); // so that typing takes no steps
    if (event.key !== "Enter" || field.readOnly) return;
    takeOnce();
    setTimeout(() => field.blur(), 0); // so that the next key is for the lesson
  };
  return field;
}
