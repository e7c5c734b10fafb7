// Views saved as files: dropped anywhere on a page, or chosen, their text goes to Python.
import { part } from "#view/elements.js";

export function openDropped({ signal, send, largest }) {
  const takes = (event) => !event.defaultPrevented && event.dataTransfer?.types.includes("Files");
  const over = (event) => {
    if (takes(event)) event.preventDefault(); // or the browser would leave the page for the file
  };
  const drop = (event) => {
    if (!takes(event)) return;
    event.preventDefault();
    sendFile(event.dataTransfer.files[0], { send, largest });
  };
  window.addEventListener("dragover", over, { signal });
  window.addEventListener("drop", drop, { signal });
}

export function chooseView(to) {
  const input = part("input", { type: "file", accept: ".json,application/json" });
  input.onchange = () => sendFile(input.files[0], to);
  input.click();
}

// Of one that is too large there is no text.
async function sendFile(file, { send, largest }) {
  if (file) send({ text: file.size > largest ? null : await file.text() });
}
