// Curves over training steps: the loss as a timeline, and a measure of every head. The step's axis is the log of step + 1.
const MARGIN = { left: 44, right: 14, top: 12, bottom: 24 };
const inkOf = (dark) => (dark ? { training: "#74b5f7", validation: "#6fd08c" } : { training: "#0b5cad", validation: "#146c2e" });

// Where steps and values lie in a box.
function plotOf(box, last, [low, high]) {
  const left = box.x + MARGIN.left, top = box.y + MARGIN.top, width = box.width - MARGIN.left - MARGIN.right;
  const height = box.height - MARGIN.top - MARGIN.bottom, end = Math.log1p(Math.max(1, last));
  return {
    left, top, width, height, bottom: top + height, last, low, high,
    x: (step) => left + width * Math.log1p(step) / end,
    y: (value) => top + height * (1 - (value - low) / (high - low)),
    part: (x) => Math.min(1, Math.max(0, (x - left) / width)) * end,
  };
}

function valueTicks(low, high, most) {
  const rough = (high - low) / most, ten = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 2.5, 5, 10].find((n) => n * ten >= rough) * ten;
  return Array.from({ length: Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1 }, (_, i) => Number(((Math.ceil(low / step - 1e-9) + i) * step).toPrecision(6)));
}

function stepTicks({ last, x }) {
  const tens = [0, ...Array.from({ length: 12 }, (_, i) => 10 ** i)].filter((step) => step < last && x(last) - x(step) > 64);
  return [...tens, last];
}

const thousands = (step) => step.toLocaleString("en");

function paintAxes(context, plot, { theme, most = 4 }) {
  const { left, width, bottom, top, low, high } = plot;
  context.lineWidth = 1;
  for (const tick of valueTicks(low, high, most)) {
    context.strokeStyle = theme.forbidden;
    context.beginPath(); context.moveTo(left, plot.y(tick)); context.lineTo(left + width, plot.y(tick)); context.stroke();
    text(context, String(tick), left - 6, plot.y(tick), { colour: theme.muted, align: "right" });
  }
  context.strokeStyle = theme.muted;
  context.beginPath(); context.moveTo(left, top); context.lineTo(left, bottom); context.lineTo(left + width, bottom); context.stroke();
  for (const step of stepTicks(plot)) text(context, thousands(step), plot.x(step) + (step === plot.last ? MARGIN.right : 0), bottom + 13, { colour: theme.muted, align: step === plot.last ? "right" : "center" });
}

// points: [step, value] each; what is no number breaks the line.
function paintCurve(context, plot, points, { colour, width = 2, alpha = 1, dash = [] }) {
  context.save();
  context.strokeStyle = colour; context.lineWidth = width; context.globalAlpha = alpha; context.lineJoin = "round"; context.setLineDash(dash);
  context.beginPath();
  let open = false;
  for (const [step, value] of points) {
    if (!Number.isFinite(value)) { open = false; continue; }
    if (open) context.lineTo(plot.x(step), plot.y(value)); else context.moveTo(plot.x(step), plot.y(value));
    open = true;
  }
  context.stroke();
  context.restore();
}

function lossRange(training, validation) {
  const all = [...training, ...validation].map(([, loss]) => loss);
  if (!all.length) return [0, 1];
  const low = Math.min(...all), high = Math.max(...all), room = (high - low || 1) * 0.06;
  return [low > high / 2 ? low - room : 0, high + room];
}

// What does not change as one scrubs: the axes, the losses and a mark where each snapshot is.
function paintLosses(context, plot, { training, validation, steps, theme }) {
  const ink = inkOf(theme.dark), recorded = training.length + validation.length;
  paintAxes(context, recorded ? plot : { ...plot, low: 0, high: -1 }, { theme });
  context.strokeStyle = theme.ink;
  for (const step of steps) { context.beginPath(); context.moveTo(plot.x(step), plot.bottom); context.lineTo(plot.x(step), plot.bottom - 7); context.stroke(); }
  paintCurve(context, plot, training, { colour: ink.training });
  paintCurve(context, plot, validation, { colour: ink.validation, width: 2.5, dash: [6, 4] });
  if (validation.length === 1) { context.fillStyle = ink.validation; context.fillRect(plot.x(validation[0][0]) - 3, plot.y(validation[0][1]) - 3, 6, 6); }
  const named = [["━ training loss, nats", training, ink.training], ["╍ validation loss, nats", validation, ink.validation]].filter(([, points]) => points.length);
  named.forEach(([words, , colour], i) => text(context, words, plot.left + 10, plot.bottom - 16 - 18 * (named.length - 1 - i), { colour, size: 13, weight: 600 }));
  if (!recorded) text(context, "no loss is recorded here", plot.left + 10, plot.top + plot.height / 2, { colour: theme.muted, size: 13 });
}

function paintMarker(context, plot, step, { theme, handle = false }) {
  const x = plot.x(step);
  context.strokeStyle = theme.accent; context.lineWidth = 2;
  context.beginPath(); context.moveTo(x, plot.top - 6); context.lineTo(x, plot.bottom); context.stroke();
  if (!handle) return;
  context.fillStyle = theme.accent;
  context.beginPath(); context.moveTo(x - 7, plot.top - 11); context.lineTo(x + 7, plot.top - 11); context.lineTo(x, plot.top); context.fill();
}

function paintDot(context, plot, step, value, { theme }) {
  if (!Number.isFinite(value)) return;
  context.fillStyle = theme.accent;
  context.beginPath(); context.arc(plot.x(step), plot.y(value), 4.5, 0, 7); context.fill();
}

// A measure of every head, faint, and what even attention would have.
function paintHeads(context, plot, { curves, even, theme }) {
  paintAxes(context, plot, { theme });
  const alpha = Math.max(0.14, Math.min(0.5, 6 / curves.length));
  for (const points of curves) paintCurve(context, plot, points, { colour: theme.ink, width: 1, alpha });
  if (!Number.isFinite(even)) return;
  paintCurve(context, plot, [[0, even], [plot.last, even]], { colour: theme.muted, width: 1.5, dash: [2, 4] });
}
