// The way into a room: a code is typed.
import { part } from "#view/page/elements.js";
import { base } from "../connection.js";

const LENGTH = 6;
const NEVER = "01AEIOU"; // in no code, as one is taken for another, or a code would be a word

// A code as it was meant, whatever the case, with spaces and dashes in it.
export const readCode = (typed) => typed.replace(/[\s-]/g, "").toUpperCase();

// What is wrong with a code; empty where it can be one.
export function wrongWith(code) {
  const wrong = [...code].filter((letter) => NEVER.includes(letter));
  if (wrong.length) return `No code has ${[...new Set(wrong)].join(" or ")} in it. Look at the wall again.`;
  if (!/^[0-9A-Z]*$/.test(code)) return "A code has only letters and digits.";
  return code.length === LENGTH ? "" : `A code has ${LENGTH} letters and digits.`;
}

// why: what was wrong with the code before.
export function showJoin(main, { why = "", typed = "" } = {}) {
  const field = part("input", {
    id: "code",
    value: typed,
    maxLength: 12,
    autocomplete: "off",
    autocapitalize: "characters",
    spellcheck: false,
    inputMode: "text",
  });
  field.setAttribute("autocorrect", "off");
  field.setAttribute("aria-describedby", "wrong");
  const label = part("label", { htmlFor: "code", textContent: "The code of the room" });
  const wrong = part("p", { id: "wrong", className: "wrong", role: "alert", textContent: why });
  const onsubmit = (event) => {
    event.preventDefault();
    const code = readCode(field.value);
    wrong.textContent = wrongWith(code);
    if (wrong.textContent) field.focus();
    else window.location.assign(new URL(`${base()}r/${code}`, document.baseURI));
  };
  const button = part("button", { type: "submit", className: "send", textContent: "Join" });
  const title = part("h1", { textContent: "Join a room" });
  const hint = part("p", {
    className: "hint",
    textContent: "It is on the wall, or your lecturer will tell you. No name needed.",
  });
  main.replaceChildren(
    part("form", { className: "join", onsubmit, noValidate: true }, title, label, field, wrong, button, hint),
  );
  if (!why) field.focus();
}
