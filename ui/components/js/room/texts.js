// What is said of a question, its answers and what they are worth.
import { kindName } from "#view/names.js";
import { inPercent, thousands } from "#view/numbers.js";
import { visible } from "#view/tokens.js";
import { divergence, overlap, shares } from "./shares.js";

export const SURE = ["a guess", "fairly sure", "certain"];
const FEWEST_SURE = 5; // answers with a confidence, of which anything can be said
const OTHERS = "all others"; // a bar that is no token
export const COMING = "A question is coming."; // what the server says of a question that is not asked yet
export const ENDED = "The room has ended. Thank you for taking part.";
export const ENDED_HERE = "The room has ended. Everything in it is deleted.";

export const countOf = (count, one, many = `${one}s`) => `${thousands(count)} ${count === 1 ? one : many}`;

// A share, in whole percent, and never a false 0 or 100.
export function share(part) {
  if (part > 0 && part < 0.005) return "< 1%";
  if (part < 1 && part >= 0.995) return "> 99%";
  return `${Math.round(100 * part)}%`;
}

const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

// A choice or a bar by its name; tokens with every character visible.
export const nameOf = (spec, name) =>
  spec.pieces && name !== OTHERS ? visible(name, Infinity).slice(1, -1) : String(name);

// What a device is asked to choose from; null where it is asked alone and has not been told yet.
export const choicesOf = ({ question }, mine) =>
  question.own ? (ownOf(question, mine)?.choices ?? null) : (question.spec.choices ?? null);

// What one device alone is asked.
export const ownOf = (question, mine) => (question.own && mine?.own?.question === question.id ? mine.own : null);

// The key that holds for a device.
export const keyOf = (question, mine) => (question.own ? (ownOf(question, mine)?.key ?? null) : question.key);

export const numberSaid = (spec, value) =>
  `${String(Number(value.toPrecision(4))).replace("-", "−")}${spec.unit === "%" ? "%" : ""}`;

// A bin of numbers: 40–50%. What lies far off is in the first or the last, which has no end there.
export function rangeSaid(spec, { from, to }) {
  const said = (value) => numberSaid(spec, value);
  if (from === null) return to === null ? "all" : `below ${said(to)}`;
  if (to === null) return `${said(from)} or more`;
  return from < 0 ? `${said(from)} to ${said(to)}` : `${numberSaid({}, from)}–${said(to)}`;
}

// An answer in words, for those who gave it.
export function answerSaid(spec, choices, value) {
  switch (spec.form) {
    case "choice":
      return `“${nameOf(spec, choices?.[value] ?? "")}”`;
    case "number":
      return numberSaid(spec, value);
    case "draw":
      return "the bars below";
    default:
      return `“${value}”`;
  }
}

// Where a row of attention stands: "Cross attention, layer 1, head 2, from “am”".
export function rowPlace({ kind, layer, head, token }) {
  const of = head === null || head === undefined ? "" : `, head ${head}`;
  return `${kindName(kind)} attention, layer ${layer}${of}, from “${visible(token, 40).slice(1, -1)}”`;
}

// What an answer turned out to be, {right, words}; right is null where nothing is right or wrong.
export function verdict(spec, choices, key, value) {
  const said = (one) => answerSaid(spec, choices, one);
  switch (spec.form) {
    case "choice":
      if (value === key.right) return { right: true, words: "You were right." };
      return {
        right: false,
        words: `You answered ${said(value)}. The right answer is ${said(key.right)}.`,
      };
    case "number": {
      const [least, most] = key.bounds;
      const right = value >= least && value <= most;
      return {
        right,
        words: `You said ${numberSaid(spec, value)}. ${right ? "Right" : "Not close enough"}: ${within(spec, key)}.`,
      };
    }
    case "draw":
      return { right: null, words: drawnSaid("Your bars", shares(key.values), shares(value)) };
    default:
      return { right: null, words: `You wrote ${said(value)}` };
  }
}

const within = (spec, { tolerance }) =>
  `within ${Number(tolerance.toPrecision(2))}${spec.unit === "%" ? " percentage points" : ""} counts as right`;

// How bars that were drawn compare with the model's.
function drawnSaid(whose, model, drawn) {
  const nats = divergence(model, drawn);
  return `${whose} and the model’s have ${share(overlap(model, drawn))} in common. ${divergenceSaid(nats)}`;
}

export function divergenceSaid(nats) {
  const how = nats < 0.05 ? "Almost the same" : nats < 0.3 ? "Close" : nats < 1 ? "Some way off" : "Far off";
  return `${how} (KL divergence ${nats.toFixed(2)} nats).`;
}

export const WHAT_DRAWN_MEANS =
  "In common: 100% means the same bars, 0% means no overlap. The KL divergence is 0 for the same bars, and grows " +
  "fastest if you leave out a bar that matters to the model.";

// How many of a room were right, and how sure they were, where enough said so. split: how the room answered.
export function rightSaid(told, split) {
  if (!told.count) return "Nobody answered.";
  const all = thousands(told.count);
  const was = told.right === 1 ? "was" : "were";
  const lines = [
    told.right
      ? `${thousands(told.right)} of ${all} ${was} right (${share(told.share)}).`
      : told.count === 2
        ? "Neither was right."
        : `None of ${all} was right.`,
  ];
  const { sure_right: right, sure_wrong: wrong } = told;
  const saidHow = split.sure.slice(0, SURE.length).reduce((all, one) => all + one, 0);
  if (saidHow >= FEWEST_SURE && typeof right === "number" && typeof wrong === "number") {
    if (right - wrong > 0.1) lines.push("Those who were right were more confident.");
    else if (wrong - right > 0.1) lines.push("Those who were wrong were more confident.");
    else lines.push("Right or wrong, they were equally confident.");
  }
  if (told.sentences)
    lines.push(`The most common answer was right for ${told.agreed} of ${countOf(told.sentences, "sentence")}.`);
  return lines.join(" ");
}

// What a second round changed.
export function roundsSaid({ both, changed, became_right: gained, became_wrong: lost, share: right, overlap: common }) {
  const lines = [];
  const pair = right ?? common;
  if (pair?.every((one) => typeof one === "number")) {
    lines.push(`${right ? "Right" : "In common with the model"}: ${share(pair[0])} before, ${share(pair[1])} now.`);
  }
  if (both && changed !== null) {
    const many = changed ? thousands(changed) : "none";
    const turned =
      changed > 0 && typeof gained === "number" && `: ${gained} from wrong to right, ${lost} from right to wrong`;
    lines.push(`Of the ${thousands(both)} who answered twice, ${many} changed their answer${turned || ""}.`);
  }
  return lines.join(" ");
}

// From what an answer can be computed again.
export function proofSaid({ checkpoint, trained, step, seed }) {
  const parts = [checkpoint ? `Computed: ${checkpoint}` : "Computed without a model"];
  if (typeof trained === "number") parts.push(`trained for ${countOf(trained, "step")}`);
  if (typeof step === "number") parts.push(`step ${step} of the text`);
  if (typeof seed === "number") parts.push(`seed ${seed}`);
  return `${parts.join(", ")}.`;
}

// What the server says, as a sentence of its own.
export const sentence = (words) => (words ? `${words[0].toUpperCase()}${words.slice(1).replace(/\.$/, "")}.` : "");

// Whether what is asked is about the page, which has no answer to it, and is there to be seen.
export const leavesInSight = ({ question, view }) => Boolean(question?.beside && view && view.page !== "room");

// Where the lecturer is.
export const placeOf = (view) => (view ? [view.title, view.place].filter(Boolean).join(", ") : "");

// What is kept of a device.
export function keptSaid(ends, number) {
  const who = typeof number === "number" ? `the number ${number + 1}` : "a number";
  return `Your answers are kept under ${who}, not a name, until ${clock(ends)}; then they are deleted.`;
}

// Why a head was switched off, by how many votes it got.
const WHOSE_HEAD = {
  "most chosen": (votes) => `which ${thousands(votes)} of you chose`,
  right: (votes) => `the right one, which ${votes ? thousands(votes) : "none"} of you chose`,
  "most chosen and right": (votes) => `the right one, which ${thousands(votes)} of you chose`,
  random: () => "another one, drawn at random",
};

const bare = (piece) => piece.replace(/^▁/, "") || piece;

// One head switched off.
export function withoutHead({ kind, layer, head, who, votes, token, before, after, same, instead, output, as_it_is }) {
  const off = `Without ${kind} head ${head} of layer ${layer} (${WHOSE_HEAD[who](votes)})`;
  const change = `“${bare(token)}” goes from ${inPercent(before)} to ${inPercent(after)}`;
  const next = same ? "" : `; “${bare(instead)}” would be likeliest`;
  const text = output && output !== as_it_is ? ` The text would be: “${output}”` : "";
  return `${off}, ${change}${next}.${text}`;
}
