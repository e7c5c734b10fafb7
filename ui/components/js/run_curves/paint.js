// One panel: its axes, a line for each run, a published figure, and where the pointer is.
import { stroke, text } from "#view/canvas.js";
import { paintGuessing, roomForGuessing } from "#view/guessing.js";
import { ticks } from "#view/numbers.js";
import { amount, clock, extent, plotOf, stride } from "./scale.js";

const BOX = { left: 58, right: 12, top: 26, bottom: 38 };
const LEGEND = 20;
const WIDE = 500; // px

// painting: {runs, range, zoomed, axisOf, lossOf, theme, log, axis, cursor, unit, reference, guessing}. Returns where
// values lie.
export function paintPanel(context, panel, box, painting) {
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
  paintCursor(context, plot, painting);
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

function paintCursor(context, plot, { cursor, theme, range: [low, high] }) {
  if (cursor === null || cursor < low || cursor > high) return;
  Object.assign(context, { strokeStyle: theme.accent, lineWidth: 1 });
  stroke(context, [plot.x(cursor), plot.top], [plot.x(cursor), plot.bottom]);
}
