// A chart of runs by uPlot: lines of several runs over one axis, marks, a step that is looked at, and figures that the
// curves may be held against. What it draws stands in `data`; it is made anew only where its lines are others.
import UPLOT from "../vendor/uplot/uplot.css";
import { block, dress } from "#view/page/elements.js";
import { FONT, SMALL } from "#view/drawing/type.js";
import { amount, clock, countOf, logTicks } from "./numbers.js";
import { NO_POINTS, drawn, extent, firstThat } from "./points.js";
import { default as uPlot } from "../vendor/uplot/uplot.js";

const NEAR = 9; // px from a mark
const SPARE = 0.06; // of the height, above and below the lines
const LETTERS = SMALL;
const FLAT = 180; // px; a chart that is lower has numbers nearer to each other at its side
const HOURS = [1, 2, 3, 6, 12, 24, 48, 120, 240].map((hours) => 3600 * hours);
const CLOCK = [1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((minutes) => 60 * minutes), ...HOURS]; // s

// What can lie across. column: the name of the numbers; words: how each is written.
export const AXES = {
  step: { title: "step", words: countOf },
  tokens: { title: "tokens learned from", words: countOf },
  epoch: { title: "epoch", words: amount },
  time: { title: "time since the start", words: clock, apart: CLOCK },
  seconds: { title: "time in training", words: clock, apart: CLOCK },
};

// A chart in `host`. onPoint: called with the number across that is clicked; onMark: with the mark; onCursor: with the
// number under the pointer, or null; sync: charts of one name share their cursor and their zoom.
/**
 * @param {HTMLElement} host
 * @param {{onPoint?: any, onMark?: any, onCursor?: any, onZoom?: any, sync?: string}} listeners
 */
export function chartIn(host, { onPoint, onMark, onCursor, onZoom, sync } = {}) {
  const chart = {
    host,
    onPoint,
    onMark,
    onCursor,
    onZoom,
    sync,
    plot: null,
    of: null,
    size: [0, 0],
    scale: 1,
    zoom: null,
    at: null,
  };
  dress(host, UPLOT);
  chart.place = host.appendChild(block("place"));
  return chart;
}

// data: {lines, axis, log, logAcross, marks, guides, theme, title, range, small}; a line is {label, xs, ys, colour,
// width, alpha, dash, points}. size: [width, height] in px. What a page is enlarged by while it is presented is not
// known to uPlot, whose picture would be blurred: it is undone around the chart, and all in it is that much larger.
export function drawChart(chart, data, [width, height]) {
  chart.data = data;
  chart.scale = chart.host.currentCSSZoom ?? 1;
  chart.place.style.zoom = 1 / chart.scale;
  const size = [width, height].map((one) => Math.floor(one * chart.scale));
  const values = [null, ...(data.lines.length ? data.lines.map(({ xs, ys }) => drawn(xs, ys)) : [NO_POINTS])];
  const of = JSON.stringify([
    data.lines.map(({ label, colour, width, alpha, dash, points }) => [label, colour, width, alpha, dash, points]),
    [data.axis, data.log, data.logAcross, data.theme.dark, data.title, data.small, chart.scale],
  ]);
  if (chart.of !== of || !chart.plot) {
    chart.plot?.destroy();
    chart.plot = new uPlot(options(chart, size), values, chart.place);
    Object.assign(chart, { of, size });
    listen(chart);
    rescale(chart);
    return;
  }
  if (size.some((one, i) => one !== chart.size[i])) {
    chart.size = size;
    chart.plot.setSize({ width: size[0], height: size[1] });
  }
  chart.plot.setData(values, false);
  rescale(chart);
}

// Both axes as they are to be, at once.
function rescale(chart) {
  const { plot } = chart;
  plot.batch(() => {
    const [min, max] = chart.zoom ?? rangeAcross(chart.data);
    plot.setScale("x", { min, max });
    const [low, high] = rangeUp(chart.data, extent(plot.data, min, max), Boolean(chart.zoom));
    plot.setScale("y", { min: low, max: high });
  });
}

// Shows where a step is that is looked at; null for none.
export function lookAt(chart, value) {
  chart.at = value;
  chart.plot?.redraw(false);
}

export function zoomTo(chart, zoom) {
  chart.zoom = zoom;
  if (chart.plot) rescale(chart);
}

export function destroyChart(chart) {
  chart.plot?.destroy();
  chart.plot = null;
}

function rangeAcross({ lines, logAcross }) {
  let least = Infinity;
  let most = -Infinity;
  for (const { xs, ys } of lines) {
    const [across] = drawn(xs, ys);
    if (!across.length) continue;
    least = Math.min(least, across[logAcross ? firstThat(across, (x) => x > 0) : 0] ?? Infinity);
    most = Math.max(most, across[across.length - 1]);
  }
  if (!(most > -Infinity)) return [0, 1];
  return [logAcross ? Math.max(least, 1e-9) : 0, Math.max(most, logAcross ? least * 1.01 : 1e-9)];
}

// What is drawn, and the figures that it is held against unless a part is looked at.
function rangeUp({ log, small, ...data }, /** @type {number[]} */ [low, high], zoomed) {
  if (!(low <= high)) return [0, 1];
  const guides = zoomed ? [] : (data.guides ?? []);
  const most = guides.reduce((best, { value }) => (value > best && value < best * 1.25 ? value : best), high);
  const least = guides.reduce((best, { value, below }) => (below ? Math.min(best, value) : best), low);
  if (log) return [Math.max(least * 0.97, 1e-12), most * 1.03];
  const bottom = small ? Math.min(0, least) : least;
  const room = (most - bottom || Math.abs(most) || 1) * SPARE;
  return [small && bottom === 0 ? 0 : bottom - room, most + room];
}

function options(chart, /** @type {number[]} */ [width, height]) {
  const { scale, data } = chart;
  const { lines, log, logAcross, title, small } = data;
  const own = (plot, low, high) => [low ?? 0, high ?? 1]; // as `rescale` has set it
  return {
    mode: 2, // each line has numbers of its own across
    width,
    height,
    title: title || undefined,
    legend: { show: false },
    padding: [small ? 6 : 14, 24, 0, 0].map((one) => one * scale),
    cursor: cursorOf(chart),
    scales: {
      x: { time: false, distr: logAcross ? 3 : 1, range: own },
      y: { distr: log ? 3 : 1, range: own },
    },
    axes: axesOf(data, scale),
    series: [null, ...(lines.length ? lines : [{}]).map((line) => seriesOf(line, scale))],
    hooks: {
      draw: [(plot) => drawOver(chart, plot)],
      setCursor: [(plot) => tellCursor(chart, plot)],
      setSelect: [(plot) => tellZoom(chart, plot)],
    },
  };
}

const cursorOf = ({ sync }) => ({
  x: true,
  y: false,
  points: { show: false },
  drag: { x: true, y: false, setScale: false },
  // only where the pointer is: what it drags is told by the chart that it is on
  sync: sync ? { key: sync, setSeries: false, filters: { pub: (type) => /move|leave/.test(type) } } : undefined,
});

// Round numbers on a log scale; else those of uPlot.
const roundOnLog = (log, few) =>
  log ? { splits: (plot, at, low, high) => logTicks(low, high, few), filter: asTheyAre } : {};
const asTheyAre = (plot, splits) => splits;

function axesOf({ axis, theme, small, lines, log, logAcross }, scale) {
  const unit = lines[0]?.scale ?? 1; // of what is written
  const { words, title, apart: choices } = AXES[axis];
  const each = (write) => (plot, splits) => splits.map((one) => write(one));
  const both = { stroke: theme.muted, grid: { stroke: theme.forbidden, width: scale }, ticks: { show: false } };
  const font = `${Math.round(LETTERS * scale)}px ${FONT}`;
  const label = small ? undefined : title;
  return [
    {
      ...both,
      font,
      size: (small ? 22 : 26) * scale,
      values: logAcross ? each(words) : (plot, splits, at, space, apart) => splits.map((one) => words(one, apart)),
      ...roundOnLog(logAcross, small),
      ...(choices && !logAcross ? { incrs: choices } : {}),
      label,
      labelFont: font,
      labelSize: 14 * scale,
      gap: 3 * scale,
      space: 80 * scale,
    },
    {
      ...both,
      ...roundOnLog(log, small),
      font,
      size: 46 * scale,
      values: each((value) => amount(value * unit)),
      gap: 4 * scale,
      space: (plot, at, low, high, height) => (height < FLAT * scale ? 22 : 40) * scale,
    },
  ];
}

const seriesOf = ({ label, colour, width = 2, alpha = 1, dash }, scale) => ({
  ...{ label, width: width * scale, alpha, dash: dash?.map((part) => part * scale), stroke: colour },
  ...{ spanGaps: true, auto: false },
  facets: ["x", "y"].map((scale) => ({ scale, auto: false })),
  points: { show: false },
});

const BETWEEN_FLAGS = 9; // px

// Marks at the top, the step that is looked at, and the figures that curves are held against.
function drawOver(chart, plot) {
  const { ctx: context, bbox } = plot;
  const { theme, lines, marks = [], guides = [] } = chart.data;
  const ratio = uPlot.pxRatio * chart.scale;
  for (const one of lines) if (one.points) dots(plot, one, ratio);
  context.save();
  context.font = `${LETTERS * ratio}px ${FONT}`;
  context.lineWidth = ratio;
  const names = [];
  for (const { value, words, long, dash = [2, 4] } of guides) {
    const y = plot.valToPos(value, "y", true);
    if (!(y >= bbox.top && y <= bbox.top + bbox.height)) continue;
    context.setLineDash(dash.map((part) => part * ratio));
    line(context, theme.muted, [bbox.left, y], [bbox.left + bbox.width, y]);
    const under = marks.length && y - bbox.top < 2 * LETTERS * ratio; // over it are the marks
    const wide = bbox.width > 420 * ratio ? (long ?? words) : words;
    names.push([wide, y + (under ? 4 : -3) * ratio, under ? "top" : "bottom"]);
  }
  context.setLineDash([]);
  let flagged = -Infinity;
  for (const mark of [...marks].sort((one, other) => one.at - other.at)) {
    const x = plot.valToPos(mark.at, "x", true);
    if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue;
    context.globalAlpha = 0.45;
    line(context, mark.colour, [x, bbox.top], [x, bbox.top + bbox.height]);
    context.globalAlpha = 1;
    if (x - flagged < BETWEEN_FLAGS * ratio) continue; // it would lie over the one before
    flag(context, mark.colour, x, bbox.top, ratio);
    flagged = x;
  }
  if (chart.at !== null) {
    const x = plot.valToPos(chart.at, "x", true);
    context.lineWidth = 2 * ratio;
    if (x >= bbox.left && x <= bbox.left + bbox.width)
      line(context, theme.mark, [x, bbox.top], [x, bbox.top + bbox.height]);
  }
  // over all lines, on the page's colour
  Object.assign(context, { fillStyle: theme.muted, strokeStyle: theme.page, lineWidth: 5 * ratio, lineJoin: "round" });
  for (const [words, y, textBaseline] of names) {
    Object.assign(context, { textAlign: "right", textBaseline });
    context.strokeText(words, bbox.left + bbox.width - 4 * ratio, y);
    context.fillText(words, bbox.left + bbox.width - 4 * ratio, y);
  }
  context.restore();
}

function dots(plot, { xs, ys, colour }, ratio) {
  const { ctx: context, bbox } = plot;
  const [across, up] = drawn(xs, ys);
  context.fillStyle = colour;
  for (let i = 0; i < across.length; i++) {
    const [x, y] = [plot.valToPos(across[i], "x", true), plot.valToPos(up[i], "y", true)];
    if (!(x >= bbox.left && x <= bbox.left + bbox.width && y >= bbox.top && y <= bbox.top + bbox.height)) continue;
    context.beginPath();
    context.arc(x, y, 3 * ratio, 0, 7);
    context.fill();
  }
}

function line(context, colour, [x, y], [toX, toY]) {
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
}

function flag(context, colour, x, y, ratio) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x - 5 * ratio, y - 9 * ratio);
  context.lineTo(x + 5 * ratio, y - 9 * ratio);
  context.lineTo(x, y);
  context.fill();
}

// The mark that the pointer is on, else null.
function markNear(chart, left) {
  const away = (mark) => Math.abs(chart.plot.valToPos(mark.at, "x") - left);
  const best = (chart.data.marks ?? []).reduce((a, b) => (a && away(a) <= away(b) ? a : b), null);
  return best && away(best) <= NEAR * chart.scale ? best : null;
}

function tellCursor(chart, plot) {
  const { left, event } = plot.cursor;
  if (!event) return; // another chart's cursor
  const inside = left >= 0 && left <= plot.over.clientWidth;
  chart.onCursor?.(inside ? plot.posToVal(left, "x") : null, inside ? markNear(chart, left) : null);
}

function tellZoom(chart, plot) {
  const { left, width } = plot.select;
  if (width < NEAR * chart.scale) return;
  const zoom = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  chart.onZoom?.(zoom);
}

function listen(chart) {
  const { over } = chart.plot;
  over.addEventListener("click", () => {
    const { left } = chart.plot.cursor;
    if (!(left >= 0)) return;
    const mark = markNear(chart, left);
    if (mark) chart.onMark?.(mark);
    else chart.onPoint?.(chart.plot.posToVal(left, "x"));
  });
  over.addEventListener("dblclick", () => chart.onZoom?.(null));
}

// Puts the cursor at a number across, as the pointer would; returns the mark that is there.
export function cursorAt(chart, value) {
  const { plot } = chart;
  if (!plot) return null;
  const left = value === null ? -10 : plot.valToPos(value, "x");
  plot.setCursor({ left, top: value === null ? -10 : 10 });
  return value === null ? null : markNear(chart, left);
}
