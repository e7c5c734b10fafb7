// The button that copies a link, and how a text comes to the clipboard. Only https and localhost have the clipboard of
// now; over plain http, which is what a class has, the old command still copies what is selected in a field, which is
// left standing where even that is refused.
import { part, svgPart } from "#view/page/elements.js";

const LINK_RINGS = [
  "M7 5H5a3 3 0 0 0 0 6h2V9.6H5a1.6 1.6 0 0 1 0-3.2h2z",
  "M9 5h2a3 3 0 0 1 0 6H9V9.6h2a1.6 1.6 0 0 0 0-3.2H9z",
];
const LINK_BAR = "M5 7.3h6v1.4H5z";
const COPIED_MS = 2500;

// A button that puts the page's address on the clipboard, and says so.
export function linkButton(beside) {
  const words = part("span", { textContent: "Copy link" });
  const icon = svgPart("svg", { viewBox: "0 0 16 16" }, svgPart("path", { d: [...LINK_RINGS, LINK_BAR].join("") }));
  const button = part("button", { title: "Copy a link to this view" }, icon, words);
  button.dataset.action = "copy";
  button.onclick = async () => {
    if (!(await copied(window.location.href, beside()))) return; // it stands there, selected, to be copied by hand
    words.textContent = "Copied";
    button.dataset.copied = "";
    setTimeout(() => {
      words.textContent = "Copy link";
      delete button.dataset.copied;
    }, COPIED_MS);
  };
  return button;
}

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
