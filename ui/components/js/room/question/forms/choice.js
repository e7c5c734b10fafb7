// Answering by choosing one of several: a tap sends it at once.
import { part, svgPart } from "#view/page/elements.js";
import { nameOf, rightText, share } from "../../texts.js";

const FEW_LETTERS = 12;
const DARKEST_LOOK = 99; // in whole numbers, a weight of 1

export const choiceForm = {
  hint: "Tap your answer: it is sent at once.",
  hasChoices: true,
  input: choiceInput,
  preview: (spec, choices) => {
    const items = choices.map((choice, at) => part("li", {}, ...choiceParts(spec, choice, at)));
    return part("ul", { className: choicesClass(choices) }, ...items);
  },
  answerText: (spec, choices, value) => `“${nameOf(spec, choices?.[value] ?? "")}”`,
  verdict: (spec, choices, key, value) => {
    if (value === key.right) return { right: true, words: "You were right." };
    const [given, right] = [value, key.right].map((one) => choiceForm.answerText(spec, choices, one));
    return { right: false, words: `You answered ${given}. The right answer is ${right}.` };
  },
  rows: choiceRows,
  lines: ({ question, votes }) => (question.summary ? [rightText(question.summary, votes)] : []),
};

function choiceInput(entry) {
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
function choiceParts(spec, choice, at) {
  /** @type {Element[]} */
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
const choicesClass = (choices) =>
  choices.every((choice) => choice.length <= FEW_LETTERS) ? "choices short" : "choices";

function choiceRows({ spec, votes, first, choices, key, given }) {
  if (!choices) return [];
  const most = (one) => Math.max(1, one.count);
  return choices.map((choice, at) => {
    const tracks = [];
    if (first?.counts) tracks.push(["before", first.counts[at] / most(first), String(first.counts[at])]);
    if (votes.counts) tracks.push(["room", votes.counts[at] / most(votes), countShare(votes.counts[at], votes.count)]);
    if (key?.values.length) tracks.push(["model", key.values[at], `${spec.worth ?? ""} ${share(key.values[at])}`]);
    return { name: nameOf(spec, choice), tracks, right: key && at === key.right, mine: at === given };
  });
}

const countShare = (count, all) => (all ? `${count} · ${share(count / all)}` : String(count));
