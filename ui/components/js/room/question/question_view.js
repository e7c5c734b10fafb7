// A question of a room, on a phone, on the wall and on the lecturer's desk: what is asked, how it is answered, how the
// room answered, and what is right. Its style is question.css, in sizes that follow the type around it.
import { part } from "#view/page/elements.js";
import { FORMS } from "./forms/answer_forms.js";
import { enterAnswer } from "./answer_input.js";
import { drawResults, pictureOf } from "./results.js";
import { SURE, choicesOf, keyOf, nameOf, ownOf, proofText, rowPlace, withoutHead } from "../texts.js";

const PHASE_TEXTS = {
  draft: "not asked yet",
  open: "open",
  closed: "closed",
  split: "how the room answered",
  answer: "the answer",
};

const FEW_BESIDE = 2; // numbers in a row of a phone
const SHOWN = ["split", "answer"]; // phases in which there is something to see

const OTHER_ROWS =
  "Beside each head: where it looks from the other tokens, one row per token. The stronger the colour, the more.";

// state: what the room is sent, with {answered, here} for the wall; face: "phone", "wall" or "lecturer"; mine: what
// this device alone is sent; sending: {state, why} of an answer on its way; onAnswer(value, sure): called with one.
/**
 * @param {any} root
 * @param {any} state
 * @param {{face?: string, mine?: any, sending?: any, onAnswer?: (value: any, sure: any) => void}} options
 */
export function drawQuestion(root, state, { face = "phone", mine = null, sending = null, onAnswer = () => {} } = {}) {
  const { question } = state;
  root.classList.add("question");
  if (!question) {
    root.asked = null;
    root.replaceChildren();
    return;
  }
  const stamp = JSON.stringify([face, question, ownOf(question, mine)]);
  if (root.asked?.stamp !== stamp) {
    root.asked = { stamp, face, question };
    Object.assign(root.dataset, { face, phase: question.phase, form: question.spec.form });
    build(root, mine);
  }
  const { asked } = root;
  const given = mine?.answers[`${question.id}/${question.round}`] ?? null;
  asked.entry?.update({ given, sending, onAnswer });
  if (asked.count) asked.count.textContent = countText(state);
}

const countText = ({ answered, here }) =>
  answered === undefined ? "" : `${answered} of ${Math.max(here, answered)} ${here === 1 ? "has" : "have"} answered`;

function build(root, mine) {
  const { asked } = root;
  const { question, face } = asked;
  const { phase, spec } = question;
  const form = FORMS[spec.form];
  const parts = [kicker(question), askPart(spec), ...contextOf(question, mine, face)];
  const choices = choicesOf({ question }, mine);
  const answers = face === "phone" && phase === "open";
  if (answers && (choices || !form.hasChoices)) {
    asked.entry = enterAnswer({ spec, choices });
    parts.push(asked.entry.element);
  } else if (["draft", "open", "closed"].includes(phase) && choices) parts.push(form.preview(spec, choices));
  if (face !== "phone" && ["open", "closed"].includes(phase)) {
    asked.count = part("p", { className: "count" });
    parts.push(asked.count);
  }
  if (face === "phone" && !answers) parts.push(...mineParts(question, choices, mine));
  if (SHOWN.includes(phase)) parts.push(...resultParts(question, choices, mine, face));
  root.replaceChildren(...parts.filter(Boolean));
}

function kicker({ number, round, phase }) {
  const words = [`Question ${number}`, round === 2 && "second round", PHASE_TEXTS[phase]].filter(Boolean).join(" · ");
  return part("p", { className: "kicker", textContent: words });
}

const askPart = (spec) => part("h2", { className: "ask", textContent: spec.ask });

// What somebody has to know who does not see the page that is asked about.
function contextOf(question, mine, face) {
  const { spec } = question;
  const own = ownOf(question, mine);
  const about = question.own ? own : spec;
  const lines = [];
  if (question.own && !own) {
    const words = face === "phone" ? "Your sentence is coming …" : "Each phone has a sentence of its own.";
    lines.push(part("p", { className: "place", textContent: words }));
  }
  if (about?.text) lines.push(quoted(own ? "Your sentence" : "The text", about.text));
  if (about?.written) lines.push(quoted("Written so far", about.written));
  if (spec.given?.rows.length) lines.push(givenTable(spec.given, face));
  if (spec.row) lines.push(part("p", { className: "place", textContent: rowPlace(spec.row) }));
  if (spec.other_rows?.[0].length && !SHOWN.includes(question.phase))
    lines.push(part("p", { className: "hint", textContent: OTHER_ROWS }));
  if (spec.picture) {
    const names = spec.picture.labels.map((one) => nameOf({ pieces: true }, one));
    lines.push(pictureOf({ names, values: spec.picture.values }));
  }
  return lines;
}

// The numbers that an answer is computed from. A phone has room for few beside each other, and for many below.
function givenTable({ columns, rows }, face) {
  const cell = (textContent) => part("td", {}, part("bdi", { textContent }));
  const head = (scope) => (textContent) => part("th", { scope }, part("bdi", { textContent }));
  const line = (...cells) => part("tr", {}, ...cells);
  const [names, values] = [rows.map(([name]) => name), rows.map(([, numbers]) => numbers)];
  const corner = columns ? [part("td")] : [];
  const below = (_, at) =>
    line(...(columns ? [head("row")(columns[at])] : []), ...values.map((numbers) => cell(numbers[at])));
  const lines =
    face === "phone" && values[0].length > FEW_BESIDE
      ? [line(...corner, ...names.map(head("col"))), ...values[0].map(below)]
      : [
          ...(columns ? [line(...corner, ...columns.map(head("col")))] : []),
          ...names.map((name, at) => line(head("row")(name), ...values[at].map(cell))),
        ];
  return part("table", { className: "given", ariaLabel: "Given" }, part("tbody", {}, ...lines));
}

// What becomes of the prediction without the head that most chose, without the right one, and without any other.
function switchedHeads(rows) {
  const items = rows.map((row) => part("li", { textContent: withoutHead(row) }));
  return part("ul", { className: "switched" }, ...items);
}

// What a question that comes will be about.
export const comingOf = ({ coming_of: text }) => (text ? [quoted("The text", text)] : []);

function quoted(label, words) {
  const line = part("p", { className: "quoted" }, part("span", { className: "label", textContent: label }));
  line.append(part("bdi", { textContent: words }));
  return line;
}

// What this device answered, and what that turned out to be.
function mineParts(question, choices, mine) {
  const { spec, phase, id, round } = question;
  const form = FORMS[spec.form];
  if (!mine) return [];
  const given = mine.answers[`${id}/${round}`];
  if (!given) {
    const words = round === 2 ? "You did not answer in this round." : "You did not answer.";
    return [part("p", { className: "own-answer none", textContent: words })];
  }
  const [value, sure] = given;
  const key = keyOf(question, mine);
  if (phase === "answer" && key) {
    const { right, words } = form.verdict(spec, choices, key, value);
    const className = { true: "own-answer right", false: "own-answer wrong", null: "own-answer" }[right];
    return [part("p", { className }, part("strong", { textContent: words }))];
  }
  const how = typeof sure === "number" ? ` (${SURE[sure]})` : "";
  const words = `Your answer: ${form.answerText(spec, choices, value)}${how}`;
  const picture = phase === "closed" && form.picture?.(spec, value);
  return [part("p", { className: "own-answer", textContent: words }), ...(picture ? [pictureOf(picture)] : [])];
}

function resultParts(question, choices, mine, face) {
  const key = question.phase === "answer" ? (keyOf(question, mine) ?? question.key) : null;
  const given = mine?.answers[`${question.id}/${question.round}`]?.[0];
  const said = key && part("p", { className: "said" }, part("bdi", { textContent: key.said }));
  const parts = [said, ...drawResults({ question, choices, key, given, face })];
  if (key && question.key?.switched) parts.push(switchedHeads(question.key.switched));
  if (key) parts.push(part("p", { className: "proof", textContent: proofText(question.key.proof) }));
  return parts;
}
