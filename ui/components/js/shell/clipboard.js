// The buttons of Streamlit that copy ask for the clipboard of now, which no page has over plain http: there, the old
// command stands in for it.
import { part } from "#view/elements.js";

export function lendClipboard() {
  if (navigator.clipboard) return;
  Object.defineProperty(navigator, "clipboard", { value: { writeText: copyByCommand }, configurable: true });
}

async function copyByCommand(text) {
  const focused = document.activeElement;
  const field = part("textarea", { value: text, readOnly: true });
  field.style.cssText = "position: fixed; top: 0; opacity: 0";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  if (!done) throw new DOMException("This browser does not let the page copy.", "NotAllowedError");
}
