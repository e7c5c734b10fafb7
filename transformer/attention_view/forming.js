// Attention as it forms: every snapshot of a pinned sentence is here, and moving through them asks nobody.
const SHOWN = [
  { row: 0, name: "entropy", title: "Entropy, nats", words: () => "How widely a head looks: 0 is at one token, the top is at all tokens alike." },
  { row: 2, name: "diagonal", title: "Diagonal", words: (kind) => kind === "cross" ? "Weight on the source token that lies as far along its sentence as this one does." : "Weight on the token itself." },
  { row: 3, name: "previous", title: "Previous token", words: (kind) => kind === "cross" ? "Weight on the source token before the one on the diagonal." : "Weight on the token just before." },
  { row: 4, name: "first", title: "First token", words: (kind) => `Weight on the first ${kind === "cross" ? "source " : ""}token.` },
];
const ROWS = [["entropy", "entropy, nats"], ["entropy_share", "entropy as a share of the most"], ["diagonal", "diagonal"], ["previous", "previous token"], ["first", "first token"]];
const PACE = 170, CALM = 1000, PAUSE = 300; // ms: a snapshot played, the same where less motion is asked for, before Python hears

function buildForming(root) {
  const canvas = (className) => part("canvas", { className });
  const parts = {
    bar: part("div", { className: "bar" }), now: part("h4", { className: "now" }), source: part("p", { className: "source" }),
    timeline: canvas("timeline"), range: part("input", { type: "range", min: 0, max: 1, step: "any", ariaLabel: "Training step" }),
    note: part("p", { className: "note" }), gridTitle: part("h4"), grid: canvas("grid"), headTitle: part("h4"), matrix: canvas(""),
    legend: canvas("legend"), readout: part("output", { className: "readout" }), table: part("table"),
    measures: SHOWN.map(() => ({ canvas: canvas("measure"), words: part("figcaption") })),
  };
  parts.readout.setAttribute("aria-live", "polite");
  for (const name of ["grid", "matrix"]) { parts[name].tabIndex = 0; parts[name].setAttribute("role", "application"); }
  for (const one of [parts.timeline, ...parts.measures.map((measure) => measure.canvas)]) one.setAttribute("role", "img");
  root.replaceChildren(parts.bar, parts.now, parts.source, parts.timeline, parts.range, parts.note, parts.readout,
    part("div", { className: "panes" }, part("div", { className: "side" }, parts.gridTitle, parts.grid), part("div", { className: "main" }, parts.headTitle, parts.matrix, parts.legend)),
    part("div", { className: "measures" }, ...parts.measures.map((one) => part("figure", {}, one.words, one.canvas))),
    part("div", { className: "scroll" }, parts.table));
  return parts;
}

// Snapshots come once; later messages bring only new ones.
function keepSnapshots(state, message) {
  if (state.of !== message.of) Object.assign(state, { of: message.of, store: new Map(), made: new Map(), most: undefined });
  for (const [key, steps] of Object.entries(message.sent)) {
    const found = state.store.get(key) ?? state.store.set(key, new Map()).get(key);
    const cells = message.arrays[`cells/${key}`], measures = message.arrays[`measures/${key}`];
    steps.forEach((step, at) => {
      const cut = (array) => array.slice(at * array.length / steps.length, (at + 1) * array.length / steps.length);
      found.set(step, { cells: cut(cells), measures: cut(measures) });
    });
    if (steps.length) state.made = new Map();
  }
}

function mountForming(root, data, send) {
  const message = unpack(data);
  const state = (root.state ??= { parts: buildForming(root), sent: message.answered, at: null, cursor: null, over: null });
  keepSnapshots(state, message);
  if (state.message === undefined || message.given !== state.message.given) Object.assign(state, { look: { ...message.look }, told: undefined });
  state.message = message;
  const { parts } = state, look = state.look, { steps, training, validation } = message;
  const dark = message.dark ?? matchMedia("(prefers-color-scheme: dark)").matches, theme = themeOf(dark);
  const last = Math.max(steps.at(-1), ...[training, validation].map((curve) => curve.at(-1)?.[0] ?? 0));

  // what is looked at
  const key = () => `${look.sentence}/${look.kind}`, snapshots = () => state.store.get(key());
  const tokens = () => message.sentences[look.sentence - 1];
  const info = () => ({ queries: look.kind === "encoder" ? tokens().source : tokens().target, keys: look.kind === "decoder" ? tokens().target : tokens().source, causal: look.kind === "decoder" });
  const sizes = () => message.heads[look.kind], even = () => message.even[key()];
  const index = () => look.step === null ? steps.length - 1 : Math.max(0, steps.findLastIndex((step) => step <= look.step));
  const step = () => steps[index()];
  const missing = () => steps.some((one) => !snapshots()?.has(one));
  const measured = (at, row, layer = look.layer, head = look.head) => snapshots().get(at).measures[(row * sizes()[0] + layer) * sizes()[1] + head];
  const weights = () => {
    const { queries, keys } = info(), size = queries.length * keys.length, from = (look.layer * sizes()[1] + look.head) * size;
    const values = Float32Array.from(snapshots().get(step()).cells.subarray(from, from + size), (cell) => (cell / 255) ** 2);
    for (let q = 0; q < queries.length; q++) {
      const row = values.subarray(q * keys.length, (q + 1) * keys.length), total = row.reduce((a, b) => a + b, 0);
      row.forEach((value, k) => { row[k] = total ? value / total : 0; });
    }
    return values;
  };
  const kindName = () => look.kind[0].toUpperCase() + look.kind.slice(1);
  const loss = () => message.losses[index()].map((value, i) => value === null ? null : `${["training", "validation"][i]} loss ${value.toFixed(3)}`).filter(Boolean).join(" · ");

  // changing it: Python hears what is left when one lets go
  const told = () => JSON.stringify([look.step, look.kind, look.layer, look.head, look.sentence]);
  const release = (need = false) => {
    clearTimeout(state.later);
    if (!need && told() === state.told) return;
    state.told = told(); state.sent += 1;
    send({ number: state.sent, ...look, need });
  };
  state.release = release;
  const later = () => { clearTimeout(state.later); state.later = setTimeout(() => state.release(), PAUSE); };
  const soon = () => { state.frame ??= requestAnimationFrame(() => { state.frame = undefined; root.redraw(); }); };
  const go = (to) => {
    const at = Math.min(Math.max(to, 0), steps.length - 1);
    look.step = at === steps.length - 1 ? null : steps[at];
    soon();
  };
  const change = (fields) => {
    Object.assign(look, fields);
    const [layers, heads] = sizes();
    Object.assign(look, { layer: Math.min(look.layer, layers - 1), head: Math.min(look.head, heads - 1) });
    state.cursor = state.at = state.over = null;
    root.redraw(); toolbar(); release();
  };
  const play = (on = !state.playing) => {
    clearTimeout(state.playing);
    state.playing = null;
    if (on) {
      if (index() === steps.length - 1) go(0);
      state.playing = setTimeout(() => root.tick(), matchMedia("(prefers-reduced-motion: reduce)").matches ? CALM : PACE);
    } else release();
    toolbar();
  };
  root.tick = () => {
    go(index() + 1);
    if (look.step === null) return play(false);
    state.playing = setTimeout(() => root.tick(), matchMedia("(prefers-reduced-motion: reduce)").matches ? CALM : PACE);
  };

  const toolbar = () => rebuilt(parts.bar, root, [
    Object.keys(message.heads).length > 1 && segments("Attention", Object.keys(message.heads).map((kind) => [kind, kind[0].toUpperCase() + kind.slice(1)]), look.kind, (kind) => change({ kind })),
    message.sentences.length > 1 && chooser("Sentence", message.sentences.map(({ label }, i) => [i + 1, `${i + 1} · ${label}`]), look.sentence, (sentence) => change({ sentence: Number(sentence) })),
    chooser("Layer", counted(sizes()[0]), look.layer, (layer) => change({ layer: Number(layer) })),
    chooser("Head", counted(sizes()[1]), look.head, (head) => change({ head: Number(head) })),
    state.playButton = Object.assign(state.playButton ?? part("button", { className: "play" }), { textContent: state.playing ? "❚❚ Pause" : "▶ Play", title: "P", onclick: () => play() }),
    message.live && (state.follow = part("button", { textContent: "Follow newest", onclick: () => { play(false); go(steps.length - 1); release(); } })),
    chooser("Save", [["", "as …"], ["png", "PNG"], ["csv", "CSV"]], "", (as) => as && save(as)),
  ].filter(Boolean));

  const valued = (value) => Number.isFinite(value) ? value.toFixed(3) : "–";

  // painting; what scrubbing does not change is painted once and kept
  const kept = (name, width, height, paint) => {
    const id = [name, key(), width, height, dark, window.devicePixelRatio, steps.length, training.length, validation.length].join();
    if (state.made.get(name)?.id !== id) {
      const canvas = document.createElement("canvas");
      paint(resized(canvas, width, height));
      state.made.set(name, { id, canvas });
    }
    return state.made.get(name).canvas;
  };
  const mostWeight = () => { // one scale for the three measures that are weights
    const id = [key(), steps.length].join();
    if (state.most?.id !== id) {
      const all = steps.flatMap((one) => SHOWN.slice(1).flatMap(({ row }) => everyHead().map((head) => measured(one, row, ...head)).filter(Number.isFinite)));
      state.most = { id, value: Math.min(1, Math.max(0.1, 1.06 * all.reduce((a, b) => Math.max(a, b), 0))) };
    }
    return state.most.value;
  };
  const plots = { timeline: (box) => plotOf(box, last, lossRange(training, validation)),
    measure: (box, { row }) => plotOf(box, last, [0, row ? mostWeight() : Math.max(0.1, Math.log(look.kind === "decoder" ? info().queries.length : info().keys.length))]) };
  const latestLoss = () => message.losses[index()][training.length ? 0 : 1];
  const overTimeline = (context, plot) => { paintMarker(context, plot, step(), { theme, handle: true }); paintDot(context, plot, step(), latestLoss() ?? NaN, { theme }); };
  const drawTimeline = () => {
    const width = root.clientWidth, height = width < 700 ? 150 : 190, box = { x: 0, y: 0, width, height };
    const plot = state.plot = plots.timeline(box), context = resized(parts.timeline, width, height);
    context.drawImage(kept("timeline", width, height, (under) => paintLosses(under, plot, { training, validation, steps, theme })), 0, 0, width, height);
    overTimeline(context, plot);
    parts.range.style.cssText = `margin-left: ${plot.left - 8}px; width: ${plot.width + 16}px`;
    if (!state.ranging) parts.range.value = Math.log1p(step()) / Math.log1p(Math.max(1, last));
    const said = `step ${thousands(step())}, snapshot ${index() + 1} of ${steps.length}${loss() ? `, ${loss()}` : ""}`;
    parts.range.setAttribute("aria-valuetext", said);
    parts.timeline.setAttribute("aria-label", `Loss over ${thousands(last)} training steps; the mark is at ${said}.`);
  };
  const gridOf = () => ({ info: info(), cells: snapshots().get(step()).cells, shape: [...sizes(), info().queries.length, info().keys.length], look: { ...look, of: "head" }, at: state.at, theme, scale: "sqrt" });
  const gridHeight = (width) => { // as paintGrid lays it out
    const [layers, heads] = sizes(), { queries, keys } = info(), tile = Math.max(4, Math.floor((width - 32) / heads) - 4);
    return Math.min(480, 38 + layers * (4 + Math.max(14, Math.round(tile * Math.max(0.45, Math.min(1.2, queries.length / keys.length))))));
  };
  const drawGrid = () => {
    const width = parts.grid.parentElement.clientWidth, height = gridHeight(width);
    state.tiles = paintGrid(resized(parts.grid, width, height), { x: 0, y: 0, width, height }, gridOf());
  };
  const matrixOf = (made) => ({ info: info(), stage: { values: weights(), high: 1 }, look: { stage: "weights", scale: "sqrt", pair: null }, ...made, scroll: [0, 0], newest: false, theme });
  const drawMatrix = () => {
    const made = state.layout = matrixLayout(info(), parts.matrix.parentElement.clientWidth);
    paintMatrix(resized(parts.matrix, made.width, made.height), { x: 0, y: 0, width: made.width, height: made.height }, { ...matrixOf(made), cursor: state.cursor });
    paintLegend(resized(parts.legend, 260, 30), 4, 2, { stage: { high: 1 }, scale: "sqrt", theme });
  };
  const curve = (row, layer, head) => steps.map((one) => [one, measured(one, row, layer, head)]);
  const everyHead = () => Array.from({ length: sizes()[0] * sizes()[1] }, (_, i) => [Math.floor(i / sizes()[1]), i % sizes()[1]]);
  const underMeasure = (context, plot, { row }) => paintHeads(context, plot, { curves: everyHead().map((one) => curve(row, ...one)), even: even()[row], theme });
  const overMeasure = (context, plot, { row }) => {
    paintMarker(context, plot, step(), { theme });
    const over = state.over ?? state.at;
    if (over) {
      paintCurve(context, plot, curve(row, ...over), { colour: theme.ink, width: 2 });
      text(context, `layer ${over[0]} · head ${over[1]}: ${valued(measured(step(), row, ...over))}`, plot.left + 6, plot.top, { colour: theme.ink, weight: 600 });
    }
    paintCurve(context, plot, curve(row, look.layer, look.head), { colour: theme.accent, width: 3 });
    paintDot(context, plot, step(), measured(step(), row), { theme });
  };
  const drawMeasures = () => SHOWN.forEach((one, i) => {
    const { canvas, words } = parts.measures[i], width = canvas.parentElement.clientWidth, height = 170, plot = plots.measure({ x: 0, y: 0, width, height }, one);
    const context = resized(canvas, width, height);
    context.drawImage(kept(one.name, width, height, (under) => underMeasure(under, plot, one)), 0, 0, width, height);
    overMeasure(context, plot, one);
    words.replaceChildren(part("b", { textContent: `${one.title}: ${valued(measured(step(), one.row))}` }), part("br"), one.words(look.kind));
    canvas.setAttribute("aria-label", `${one.title} of every head over training; layer ${look.layer}, head ${look.head} has ${valued(measured(step(), one.row))} at step ${thousands(step())}. Dotted: even attention, ${valued(even()[one.row])}.`);
  });
  const drawTable = () => {
    const start = steps[0], heading = (words) => part("th", { scope: "col", textContent: words });
    const at = (value, row, extra = {}) => {
      const cell = part("td", { textContent: Number.isFinite(value) ? value.toFixed(4) : "–", className: extra.className ?? "" });
      Object.assign(cell.dataset, { kind: look.kind, layer: look.layer, head: look.head, measure: ROWS[row][0], sentence: look.sentence, ...(extra.step === undefined ? {} : { step: extra.step }) });
      return cell;
    };
    parts.table.replaceChildren(part("caption", { textContent: `${kindName()}, layer ${look.layer}, head ${look.head}: means over the queries of sentence ${look.sentence}` }),
      part("thead", {}, part("tr", {}, heading("measure"), heading(`at step ${thousands(step())}`), heading(start ? `at step ${thousands(start)}, the first` : "before training (random weights)"), heading("of even attention"))),
      part("tbody", {}, ...ROWS.map(([, words], row) => part("tr", {}, part("th", { scope: "row", textContent: words }),
        at(measured(step(), row), row, { step: step(), className: "here" }), at(measured(start, row), row, { step: start, className: "start" }), at(even()[row], row, { className: "even" })))));
  };
  const draw = () => {
    const waiting = missing();
    root.classList.toggle("waiting", waiting);
    parts.now.replaceChildren(`Step ${thousands(step())}`, part("small", { textContent: step() ? loss() : `before training${loss() ? ` · ${loss()}` : ""}` }));
    parts.source.textContent = `${message.name} · ${look.kind} attention · sentence ${look.sentence}: ${tokens().label}`;
    parts.note.textContent = [message.live && (look.step === null ? "Following the newest snapshot; the run goes on recording." : "The run goes on; newer snapshots wait at the right end."), ...message.notes].filter(Boolean).join(" ");
    parts.gridTitle.textContent = `All ${look.kind} heads`;
    parts.headTitle.textContent = `Layer ${look.layer}, head ${look.head}`;
    parts.grid.setAttribute("aria-label", `All ${look.kind} heads at step ${step()}, ${sizes()[0]} layers of ${sizes()[1]}. Arrow keys move between heads, Enter chooses, Escape leaves.`);
    parts.matrix.setAttribute("aria-label", `Layer ${look.layer}, head ${look.head} at step ${step()}. Arrow keys move between tokens, Escape leaves.`);
    state.follow?.setAttribute("aria-pressed", look.step === null);
    drawTimeline();
    if (waiting) { delete root.dataset.drawn; return; }
    drawGrid(); drawMatrix(); drawMeasures(); drawTable();
    if (state.cursor) tellCell();
    root.dataset.drawn = [look.kind, look.sentence, step(), look.layer, look.head].join();
  };

  // the timeline
  const nearest = (along) => steps.reduce((best, one, at) => Math.abs(Math.log1p(one) - along) < Math.abs(Math.log1p(steps[best]) - along) ? at : best, 0);
  const scrub = (event) => go(nearest(state.plot.part(spot(event, parts.timeline)[0])));
  parts.timeline.onpointerdown = (event) => { if (event.button) return; play(false); parts.timeline.setPointerCapture(event.pointerId); state.pressed = true; scrub(event); };
  parts.timeline.onpointermove = (event) => { if (state.pressed) scrub(event); };
  parts.timeline.onpointerup = parts.timeline.onpointercancel = () => { if (state.pressed) { state.pressed = false; parts.range.focus({ preventScroll: true }); release(); } };
  parts.range.oninput = () => { state.ranging = true; clearTimeout(state.playing); state.playing = null; go(nearest(parts.range.value * Math.log1p(Math.max(1, last)))); };
  parts.range.onchange = () => { state.ranging = false; soon(); release(); };
  const moves = { ArrowLeft: () => index() - 1, ArrowDown: () => index() - 1, ArrowRight: () => index() + 1, ArrowUp: () => index() + 1,
    PageDown: () => index() - 5, PageUp: () => index() + 5, Home: () => 0, End: () => steps.length - 1 };
  parts.range.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in moves || ["Escape", " "].includes(event.key))) return;
    event.preventDefault(); event.stopPropagation();
    if (event.key === "Escape") { play(false); parts.range.blur(); } else if (event.key === " ") play();
    else { if (state.playing) play(false); go(moves[event.key]()); later(); }
  };
  root.onkeydown = (event) => {
    if (!["p", "P"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
    event.preventDefault(); event.stopPropagation();
    play();
  };

  // the heads
  const say = sayIn(parts.readout), token = (list, at) => `${visible(list[at], 40)} (${at})`;
  const same = (a, b) => a === b || (a && b && a[0] === b[0] && a[1] === b[1]);
  const tellHead = ([layer, head], rows = SHOWN) => say(`layer ${layer} · head ${head} at step ${thousands(step())}: ${rows.map(({ row, title }) => `${title.toLowerCase()} ${valued(measured(step(), row, layer, head))}`).join(" · ")}`,
    { kind: look.kind, layer, head, step: step(), ...Object.fromEntries(rows.map(({ row, name }) => [name, measured(step(), row, layer, head)])) });
  const onHead = (to, canvas, rows) => {
    const name = canvas === parts.grid ? "at" : "over";
    if (!same(to, state[name])) { state[name] = to; soon(); }
    if (to) tellHead(to, rows); else say("");
  };
  const headAt = (event) => (state.tiles && headUnder(state.tiles, spot(event, parts.grid), sizes()))?.at ?? null;
  parts.grid.onpointermove = (event) => onHead(headAt(event), parts.grid);
  parts.grid.onpointerleave = () => onHead(null, parts.grid);
  parts.grid.onclick = (event) => { const at = headAt(event); if (at) change({ layer: at[0], head: at[1] }); };
  keyboard(parts.grid, ([down, across]) => onHead(state.at ? within([state.at[0] + down, state.at[1] + across], sizes()) : [look.layer, look.head], parts.grid),
    () => { if (state.at) change({ layer: state.at[0], head: state.at[1] }); }, () => onHead(null, parts.grid));
  parts.measures.forEach(({ canvas }, i) => {
    const lineAt = (event) => { // the head whose line is nearest, within a finger's reach
      const [x, y] = spot(event, canvas), plot = plots.measure({ x: 0, y: 0, width: canvas.offsetWidth, height: canvas.offsetHeight }, SHOWN[i]), near = steps[nearest(plot.part(x))];
      const away = ([layer, head]) => Math.abs(plot.y(measured(near, SHOWN[i].row, layer, head)) - y);
      const best = everyHead().reduce((a, b) => (away(b) < away(a) ? b : a));
      return away(best) < 24 ? { head: best, near } : null;
    };
    canvas.onpointermove = (event) => {
      const found = missing() ? null : lineAt(event), [layer, head] = found?.head ?? [];
      onHead(found?.head ?? null, canvas, [SHOWN[i]]);
      if (found) say(`layer ${layer} · head ${head}: ${SHOWN[i].title.toLowerCase()} ${valued(measured(found.near, SHOWN[i].row, layer, head))} at step ${thousands(found.near)}`, { kind: look.kind, layer, head, step: found.near, [SHOWN[i].name]: measured(found.near, SHOWN[i].row, layer, head) });
    };
    canvas.onpointerleave = () => onHead(null, canvas);
    canvas.onclick = (event) => { const found = missing() ? null : lineAt(event); if (found) change({ layer: found.head[0], head: found.head[1] }); };
  });

  // the head in focus
  const tellCell = () => {
    const [query, to] = state.cursor, { queries, keys, causal } = info(), weight = weights()[query * keys.length + to];
    say(`${token(queries, query)} looks at ${token(keys, to)} at step ${thousands(step())}: ${causal && to > query ? "masked, weight 0" : `weight ${plain(weight)}`}`, { query, key: to, weight, kind: look.kind, layer: look.layer, head: look.head, step: step() });
  };
  const put = (to) => { if (same(to, state.cursor)) return; state.cursor = to; drawMatrix(); if (to) tellCell(); else say(""); };
  parts.matrix.onpointermove = (event) => {
    if (missing()) return;
    const { gutter, cell } = state.layout, [x, y] = spot(event, parts.matrix), { queries, keys } = info();
    const k = Math.floor((x - gutter.left) / cell[0]), q = Math.floor((y - gutter.top) / cell[1]);
    put(k < 0 || q < 0 || k >= keys.length || q >= queries.length ? null : [q, k]);
  };
  parts.matrix.onpointerleave = () => { if (!missing()) put(null); };
  keyboard(parts.matrix, ([down, across]) => { if (!missing()) put(state.cursor ? within([state.cursor[0] + down, state.cursor[1] + across], [info().queries.length, info().keys.length]) : [0, 0]); }, () => {}, () => put(null));

  // files
  const caption = () => [`${kindName()} attention as it forms: step ${thousands(step())}${loss() ? ` · ${loss()}` : ""}`,
    `${message.name} · training step ${step()} · kind ${look.kind} · sentence ${look.sentence}: ${tokens().label} · layer ${look.layer}, head ${look.head}`];
  const picture = () => {
    const width = 1240, canvas = part("canvas"), made = matrixLayout(info(), 580), middle = Math.max(made.height + 40, gridHeight(580) + 10);
    const context = resized(canvas, width, 250 + middle + 260, 2 / (window.devicePixelRatio || 1));
    context.fillStyle = theme.page; context.fillRect(0, 0, width, 250 + middle + 260);
    caption().forEach((line, i) => text(context, line, 16, 20 + i * 22, { colour: i ? theme.muted : theme.ink, weight: i ? 400 : 700, size: i ? 13 : 17 }));
    const plot = plots.timeline({ x: 8, y: 62, width: width - 16, height: 170 });
    paintLosses(context, plot, { training, validation, steps, theme });
    overTimeline(context, plot);
    paintGrid(context, { x: 16, y: 250, width: 580, height: middle - 10 }, { ...gridOf(), at: null });
    text(context, `layer ${look.layer}, head ${look.head}`, 640, 252, { colour: theme.ink, weight: 700, size: 14 });
    paintMatrix(context, { x: 640, y: 262, width: made.width, height: made.height }, { ...matrixOf(made), cursor: null });
    paintLegend(context, 644, 262 + made.height + 4, { stage: { high: 1 }, scale: "sqrt", theme });
    SHOWN.forEach((one, i) => {
      const x = 8 + i * (width - 16) / 4, top = 250 + middle + 40, small = plots.measure({ x, y: top, width: (width - 16) / 4, height: 200 }, one);
      text(context, `${one.title}: ${valued(measured(step(), one.row))}`, x + 8, top - 8, { colour: theme.ink, weight: 700, size: 14 });
      underMeasure(context, small, one);
      overMeasure(context, small, one);
    });
    return canvas;
  };
  const table = () => [...caption().map((line) => `# ${line.replace(/\s+/g, " ")}`), ["step", "layer", "head", ...ROWS.map(([name]) => name), "training_loss", "validation_loss"].join(","),
    ...steps.flatMap((one, at) => everyHead().map(([layer, head]) => [one, layer, head, ...ROWS.map((_, row) => measured(one, row, layer, head)).map((value) => (Number.isFinite(value) ? value : "")), ...message.losses[at].map((value) => value ?? "")].join(",")))].join("\n") + "\n";
  const save = (as) => {
    if (missing()) return toolbar();
    const name = [message.name, "forming", look.kind, `sentence${look.sentence}`, `step${step()}`].join("-").replace(/[^\w@.-]+/g, "_");
    if (as === "csv") keepFile(new Blob([table()], { type: "text/csv" }), `${name}.csv`);
    else picture().toBlob((blob) => keepFile(blob, `${name}.png`));
    toolbar();
  };

  root.redraw = draw;
  redrawWhenWider(root);
  state.told ??= told();
  toolbar(); draw();
  if (missing() && message.answered >= state.sent) release(true); // a message was lost, or this is a new page
}

export default function ({ data, parentElement, setTriggerValue }) {
  mountForming(parentElement.querySelector(".attention-view"), data, (look) => setTriggerValue("look", look));
}
