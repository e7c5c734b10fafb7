// The buttons of the step controls.
import { part, svgPart } from "#view/elements.js";
import { act } from "#view/controls/steps.js";
import { copied } from "#view/controls/copy.js";

const PATHS = {
  first: ["M2 3h2v10H2zM14 3v10L5 8z"],
  back: ["M12 2v12L3 8z"],
  step: ["M4 2v12l9-6z"],
  play: ["M2 2v12l7-6zM9 2v12l6-6z", "M3 2h4v12H3zM9 2h4v12H9z"],
  last: ["M12 3h2v10h-2zM2 3v10l9-5z", "M3 3h10v10H3z"],
  copy: ["M5 1h9v11h-2V3H5zM2 4h8v11H2z"],
};
const TITLES = {
  first: "First step (Home)",
  back: "Back (left arrow)",
  step: "Step (right arrow)",
  play: "Play (P)",
  last: "Last step (End)",
  copy: "Copy a link to this view",
};
const COPIED_MS = 2500;

export function buildControls(view) {
  const parts = { word: part("span"), number: part("span"), copy: button("copy", "wide") };
  parts.place = part("output", { ariaLive: "off" }, parts.word, parts.number); // what is heard of a step says more
  for (const name of ["first", "back", "step", "play", "last"]) {
    parts[name] = button(name, name === "step" ? "main" : "");
    parts[name].setAttribute("aria-label", TITLES[name]);
    parts[name].onclick = () => act(view, { step: "main", last: "end" }[name] ?? name);
  }
  const says = (className, textContent) => part("span", { className, textContent });
  parts.step.append(says("step", "Step"), says("again", "Replay from the start"), says("short", "Replay"));
  const words = part("span", { textContent: "Copy link" });
  parts.copy.append(words);
  parts.copy.onclick = () => copyLink(view, words);
  const { first, back, step, play, last, place, copy } = parts;
  copy.hidden = window.location.protocol === "file:"; // there is no address to send around
  view.root.replaceChildren(first, back, step, play, last, place, keyHints(), speed(parts), copy);
  return parts;
}

function button(name, className) {
  const marks = ["go", "pause"];
  const paths = PATHS[name].map((d, i) => svgPart("path", { d, class: marks[i] }));
  const one = part("button", { title: TITLES[name], className }, svgPart("svg", { viewBox: "0 0 16 16" }, ...paths));
  one.dataset.action = name;
  return one;
}

function keyHints() {
  const key = (textContent) => part("kbd", { textContent });
  const steps = [key("←"), " ", key("→"), " step · ", key("Home"), " ", key("End"), " · ", key("P"), " play · "];
  return part("span", { className: "keys" }, ...steps, key("1"), " … ", key("9"), " choose a token");
}

function speed(parts) {
  parts.speed = part("input", { type: "range", min: 0.5, max: 8, step: 0.5, value: 2, ariaLabel: "Steps a second" });
  const number = part("output", { textContent: "2/s" });
  parts.speed.oninput = () => {
    number.textContent = `${parts.speed.value}/s`;
  };
  return part("label", { className: "speed" }, "speed ", parts.speed, number);
}

async function copyLink(view, words) {
  if (!(await copied(window.location.href, view.root))) return; // it stands there, selected, to be copied by hand
  words.textContent = "Copied";
  setTimeout(() => {
    words.textContent = "Copy link";
  }, COPIED_MS);
}
