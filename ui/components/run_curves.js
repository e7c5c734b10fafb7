// Loss and the other numbers of one or several runs. Points are kept here between messages, which bring only new ones.
const PANELS = [
  { name: "loss", title: "Loss", main: true },
  { name: "lr", title: "Learning rate" },
  { name: "grad_norm", title: "Gradient norm, before clipping" },
  { name: "tokens_per_sec", title: "Tokens a second" },
  { name: "gpu_util", title: "GPU use, share of the time" },
  { name: "gpu_memory", title: "GPU memory, GB", scale: 1e-9 },
  { name: "peak_share", title: "Share of the GPU's peak" },
];
const BOX = { left: 58, right: 12, top: 26, bottom: 38 }, LEGEND = 20;
const amount = (value) => !Number.isFinite(value) ? "–" : value === 0 ? "0" : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(1)
  : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
const clock = (s) => s < 90 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;

const BLOCK = 32; // points that are drawn as their lowest and highest where many share a column of pixels
const grown = (room, length, need) => {
  if (need <= room.length) return room;
  const more = new Float32Array(Math.max(need, 2 * room.length));
  more.set(room.subarray(0, length));
  return more;
};

class Column {  // float32 numbers that grow, with the lowest and the highest of every block
  constructor() { this.room = new Float32Array(1024); this.low = new Float32Array(32); this.high = new Float32Array(32); this.length = 0; this.finite = false; }
  put(start, values) {
    const need = start + values.length, blocks = Math.ceil(need / BLOCK);
    this.room = grown(this.room, this.length, need);
    [this.low, this.high] = [grown(this.low, this.low.length, blocks), grown(this.high, this.high.length, blocks)];
    this.room.set(values, start);
    this.length = need;
    for (let block = Math.floor(start / BLOCK); block < blocks; block++) {
      let low = Infinity, high = -Infinity;
      for (let i = block * BLOCK; i < Math.min(need, (block + 1) * BLOCK); i++) { const value = this.room[i]; if (value < low) low = value; if (value > high) high = value; }
      this.low[block] = low; this.high[block] = high; // no number among them: Infinity and -Infinity
      if (low < Infinity) this.finite = true;
    }
  }
  get all() { return this.room.subarray(0, this.length); }
  at(i) { return this.room[i < 0 ? this.length + i : i]; }
}

// True where a message goes on from later than the browser has.
function takeIn(store, header) {
  let missing = false;
  header.runs.forEach((run, number) => {
    const kept = store[run.key] ??= { train: {}, held_out: {} };
    for (const [group, { start, count, columns }] of Object.entries(run.groups)) {
      const have = kept[group].step?.length ?? 0;
      if (start > have) { missing = true; continue; }
      if (!count) continue;
      for (const name of columns) (kept[group][name] ??= new Column()).put(start, header.arrays[`${number}/${group}/${name}`]);
    }
  });
  for (const key in store) if (!header.runs.some((run) => run.key === key)) delete store[key];
  return missing;
}

// An exponential moving average that starts at the first value instead of zero (as in Kingma and Ba 2015, section 3),
// continued where it was left.
function smooth(state, column) {
  const { out, weight } = state, from = out.length, more = new Float32Array(column.length - from);
  for (let i = from; i < column.length; i++) {
    const value = column.room[i];
    if (Number.isFinite(value)) { state.sum = weight * state.sum + (1 - weight) * value; state.share *= weight; }
    more[i - from] = state.share === 1 ? NaN : state.sum / (1 - state.share);
  }
  out.put(from, more);
  return out;
}

const niceTicks = (low, high, most) => {
  if (!(high > low)) return [low];
  const rough = (high - low) / most, ten = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 2.5, 5, 10].find((n) => n * ten >= rough) * ten;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, i) => Number(((first + i) * step).toPrecision(8)));
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".run-curves"), header = unpack(data);
  const state = root.state ??= { store: {}, smooth: 0.3, log: false, axis: "step", hidden: new Set(), cursor: null, zoom: null, made: new Map() };
  if (takeIn(state.store, header)) {
    if (!root.asked) { root.asked = true; setTriggerValue("missing", Date.now()); }
    return;
  }
  root.asked = false;
  const theme = themeOf(header.dark);
  if (!root.canvas) build();
  root.header = header;
  for (const key of state.made.keys()) if (!(key in state.store)) state.made.delete(key);
  root.redraw = draw;
  redrawWhenWider(root);
  legend();
  draw();

  function build() {
    const bar = part("div", { className: "bar" });
    const slider = part("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: state.smooth, ariaLabel: "Smoothing of the training loss" });
    const shown = part("output", { textContent: state.smooth.toFixed(2) });
    slider.oninput = () => { state.smooth = Number(slider.value); shown.textContent = state.smooth.toFixed(2); state.made.clear(); root.redraw(); };
    const log = part("input", { type: "checkbox", checked: state.log });
    log.onchange = () => { state.log = log.checked; root.redraw(); };
    const axis = part("select", { ariaLabel: "Across" }, part("option", { value: "step", textContent: "steps" }), part("option", { value: "seconds", textContent: "time trained" }));
    axis.onchange = () => { state.axis = axis.value; state.zoom = null; root.redraw(); };
    const back = part("button", { textContent: "Whole", title: "The whole length again (double click)", hidden: true, onclick: () => { state.zoom = null; root.redraw(); } });
    const save = part("button", { textContent: "Save as PNG", onclick: () => root.canvas.toBlob((blob) => keepFile(blob, `${root.header.runs.map((run) => run.name).join("-").slice(0, 80)}-curves.png`)) });
    bar.append(part("label", {}, "Smoothing ", slider, shown), part("label", {}, log, " log scale"), part("label", {}, "Across ", axis), back, save);
    root.back = back;
    root.names = part("div", { className: "names", role: "group", ariaLabel: "Runs" });
    root.canvas = part("canvas", { tabIndex: 0 });
    root.canvas.setAttribute("role", "img");
    root.readout = part("output", { className: "readout" });
    root.append(bar, root.names, root.canvas, root.readout);
    root.canvas.onmousemove = (event) => point(event);
    root.canvas.onmouseleave = () => { state.cursor = null; root.redraw(); };
    root.canvas.onmousedown = (event) => { const at = inMain(event); state.from = at; };
    root.canvas.onmouseup = (event) => {
      const to = inMain(event);
      if (state.from !== null && to !== null && Math.abs(root.plot.x(to) - root.plot.x(state.from)) > 8) state.zoom = [Math.min(state.from, to), Math.max(state.from, to)];
      state.from = null;
      root.redraw();
    };
    root.canvas.ondblclick = () => { state.zoom = null; root.redraw(); };
    root.canvas.onkeydown = (event) => {
      const [low, high] = root.plot.range, by = (high - low) / 100;
      if (event.key === "Escape") { state.cursor = null; root.canvas.blur(); root.redraw(); return; }
      if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault(); event.stopPropagation();
      const at = state.cursor ?? high;
      state.cursor = event.key === "Home" ? low : event.key === "End" ? high : Math.min(high, Math.max(low, at + (event.key === "ArrowLeft" ? -by : by)));
      root.redraw();
    };
  }

  function inMain(event) {
    const [x, y] = spot(event, root.canvas), { plot } = root;
    return y >= plot.top - 10 && y <= plot.bottom + 20 ? plot.value(Math.min(plot.right, Math.max(plot.left, x))) : null;
  }

  function point(event) {
    const [x] = spot(event, root.canvas), plot = root.plots.find((one) => x >= one.left - 4 && x <= one.right + 4 && spot(event, root.canvas)[1] >= one.top - 20 && spot(event, root.canvas)[1] <= one.bottom + 20);
    state.cursor = plot ? plot.value(x) : null;
    root.redraw();
  }

  function legend() {
    root.names.replaceChildren(...header.runs.map((run) => {
      const chip = part("button", { textContent: run.name, title: "Show or hide" });
      chip.style.setProperty("--ink", run.colour);
      chip.setAttribute("aria-pressed", !state.hidden.has(run.name));
      chip.onclick = () => { state.hidden.has(run.name) ? state.hidden.delete(run.name) : state.hidden.add(run.name); legend(); root.redraw(); };
      return chip;
    }));
    root.names.hidden = header.runs.length < 2;
  }

  function shownRuns() {
    return root.header.runs.filter((run) => !state.hidden.has(run.name)).map((run) => ({ ...run, ...state.store[run.key] }));
  }

  function lossOf(run) {
    if (!state.smooth) return run.train.loss;
    if (!state.made.has(run.key)) state.made.set(run.key, { out: new Column(), weight: state.smooth, sum: 0, share: 1 });
    return smooth(state.made.get(run.key), run.train.loss);
  }

  // A line of any number of points: of those that share a column of pixels the lowest and the highest are drawn.
  function line(context, plot, xs, ys, scale, { spread = false } = {}) {
    const { range: [low, high] } = plot, by = stride(xs, plot);
    let column = null, least = 0, most = 0, last = 0, open = false;
    context.beginPath();
    const flush = () => {
      if (column === null) return;
      if (open) context.lineTo(column, plot.y(spread ? least : last)); else context.moveTo(column, plot.y(spread ? least : last));
      if (spread && most > least) context.lineTo(column, plot.y(most));
      open = true;
    };
    for (let i = 0; i < xs.length; i += by) {
      const value = ys.room[Math.min(ys.length - 1, i + by - 1)] * scale, x = xs.room[i];
      const floor = by > 1 ? ys.low[i / by] * scale : value, top = by > 1 ? ys.high[i / by] * scale : value;
      if (!(x >= low && x <= high) || !Number.isFinite(floor)) continue;
      const at = Math.round(plot.x(x));
      if (at !== column) { flush(); column = at; least = floor; most = top; }
      if (floor < least) least = floor;
      if (top > most) most = top;
      last = Number.isFinite(value) ? value : top;
    }
    flush();
    context.stroke();
  }

  // Blocks at a time where the part that is shown has many points to a column of pixels.
  function stride(xs, { left, right, range: [low, high] }) {
    const span = xs.at(-1) - xs.at(0), share = span > 0 ? Math.min(1, (high - low) / span) : 1;
    return xs.length * share > BLOCK * (right - left) ? BLOCK : 1;
  }

  function extent(columns, box) {
    const [low, high] = box.range;
    let least = Infinity, most = -Infinity;
    for (const [xs, ys, scale = 1] of columns) {
      const by = stride(xs, box);
      for (let i = 0; i < xs.length; i += by) {
        if (!(xs.room[i] >= low && xs.room[i] <= high)) continue;
        const floor = (by > 1 ? ys.low[i / by] : ys.room[i]) * scale, top = (by > 1 ? ys.high[i / by] : ys.room[i]) * scale;
        if (floor < least && !(state.log && floor <= 0)) least = floor;
        if (top > most) most = top;
      }
    }
    return [least, most];
  }

  function draw() {
    const { header } = root, runs = shownRuns(), width = Math.max(280, root.clientWidth), narrow = width < 640;
    const withPoints = runs.filter((run) => run.train.step?.length || run.held_out.step?.length);
    const nothing = new Column(), axisOf = (group) => group[state.axis] ?? nothing;
    const ends = withPoints.flatMap((run) => [run.train, run.held_out].map((group) => axisOf(group).at(-1))).filter(Number.isFinite);
    const range = state.zoom ?? [0, Math.max(1, ...ends)];
    root.back.hidden = !state.zoom;
    const has = ({ name }) => withPoints.some((run) => run.train[name]?.finite);
    const panels = PANELS.filter((panel) => panel.main || has(panel));
    const mainHeight = narrow ? 290 : 360, small = 142, columns = narrow ? 1 : 3, across = width / columns;
    const height = mainHeight + Math.ceil((panels.length - 1) / columns) * small;
    const context = resized(root.canvas, width, height);
    context.fillStyle = theme.page; context.fillRect(0, 0, width, height);
    root.plots = panels.map((panel, i) => {
      const box = panel.main ? { x: 0, y: 0, width, height: mainHeight }
        : { x: ((i - 1) % columns) * across, y: mainHeight + Math.floor((i - 1) / columns) * small, width: across, height: small };
      return paint(context, panel, box, withPoints, range, axisOf);
    });
    root.plot = root.plots[0];
    if (!withPoints.length) text(context, "No step has been measured yet.", width / 2, mainHeight / 2, { colour: theme.muted, align: "center", size: 14 });
    readout(withPoints, axisOf);
    const said = withPoints.map((run) => `${run.name}: training loss ${amount(run.train.loss?.at(-1))} at step ${amount(run.train.step?.at(-1))}`).join("; ");
    root.canvas.setAttribute("aria-label", `Curves of ${runs.length} run${runs.length === 1 ? "" : "s"}. ${said}`);
    root.dataset.points = withPoints.reduce((sum, run) => sum + (run.train.step?.length ?? 0), 0);
  }

  function paint(context, panel, box, runs, range, axisOf) {
    const left = box.x + BOX.left, right = box.x + box.width - BOX.right, top = box.y + BOX.top + (panel.main ? LEGEND : 0), bottom = box.y + box.height - BOX.bottom;
    const scale = panel.scale ?? 1, log = state.log && panel.main;
    const lines = runs.filter((run) => run.train.step?.length && (panel.main || run.train[panel.name])).map((run) => [axisOf(run.train), panel.main ? lossOf(run) : run.train[panel.name], scale]);
    const held = panel.main ? runs.filter((run) => run.held_out.step?.length).map((run) => [axisOf(run.held_out), run.held_out.validation_loss]) : [];
    let [least, most] = extent([...lines, ...held], { left, right, range });
    const { reference } = root.header;
    if (panel.main && reference && least < Infinity) least = Math.min(least, reference[0]);
    if (!(least < Infinity)) [least, most] = [0, 1];
    if (!panel.main) least = Math.min(0, least);
    const room = (most - least || Math.abs(most) || 1) * 0.06;
    const [low, high] = log ? [least * 0.97, most * 1.03] : [panel.main ? least - room : least, most + room];
    const lift = log ? Math.log : (value) => value;
    const plot = { left, right, top, bottom, range, x: (v) => left + (right - left) * (v - range[0]) / (range[1] - range[0] || 1),
      y: (v) => bottom - (bottom - top) * (lift(v) - lift(low)) / (lift(high) - lift(low)), value: (x) => range[0] + (range[1] - range[0]) * (x - left) / (right - left) };
    text(context, panel.main ? `Loss, ${root.header.unit}` : panel.title, left, box.y + 10, { colour: theme.ink, size: panel.main && box.width > 500 ? 13 : 11, weight: 600 });
    if (panel.main) lineKinds(context, left, box.y + 30, runs);
    text(context, state.axis === "seconds" ? "time trained" : "step", (left + right) / 2, bottom + 28, { colour: theme.muted, align: "center", size: 11 });
    context.lineWidth = 1;
    for (const tick of niceTicks(low, high, panel.main ? 6 : 3)) {
      context.strokeStyle = theme.forbidden;
      context.beginPath(); context.moveTo(left, plot.y(tick)); context.lineTo(right, plot.y(tick)); context.stroke();
      text(context, amount(tick), left - 6, plot.y(tick), { colour: theme.muted, align: "right", size: 11 });
    }
    for (const tick of niceTicks(...range, Math.max(2, Math.floor((right - left) / 110)))) {
      const words = state.axis === "seconds" ? clock(tick) : tick.toLocaleString("en");
      text(context, words, Math.min(plot.x(tick), right - 12), bottom + 13, { colour: theme.muted, align: "center", size: 11 });
    }
    context.save();
    context.beginPath(); context.rect(left, top - 4, right - left, bottom - top + 8); context.clip();
    context.lineJoin = "round";
    for (const run of runs) {
      context.strokeStyle = context.fillStyle = run.colour;
      context.setLineDash(run.dashed ? [7, 4] : []);
      const xs = axisOf(run.train);
      if (panel.main && run.train.step?.length) {
        context.globalAlpha = 0.28; context.lineWidth = 1;
        line(context, plot, xs, run.train.loss, 1, { spread: true });
        context.globalAlpha = 1; context.lineWidth = 2;
        line(context, plot, xs, lossOf(run), 1);
      } else if (run.train[panel.name]) {
        context.globalAlpha = 1; context.lineWidth = 1.5;
        line(context, plot, xs, run.train[panel.name], scale, { spread: true });
      }
      if (panel.main && run.held_out.step?.length) {
        const at = axisOf(run.held_out), values = run.held_out.validation_loss;
        context.globalAlpha = 1; context.lineWidth = 1.5; context.setLineDash([3, 3]);
        line(context, plot, at, values, 1);
        context.setLineDash([]);
        if (at.length < 400) for (let i = 0; i < at.length; i++) { context.beginPath(); context.arc(plot.x(at.at(i)), plot.y(values.at(i)), 3.5, 0, 7); context.fill(); }
      }
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    if (panel.main && reference) {
      context.strokeStyle = theme.muted; context.lineWidth = 1.5; context.setLineDash([8, 5]);
      context.beginPath(); context.moveTo(left, plot.y(reference[0])); context.lineTo(right, plot.y(reference[0])); context.stroke();
      context.setLineDash([]);
      text(context, box.width > 500 ? reference[1] : reference[1].replace(/,.*:/, ":"), right - 4, plot.y(reference[0]) - 9, { colour: theme.muted, align: "right", size: 11 });
    }
    if (state.cursor !== null && state.cursor >= range[0] && state.cursor <= range[1]) {
      context.strokeStyle = theme.accent; context.lineWidth = 1;
      context.beginPath(); context.moveTo(plot.x(state.cursor), top); context.lineTo(plot.x(state.cursor), bottom); context.stroke();
    }
    context.restore();
    return plot;
  }

  // What each kind of line is, whatever its colour; at most what fits a telephone.
  function lineKinds(context, left, y, runs) {
    const kinds = [["training", 0.5, 1], ["smoothed", 1, 2]];
    if (runs.some((run) => run.held_out.step?.length)) kinds.push(["held-out", 1, 1.5]);
    const ink = runs.length === 1 ? runs[0].colour : theme.ink;
    for (const [name, alpha, width] of runs.length ? kinds : []) {
      const dots = name === "held-out";
      [context.globalAlpha, context.lineWidth, context.strokeStyle, context.fillStyle] = [alpha, width, ink, ink];
      context.setLineDash(dots ? [3, 3] : []);
      context.beginPath(); context.moveTo(left, y); context.lineTo(left + 20, y); context.stroke();
      if (dots) { context.beginPath(); context.arc(left + 10, y, 3.5, 0, 7); context.fill(); }
      context.setLineDash([]); context.globalAlpha = 1;
      text(context, name, left + 25, y, { colour: theme.muted, size: 11 });
      left += 25 + context.measureText(name).width + 14;
    }
    root.dataset.kinds = runs.length ? kinds.map(([name]) => name).join(", ") : "";
  }

  function nearest(xs, value) {
    let low = 0, high = xs.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (xs.at(middle) < value) low = middle; else high = middle; }
    return Math.abs(xs.at(low) - value) <= Math.abs(xs.at(high) - value) ? low : high;
  }

  function readout(runs, axisOf) {
    const said = runs.map((run) => {
      const xs = axisOf(run.train), i = state.cursor === null ? xs.length - 1 : nearest(xs, state.cursor), name = runs.length > 1 ? `${run.name}: ` : "";
      if (i < 0) return `${name}not measured yet`;
      const held = axisOf(run.held_out), j = state.cursor === null ? held.length - 1 : nearest(held, state.cursor);
      const parts = [`step ${amount(run.train.step.at(i))}`, `loss ${amount(run.train.loss.at(i))}`, `smoothed ${amount(lossOf(run).at(i))}`];
      if (held.length) parts.push(`held-out ${amount(run.held_out.validation_loss.at(j))} (step ${amount(run.held_out.step.at(j))})`);
      parts.push(`lr ${amount(run.train.lr.at(i))}`, `gradient norm ${amount(run.train.grad_norm.at(i))}`, `${amount(run.train.tokens_per_sec.at(i))} a second`);
      return name + parts.join(" · ");
    });
    root.readout.textContent = said.join("\n");
  }
}
