// What a page shows as one moves through the snapshots: everything that is drawn, and words for what the pointer or the
// keyboard is on.
import { sized, zoomOf } from "#view/drawing/canvas.js";
import { part, say } from "#view/page/elements.js";
import { drawLoss } from "./loss.js";
import { footHeight, onPhone, topOnPage } from "#view/page/window.js";
import { gridHeight, gridOf, matrixOf, measurePlot, overMeasure, underMeasure } from "./pictures.js";
import {
  drawnOf,
  indexOf,
  infoOf,
  keyOf,
  lossWords,
  measured,
  measuresOf,
  missing,
  recorded,
  sizesOf,
  stepOf,
  stepWords,
  valued,
  weightsNow,
} from "./snapshots.js";
import { paintGrid } from "#view/pictures/grid.js";
import { matrixLayout, paintLegend, paintMatrix } from "#view/pictures/matrix.js";
import { kindName } from "#view/text/names.js";
import { plain, thousands } from "#view/text/numbers.js";
import { mayLook } from "#view/attention/scores.js";
import { placed } from "#view/text/tokens.js";

const BELOW_IT = 10; // px
const LOWEST = 470; // px, of a window too low for all of it

export function draw(view) {
  const { root, selection } = view;
  const waiting = !recorded(view) || missing(view);
  root.classList.toggle("waiting", waiting);
  fit(view);
  if (recorded(view)) describe(view);
  describeRun(view); // last of the words, since the curve has what room they leave
  if (!recorded(view)) return;
  drawRange(view);
  if (waiting) {
    delete root.dataset.drawn;
    return;
  }
  drawMatrix(view);
  if (view.parts.grid.parentElement.clientWidth) {
    drawGrid(view); // what a presented page leaves out
    drawMeasures(view);
    drawTable(view);
  }
  if (view.cursor) tellCell(view);
  root.dataset.drawn = [selection.kind, selection.sentence, stepOf(view), selection.layer, selection.head].join();
}

// All that moves with the step is on one screen, whatever the window; on a telephone the style sees to it.
function fit({ root, parts }) {
  const room = (window.innerHeight - topOnPage(root) - footHeight() - BELOW_IT) / (root.currentCSSZoom ?? 1);
  const least = LOWEST / (root.currentCSSZoom ?? 1);
  parts.screen.style.height = onPhone() ? "" : `${Math.max(least, Math.floor(room))}px`;
}

// What is said of the run whether or not it has recorded anything: how far it is, its events, what it writes.
function describeRun(view) {
  const { parts, message } = view;
  const name = message.name?.split("@")[0]; // whole in what is saved
  parts.source.textContent = [name, message.says].filter(Boolean).join(" · ");
  if (!recorded(view)) parts.now.textContent = "Nothing is measured yet";
  drawLoss(view, recorded(view) ? stepOf(view) : null);
  drawWritten(view);
}

// What the model wrote at the newest evaluation up to the step.
function drawWritten(view) {
  const { parts, message } = view;
  const at = recorded(view) ? stepOf(view) : Infinity;
  const row = message.samples.findLast(({ step }) => step <= at) ?? message.samples[0];
  parts.written.hidden = !row;
  if (!row) return;
  const lines = row.samples.map((sample) => {
    const mark = sample.right === null ? "" : part("span", { textContent: sample.right ? "✓" : "✗" });
    const output = sample.output.trim() ? part("bdi", { textContent: sample.output }) : part("i", {}, "nothing");
    return part("li", {}, part("bdi", { textContent: sample.text }), " → ", output, mark);
  });
  parts.written.replaceChildren(
    part("b", { textContent: `Written at step ${thousands(row.step)}` }),
    part("ul", {}, ...lines),
  );
}

function describe(view) {
  const { parts, selection, message } = view;
  const step = stepOf(view);
  const [layers, heads] = sizesOf(view);
  const loss = lossWords(view, ["━ ", "┅ "]);
  const small = step ? loss : `before training${loss ? ` · ${loss}` : ""}`;
  parts.now.replaceChildren(`Step ${thousands(step)}`, part("small", { textContent: small }));
  parts.note.textContent = message.notes.join(" ");
  parts.gridTitle.textContent = `All ${selection.kind} heads`;
  const kind = kindName(selection.kind);
  parts.headTitle.textContent = `${kind} attention, layer ${selection.layer}, head ${selection.head}`;
  const grid = `All ${selection.kind} heads at step ${step}, ${layers} layers of ${heads}`;
  parts.grid.setAttribute("aria-label", `${grid}. Arrow keys move between heads, Enter chooses, Escape leaves.`);
  const head = `Layer ${selection.layer}, head ${selection.head} at step ${step}`;
  parts.matrix.setAttribute("aria-label", `${head}. Arrow keys move between tokens, Escape leaves.`);
  view.follow?.setAttribute("aria-pressed", selection.step === null);
}

function drawRange(view) {
  const { parts, message, last } = view;
  const at = (step) => Math.log1p(step) / Math.log1p(Math.max(1, last));
  if (!view.ranging) parts.range.value = at(stepOf(view));
  drawTicks(parts.ticks, last, at);
  const loss = lossWords(view);
  const snapshot = `snapshot ${indexOf(view) + 1} of ${message.steps.length}`;
  parts.range.setAttribute("aria-valuetext", `${stepWords(view)}, ${snapshot}${loss ? `, ${loss}` : ""}`);
}

const APART = 0.09; // of the track, between two of its numbers

// The powers of ten on the track, which is logarithmic, and its ends.
function drawTicks(ticks, last, at) {
  if (ticks.dataset.last === String(last)) return;
  ticks.dataset.last = last;
  const steps = [0];
  for (let step = 10; at(step) < 1 - APART; step *= 10) steps.push(step);
  ticks.replaceChildren(
    ...[...steps, last].map((step) => {
      const tick = part("span", { textContent: thousands(step) });
      tick.style.setProperty("--at", at(step).toFixed(4));
      return tick;
    }),
  );
}

function drawGrid(view) {
  const width = view.parts.grid.parentElement.clientWidth;
  const height = gridHeight(view, width);
  view.tiles = paintGrid(sized(view, view.parts.grid, width, height), { x: 0, y: 0, width, height }, gridOf(view));
}

export function drawMatrix(view) {
  const { parts, theme } = view;
  const { clientWidth, clientHeight: tall } = parts.room;
  if (!clientWidth || !tall) return; // taken off the page a moment ago
  const made = (view.layout = matrixLayout(infoOf(view), clientWidth, { tall }));
  const { width, height } = made;
  const painting = { ...matrixOf(view, made), cursor: view.cursor };
  paintMatrix(sized(view, parts.matrix, width, height), { x: 0, y: 0, width, height }, painting);
  paintLegend(sized(view, parts.legend, 260, 30), 4, 2, { stage: { high: 1 }, scale: "sqrt", theme });
}

function drawMeasures(view) {
  const { selection, parts } = view;
  const shown = drawnOf(view);
  parts.measures.forEach(({ canvas, words }, i) => {
    const one = shown[i];
    canvas.parentElement.hidden = !one;
    if (!one) return;
    const width = canvas.parentElement.clientWidth;
    const height = 170;
    const plot = measurePlot(view, { x: 0, y: 0, width, height }, one);
    const context = sized(view, canvas, width, height);
    const under = keptPicture(view, one.name, width, height, (kept) => underMeasure(view, kept, plot, one));
    context.drawImage(under, 0, 0, width, height);
    overMeasure(view, context, plot, one);
    const value = valued(measured(view, stepOf(view), one.row));
    words.replaceChildren(
      part("b", { textContent: `${one.title}: ${value}` }),
      part("span", { textContent: one.unit }),
    );
    const head = `layer ${selection.layer}, head ${selection.head} has ${value} at ${stepWords(view)}`;
    const even = `Dotted: uniform attention, ${valued(one.even)}.`;
    canvas.setAttribute("aria-label", `${one.title} of every head over training; ${head}. ${even}`);
  });
}

function drawTable(view) {
  const { selection, parts, message } = view;
  const step = stepOf(view);
  const [start] = message.steps;
  const heading = (textContent, scope = "col") => part("th", { scope, textContent });
  const first = start ? `at step ${thousands(start)}, the first` : "before training (random weights)";
  const columns = ["measure", `at ${stepWords(view)}`, first, "uniform attention"];
  const rows = [...drawnOf(view), ...measuresOf(view).filter(({ drawn }) => drawn === null)].map(
    ({ name, title, unit, even, row }) => {
      const here = cell(view, measured(view, step, row), name, "here", { step });
      const before = cell(view, measured(view, start, row), name, "start", { step: start });
      return part("tr", {}, heading(`${title}: ${unit}`, "row"), here, before, cell(view, even, name, "even"));
    },
  );
  const head = `${kindName(selection.kind)}, layer ${selection.layer}, head ${selection.head}`;
  const textContent = `${head}: means over the queries of sentence ${selection.sentence}`;
  parts.table.replaceChildren(
    part("caption", { textContent }),
    part("thead", {}, part("tr", {}, ...columns.map((words) => heading(words)))),
    part("tbody", {}, ...rows),
  );
}

function cell({ selection }, value, measure, className, more = {}) {
  const one = part("td", { textContent: Number.isFinite(value) ? value.toFixed(4) : "–", className });
  const { kind, layer, head, sentence } = selection;
  Object.assign(one.dataset, { kind, layer, head, measure, sentence, ...more });
  return one;
}

// What does not change as one scrubs is painted once and kept.
function keptPicture(view, name, width, height, paint) {
  const { steps, training, validation } = view.message;
  const counts = [steps.length, training.length, validation.length];
  const id = [
    name,
    keyOf(view),
    width,
    height,
    view.theme.dark,
    window.devicePixelRatio,
    zoomOf(view),
    ...counts,
  ].join();
  if (view.made.get(name)?.id !== id) {
    const canvas = document.createElement("canvas");
    paint(sized(view, canvas, width, height));
    view.made.set(name, { id, canvas });
  }
  return view.made.get(name).canvas;
}

// What the pointer or the keyboard is on, in words.

// A head of the grid: what it measures at this step.
export function tellHead(view, [layer, head]) {
  const step = stepOf(view);
  const shown = drawnOf(view);
  const values = shown.map(({ row }) => measured(view, step, row, layer, head));
  const words = shown.map(({ title }, i) => `${title.toLowerCase()} ${valued(values[i])}`).join(" · ");
  const marks = Object.fromEntries(shown.map(({ name }, i) => [name, values[i]]));
  const where = `layer ${layer}, head ${head} at ${stepWords(view)}`;
  say(view.parts.readout, `${where}: ${words}`, { kind: view.selection.kind, layer, head, step, ...marks });
}

// A line of a measure, at the step that the pointer is nearest to.
export function tellLine(view, { row, name, title }, [layer, head], step) {
  const value = measured(view, step, row, layer, head);
  const words = `layer ${layer}, head ${head}: ${title.toLowerCase()} ${valued(value)} at step ${thousands(step)}`;
  say(view.parts.readout, words, { kind: view.selection.kind, layer, head, step, [name]: value });
}

export function tellCell(view) {
  const [query, key] = view.cursor;
  const info = infoOf(view);
  const weight = weightsNow(view)[query * info.keys.length + key];
  const pair = `${placed(info.queries, query)} looks at ${placed(info.keys, key)} at ${stepWords(view)}`;
  const words = mayLook(info, query, key, view.selection) ? `weight ${plain(weight)}` : "masked, weight 0";
  const { kind, layer, head } = view.selection;
  say(view.parts.readout, `${pair}: ${words}`, { query, key, weight, kind, layer, head, step: stepOf(view) });
}
