// Answering in one's own words.
import { part } from "#view/page/elements.js";

export const textForm = {
  input: textInput,
  answerText: (spec, choices, value) => `“${value}”`,
  verdict: (spec, choices, key, value) => ({ right: null, words: `You wrote “${value}”` }),
  rows: () => [],
  lines: () => [],
  more: ({ texts = [], phase }, face) => {
    if (texts.length) {
      const items = texts.map((textContent) => part("li", {}, part("bdi", { textContent })));
      return part("ul", { className: "texts" }, ...items);
    }
    if (phase !== "split" || face !== "phone") return null;
    return part("p", { className: "hint", textContent: "The lecturer is reading what was written." });
  },
};

function textInput(entry) {
  const { longest } = entry.spec;
  const field = part("textarea", { rows: 3, maxLength: longest, ariaLabel: "Your answer" });
  const left = part("p", { className: "hint" });
  const button = part("button", { type: "submit", className: "send", textContent: "Send" });
  const tell = () => {
    left.textContent = `${longest - field.value.length} characters left. The lecturer reads it before anybody sees it.`;
    button.disabled = !field.value.trim();
  };
  field.oninput = () => {
    tell();
    entry.changed(field.value);
  };
  const onsubmit = (event) => {
    event.preventDefault();
    if (field.value.trim()) entry.give(field.value.trim());
  };
  const show = (value) => {
    if (field.value.trim() !== (value ?? "")) field.value = value ?? "";
    tell();
  };
  return { element: part("form", { className: "text", onsubmit }, field, left, button), show };
}
