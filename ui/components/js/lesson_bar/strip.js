// The strip: where we are, the two sentences, the question, and the way on.
import { part, scrollUpTo } from "#view/elements.js";
import { readNumber } from "#view/numbers.js";
import { headerHeight, mainElement } from "#view/streamlit.js";
import { folds, roomState, unfold, unfolded, unfolder } from "../foot.js";
import { answerWith, goTo, leaveLesson } from "./actions.js";
import { partOf } from "./parts.js";

const SEEK_MS = 300; // between two looks whether a part is there
const MOST_LOOKS = 30; // looks

export function showStrip(view) {
  const { data, root } = view;
  const room = roomState();
  const moved = view.shownAt !== data.at;
  if (moved && unfolded() === "lesson") unfold(null); // what the stop is about comes first
  const now = JSON.stringify({ ...data, served: 0, room, folds: folds(), unfolded: unfolded() });
  if (view.drawn === now) return; // the page has changed and the stop has not
  const focused = root.getRootNode().activeElement?.dataset?.act;
  Object.assign(view, { drawn: now, shownAt: data.at });
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", `Lesson: ${data.name}`);
  const asks = room === "asks";
  const oneLine = asks || Boolean(room && data.large); // the screen is the room's, and so are the questions
  root.classList.toggle("one-line", oneLine && !folds());
  root.classList.toggle("folds", folds());
  root.classList.toggle("whole-line", folds() && !room);
  const why = asks && data.question ? [part("p", { className: "hint", textContent: "The room is being asked." })] : [];
  const question = oneLine ? why : questionOf(view);
  const strip = folds() ? folded(view, question) : [textOf(data, [heading(data)]), ...question, ways(view)];
  root.replaceChildren(progress(data), ...strip);
  if (moved) (data.see ? scrollTo : toTop)(view);
  if (focused && !moved) root.querySelector(`[data-act="${focused}"]`)?.focus({ preventScroll: true });
}

// In one line: where we are and the way on; the rest unfolds.
function folded(view, question) {
  const rest = roomState() ? "Lesson" : question.length ? "Question" : "Text";
  const more = part("div", { className: "unfolded", hidden: unfolded() !== "lesson" });
  more.append(textOf(view.data), ...question, ways(view, ["leave"]));
  return [heading(view.data), ways(view, ["back", "next"]), unfolder("lesson", rest), more];
}

// A stop about its whole page, which may have been scrolled for the stop before.
function toTop() {
  mainElement()?.scrollTo({ top: 0, behavior: "instant" });
}

// Once the page has drawn the part that the stop is about.
function scrollTo(view, looks = MOST_LOOKS) {
  const { at, see, here } = view.data;
  if (!looks) return;
  const element = here ? partOf(see) : null;
  if (element && !isInSight(element)) scrollUpTo(element, "auto");
  // what stands above it may still be drawn
  setTimeout(() => view.data.at === at && scrollTo(view, element ? Math.min(looks - 1, 2) : looks - 1), SEEK_MS);
}

// All of it, between the bar on top and what lies over the foot.
function isInSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  const foot = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--foot")) || 0;
  return top >= headerHeight() && bottom <= window.innerHeight - foot;
}

function progress({ at, count }) {
  const bar = part("div", { className: "progress", ariaHidden: "true" });
  bar.style.setProperty("--part", `${(100 * (at + 1)) / count}%`);
  return bar;
}

// Said when a stop is reached.
function heading({ at, count, title, name }) {
  const place = part("span", { className: "place", textContent: `${at + 1} of ${count}`, title: name });
  return part("h2", { ariaLive: "polite" }, place, " ", title);
}

// The text of a stop, as somebody reads it who has no mouse and no keys.
export function forFingers(text) {
  if (!matchMedia("(pointer: coarse)").matches) return text;
  return text.replace(/, or press \w+(?=[.,;])/g, "").replace(/\b(c)lick\b/gi, (_, c) => (c === "C" ? "Tap" : "tap"));
}

function textOf({ text, note }, over = []) {
  const block = part("div", { className: "words" }, ...over, part("p", { textContent: forFingers(text) }));
  if (note) {
    const summary = part("summary", { textContent: "Teacher's note" });
    block.append(part("details", {}, summary, part("p", { textContent: note })));
  }
  return block;
}

export function ways(view, acts = ["back", "next", "leave"]) {
  const { at, count } = view.data;
  const last = at + 1 === count;
  const button = (act, textContent, onclick, more = {}) => {
    const one = part("button", { type: "button", textContent, onclick, className: act, ...more });
    one.dataset.act = act;
    return one;
  };
  const buttons = {
    back: () =>
      button("back", "Back", () => goTo(view, view.target - 1), { disabled: at === 0, title: "Back (Page Up)" }),
    next: () =>
      button("next", last ? "Finish" : view.data.guided ? "Next" : "Next stop", () => goTo(view, view.target + 1), {
        title: "Next (Page Down)",
      }),
    leave: () => button("leave", "Leave", () => leaveLesson(view), { title: "Leave the lesson" }),
  };
  return part("div", { className: "ways" }, ...acts.map((act) => buttons[act]()));
}

// The question of a stop, and what is said to an answer.

const KINDS = { "next token": choices, cell: row, number, "free text": freeText };

function questionOf(view) {
  const { question } = view.data;
  if (!question) return [];
  const block = part("div", { className: "question" });
  if (question.problem) {
    block.append(part("p", { className: "problem", textContent: question.problem }));
    return [block];
  }
  block.append(part("p", { className: "ask", textContent: forFingers(question.ask), id: "lesson-ask" }));
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
  const hint = given === undefined ? forFingers(`Click in the row of ${token}.`) : "";
  return part("p", { className: "hint", textContent: hint });
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
