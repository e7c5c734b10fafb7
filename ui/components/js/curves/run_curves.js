// The curves of one or several runs: the loss large, other numbers small below it, all on one cursor. One object,
// `view`, holds the points that have come, the charts and the choices.
import STYLE from "./run_curves.css";
import { themeOf } from "#view/drawing/colours.js";
import { dress, keepFile, part, redrawWhenMoved } from "#view/page/elements.js";
import { expose } from "#view/export/figures/expose.js";
import { blobOf } from "#view/export/figures/png.js";
import { unpack } from "#view/message/message.js";
import { take, withModifier } from "#view/page/pointer.js";
import { FONT } from "#view/drawing/type.js";
import { AXES, chartIn, destroyChart, drawChart, cursorAt, zoomTo } from "./chart.js";
import { amount } from "./numbers.js";
import { askForMissing, nearest, takeIn } from "./points.js";
import { PANELS, guidesOf, has, lossLines, marksOf, hasPoints, panelLines, runsOf } from "./runs.js";
import { SMOOTH, smoothedLoss } from "./smoothing.js";

const LOSS = 340; // px
const PANEL = 130;
const NARROW = 640;
let charts = 0;

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".run-curves");
  const header = unpack(data);
  const view = (root.view ??= newView(root));
  if (askForMissing(view, takeIn(view.store, header), setTriggerValue)) return;
  dress(root, STYLE);
  Object.assign(view, { header, theme: themeOf(header.dark) });
  view.choose = (mark) => header.chooses && setTriggerValue("mark", { ...mark, number: Date.now() });
  view.parts ??= build(view);
  redrawWhenMoved(root);
  legend(view);
  draw(view);
  expose(root, "curves", async () => [[curvesName(view), await blobOf(pictureOf(view))]]);
}

function newView(root) {
  const view = { root, store: {}, hidden: new Set(), cursor: null, zoom: null, charts: new Map() };
  Object.assign(view, { smooth: SMOOTH, log: false, logAcross: false, axis: "step", sync: `curves-${charts++}` });
  view.redraw = root.redraw = () => draw(view);
  return view;
}

// The bar over the curves and the names of the runs.

function build(view) {
  const parts = {
    names: part("div", { className: "names", role: "group", ariaLabel: "Runs" }),
    figures: part("div", { className: "figures", tabIndex: 0, role: "img" }),
    readout: part("output", { className: "readout" }),
    back: backButton(view),
    axis: axisChooser(view),
  };
  const scales = [logBox(view, "log", "log y-axis"), logBox(view, "logAcross", "log x-axis")];
  const controls = [smoothing(view), ...scales, part("label", {}, "x-axis ", parts.axis), parts.back, saveButton(view)];
  view.root.append(part("div", { className: "bar" }, ...controls), parts.names, parts.figures, parts.readout);
  parts.figures.onkeydown = (event) => onKey(view, event);
  return parts;
}

function smoothing(view) {
  const ariaLabel = "Smoothing of the training loss";
  const slider = part("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: view.smooth, ariaLabel });
  const number = part("output", { textContent: view.smooth.toFixed(2) });
  slider.oninput = () => {
    view.smooth = Number(slider.value);
    number.textContent = view.smooth.toFixed(2);
    view.redraw();
  };
  return part("label", {}, "Smoothing ", slider, number);
}

function logBox(view, name, words) {
  const box = part("input", { type: "checkbox", checked: view[name] });
  box.onchange = () => {
    view[name] = box.checked;
    view.redraw();
  };
  return part("label", {}, box, ` ${words}`);
}

function axisChooser(view) {
  const select = part("select", { ariaLabel: "x-axis" });
  select.onchange = () => {
    view.axis = select.value;
    setZoom(view, null);
    view.redraw();
  };
  return select;
}

// Only what all runs have measured is offered.
function offerAxes(view, runs) {
  const offered = Object.keys(AXES).filter((axis) => runs.every((run) => run.train[axis]?.finite));
  if (!offered.includes(view.axis)) view.axis = "step";
  const options = (offered.length ? offered : ["step"]).map((value) =>
    part("option", { value, textContent: AXES[value].title, selected: value === view.axis }),
  );
  view.parts.axis.replaceChildren(...options);
}

function backButton(view) {
  const title = "Show the whole length again (double click)";
  return part("button", { textContent: "Whole", title, hidden: true, onclick: () => setZoom(view, null) });
}

function saveButton(view) {
  const onclick = () => pictureOf(view).toBlob((blob) => keepFile(blob, curvesName(view)));
  return part("button", { textContent: "Save as PNG", onclick });
}

function curvesName({ header }) {
  const names = header.runs.map((run) => run.name).join("-");
  return `${names.slice(0, 80)}-curves.png`;
}

function setZoom(view, zoom) {
  view.zoom = zoom;
  view.parts.back.hidden = !zoom;
  for (const { chart } of view.charts.values()) zoomTo(chart, zoom);
}

function legend(view) {
  const { runs } = view.header;
  view.parts.names.replaceChildren(...runs.map((run) => chipOf(view, run)));
  view.parts.names.hidden = runs.length < 2;
}

function chipOf(view, { name, colour }) {
  const { hidden } = view;
  const chip = part("button", { textContent: name, title: "Show or hide", ariaPressed: !hidden.has(name) });
  chip.style.setProperty("--curve", colour);
  chip.onclick = () => {
    if (!hidden.delete(name)) hidden.add(name);
    legend(view);
    view.redraw();
  };
  return chip;
}

// The charts: made where they are needed, and drawn with every message.

function draw(view) {
  const { root, parts, theme, header } = view;
  const runs = runsOf(view, view.hidden);
  const points = runs.filter(hasPoints);
  offerAxes(view, points);
  const width = Math.max(280, root.clientWidth);
  const narrow = width < NARROW;
  const { axis, log, logAcross } = view;
  const shared = { axis, logAcross, theme };
  const lines = lossLines(points, view);
  const marks = marksOf(points, axis);
  const guides = points.length ? guidesOf(header) : [];
  const loss = { ...shared, lines, log, marks, guides, title: "" };
  drawChart(chartOf(view, "loss", lossTitle(header, points)), loss, [width, narrow ? 270 : LOSS]);
  const wide = narrow ? width : Math.floor((width - 24) / 3);
  const panels = PANELS.filter((panel) => points.some((run) => has(run, panel)));
  for (const panel of panels) {
    const small = { ...shared, lines: panelLines(points, panel, view), small: true };
    drawChart(chartOf(view, panel.name, panel.title), small, [wide, PANEL]);
  }
  for (const name of view.charts.keys())
    if (name !== "loss" && !panels.some((panel) => panel.name === name)) drop(view, name);
  describe(view, runs, points);
  tell(view);
  parts.figures.classList.toggle("empty", !points.length);
}

function lossTitle({ unit }, points) {
  const kinds = ["faint: as measured", "solid: smoothed"];
  if (points.some((run) => run.held_out.step?.length)) kinds.push("dashed with dots: held-out");
  return points.length ? `Loss, ${unit} (${kinds.join(", ")})` : `Loss, ${unit}`;
}

function chartOf(view, name, title) {
  if (!view.charts.has(name)) {
    const host = part("figure", { className: name === "loss" ? "loss" : "panel" });
    host.append(part("figcaption"));
    view.parts.figures.append(host);
    const chart = chartIn(host, {
      sync: view.sync,
      onCursor: (value, mark) => setCursor(view, value, mark),
      onZoom: (zoom) => setZoom(view, zoom),
      onMark: view.choose,
    });
    view.charts.set(name, { chart, host });
  }
  const { chart, host } = view.charts.get(name);
  host.firstChild.textContent = title;
  return chart;
}

function drop(view, name) {
  const { chart, host } = view.charts.get(name);
  destroyChart(chart);
  host.remove();
  view.charts.delete(name);
}

function describe({ root, parts }, runs, points) {
  const last = (column) => amount(column?.at(-1));
  const losses = points.map(
    ({ name, train }) => `${name}: training loss ${last(train.loss)} at step ${last(train.step)}`,
  );
  const count = `${runs.length} run${runs.length === 1 ? "" : "s"}`;
  parts.figures.setAttribute("aria-label", `Curves of ${count}. ${losses.join("; ")}`);
  root.dataset.points = points.reduce((sum, run) => sum + (run.train.step?.length ?? 0), 0);
  const kinds = ["training", "smoothed", ...(points.some((run) => run.held_out.step?.length) ? ["held-out"] : [])];
  root.dataset.kinds = points.length ? kinds.join(", ") : "";
}

// The cursor, and the numbers of all runs there.

function setCursor(view, cursor, mark = null) {
  view.cursor = cursor;
  view.mark = mark;
  tell(view);
}

function tell(view) {
  const points = runsOf(view, view.hidden).filter(hasPoints);
  const lines = points.map((run) => readout(view, run, points.length > 1));
  view.parts.readout.textContent = [
    ...(view.mark ? [`step ${amount(view.mark.step)}: ${view.mark.words}`] : []),
    ...lines,
  ].join("\n");
}

function readout({ cursor, axis, smooth }, run, several) {
  const { train, held_out: held } = run;
  const name = several ? `${run.name}: ` : "";
  const place = (group) =>
    cursor === null ? (group.step?.length ?? 0) - 1 : nearest(group[axis] ?? group.step, cursor);
  const i = place(train);
  if (i < 0) return `${name}not measured yet`;
  const words = [`step ${amount(train.step.at(i))}`, `loss ${amount(train.loss.at(i))}`];
  words.push(`smoothed ${amount(smoothedLoss(run, smooth).at(i))}`);
  if (train.accuracy?.finite) words.push(`${amount(100 * train.accuracy.at(i))}% right`);
  if (held.step?.length) {
    const j = place(held);
    words.push(`held-out ${amount(held.validation_loss.at(j))} (step ${amount(held.step.at(j))})`);
    if (held.validation_accuracy?.finite) words.push(`${amount(100 * held.validation_accuracy.at(j))}% of it right`);
  }
  words.push(`lr ${amount(train.lr?.at(i))}`, `gradient norm ${amount(train.grad_norm?.at(i))}`);
  words.push(`${amount(train.tokens_per_sec?.at(i))} a second`);
  return name + words.join(" · ");
}

function onKey(view, event) {
  const { chart } = view.charts.get("loss");
  if (event.key === "Escape") {
    view.parts.figures.blur();
    cursorAt(chart, null);
    return setCursor(view, null);
  }
  if (event.key === "Enter" && view.mark) return view.choose(view.mark);
  if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key) || withModifier(event)) return;
  take(event);
  const { min, max } = chart.plot.scales.x;
  const by = ((event.key === "ArrowLeft" ? -1 : 1) * (max - min)) / 100;
  const ends = { Home: min, End: max };
  const to = ends[event.key] ?? Math.min(max, Math.max(min, (view.cursor ?? max) + by));
  setCursor(view, to, cursorAt(chart, to));
}

// All charts as one picture, below each other as on the page.
function pictureOf(view) {
  const canvases = [...view.charts.values()].map(({ chart, host }) => [chart.plot.ctx.canvas, host]);
  const ratio = window.devicePixelRatio || 1;
  const frame = view.parts.figures.getBoundingClientRect();
  const picture = part("canvas", { width: frame.width * ratio, height: frame.height * ratio });
  const context = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
  context.fillStyle = view.theme.page;
  context.fillRect(0, 0, picture.width, picture.height);
  for (const [canvas, host] of canvases) {
    const box = canvas.getBoundingClientRect();
    const caption = host.firstChild.getBoundingClientRect();
    context.drawImage(canvas, (box.left - frame.left) * ratio, (box.top - frame.top) * ratio);
    Object.assign(context, { fillStyle: view.theme.ink, font: `650 ${13 * ratio}px ${FONT}`, textBaseline: "top" });
    context.fillText(
      host.firstChild.textContent,
      (caption.left - frame.left) * ratio,
      (caption.top - frame.top) * ratio,
    );
  }
  return picture;
}
