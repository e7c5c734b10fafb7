// How a room answered, and beside it what is right: a row for each choice, each bin of numbers or each bar.
import { part } from "#view/elements.js";
import { shares } from "./shares.js";
import {
  WHAT_DRAWN_MEANS,
  countOf,
  divergenceSaid,
  nameOf,
  numberSaid,
  rangeSaid,
  rightSaid,
  roundsSaid,
  share,
} from "./texts.js";

const WORTH = { cell: "weight", head: "weight" };
const SHORT = 16; // characters of a name
const FEW_EXCEPTIONS = 3; // for which a wall has room

// question, as the room is told it; choices: of this device; key: what is right, once that is shown; given: what this
// device answered. Returns the elements.
export function drawResults({ question, choices, key, given, face }) {
  const { spec, split, first } = question;
  if (!split) return [];
  const results = { question, spec, split, first, choices, key, given };
  const parts = [part("p", { className: "of", textContent: totalSaid(question) })];
  const rows = rowsOfForm[spec.form](results);
  if (rows.some(({ tracks }) => tracks.length)) parts.push(legendOf(rows, Boolean(first)), listOf(rows));
  parts.push(...saidOf(results, face));
  if (spec.form === "text") parts.push(textsOf(question, face));
  if (question.told?.exceptions?.length) parts.push(exceptionsOf(spec, question.told.exceptions, face));
  return parts.filter(Boolean);
}

function totalSaid({ split, first, spec }) {
  const answers = countOf(split.count, "answer");
  if (first) return `${answers} in the second round, ${first.count} in the first.`;
  return split.sentences && spec.form === "choice" && "sentences" in split
    ? `${answers} to ${countOf(split.sentences, "sentence")}.`
    : `${answers}.`;
}

// A row: {name, token, tracks: [[who, part, words]], right, mine}; who: whose bar it is.
const rowsOfForm = { choice: choiceRows, number: numberRows, draw: drawnRows, text: () => [] };

function choiceRows({ question, spec, split, first, choices, key, given }) {
  if (!choices) return [];
  const most = (one) => Math.max(1, one.count);
  return choices.map((choice, at) => {
    const tracks = [];
    if (first?.counts) tracks.push(["before", first.counts[at] / most(first), String(first.counts[at])]);
    if (split.counts) tracks.push(["room", split.counts[at] / most(split), countShare(split.counts[at], split.count)]);
    if (key?.values.length) tracks.push(["model", key.values[at], `${worthOf(question)} ${share(key.values[at])}`]);
    return { name: nameOf(spec, choice), tracks, right: key && at === key.right, mine: at === given };
  });
}

const countShare = (count, all) => (all ? `${count} · ${share(count / all)}` : String(count));

const worthOf = ({ spec }) => (spec.picture ? "alike" : (WORTH[spec.of ?? spec.about] ?? ""));

// Both rounds have the same bins.
function numberRows({ spec, split, first, key, given }) {
  const most = Math.max(1, ...[split, first ?? split].flatMap((one) => one.bins.map(({ count }) => count)));
  return split.bins.map((bin, at) => {
    const last = at === split.bins.length - 1;
    const holds = (value) =>
      typeof value === "number" &&
      value >= (bin.from ?? -Infinity) &&
      (last ? value <= (bin.to ?? Infinity) : value < bin.to);
    const tracks = [first?.bins[at], bin].filter(Boolean).map(({ count }) => [count / most, String(count)]);
    const who = first ? ["before", "room"] : ["room"];
    return {
      name: rangeSaid(spec, bin),
      tracks: tracks.map((track, round) => [who[round], ...track]),
      right: key && holds(key.right),
      mine: holds(given),
    };
  });
}

// The tallest bar of all fills its track.
function drawnRows({ spec, split, first, key, given }) {
  const model = key && shares(key.values);
  const own = Array.isArray(given) ? shares(given) : null;
  const sets = [
    ["before", first?.mean],
    ["room", split.mean],
    ["you", own],
    ["model", model],
  ].filter(([, values]) => values);
  const most = Math.max(1e-9, ...sets.flatMap(([, values]) => values));
  return spec.labels.map((label, at) => {
    const tracks = sets.map(([who, values]) => [who, values[at] / most, share(values[at])]);
    return { name: nameOf(spec, label), tracks };
  });
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
  list.style.setProperty("--half", Math.ceil(rows.length / 2));
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

function saidOf({ question, spec, split, key }, face) {
  const lines = [];
  if (spec.form === "number" && split.median !== null) {
    lines.push(`Half of the room said ${numberSaid(spec, split.median)} or less.`);
  }
  const { told } = question;
  if (told && spec.form === "draw" && told.mean) {
    lines.push(
      `The room’s mean and the model’s bars have ${share(told.overlap)} in common. ${divergenceSaid(told.kl)}`,
    );
  } else if (told && ["choice", "number"].includes(spec.form)) lines.push(rightSaid(told, split));
  if (question.rounds) lines.push(roundsSaid(question.rounds));
  const parts = lines.filter(Boolean).map((words) => part("p", { className: "line-said", textContent: words }));
  if (told && key && spec.form === "draw" && face !== "wall") {
    parts.push(part("details", {}, part("summary", { textContent: "What these numbers mean" }), WHAT_DRAWN_MEANS));
  }
  return parts;
}

function textsOf({ texts = [], phase }, face) {
  if (!texts.length) {
    const words = phase === "split" && face === "phone" ? "The lecturer is reading what was written." : "";
    return words && part("p", { className: "hint", textContent: words });
  }
  return part("ul", { className: "texts" }, ...texts.map((one) => part("li", {}, part("bdi", { textContent: one }))));
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
export function pictureOf(names, values) {
  const most = Math.max(1e-9, ...values);
  const rows = names.map((name, at) => ({ name, tracks: [["given", values[at] / most, share(values[at])]] }));
  const list = listOf(rows);
  list.classList.add("picture");
  return list;
}
