// Texts on a question, its answers and what they are worth.
import { kindName } from "#view/text/names.js";
import { inPercent, thousands } from "#view/text/numbers.js";
import { plainly } from "#view/text/tokens.js";

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
  spec.pieces && name !== OTHERS ? plainly(name, Infinity).slice(1, -1) : String(name);

// What a device is asked to choose from; null where it is asked alone and has not been sent it yet.
export const choicesOf = ({ question }, mine) =>
  question.own ? (ownOf(question, mine)?.choices ?? null) : (question.spec.choices ?? null);

// What one device alone is asked.
export const ownOf = (question, mine) => (question.own && mine?.own?.question === question.id ? mine.own : null);

// The key that holds for a device.
export const keyOf = (question, mine) => (question.own ? (ownOf(question, mine)?.key ?? null) : question.key);

// Where a row of attention stands: "Cross attention, layer 1, head 2, from “am”".
export function rowPlace({ kind, layer, head, token }) {
  const of = head === null || head === undefined ? "" : `, head ${head}`;
  return `${kindName(kind)} attention, layer ${layer}${of}, from “${plainly(token, 40).slice(1, -1)}”`;
}

// How many of a room were right, and how sure they were, where enough said so.
export function rightText(summary, votes) {
  if (!summary.count) return "Nobody answered.";
  const all = thousands(summary.count);
  const was = summary.right === 1 ? "was" : "were";
  const lines = [
    summary.right
      ? `${thousands(summary.right)} of ${all} ${was} right (${share(summary.share)}).`
      : (["The one answer was not right.", "Neither was right."][summary.count - 1] ?? `None of ${all} was right.`),
  ];
  const { sure_right: right, sure_wrong: wrong } = summary;
  const saidHow = votes.sure.slice(0, SURE.length).reduce((all, one) => all + one, 0);
  if (saidHow >= FEWEST_SURE && typeof right === "number" && typeof wrong === "number") {
    if (right - wrong > 0.1) lines.push("Those who were right were more confident.");
    else if (wrong - right > 0.1) lines.push("Those who were wrong were more confident.");
    else lines.push("Right or wrong, they were equally confident.");
  }
  if (summary.sentences)
    lines.push(`The most common answer was right for ${summary.agreed} of ${countOf(summary.sentences, "sentence")}.`);
  return lines.join(" ");
}

// What a second round changed.
export function roundsText({ both, changed, became_right: gained, became_wrong: lost, share: right, overlap: common }) {
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
export function proofText({ checkpoint, trained, step, seed }) {
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
export function keptText(ends, number) {
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
  const off = `Without ${kind}, layer ${layer}, head ${head} (${WHOSE_HEAD[who](votes)})`;
  const change = `“${bare(token)}” goes from ${inPercent(before)} to ${inPercent(after)}`;
  const next = same ? "" : `; “${bare(instead)}” would be likeliest`;
  const text = output && output !== as_it_is ? ` The text would be: “${output}”` : "";
  return `${off}, ${change}${next}.${text}`;
}
