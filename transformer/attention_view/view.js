// The view itself: what is chosen, the pointer and the keyboard, and files to keep. `send` tells Python, where there is one.
function build(root) {
  const parts = {
    bar: part("div", { className: "bar" }), title: part("h4"), source: part("p", { className: "source" }),
    canvas: part("canvas", { tabIndex: 0, className: "matrix" }), grid: part("canvas", { tabIndex: 0, className: "grid" }),
    spacer: part("div", { className: "spacer" }), scroller: part("div", { className: "scroller" }), legend: part("canvas", { className: "legend" }), tools: part("div", { className: "bar tools" }),
    chips: part("div", { className: "heads" }), why: part("p", { className: "why" }), side: part("div", { className: "side" }),
    readout: part("output", { className: "readout" }), between: part("div", { className: "between" }),
    products: part("canvas"), sum: part("p"), sideTitle: part("h4"),
  };
  parts.readout.setAttribute("aria-live", "polite");
  parts.canvas.setAttribute("role", "application");
  parts.grid.setAttribute("role", "application");
  parts.spacer.append(parts.canvas);
  parts.scroller.append(parts.spacer);
  parts.between.append(parts.sum, parts.products);
  parts.side.append(parts.sideTitle, parts.grid);
  root.replaceChildren(parts.bar, part("div", { className: "panes" },
    part("div", { className: "main" }, parts.title, parts.source, parts.chips, parts.why, parts.scroller, parts.tools, parts.readout, parts.between), parts.side));
  return parts;
}

function mount(root, data, send) {
  const message = unpack(data);
  pooled(message);
  const state = (root.state ??= { parts: build(root), sent: message.answered ?? 0, cursor: null, at: null, hover: null, zoom: 1 });
  if (state.message === undefined || (message.answered ?? 0) >= state.sent) state.look = { ...message.look };
  for (const [name, array] of Object.entries(message.arrays))  // what has not changed need not be painted again
    if (name.startsWith("grid/") && sameBytes(array, state.message?.arrays[name])) message.arrays[name] = state.message.arrays[name];
  state.message = message;
  const { parts } = state, look = state.look, large = Boolean(message.large);
  root.classList.toggle("large", large); // for a projector: what is left out here is set beforehand
  const scale = () => root.currentCSSZoom ?? 1;

  const info = () => message.kinds[look.kind];
  const dark = message.dark ?? matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = themeOf(dark, large);

  const change = (fields) => {
    Object.assign(look, fields);
    if (look.of !== "head") look.stage = "weights"; // a mean has neither scores nor values
    if ("kind" in fields) Object.assign(look, { layer: Math.min(look.layer, info().layers - 1), pair: null, of: look.of === "rollout" && !rollsOut(look.kind, info()) ? "head" : look.of });
    if (look.pair && (look.pair[0] >= info().queries.length || look.pair[1] >= info().keys.length)) look.pair = null;
    state.sent += 1;
    send({ number: state.sent, ...look });
    draw();
  };
  const layerName = (at = look.layer) => `layer ${numbered(info(), "layers", at)}`, headName = (at = look.head) => `head ${numbered(info(), "heads", at)}`;
  const named = () => look.of === "head" ? `${layerName()} · ${headName()}` : OF[look.of](info(), look);
  const kindName = () => look.kind[0].toUpperCase() + look.kind.slice(1);
  const source = () => {
    const { checkpoint, step } = message.about;
    return `${checkpoint ?? "weights given"}${checkpoint ? ` · training step ${step === undefined || step === null ? "not recorded" : step.toLocaleString("en")}` : ""}`;
  };

  // the choosers
  const toolbar = () => {
    const kinds = Object.keys(message.kinds), every = !large;
    rebuilt(parts.bar, root, [
      kinds.length > 1 && segments("Attention", kinds.map((kind) => [kind, kind[0].toUpperCase() + kind.slice(1)]), look.kind, (kind) => change({ kind })),
      every && segments("View", [["matrix", "Matrix"], ["lines", "Lines"]], look.view, (view) => change({ view })),
      chooser("Layer", counted(info().layers, info().numbers?.layers), look.layer, (layer) => change({ layer: Number(layer) })),
      look.view === "matrix" && chooser("Head", counted(info().heads, info().numbers?.heads), look.head, (head) => change({ head: Number(head), of: "head" })),
      every && look.view === "matrix" && chooser("Of", [["head", "this head"], ["mean_heads", "mean over heads"], ["mean_all", "mean over layers"], rollsOut(look.kind, info()) && ["rollout", "rollout"]].filter(Boolean), look.of, (of) => change({ of })),
      every && look.view === "matrix" && chooser("Stage", Object.entries(STAGES).map(([name, shown]) => name === "weights" || look.of === "head" ? [name, shown] : [name, `${shown}: of a single head only`, true]), look.stage, (stage) => change({ stage })),
    ].filter(Boolean));
    rebuilt(parts.tools, root, [ // what is about the picture alone stands under it
      parts.legend,
      every && look.view === "matrix" && !["scores", "masked"].includes(look.stage) && chooser("Colours", [["sqrt", "square root"], ["linear", "linear"]], look.scale, (scale) => change({ scale })),
      every && look.view === "matrix" && part("span", { className: "zoom" }, part("button", { textContent: "−", ariaLabel: "smaller cells", onclick: () => zoom(1 / 1.5) }), part("button", { textContent: "+", ariaLabel: "larger cells", onclick: () => zoom(1.5) })),
      every && chooser("Save", [["", "as …"], ["png", "PNG"], ["svg", "SVG"], ["csv", "CSV"]], "", (as) => as && save(as)),
    ].filter(Boolean));
  };
  const zoom = (by) => { state.zoom = Math.min(40, Math.max(1, state.zoom * by)); draw(); };

  // sizes
  const WIDE = 700, BELOW = 52; // px; under that width everything is in one column. Below the matrix stands its scale
  const zoomed = () => { root.style.zoom = large && window.innerWidth > WIDE ? Math.min(2.4, Math.max(1.2, Math.min(window.innerWidth / 800, window.innerHeight / 500))) : ""; };
  const tallest = () => { // all on one screen of a projector
    if (!large) return 620;
    if (window.innerWidth <= WIDE) return 420;
    const above = parts.scroller.getBoundingClientRect().top + (document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0);
    return Math.max(120, (window.innerHeight - above) / scale() - BELOW);
  };
  const layout = (width, zoom) => matrixLayout(info(), width, { zoom, least: large ? 11 : 1, tall: large ? tallest() : null });
  const inSight = ({ cell, gutter }, width, tall) => { // on a projector, what of a long text is not there is said
    const [Q, K] = [info().queries.length, info().keys.length], rows = Math.floor((tall - gutter.top) / cell[1]), columns = Math.floor((width - gutter.left) / cell[0]);
    return [rows < Q && `${rows} of ${Q} queries`, columns < K && `${columns} of ${K} keys`].filter(Boolean).join(" and ");
  };
  const sized = (canvas, width, height) => resized(canvas, width, height, scale());
  const stage = () => stageOf(message, look);
  const lit = () => look.lit ?? Array.from({ length: info().heads }, (_, i) => i);

  const shownAs = () => look.view === "lines" ? lit() : null;

  const drawMain = () => {
    const width = parts.scroller.clientWidth;
    if (look.view === "lines") {
      const layer = layerOf(message, look);
      root.classList.toggle("waiting", layer === null);
      if (!layer) return;
      const gutter = linesGutter(info(), lit());
      parts.scroller.hidden = false; parts.legend.hidden = true; // its scale is the matrix's
      const height = 34 + Math.max(layer.q, layer.k) * ROW, tall = Math.min(height, tallest());
      parts.spacer.style.cssText = `width: ${width}px; height: ${height}px`;
      parts.scroller.style.height = `${tall}px`;
      Object.assign(state, { gutter, layer });
      parts.why.textContent = layer.first.some(Boolean) ? `Lines show the last ${layer.q} queries and ${layer.k} keys: more are not sent at once. The matrix shows all.` : "";
      paintLines(sized(parts.canvas, width, tall), { x: 0, y: 0, width, height: tall }, { info: info(), layer, lit: lit(), hover: state.hover, scroll: parts.scroller.scrollTop, theme, gutter });
      return;
    }
    const found = stage();
    root.classList.toggle("waiting", found.why === "…");
    if (found.why === "…") return;
    parts.why.textContent = found.why ?? "";
    parts.scroller.hidden = parts.legend.hidden = !found.values;
    if (!found.values) return;
    let made = layout(width, state.zoom), tall = Math.min(made.height, tallest());
    const unseen = large && inSight(made, width, tall);
    if (unseen) { // said in the title, which may then take a second line
      parts.title.textContent = `${heading()} · ${unseen} in sight`;
      made = layout(width, state.zoom);
      tall = Math.min(made.height, tallest());
    }
    parts.spacer.style.cssText = `width: ${made.width}px; height: ${made.height}px`;
    parts.scroller.style.height = `${tall + (made.width > width ? 14 : 0)}px`;
    Object.assign(state, { made });
    const newest = `${look.kind} ${info().queries.length}`;
    if (large && state.newest !== newest) { // a step further: its row, and what it has just read
      state.newest = newest;
      parts.scroller.scrollTop = made.height;
      if (look.kind === "decoder") parts.scroller.scrollLeft = made.width;
    }
    const seen = Math.min(made.height, parts.scroller.clientHeight); // where scroll bars take no room, all of it
    paintMatrix(sized(parts.canvas, Math.min(width, made.width), seen), { x: 0, y: 0, width, height: seen }, matrixOf(found, made, [parts.scroller.scrollLeft, parts.scroller.scrollTop]));
    paintLegend(sized(parts.legend, 260, 30), 4, 2, { stage: found, scale: look.scale, theme });
  };
  const matrixOf = (found, made, scroll) => ({ info: info(), stage: found, look, ...made, scroll, cursor: state.cursor, newest: message.newest && look.kind !== "encoder", theme });

  const drawGrid = () => {
    const cells = message.arrays[`grid/${look.kind}`], shape = message.shapes[`grid/${look.kind}`];
    if (!cells) return;
    const width = parts.side.clientWidth, height = Math.min(560, tallest(), 40 + shape[0] * (14 + Math.min(110, width / shape[1])));
    const context = sized(parts.grid, width, height);
    state.tiles = paintGrid(context, { x: 0, y: 0, width, height }, { info: info(), cells, shape, look, at: state.at, theme, scale: look.scale, lit: shownAs() });
    parts.sideTitle.textContent = `All ${look.kind} heads`;
  };

  const drawBetween = () => {
    const found = look.view === "matrix" && look.pair ? stage() : null, rows = found && rowsOf(message, look);
    parts.between.hidden = !rows;
    if (!rows) return;
    const [query, key] = look.pair, width = parts.scroller.clientWidth || 300, score = dot(rows, query, key), open = mayLook(info(), query, key);
    const weight = found.weights[query * info().keys.length + key];
    parts.sum.textContent = `Between ${visible(info().queries[query])} (query ${query}) and ${visible(info().keys[key])} (key ${key}): the ${rows.width} products q·k add up to ${plain(score)}; divided by √${rows.width} that is the score ${plain(score / Math.sqrt(rows.width))}; `
      + (open ? `the softmax over the row makes it the weight ${plain(weight)}.` : "the mask turns it into −∞, so the weight is 0.") + " The products, one for each dimension of the head; blue ones add to the score, red ones take from it:";
    Object.assign(parts.between.dataset, { score: score / Math.sqrt(rows.width), weight, products: rows.width });
    paintProducts(sized(parts.products, width, 134), { x: 0, y: 0, width, height: 134 }, { rows, pair: look.pair, theme });
    parts.products.setAttribute("role", "img");
    parts.products.setAttribute("aria-label", "the products of query and key, in the order of head_dim");
  };

  const drawChips = () => {
    parts.chips.hidden = look.view !== "lines";
    if (parts.chips.hidden) return;
    const on = new Set(lit());
    parts.chips.replaceChildren(...Array.from({ length: info().heads }, (_, head) => {
      const chip = part("button", { textContent: headName(head), title: "click: on or off; double click: only this one" });
      chip.setAttribute("aria-pressed", on.has(head));
      chip.style.setProperty("--head", headColour(head, info().heads, dark));
      chip.onclick = (event) => {
        if (event.detail > 1) return change({ lit: [head], head });
        const next = new Set(lit());
        if (!next.delete(head)) next.add(head);
        change({ lit: next.size === info().heads ? null : [...next].sort((a, b) => a - b) });
      };
      return chip;
    }), part("button", { textContent: "all", className: "all", onclick: () => change({ lit: null }) }));
  };

  const shows = () => `${kindName()} attention, ${look.view === "lines" ? layerName() : named()}`;
  const heading = () => look.view === "lines" || large ? shows() : `${shows()}: ${STAGES[look.stage]}`;
  const describe = () => {
    const where = shows();
    parts.title.textContent = heading();
    parts.source.textContent = message.standalone ? caption()[1] : source();
    parts.canvas.setAttribute("aria-label", `${where}. Arrow keys move between tokens, Enter compares two, Escape leaves.`);
    parts.grid.setAttribute("aria-label", `All ${look.kind} heads, ${info().layers} layers of ${info().heads}. Arrow keys move between heads, Enter chooses, Escape leaves.`);
  };
  const LINES = "Hover over a token to see only its lines, with their weights. Double click a head to see only that one.";
  const rest = () => (look.view === "lines" && !large ? LINES : "");
  const draw = () => {
    if (["", LINES].includes(parts.readout.textContent)) say(rest());
    zoomed(); toolbar(); describe(); drawChips(); drawGrid(); drawMain(); drawBetween();
    if (!root.classList.contains("waiting")) root.dataset.drawn = [look.kind, look.layer, look.head, info().queries.length];
  };

  // what the pointer or the keyboard is on
  const say = sayIn(parts.readout);
  const token = (tokens, at) => `${visible(tokens[at], 40)} (${at})`;
  const tell = () => {
    if (!state.cursor) return say("");
    const [query, key] = state.cursor, found = stage(), at = query * info().keys.length + key;
    if (!found.values) return say("");
    const words = [`${token(info().queries, query)} looks at ${token(info().keys, key)}:`, mayLook(info(), query, key) ? `weight ${plain(found.weights[at])}` : "masked, weight 0"];
    if (found.rows) words.push(`· score ${plain(dot(found.rows, query, key) / Math.sqrt(found.rows.width))}`);
    if (found.rows?.moved) words.push(`· adds a vector of length ${plain(Number((found.weights[at] * found.rows.moved[key]).toPrecision(4)))} to the query's (weight × ‖value·W_O‖)`);
    say(words.join(" "), { query, key, weight: found.weights[at], layer: look.layer, head: look.head, kind: look.kind });
  };
  const cellAt = (event) => {
    const { gutter, cell } = state.made, [x, y] = spot(event, parts.canvas);
    const k = Math.floor((x - gutter.left + parts.scroller.scrollLeft) / cell[0]);
    const q = Math.floor((y - gutter.top + parts.scroller.scrollTop) / cell[1]);
    return x < gutter.left || y < gutter.top || k < 0 || q < 0 || k >= info().keys.length || q >= info().queries.length ? null : [q, k];
  };
  const tokenAt = (event) => {
    const [x, y] = spot(event, parts.canvas);
    const at = Math.floor((y - 30 + parts.scroller.scrollTop) / ROW), right = x > parts.canvas.offsetWidth - state.gutter.right;
    return (x > state.gutter.left && !right) || at < 0 || at >= (right ? state.layer.k : state.layer.q) ? null : [right ? 1 : 0, at];
  };
  const same = (a, b) => a === b || (a && b && a[0] === b[0] && a[1] === b[1]);
  const hover = (to) => {
    if (same(to, state.hover)) return;
    state.hover = to;
    const tokens = to && (to[0] ? info().keys : info().queries);
    say(to ? `${to[0] ? "who looks at" : "where looks"} ${token(tokens, state.layer.first[to[0]] + to[1])}; the numbers are weights${lit().length > 1 ? ", each the largest of the heads that are on, and whose it is" : ""}` : rest());
    drawMain();
  };
  const put = (to) => { if (!same(to, state.cursor)) { state.cursor = to; drawMain(); tell(); } };
  const matrix = () => look.view === "matrix" && state.made && stage().values;
  parts.canvas.onpointermove = (event) => { if (look.view === "lines") { if (state.layer) hover(tokenAt(event)); } else if (matrix()) put(cellAt(event)); };
  parts.canvas.onpointerleave = () => { if (look.view === "lines") hover(null); else put(null); };
  parts.canvas.onclick = (event) => { if (matrix()) { const pair = cellAt(event); if (pair) change({ pair: same(pair, look.pair) ? null : pair }); } };
  const choose = ([layer, head]) => change({ layer, head, of: "head", ...(look.view === "lines" && { lit: [head] }) }); // lines of the head clicked, and no other's
  const headAt = (event) => headUnder(state.tiles, spot(event, parts.grid), [info().layers, info().heads]);
  const tellHead = (at, inside) => {
    const cells = message.arrays[`grid/${look.kind}`], [, H, R, C] = message.shapes[`grid/${look.kind}`], block = message.block[look.kind];
    const start = (at[0] * H + at[1]) * R * C;
    if (!inside) return say(`${layerName(at[0])} · ${headName(at[1])}`);
    const [r, c] = [Math.floor(inside[0] * R), Math.floor(inside[1] * C)];
    const span = (tokens, from, size) => size === 1 ? token(tokens, from) : `${token(tokens, from)} … ${token(tokens, Math.min(tokens.length, from + size) - 1)}`;
    say(`${layerName(at[0])} · ${headName(at[1])}: ${span(info().queries, r * block[0], block[0])} looks at ${span(info().keys, c * block[1], block[1])}, ${block[0] * block[1] > 1 ? "at most " : ""}about ${((cells[start + r * C + c] / 255) ** 2).toFixed(2)}`);
  };
  parts.grid.onpointermove = (event) => {
    const found = state.tiles && headAt(event);
    if (!same(found?.at, state.at)) { state.at = found?.at ?? null; drawGrid(); }
    if (found) tellHead(found.at, found.inside);
  };
  parts.grid.onpointerleave = () => { state.at = null; say(rest()); drawGrid(); };
  parts.grid.onclick = (event) => { const found = state.tiles && headAt(event); if (found) choose(found.at); };

  // the keyboard
  const intoView = () => {
    const { cell, gutter } = state.made, box = parts.scroller;
    const reach = (size, at, room, now) => Math.min(Math.max(now, (at + 1) * size - room), at * size);
    box.scrollTop = reach(cell[1], state.cursor[0], box.clientHeight - gutter.top, box.scrollTop);
    box.scrollLeft = reach(cell[0], state.cursor[1], box.clientWidth - gutter.left, box.scrollLeft);
  };
  keyboard(parts.canvas, ([down, across]) => {
    if (look.view === "lines") {
      const [side, at] = state.hover ?? [0, -down];
      const to = across ? Math.max(0, Math.min(1, side + across)) : side;
      return hover([to, Math.max(0, Math.min((to ? state.layer.k : state.layer.q) - 1, at + down))]);
    }
    if (!matrix()) return;
    put(state.cursor ? within([state.cursor[0] + down, state.cursor[1] + across], [info().queries.length, info().keys.length]) : [info().queries.length - 1, 0]);
    intoView();
  }, () => { if (matrix() && state.cursor) change({ pair: same(state.cursor, look.pair) ? null : state.cursor }); },
  () => { if (look.view === "lines") hover(null); else put(null); });
  keyboard(parts.grid, ([down, across]) => {
    state.at = state.at ? within([state.at[0] + down, state.at[1] + across], [info().layers, info().heads]) : [look.layer, look.head];
    drawGrid(); tellHead(state.at);
  }, () => { if (state.at) choose(state.at); }, () => { state.at = null; say(rest()); drawGrid(); });
  parts.scroller.onscroll = () => drawMain();

  // files
  const caption = () => [`${kindName()} attention, ${look.view === "lines" ? layerName() : `${named()}: ${STAGES[look.stage]}`}`,
    `${source()}${message.about.text ? ` · text: ${message.about.text.slice(0, 200)}` : ""}${message.about.output ? ` → ${message.about.output.slice(0, 200)}` : ""}`];
  const compose = (make) => {
    const shape = message.shapes[`grid/${look.kind}`], gridWidth = Math.max(220, Math.min(620, shape[1] * 70));
    const found = look.view === "lines" ? null : stage(), width = 720;
    const made = found ? layout(width, 1) : { width, height: 34 + Math.max(state.layer.q, state.layer.k) * ROW };
    const height = Math.max(made.height, Math.min(560, 40 + shape[0] * 84)) + 110;
    const context = make(made.width + gridWidth + 60, height);
    caption().forEach((line, i) => text(context, line, 12, 18 + i * 20, { colour: i ? theme.muted : theme.ink, weight: i ? 400 : 700, size: i ? 12 : 15 }));
    const box = { x: 12, y: 60, width: made.width, height: made.height };
    if (found) {
      paintMatrix(context, box, { ...matrixOf(found, made, [0, 0]), cursor: null });
      paintLegend(context, 16, height - 40, { stage: found, scale: look.scale, theme });
    } else paintLines(context, box, { info: info(), layer: state.layer, lit: lit(), hover: null, scroll: 0, theme, gutter: state.gutter });
    paintGrid(context, { x: made.width + 40, y: 60, width: gridWidth, height: height - 110 }, { info: info(), cells: message.arrays[`grid/${look.kind}`], shape, look, theme, scale: look.scale, lit: shownAs() });
    return context;
  };
  const save = (as) => {
    const name = [message.about.checkpoint ?? "attention", look.kind, layerName().replace(" ", ""), look.of === "head" ? headName().replace(" ", "") : look.of, look.stage].join("-").replace(/[^\w@.-]+/g, "_");
    const keep = (blob) => keepFile(blob, `${name}.${as}`);
    if (as === "svg") keep(new Blob([String(compose((width, height) => new Vector(width, height, theme.page)))], { type: "image/svg+xml" }));
    if (as === "csv") keep(new Blob([table()], { type: "text/csv" }));
    if (as === "png") {
      const canvas = part("canvas");
      compose((width, height) => {
        const context = sized(canvas, width, height);
        context.fillStyle = theme.page; context.fillRect(0, 0, width, height);
        return context;
      });
      canvas.toBlob(keep);
    }
    toolbar();
  };
  const table = () => {
    const cell = (value) => `"${String(value).replace(/"/g, '""')}"`, found = stage(), K = info().keys.length;
    const values = found.values ?? found.weights;
    return [...caption().map((line) => `# ${line.replace(/\s+/g, " ")}`), ["query \\ key", ...info().keys].map(cell).join(","),
      ...info().queries.map((query, q) => [cell(query), ...Array.from(values.subarray(q * K, (q + 1) * K), String)].join(","))].join("\n") + "\n";
  };

  root.redraw = draw;
  redrawWhenWider(root);
  state.cursor = state.cursor && state.cursor[0] < info().queries.length && state.cursor[1] < info().keys.length ? state.cursor : null;
  draw();
}

export default function ({ data, parentElement, setTriggerValue }) {
  mount(parentElement.querySelector(".attention-view"), data, (look) => setTriggerValue("look", look));
}
