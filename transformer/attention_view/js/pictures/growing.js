// One head through a training: a slider over its snapshots, which plays once by itself when it comes into sight.
import STYLE from "#view/pictures/growing.css";
import { resized } from "#view/drawing/canvas.js";
import { prefersDark, themeOf } from "#view/drawing/colours.js";
import { dress, part, redrawWhenMoved, stillMotion } from "#view/page/elements.js";
import { matrixLayout, paintMatrix } from "#view/pictures/matrix.js";
import { unpack } from "#view/message/message.js";
import { thousands } from "#view/text/numbers.js";

const TALL = 230; // px
const EVERY_MS = 110;
const HELD_MS = 900; // on the first picture, before it plays

export default function component({ data, parentElement }) {
  const root = parentElement.querySelector(".growing");
  dress(root, STYLE);
  const growing = (root.growing ??= newGrowing(root));
  growing.message = unpack(data);
  growing.slider.max = growing.message.steps.length - 1;
  if (growing.at === null) showSnapshot(growing, stillMotion() ? growing.message.steps.length - 1 : 0);
  root.redraw = () => showSnapshot(growing, growing.at);
  redrawWhenMoved(root);
  root.redraw();
}

function newGrowing(root) {
  const growing = { root, at: null, timer: 0 };
  growing.canvas = part("canvas", { role: "img" });
  growing.slider = part("input", { type: "range", min: 0, value: 0, ariaLabel: "Training step" });
  growing.place = part("output");
  growing.play = part("button", { textContent: "Play", onclick: () => playThrough(growing) });
  growing.slider.oninput = () => {
    clearTimeout(growing.timer);
    showSnapshot(growing, growing.slider.valueAsNumber);
  };
  root.replaceChildren(growing.canvas, part("div", {}, growing.play, growing.slider), growing.place);
  if (!stillMotion()) playOnceInSight(growing);
  return growing;
}

function playOnceInSight(growing) {
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    growing.timer = setTimeout(() => playThrough(growing), HELD_MS);
  });
  seen.observe(growing.canvas);
}

function playThrough(growing) {
  clearTimeout(growing.timer);
  const last = growing.message.steps.length - 1;
  const on = (at) => {
    if (!growing.root.isConnected) return;
    showSnapshot(growing, at);
    if (at < last) growing.timer = setTimeout(on, EVERY_MS, at + 1);
  };
  on(0);
}

function showSnapshot(growing, at) {
  const { root, message, canvas } = growing;
  Object.assign(growing, { at });
  growing.slider.value = at;
  const { queries, keys, makes, steps, losses } = message;
  const size = queries.length * keys.length;
  const cells = message.arrays.cells.subarray(at * size, (at + 1) * size);
  const info = { queries, keys, makes };
  const selection = { stage: "weights", scale: "sqrt", rows: "made" };
  const made = matrixLayout(info, root.clientWidth, { selection, tall: TALL });
  const stage = { values: Float32Array.from(cells, (cell) => (cell / 255) ** 2), low: 0, high: 1 };
  const theme = themeOf(message.dark ?? prefersDark());
  const painting = { info, stage, selection, ...made, scroll: [0, 0], cursor: null, newest: false, theme };
  paintMatrix(resized(canvas, root.clientWidth, TALL), { x: 0, y: 0, width: root.clientWidth, height: TALL }, painting);
  const loss = losses[at] === null ? "" : ` · loss ${losses[at].toFixed(2)}`;
  growing.place.textContent = `training step ${thousands(steps[at])} of ${thousands(steps.at(-1))}${loss}`;
  canvas.setAttribute("aria-label", `${message.title}, ${growing.place.textContent}`);
}
