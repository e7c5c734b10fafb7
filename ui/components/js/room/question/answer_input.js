// How a phone answers: `entry` is one question in one round, until it is closed. value: what is chosen, typed or drawn;
// dirty: it is not what was sent last.
import { part } from "#view/page/elements.js";
import { FORMS } from "./forms/answer_forms.js";
import { SURE } from "../texts.js";

const SENT = "Sent. You can change it until the lecturer closes the question.";
const WAITING = "No connection. Your answer is kept on this page and sent as soon as there is one.";

export function enterAnswer({ spec, choices }) {
  const entry = { spec, choices, value: null, sure: null, given: null, dirty: false, sending: null };
  entry.give = (value) => {
    Object.assign(entry, { value, dirty: false });
    entry.onAnswer(value, entry.sure);
  };
  entry.changed = (value) => {
    Object.assign(entry, { value, dirty: true });
    entry.status.textContent = statusText(entry);
  };
  const form = FORMS[spec.form].input(entry);
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
    const words = statusText(entry);
    if (entry.status.textContent !== words) entry.status.textContent = words;
  };
  return entry;
}

function statusText({ spec, given, dirty, sending }) {
  if (sending?.state === "refused") return sending.why;
  if (sending?.state === "waiting") return WAITING;
  if (sending) return "Sending …";
  if (dirty) return given ? "Changed, but not sent yet." : "Not sent yet.";
  if (given) return SENT;
  return FORMS[spec.form].hint ?? "";
}

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
