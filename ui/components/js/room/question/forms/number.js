// Answering with a number, which is typed.
import { part } from "#view/page/elements.js";
import { readNumber } from "#view/text/numbers.js";
import { rightText, sentence } from "../../texts.js";

export const numberForm = {
  input: numberInput,
  answerText: (spec, choices, value) => numberText(spec, value),
  verdict: (spec, choices, { bounds: [least, most], tolerance }, value) => {
    const right = value >= least && value <= most;
    const points = spec.unit === "%" ? " percentage points" : "";
    const within = `within ${Number(tolerance.toPrecision(2))}${points} counts as right`;
    return { right, words: `You said ${numberText(spec, value)}. ${right ? "Right" : "Not close enough"}: ${within}.` };
  },
  rows: numberRows,
  lines: ({ question, spec, votes }) => [
    votes.median !== null && `Half of the room said ${numberText(spec, votes.median)} or less.`,
    question.summary && rightText(question.summary, votes),
  ],
};

const numberText = (spec, value) =>
  `${String(Number(value.toPrecision(4))).replace("-", "−")}${spec.unit === "%" ? "%" : ""}`;

// A bin of numbers: 40–50%. What lies far off is in the first or the last, which has no end there.
export function rangeText(spec, { from, to }) {
  const text = (value) => numberText(spec, value);
  if (from === null) return to === null ? "all" : `below ${text(to)}`;
  if (to === null) return `${text(from)} or more`;
  return from < 0 ? `${text(from)} to ${text(to)}` : `${numberText({}, from)}–${text(to)}`;
}

function numberInput(entry) {
  const { least, most, unit } = entry.spec;
  const ranged = typeof least === "number";
  const field = part("input", { type: "text", inputMode: "decimal", autocomplete: "off", maxLength: 24 });
  field.setAttribute("aria-label", unit ? `Your answer in ${unit === "%" ? "percent" : unit}` : "Your answer");
  if (!ranged || least < 0) field.inputMode = "text"; // some keyboards of numbers have no minus
  const why = part("p", { className: "why", role: "alert" });
  const wanted = ranged
    ? `a number from ${numberText({}, least)} to ${numberText({}, most)}`
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
  const send = part("button", { type: "submit", className: "send", textContent: "Send" });
  const line = part("div", { className: "number" }, field, part("span", { textContent: unit }), send);
  const hint = ranged ? [part("p", { className: "hint", textContent: sentence(wanted) })] : [];
  const element = part("form", { onsubmit, noValidate: true }, line, ...hint, why);
  const show = (value) => {
    if (value !== null && readNumber(field.value) !== value) field.value = numberText({}, value);
    else if (value === null && !entry.sending) field.value = "";
  };
  return { element, show };
}

// Both rounds have the same bins.
function numberRows({ spec, votes, first, key, given }) {
  const most = Math.max(1, ...[votes, first ?? votes].flatMap((one) => one.bins.map(({ count }) => count)));
  return votes.bins.map((bin, at) => {
    const last = at === votes.bins.length - 1;
    const holds = (value) =>
      typeof value === "number" &&
      value >= (bin.from ?? -Infinity) &&
      (last ? value <= (bin.to ?? Infinity) : value < bin.to);
    const tracks = [first?.bins[at], bin].filter(Boolean).map(({ count }) => [count / most, String(count)]);
    const who = first ? ["before", "room"] : ["room"];
    return {
      name: rangeText(spec, bin),
      tracks: tracks.map((track, round) => [who[round], ...track]),
      right: key && holds(key.right),
      mine: holds(given),
    };
  });
}
