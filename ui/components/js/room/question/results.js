// How a room answered, and beside it what is right: a row for each choice, each bin of numbers or each bar.
import { part } from "#view/page/elements.js";
import { FORMS } from "./forms/answer_forms.js";
import { countOf, nameOf, roundsText, share } from "../texts.js";

const SHORT = 16; // characters of a name
const FEW_EXCEPTIONS = 3; // for which a wall has room

// question, as the room is sent it; choices: of this device; key: what is right, once that is shown; given: what this
// device answered. Returns the elements.
export function drawResults({ question, choices, key, given, face }) {
  const { spec, votes, first, summary, rounds } = question;
  if (!votes) return [];
  const form = FORMS[spec.form];
  const results = { question, spec, votes, first, choices, key, given };
  /** @type {(HTMLElement | null)[]} */
  const parts = [part("p", { className: "of", textContent: totalText(question) })];
  const rows = form.rows(results);
  if (rows.some(({ tracks }) => tracks.length)) parts.push(legendOf(rows, Boolean(first)), listOf(rows));
  const lines = [...form.lines(results), rounds && roundsText(rounds)].filter(Boolean);
  parts.push(...lines.map((textContent) => part("p", { className: "line-said", textContent })));
  parts.push(form.more?.(question, face));
  if (summary?.exceptions?.length) parts.push(exceptionsOf(spec, summary.exceptions, face));
  return parts.filter(Boolean);
}

function totalText({ votes, first }) {
  const answers = countOf(votes.count, "answer");
  if (first) return `${answers} in the second round, ${first.count} in the first.`;
  return votes.sentences ? `${answers} to ${countOf(votes.sentences, "sentence")}.` : `${answers}.`;
}

const WHO = { given: "shown", before: "first round", room: "the room", you: "you", model: "the model" };

function legendOf(rows, again) {
  const who = rows[0].tracks.map(([one]) => one);
  if (who.length < 2 && who[0] !== "model") return null;
  const items = who.map((one) =>
    part("span", { className: one }, part("i"), again && one === "room" ? "second round" : WHO[one]),
  );
  return part("p", { className: "legend" }, ...items);
}

// Short names stand beside their bars.
function listOf(rows) {
  const list = part("ul", { className: "results" }, ...rows.map(rowOfResult));
  list.classList.toggle(
    "beside",
    rows.every(({ name }) => name.length <= SHORT),
  );
  list.style.setProperty("--half", String(Math.ceil(rows.length / 2)));
  return list;
}

function rowOfResult({ name, tracks, right, mine }) {
  const title = part("div", { className: "name" }, part("bdi", { textContent: name }));
  if (right) title.append(part("b", { className: "mark", textContent: "✓ right" }));
  if (mine) title.append(part("b", { className: "yours", textContent: "your answer" }));
  const bars = tracks.map(([who, width, words]) => {
    const bar = part("i");
    bar.style.width = `${(100 * Math.min(1, width)).toFixed(2)}%`;
    const whose = part("span", { className: "unseen", textContent: `${WHO[who]}: ` });
    const value = part("span", { className: "value" }, whose, words);
    return part("div", { className: `track ${who}` }, part("span", { className: "line" }, bar), value);
  });
  const element = part("li", { className: "result" }, title, part("div", { className: "tracks" }, ...bars));
  element.classList.toggle("right", Boolean(right));
  element.classList.toggle("mine", Boolean(mine));
  return element;
}

// Sentences that most of those who had them got wrong.
function exceptionsOf(spec, exceptions, face) {
  const onWall = face === "wall";
  const items = (onWall ? exceptions.slice(0, FEW_EXCEPTIONS) : exceptions).map(({ text, said, right, counts }) => {
    const pair = `Most common: “${nameOf(spec, said)}”. The model: “${nameOf(spec, right)}”`;
    const words = `${pair} (${countOf(sumOf(counts), "answer")}).`;
    return part(
      "li",
      {},
      part("bdi", { className: "sentence", textContent: text }),
      part("span", { textContent: words }),
    );
  });
  const some = items.length < exceptions.length ? ", such as" : "";
  const textContent = `${countOf(exceptions.length, "sentence")} that most got wrong${some}`;
  const title = part("summary", { textContent });
  return part("details", { className: "exceptions", open: onWall }, title, part("ul", {}, ...items));
}

const sumOf = (counts) => counts.reduce((all, one) => all + one, 0);

// A row of a head as bars, to be recognised, or bars as they were drawn.
export function pictureOf({ names, values }) {
  const most = Math.max(1e-9, ...values);
  const rows = names.map((name, at) => ({ name, tracks: [["given", values[at] / most, share(values[at])]] }));
  const list = listOf(rows);
  list.classList.add("picture");
  return list;
}
