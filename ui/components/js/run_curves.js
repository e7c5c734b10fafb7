// The curves of one or several runs: the loss large, other numbers small below it. Points are kept here between
// messages, which bring only new ones. One object, `view`, holds the parts, the points and the choices.
import STYLE from "./run_curves.css";
import { resized, stroke, text } from "#view/canvas.js";
import { themeOf } from "#view/colours.js";
import { dress, keepFile, part, redrawWhenMoved } from "#view/elements.js";
import { expose } from "#view/figures/expose.js";
import { blobOf } from "#view/figures/png.js";
import { paintGuessing, roomForGuessing } from "#view/guess_line.js";
import { unpack } from "#view/message.js";
import { ticks } from "#view/numbers.js";
import { spot, take, withModifier } from "#view/pointer.js";

const PATIENCE = 3000; // ms

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".run-curves");
  const header = unpack(data);
  const view = (root.view ??= newView(root));
  if (takeIn(view.store, header)) {
    view.asking ??= askUntilAnswered(view, () => setTriggerValue("missing", Date.now()));
    return;
  }
  clearInterval(view.asking);
  dress(root, STYLE);
  Object.assign(view, { asking: null, header, theme: themeOf(header.dark) });
  view.parts ??= build(view);
  for (const key of view.made.keys()) if (!(key in view.store)) view.made.delete(key);
  redrawWhenMoved(root);
  legend(view);
  draw(view);
  expose(root, "curves", async () => [[curvesName(view), await blobOf(view.parts.canvas)]]);
}

// Of two messages that come at once Streamlit hands on the second alone, and what is said as a run begins may be lost.
function askUntilAnswered(view, ask) {
  ask();
  return setInterval(() => (view.root.isConnected ? ask() : clearInterval(view.asking)), PATIENCE);
}

function newView(root) {
  const view = { root, store: {}, made: new Map(), hidden: new Set(), cursor: null, zoom: null, from: null };
  Object.assign(view, { smooth: 0.3, log: false, axis: "step" });
  view.redraw = root.redraw = () => draw(view);
  return view;
}

// The bar over the curves, the names of the runs, and the pointer and the keyboard on the canvas.

function build(view) {
  const parts = {
    names: part("div", { className: "names", role: "group", ariaLabel: "Runs" }),
    canvas: part("canvas", { tabIndex: 0, role: "img" }),
    readout: part("output", { className: "readout" }),
    back: backButton(view),
  };
  const controls = [smoothing(view), logScale(view), axis(view), parts.back, saveButton(view)];
  view.root.append(part("div", { className: "bar" }, ...controls), parts.names, parts.canvas, parts.readout);
  listenToPointer(view, parts.canvas);
  parts.canvas.onkeydown = (event) => onKey(view, event);
  return parts;
}

function smoothing(view) {
  const ariaLabel = "Smoothing of the training loss";
  const slider = part("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: view.smooth, ariaLabel });
  const number = part("output", { textContent: view.smooth.toFixed(2) });
  slider.oninput = () => {
    view.smooth = Number(slider.value);
    number.textContent = view.smooth.toFixed(2);
    view.made.clear();
    view.redraw();
  };
  return part("label", {}, "Smoothing ", slider, number);
}

function logScale(view) {
  const box = part("input", { type: "checkbox", checked: view.log });
  box.onchange = () => {
    view.log = box.checked;
    view.redraw();
  };
  return part("label", {}, box, " log scale");
}

function axis(view) {
  const option = (value, textContent) => part("option", { value, textContent });
  const select = part("select", { ariaLabel: "Across" }, option("step", "steps"), option("seconds", "time trained"));
  select.onchange = () => {
    view.axis = select.value;
    setZoom(view, null);
  };
  return part("label", {}, "Across ", select);
}

function backButton(view) {
  const title = "Show the whole length again (double click)";
  return part("button", { textContent: "Whole", title, hidden: true, onclick: () => setZoom(view, null) });
}

function saveButton(view) {
  const onclick = () => view.parts.canvas.toBlob((blob) => keepFile(blob, curvesName(view)));
  return part("button", { textContent: "Save as PNG", onclick });
}

function curvesName({ header }) {
  const names = header.runs.map((run) => run.name).join("-");
  return `${names.slice(0, 80)}-curves.png`;
}

function setZoom(view, zoom) {
  view.zoom = zoom;
  view.redraw();
}

function legend(view) {
  const { runs } = view.header;
  view.parts.names.replaceChildren(...runs.map((run) => chipOf(view, run)));
  view.parts.names.hidden = runs.length < 2;
}

function chipOf(view, { name, colour }) {
  const { hidden } = view;
  const chip = part("button", { textContent: name, title: "Show or hide", ariaPressed: !hidden.has(name) });
  chip.style.setProperty("--ink", colour);
  chip.onclick = () => {
    if (!hidden.delete(name)) hidden.add(name);
    legend(view);
    view.redraw();
  };
  return chip;
}

function listenToPointer(view, canvas) {
  canvas.onmousemove = (event) => setCursor(view, valueUnder(view, event));
  canvas.onmouseleave = () => setCursor(view, null);
  canvas.onmousedown = (event) => {
    view.from = inMain(view, event);
  };
  canvas.onmouseup = (event) => {
    const { from } = view;
    const to = inMain(view, event);
    const { x } = view.plots[0];
    if (from !== null && to !== null && Math.abs(x(to) - x(from)) > 8) {
      view.zoom = [Math.min(from, to), Math.max(from, to)];
    }
    view.from = null;
    view.redraw();
  };
  canvas.ondblclick = () => setZoom(view, null);
}

function setCursor(view, cursor) {
  view.cursor = cursor;
  drawCursor(view);
}

function valueUnder({ parts, plots }, event) {
  const [x, y] = spot(event, parts.canvas);
  const plot = plots.find(({ left, right, top, bottom }) => {
    return x >= left - 4 && x <= right + 4 && y >= top - 20 && y <= bottom + 20;
  });
  return plot ? plot.value(x) : null;
}

function inMain({ parts, plots: [plot] }, event) {
  const [x, y] = spot(event, parts.canvas);
  if (y < plot.top - 10 || y > plot.bottom + 20) return null;
  return plot.value(Math.min(plot.right, Math.max(plot.left, x)));
}

function onKey(view, event) {
  const [low, high] = view.plots[0].range;
  if (event.key === "Escape") {
    view.parts.canvas.blur();
    return setCursor(view, null);
  }
  if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key) || withModifier(event)) return;
  take(event);
  if (event.key === "Home") return setCursor(view, low);
  if (event.key === "End") return setCursor(view, high);
  const by = ((event.key === "ArrowLeft" ? -1 : 1) * (high - low)) / 100;
  setCursor(view, Math.min(high, Math.max(low, (view.cursor ?? high) + by)));
}

// The points of runs: columns of numbers that grow, and the smoothed loss.

const BLOCK = 32; // points that are drawn as their lowest and highest where many share a column of pixels

function grown(room, length, need) {
  if (need <= room.length) return room;
  const more = new Float32Array(Math.max(need, 2 * room.length));
  more.set(room.subarray(0, length));
  return more;
}

// float32 numbers that grow, with the lowest and the highest of every block
export class Column {
  constructor() {
    this.room = new Float32Array(1024);
    this.low = new Float32Array(32);
    this.high = new Float32Array(32);
    this.length = 0;
    this.finite = false;
  }

  put(start, values) {
    const need = start + values.length;
    const blocks = Math.ceil(need / BLOCK);
    this.room = grown(this.room, this.length, need);
    this.low = grown(this.low, this.low.length, blocks);
    this.high = grown(this.high, this.high.length, blocks);
    this.room.set(values, start);
    this.length = need;
    for (let block = Math.floor(start / BLOCK); block < blocks; block++) this.measure(block);
  }

  measure(block) {
    let low = Infinity;
    let high = -Infinity;
    for (let i = block * BLOCK; i < Math.min(this.length, (block + 1) * BLOCK); i++) {
      const value = this.room[i];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    this.low[block] = low; // no number among them: Infinity and -Infinity
    this.high[block] = high;
    if (low < Infinity) this.finite = true;
  }

  at(i) {
    return this.room[i < 0 ? this.length + i : i];
  }
}

// True where a message goes on from later than the browser has.
export function takeIn(store, header) {
  let missing = false;
  header.runs.forEach((run, number) => {
    const kept = (store[run.key] ??= { train: {}, held_out: {} });
    for (const [group, { start, count, columns }] of Object.entries(run.groups)) {
      if (start > (kept[group].step?.length ?? 0)) missing = true;
      else if (count) {
        for (const name of columns) {
          (kept[group][name] ??= new Column()).put(start, header.arrays[`${number}/${group}/${name}`]);
        }
      }
    }
  });
  for (const key in store) if (!header.runs.some((run) => run.key === key)) delete store[key];
  return missing;
}

// An exponential moving average that starts at the first value instead of zero (as in Kingma and Ba 2015, section 3),
// continued where it was left. state: {out, weight, sum: 0, share: 1} to begin with.
export function smooth(state, column) {
  const { out, weight } = state;
  const from = out.length;
  const more = new Float32Array(column.length - from);
  for (let i = from; i < column.length; i++) {
    const value = column.room[i];
    if (Number.isFinite(value)) {
      state.sum = weight * state.sum + (1 - weight) * value;
      state.share *= weight;
    }
    more[i - from] = state.share === 1 ? NaN : state.sum / (1 - state.share);
  }
  out.put(from, more);
  return out;
}

// The place of the number nearest to a value in a column that rises.
export function nearest(column, value) {
  let low = 0;
  let high = column.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (column.at(middle) < value) low = middle;
    else high = middle;
  }
  return Math.abs(column.at(low) - value) <= Math.abs(column.at(high) - value) ? low : high;
}

// The loss large, the other numbers small below it, and what they are where the pointer is.

const PANELS = [
  { name: "loss", title: "Loss", main: true },
  { name: "lr", title: "Learning rate" },
  { name: "grad_norm", title: "Gradient norm, before clipping" },
  { name: "tokens_per_sec", title: "Tokens a second" },
  { name: "gpu_util", title: "GPU use, share of the time" },
  { name: "gpu_memory", title: "GPU memory, GB", scale: 1e-9 },
  { name: "peak_share", title: "Share of the GPU's peak" },
];
const SMALL = 142; // px
const NOTHING = new Column();

function draw(view) {
  const { root, parts, theme } = view;
  const runs = runsShown(view);
  const points = runs.filter((run) => run.train.step?.length || run.held_out.step?.length);
  const panels = PANELS.filter(({ main, name }) => main || points.some((run) => run.train[name]?.finite));
  const width = Math.max(280, root.clientWidth);
  const narrow = width < 640;
  const tall = narrow ? 290 : 360;
  const columns = narrow ? 1 : 3;
  const height = tall + Math.ceil((panels.length - 1) / columns) * SMALL;
  const context = resized(parts.canvas, width, height);
  context.fillStyle = theme.page;
  context.fillRect(0, 0, width, height);
  parts.back.hidden = !view.zoom;
  const painting = paintingOf(view, points);
  view.plots = panels.map((panel, i) => {
    const box = panel.main ? { x: 0, y: 0, width, height: tall } : smallBox(i - 1, tall, columns, width / columns);
    return paintPanel(context, panel, box, painting);
  });
  const nothing = { colour: theme.muted, align: "center", size: 14 };
  if (!points.length) text(context, "No step has been measured yet.", width / 2, tall / 2, nothing);
  describe(view, runs, points);
  view.painting = painting;
  view.picture = pictureOf(parts.canvas);
  drawCursor(view);
}

// The canvas as it is, without a cursor.
function pictureOf(canvas) {
  const picture = document.createElement("canvas");
  [picture.width, picture.height] = [canvas.width, canvas.height];
  picture.getContext("2d").drawImage(canvas, 0, 0);
  return picture;
}

// A line through every panel at the cursor, and the numbers there; no curve is drawn again.
function drawCursor({ parts, plots, picture, painting, cursor }) {
  const context = parts.canvas.getContext("2d");
  context.save();
  context.resetTransform();
  context.drawImage(picture, 0, 0);
  context.restore();
  for (const plot of plots) paintCursor(context, plot, cursor, painting.theme);
  parts.readout.textContent = painting.runs.map((run) => readout(run, cursor, painting)).join("\n");
}

function runsShown({ header, hidden, store }) {
  return header.runs.filter((run) => !hidden.has(run.name)).map((run) => ({ ...run, ...store[run.key] }));
}

function smallBox(at, tall, columns, width) {
  return { x: (at % columns) * width, y: tall + Math.floor(at / columns) * SMALL, width, height: SMALL };
}

// What every panel is painted with.
function paintingOf(view, runs) {
  const axisOf = (group) => group[view.axis] ?? NOTHING;
  const ends = runs.flatMap((run) => [run.train, run.held_out].map((group) => axisOf(group).at(-1)));
  const range = view.zoom ?? [0, Math.max(1, ...ends.filter(Number.isFinite))];
  const { theme, log, axis } = view;
  const { unit, reference, guessing } = view.header;
  const more = { zoomed: Boolean(view.zoom), unit, reference, guessing };
  return { runs, range, axisOf, lossOf: (run) => lossOf(view, run), theme, log, axis, ...more };
}

function lossOf(view, run) {
  if (!view.smooth) return run.train.loss;
  const begun = { out: new Column(), weight: view.smooth, sum: 0, share: 1 };
  if (!view.made.has(run.key)) view.made.set(run.key, begun);
  return smooth(view.made.get(run.key), run.train.loss);
}

function describe({ root, parts }, runs, points) {
  const last = (column) => amount(column?.at(-1));
  const losses = points.map(
    ({ name, train }) => `${name}: training loss ${last(train.loss)} at step ${last(train.step)}`,
  );
  const count = `${runs.length} run${runs.length === 1 ? "" : "s"}`;
  parts.canvas.setAttribute("aria-label", `Curves of ${count}. ${losses.join("; ")}`);
  root.dataset.points = points.reduce((sum, run) => sum + (run.train.step?.length ?? 0), 0);
  const kinds = ["training", "smoothed", ...(points.some((run) => run.held_out.step?.length) ? ["held-out"] : [])];
  root.dataset.kinds = points.length ? kinds.join(", ") : "";
}

function readout(run, cursor, { runs, axisOf, lossOf: smoothed }) {
  const { train, held_out: held } = run;
  const name = runs.length > 1 ? `${run.name}: ` : "";
  const place = (group) => (cursor === null ? axisOf(group).length - 1 : nearest(axisOf(group), cursor));
  const i = place(train);
  if (i < 0) return `${name}not measured yet`;
  const words = [`step ${amount(train.step.at(i))}`, `loss ${amount(train.loss.at(i))}`];
  words.push(`smoothed ${amount(smoothed(run).at(i))}`);
  if (axisOf(held).length) {
    const j = place(held);
    words.push(`held-out ${amount(held.validation_loss.at(j))} (step ${amount(held.step.at(j))})`);
  }
  words.push(`lr ${amount(train.lr.at(i))}`, `gradient norm ${amount(train.grad_norm.at(i))}`);
  words.push(`${amount(train.tokens_per_sec.at(i))} a second`);
  return name + words.join(" · ");
}

// One panel: its axes, a line for each run, and a published figure.

const BOX = { left: 58, right: 12, top: 26, bottom: 38 };
const LEGEND = 20;
const WIDE = 500; // px

// painting: {runs, range, zoomed, axisOf, lossOf, theme, log, axis, unit, reference, guessing}. Returns where
// values lie.
function paintPanel(context, panel, box, painting) {
  const frame = {
    left: box.x + BOX.left,
    right: box.x + box.width - BOX.right,
    top: box.y + BOX.top + (panel.main ? LEGEND : 0),
    bottom: box.y + box.height - BOX.bottom,
    range: painting.range,
  };
  const log = painting.log && panel.main;
  const plot = plotOf(frame, limits(panel, frame, painting, log), { log });
  paintWords(context, panel, box, plot, painting);
  paintTicks(context, panel, plot, painting);
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top - 4, plot.right - plot.left, plot.bottom - plot.top + 8);
  context.clip();
  context.lineJoin = "round";
  for (const run of painting.runs) paintRun(context, panel, plot, run, painting);
  Object.assign(context, { globalAlpha: 1 }).setLineDash([]);
  if (panel.main && painting.runs.length) {
    for (const [loss, words] of painting.guessing) paintGuessing(context, plot, loss, words, painting.theme);
  }
  if (panel.main && painting.reference) paintReference(context, plot, painting, box.width > WIDE);
  context.restore();
  return plot;
}

function limits(panel, frame, { runs, zoomed, axisOf, lossOf, log: wanted, reference, guessing }, log) {
  const lines = runs
    .filter((run) => run.train.step?.length && (panel.main || run.train[panel.name]))
    .map((run) => [axisOf(run.train), panel.main ? lossOf(run) : run.train[panel.name], panel.scale]);
  const held = runs
    .filter((run) => panel.main && run.held_out.step?.length)
    .map((run) => [axisOf(run.held_out), run.held_out.validation_loss]);
  let [least, most] = extent([...lines, ...held], frame, { log: wanted });
  if (panel.main && reference && least < Infinity) least = Math.min(least, reference[0]);
  if (!(least < Infinity)) [least, most] = [0, 1];
  else if (panel.main && !zoomed)
    most = roomForGuessing(
      most,
      guessing.map(([loss]) => loss),
    );
  if (log) return [least * 0.97, most * 1.03];
  if (!panel.main) least = Math.min(0, least);
  const room = (most - least || Math.abs(most) || 1) * 0.06;
  return [panel.main ? least - room : least, most + room];
}

function paintWords(context, panel, box, plot, { runs, theme, axis, unit }) {
  const { left, right, bottom } = plot;
  const title = { colour: theme.ink, size: panel.main && box.width > WIDE ? 13 : 11, weight: 600 };
  text(context, panel.main ? `Loss, ${unit}` : panel.title, left, box.y + 10, title);
  if (panel.main) paintKinds(context, left, box.y + 30, runs, theme);
  const across = axis === "seconds" ? "time trained" : "step";
  text(context, across, (left + right) / 2, bottom + 28, { colour: theme.muted, align: "center", size: 11 });
}

// What each kind of line is, whatever its colour; at most what fits a telephone.
function paintKinds(context, left, y, runs, theme) {
  const kinds = [
    ["training", 0.5, 1],
    ["smoothed", 1, 2],
  ];
  if (runs.some((run) => run.held_out.step?.length)) kinds.push(["held-out", 1, 1.5]);
  const ink = runs.length === 1 ? runs[0].colour : theme.ink;
  for (const [name, globalAlpha, lineWidth] of runs.length ? kinds : []) {
    const dots = name === "held-out";
    Object.assign(context, { globalAlpha, lineWidth, strokeStyle: ink, fillStyle: ink });
    context.setLineDash(dots ? [3, 3] : []);
    stroke(context, [left, y], [left + 20, y]);
    if (dots) paintDot(context, left + 10, y);
    context.setLineDash([]);
    context.globalAlpha = 1;
    text(context, name, left + 25, y, { colour: theme.muted, size: 11 });
    left += 25 + context.measureText(name).width + 14;
  }
}

function paintDot(context, x, y) {
  context.beginPath();
  context.arc(x, y, 3.5, 0, 7);
  context.fill();
}

function paintTicks(context, panel, plot, { theme, axis, range }) {
  const { left, right, bottom } = plot;
  const options = { colour: theme.muted, size: 11 };
  context.lineWidth = 1;
  for (const tick of ticks(plot.low, plot.high, panel.main ? 6 : 3)) {
    context.strokeStyle = theme.forbidden;
    stroke(context, [left, plot.y(tick)], [right, plot.y(tick)]);
    text(context, amount(tick), left - 6, plot.y(tick), { ...options, align: "right" });
  }
  for (const tick of ticks(...range, Math.max(2, Math.floor((right - left) / 110)))) {
    const words = axis === "seconds" ? clock(tick) : tick.toLocaleString("en");
    text(context, words, Math.min(plot.x(tick), right - 12), bottom + 13, { ...options, align: "center" });
  }
}

function paintRun(context, panel, plot, run, { axisOf, lossOf }) {
  const { train, held_out: held } = run;
  context.strokeStyle = context.fillStyle = run.colour;
  context.setLineDash(run.dashed ? [7, 4] : []);
  const draw = (xs, ys, globalAlpha, lineWidth, options) => {
    Object.assign(context, { globalAlpha, lineWidth });
    paintLine(context, plot, xs, ys, options);
  };
  if (panel.main && train.step?.length) {
    draw(axisOf(train), train.loss, 0.28, 1, { spread: true });
    draw(axisOf(train), lossOf(run), 1, 2);
  } else if (train[panel.name]) {
    draw(axisOf(train), train[panel.name], 1, 1.5, { scale: panel.scale, spread: true });
  }
  if (!panel.main || !held.step?.length) return;
  const at = axisOf(held);
  const losses = held.validation_loss;
  context.setLineDash([3, 3]);
  draw(at, losses, 1, 1.5);
  context.setLineDash([]);
  if (at.length >= 400) return;
  for (let i = 0; i < at.length; i++) paintDot(context, plot.x(at.at(i)), plot.y(losses.at(i)));
}

// A line of any number of points: of those that share a column of pixels the lowest and the highest are drawn.
function paintLine(context, plot, xs, ys, { scale = 1, spread = false } = {}) {
  const [low, high] = plot.range;
  const by = stride(xs, plot);
  let open = false;
  let column = null; // {at, least, most, last}
  const flush = () => {
    if (!column) return;
    const y = plot.y(spread ? column.least : column.last);
    if (open) context.lineTo(column.at, y);
    else context.moveTo(column.at, y);
    if (spread && column.most > column.least) context.lineTo(column.at, plot.y(column.most));
    open = true;
  };
  context.beginPath();
  for (let i = 0; i < xs.length; i += by) {
    const x = xs.room[i];
    const value = ys.room[Math.min(ys.length - 1, i + by - 1)] * scale;
    const floor = by > 1 ? ys.low[i / by] * scale : value;
    const top = by > 1 ? ys.high[i / by] * scale : value;
    if (!(x >= low && x <= high) || !Number.isFinite(floor)) continue;
    const at = Math.round(plot.x(x));
    if (at !== column?.at) {
      flush();
      column = { at, least: floor, most: top, last: top };
    }
    column.least = Math.min(column.least, floor);
    column.most = Math.max(column.most, top);
    column.last = Number.isFinite(value) ? value : top;
  }
  flush();
  context.stroke();
}

// A published figure that the curves may be held against: [loss, words].
function paintReference(context, plot, { reference: [loss, words], theme }, wide) {
  Object.assign(context, { strokeStyle: theme.muted, lineWidth: 1.5 }).setLineDash([8, 5]);
  stroke(context, [plot.left, plot.y(loss)], [plot.right, plot.y(loss)]);
  context.setLineDash([]);
  const options = { colour: theme.muted, align: "right", size: 11 };
  text(context, wide ? words : words.replace(/,.*:/, ":"), plot.right - 4, plot.y(loss) - 9, options);
}

function paintCursor(context, plot, cursor, theme) {
  const [low, high] = plot.range;
  if (cursor === null || cursor < low || cursor > high) return;
  Object.assign(context, { strokeStyle: theme.accent, lineWidth: 1 });
  stroke(context, [plot.x(cursor), plot.top], [plot.x(cursor), plot.bottom]);
}

// Where numbers lie in a box, and how they are written.

export function amount(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size && (size >= 1e5 || size < 1e-3)) return value.toExponential(1);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

export function clock(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// Blocks at a time where the part that is shown has many points to a column of pixels.
export function stride(xs, { left, right, range: [low, high] }) {
  const span = xs.at(-1) - xs.at(0);
  const share = span > 0 ? Math.min(1, (high - low) / span) : 1;
  return xs.length * share > BLOCK * (right - left) ? BLOCK : 1;
}

// The lowest and the highest number of [xs, ys, scale] in the part that is shown.
export function extent(columns, box, { log }) {
  const [low, high] = box.range;
  let least = Infinity;
  let most = -Infinity;
  for (const [xs, ys, scale = 1] of columns) {
    const by = stride(xs, box);
    for (let i = 0; i < xs.length; i += by) {
      if (!(xs.room[i] >= low && xs.room[i] <= high)) continue;
      const floor = (by > 1 ? ys.low[i / by] : ys.room[i]) * scale;
      const top = (by > 1 ? ys.high[i / by] : ys.room[i]) * scale;
      if (floor < least && !(log && floor <= 0)) least = floor;
      if (top > most) most = top;
    }
  }
  return [least, most];
}

export function plotOf({ left, right, top, bottom, range }, [low, high], { log }) {
  const lift = log ? Math.log : (value) => value;
  const [first, last] = range;
  return {
    ...{ left, right, top, bottom, range, low, high },
    x: (value) => left + ((right - left) * (value - first)) / (last - first || 1),
    y: (value) => bottom - ((bottom - top) * (lift(value) - lift(low))) / (lift(high) - lift(low)),
    value: (x) => first + ((last - first) * (x - left)) / (right - left),
  };
}
