// Puts a text on the clipboard. Only https and localhost have the clipboard of now; over plain http, which is what a
// class has, the old command still copies what is selected in a field, which is left standing where even that is
// refused.
import { part } from "#view/elements.js";

export async function copied(text, beside) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    /* there is none, or it is not allowed */
  }
  const ariaLabel = "To copy by hand";
  // one that keeps the ends of lines
  const field = part("textarea", { className: "link", value: text, rows: 1, readOnly: true, ariaLabel });
  beside.append(field);
  field.focus();
  field.select();
  const done = document.execCommand("copy");
  if (done) field.remove();
  else field.onblur = () => field.remove();
  return done;
}
