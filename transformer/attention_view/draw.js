// Painting on a canvas, or on anything that has its few methods (see Vector): colours, the grid, one matrix, bars.
const RAMP = ["#f1f9f3", "#baecd3", "#78dac3", "#17c3be", "#09abb6", "#008fa9", "#057298", "#03588a", "#144077", "#1e2852", "#16152b"];
// from below zero to above, by dark; ui/figures/palette.py has the same
const SIGNED = { true: ["#c2376b", "#20232b", "#5cc1ee"], false: ["#8c1c3a", "#f7f7f7", "#03588a"] };
const FONT = "system-ui, sans-serif";

const channels = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
function between(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2);
  return channels(stops[low]).map((c, i) => Math.round(c + (channels(stops[low + 1])[i] - c) * (place - low)));
}

// 513 colours: the upper half for 0..1, the lower for -1..0. Zero is the end nearest the page.
const palettes = {};
function palette(dark) {
  return (palettes[dark] ??= Array.from({ length: 513 }, (_, i) => {
    const at = (i - 256) / 256;
    return { signed: between(SIGNED[dark], (at + 1) / 2),
             plain: between(dark ? [...RAMP].reverse() : RAMP, Math.max(at, 0)) };
  }));
}
const css = ([r, g, b]) => `rgb(${r}, ${g}, ${b})`;
const inkOn = ([r, g, b]) => (0.2126 * (r / 255) ** 2.2 + 0.7152 * (g / 255) ** 2.2 + 0.0722 * (b / 255) ** 2.2 > 0.179 ? "#000" : "#fff");

// From a value of a stage to its place in the palette; scores are always drawn in proportion.
function shade(stage, scale) {
  const bend = scale === "sqrt" && !stage.signed ? Math.sqrt : (x) => x;
  return (value) => 256 + Math.round(256 * Math.sign(value) * bend(Math.min(1, Math.abs(value) / stage.high)));
}

// A colour as the bytes of an ImageData spell it, alpha last.
const pixelOf = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
const pixels = {};
const pixelPalette = (dark, kind) => (pixels[dark + kind] ??= Uint32Array.from(palette(dark), (colour) => pixelOf(colour[kind])));

function bitmap(width, height, pixel) {
  const canvas = document.createElement("canvas");
  canvas.width = width; canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height), out = new Uint32Array(image.data.buffer);
  for (let y = 0, at = 0; y < height; y++) for (let x = 0; x < width; x++, at++) out[at] = pixel(y, x);
  context.putImageData(image, 0, 0);
  return canvas;
}

function text(context, string, x, y, { size = 12, weight = 400, colour, align = "left", baseline = "middle", turn = 0 } = {}) {
  context.font = `${weight} ${size}px ${FONT}`;
  context.fillStyle = colour; context.textAlign = align; context.textBaseline = baseline;
  if (!turn) return context.fillText(string, x, y);
  context.save(); context.translate(x, y); context.rotate(turn); context.fillText(string, 0, 0); context.restore();
}

// Which of many tokens get their label at `size` pixels each: all of them, or a position number now and then.
function labels(tokens, size, first, last) {
  if (size >= 11) return Array.from({ length: last - first }, (_, i) => [first + i, visible(tokens[first + i])]);
  const every = [5, 10, 20, 25, 50, 100, 200, 250, 500, 1000].find((n) => n * size >= 26) ?? 5000;
  return Array.from({ length: last - first }, (_, i) => first + i).filter((i) => i % every === 0).map((i) => [i, String(i)]);
}

const ruler = document.createElement("canvas").getContext("2d");
function textWidth(tokens, weight = 400) {
  ruler.font = `${weight} 13px ${FONT}`;
  return [...new Set(tokens)].reduce((most, token) => Math.max(most, ruler.measureText(visible(token)).width), 0);
}

// The cells and the room for labels of one matrix. least: the smallest cell; tall: the height it should fill, if any.
function matrixLayout({ queries, keys }, width, { zoom = 1, least = 1, tall = null } = {}) {
  const longest = textWidth(keys, 700), gutter = { left: Math.min(150, textWidth(queries, 700)) + 28 };
  const cw = Math.max(least, Math.min(84, (width - gutter.left - 2) / keys.length) * zoom);
  gutter.upright = cw >= 11 && longest > cw - (tall ? 0 : 4);
  gutter.top = gutter.upright ? Math.min(130, longest) + 26 : 36;
  const ch = Math.max(least, (tall ? Math.min(38, (tall - gutter.top - 2) / queries.length) : Math.min(Math.max(cw, 12), 38, 460 / queries.length)) * zoom);
  return { cell: [cw, ch], gutter, width: gutter.left + keys.length * cw + 2, height: gutter.top + queries.length * ch + 2 };
}

// One matrix. box: {x, y, width, height} with labels; cell: [width, height]; scroll: [x, y] in pixels of the matrix.
function paintMatrix(context, box, { info, stage, look, cell: [cw, ch], gutter, scroll: [sx, sy], cursor, newest, theme }) {
  const Q = info.queries.length, K = info.keys.length, { values } = stage, colours = palette(theme.dark);
  const left = box.x + gutter.left, top = box.y + gutter.top;
  const width = Math.min(box.width - gutter.left, K * cw - sx), height = Math.min(box.height - gutter.top, Q * ch - sy);
  const q0 = Math.floor(sy / ch), q1 = Math.min(Q, Math.ceil((sy + height) / ch));
  const k0 = Math.floor(sx / cw), k1 = Math.min(K, Math.ceil((sx + width) / cw));
  const place = shade(stage, look.scale), hidden = (q, k) => !mayLook(info, q, k) && look.stage !== "scores";
  const colour = (q, k) => colours[place(values[q * K + k])][stage.signed ? "signed" : "plain"];
  const x = (k) => left + k * cw - sx, y = (q) => top + q * ch - sy;
  context.save();
  context.beginPath(); context.rect(left, top, width, height); context.clip();
  if (context.vector && (q1 - q0) * (k1 - k0) <= 4096) {
    for (let q = q0; q < q1; q++) for (let k = k0; k < k1; k++) {
      context.fillStyle = hidden(q, k) ? theme.forbidden : css(colour(q, k));
      context.fillRect(x(k), y(q), cw, ch);
    }
  } else {
    context.imageSmoothingEnabled = false;
    const forbidden = pixelOf(channels(theme.forbidden)), kind = pixelPalette(theme.dark, stage.signed ? "signed" : "plain");
    context.drawImage(bitmap(k1 - k0, q1 - q0, (row, column) => (hidden(q0 + row, k0 + column) ? forbidden : kind[place(values[(q0 + row) * K + k0 + column])])),
      x(k0), y(q0), (k1 - k0) * cw, (q1 - q0) * ch);
  }
  if (cw >= 7 && ch >= 7 && info.causal && look.stage !== "scores") {  // stripes: forbidden is not the same as zero
    context.strokeStyle = theme.stripe; context.lineWidth = 1;
    context.beginPath();
    for (let q = q0; q < q1; q++) for (let k = k0; k < k1; k++) if (hidden(q, k)) { context.moveTo(x(k), y(q) + ch); context.lineTo(x(k) + cw, y(q)); }
    context.stroke();
  }
  if (cw >= 30 && ch >= 17) for (let q = q0; q < q1; q++) for (let k = k0; k < k1; k++) {
    const value = values[q * K + k];
    if (!hidden(q, k) && Math.abs(value) >= 0.005) text(context, short(value), x(k) + cw / 2, y(q) + ch / 2, { colour: inkOn(colour(q, k)), align: "center" });
  }
  if (newest) { context.strokeStyle = theme.accent; context.lineWidth = 3; context.strokeRect(left + 1.5, y(Q - 1) + 1.5, Math.min(width, K * cw) - 3, Math.max(3, ch - 3)); }
  if (look.pair) { context.strokeStyle = theme.accent; context.lineWidth = 2; context.strokeRect(x(look.pair[1]), y(look.pair[0]), Math.max(cw, 3), Math.max(ch, 3)); }
  if (cursor) {
    context.strokeStyle = theme.ink; context.lineWidth = 1.5;  // lines alone: a tint would be a colour that is not on the scale
    context.strokeRect(left + 1, y(cursor[0]) + 1, width - 2, ch - 2); context.strokeRect(x(cursor[1]) + 1, top + 1, cw - 2, height - 2);
  }
  context.restore();
  const bold = (axis, at) => (cursor?.[axis] === at || (axis === 0 && newest && at === Q - 1) ? 700 : 400);
  for (const [q, label] of labels(info.queries, ch, q0, q1)) if (y(q) + ch / 2 >= top)
    text(context, label, left - 6, y(q) + ch / 2, { colour: theme.ink, align: "right", weight: bold(0, q), size: Math.min(13, Math.max(theme.least, ch * 0.8)) });
  for (const [k, label] of labels(info.keys, cw, k0, k1)) if (x(k) + cw / 2 >= left) {
    const weight = bold(1, k), size = Math.min(13, Math.max(theme.least, cw * 0.8));
    if (gutter.upright) text(context, label, x(k) + cw / 2, top - 6, { colour: theme.ink, weight, size, turn: -Math.PI / 2 });
    else text(context, label, x(k) + cw / 2, top - 10, { colour: theme.ink, align: "center", weight, size });
  }
  text(context, theme.brief ? "key" : "key: the token looked at", left, box.y + 8, { colour: theme.muted, size: 12 });
  text(context, theme.brief || height < 180 ? "query" : "query: the token that looks", box.x + 8, top + 2, { colour: theme.muted, size: 12, turn: -Math.PI / 2, align: "right" });
}

// All heads of a kind in one bitmap, `dots` by `rows` pixels each. Hovering and choosing change none of it, so it is kept.
const kept = new WeakMap();
function tilesOf({ info, cells, shape: [L, H, R, C], theme, scale }, dots, rows) {
  const id = [dots, rows, scale, theme.dark, info.queries.length, info.keys.length].join();
  if (kept.get(cells)?.id === id) return kept.get(cells).canvas;
  const plain = pixelPalette(theme.dark, "plain"), forbidden = pixelOf(channels(theme.forbidden));
  const colours = Uint32Array.from({ length: 256 }, (_, i) => plain[256 + Math.round(256 * (scale === "sqrt" ? i / 255 : (i / 255) ** 2))]);
  const shut = Uint8Array.from({ length: rows * dots }, (_, i) => !mayLook(info, Math.ceil((Math.floor(i / dots) + 1) * info.queries.length / rows) - 1, Math.floor(i % dots * info.keys.length / dots)));
  const column = Uint16Array.from({ length: C }, (_, c) => Math.floor(c * dots / C)), most = new Uint8Array(L * H * rows * dots);
  for (let tile = 0, from = 0; tile < L * H; tile++) for (let r = 0; r < R; r++) {
    const to = (tile * rows + Math.floor(r * rows / R)) * dots;
    for (let c = 0; c < C; c++, from++) if (cells[from] > most[to + column[c]]) most[to + column[c]] = cells[from];
  }
  const canvas = bitmap(H * dots, L * rows, (y, x) => {
    const inside = y % rows * dots + x % dots;
    return shut[inside] ? forbidden : colours[most[(Math.floor(y / rows) * H + Math.floor(x / dots)) * rows * dots + inside]];
  });
  kept.set(cells, { id, canvas });
  return canvas;
}

// All heads of a kind, small; lit: the heads of the layer that are drawn as lines, where they are. Returns where they are, for the pointer: {left, top, width, height, gap}.
function paintGrid(context, box, found) {
  const { shape: [L, H, R, C], look, at, theme, lit, info } = found, gap = 4, left = box.x + 30, top = box.y + 34;
  const width = Math.max(4, Math.floor((box.width - 32) / H) - gap);
  const height = Math.max(4, Math.min(Math.floor((box.height - 36) / L) - gap, Math.max(14, Math.round(width * Math.max(0.45, Math.min(1.2, R / C))))));
  const dots = Math.min(C, Math.floor(width * 2)), rows = Math.min(R, Math.floor(height * 2)), tiles = tilesOf(found, dots, rows);
  context.imageSmoothingEnabled = false;
  for (let layer = 0; layer < L; layer++) for (let head = 0; head < H; head++) {
    const x = left + head * (width + gap), y = top + layer * (height + gap);
    context.drawImage(tiles, head * dots, layer * rows, dots, rows, x, y, width, height);
    const chosen = layer === look.layer && (lit ? lit.includes(head) : (head === look.head || look.of !== "head") && look.of !== "mean_all");
    if (chosen || (at && at[0] === layer && at[1] === head)) {
      context.strokeStyle = chosen ? theme.accent : theme.ink; context.lineWidth = chosen ? 3 : 2;
      context.strokeRect(x - 1.5, y - 1.5, width + 3, height + 3);
    }
  }
  for (let head = 0; head < H; head++) text(context, String(numbered(info, "heads", head)), left + head * (width + gap) + width / 2, top - 9, { colour: theme.ink, align: "center", weight: (lit ? lit.includes(head) : head === look.head && look.of === "head") ? 700 : 400 });
  for (let layer = 0; layer < L; layer++) text(context, String(numbered(info, "layers", layer)), left - 8, top + layer * (height + gap) + height / 2, { colour: theme.ink, align: "right", weight: layer === look.layer ? 700 : 400 });
  text(context, "head", left, box.y + 8, { colour: theme.muted });
  text(context, "layer", box.x + 8, top, { colour: theme.muted, turn: -Math.PI / 2, align: "right" });
  return { left, top, width, height, gap, bottom: top + L * (height + gap) };
}

// The head at a point of that picture, and where inside it, as parts of one; null beside them.
function headUnder({ left, top, width, height, gap }, [across, down], [layers, heads]) {
  const x = (across - left) / (width + gap), y = (down - top) / (height + gap);
  return x < 0 || y < 0 || x >= heads || y >= layers ? null : { at: [Math.floor(y), Math.floor(x)],
    inside: [Math.min(0.999, (y % 1) * (height + gap) / height), Math.min(0.999, (x % 1) * (width + gap) / width)] };
}

function paintLegend(context, x, y, { stage, scale, theme, width = 230 }) {
  const colours = pixelPalette(theme.dark, stage.signed ? "signed" : "plain"), place = shade(stage, scale), from = stage.signed ? -stage.high : 0;
  context.drawImage(bitmap(width, 1, (_, i) => colours[place(from + (stage.high - from) * i / (width - 1))]), x, y, width, 10);
  const ticks = stage.signed ? [-1, -0.5, 0, 0.5, 1] : [0, 0.1, 0.25, 0.5, 1];
  for (const tick of ticks) text(context, stage.high === 1 ? String(tick) : plain(Number((tick * stage.high).toPrecision(2))),
    x + width * (stage.signed ? (tick + 1) / 2 : tick), y + 18, { colour: theme.ink, size: 11, align: tick === ticks[0] ? "left" : tick === 1 ? "right" : "center" });
}

// The products q·k one by one, in the order of head_dim, over an axis that numbers the dimensions.
function paintProducts(context, whole, { rows, pair: [query, key], theme }) {
  const products = Array.from({ length: rows.width }, (_, i) => rows.q[query * rows.width + i] * rows.k[key * rows.width + i]);
  const most = Math.max(1e-9, ...products.map(Math.abs)), label = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toPrecision(2);
  const margin = textWidth([label(-most)]) + 8, box = { x: whole.x + margin, y: whole.y + 8, width: whole.width - margin, height: whole.height - 42 };
  const step = box.width / rows.width, middle = box.y + box.height / 2;
  for (const [value, y] of [[most, box.y + 2], [0, middle], [-most, box.y + box.height - 2]]) text(context, value ? label(value) : "0", box.x - 6, y, { colour: theme.ink, align: "right" });
  const every = [1, 2, 4, 8, 16, 32, 64].find((n) => n * step >= 26) ?? 128;
  for (let i = 0; i < rows.width; i += every) text(context, String(i), box.x + (i + 0.5) * step, box.y + box.height + 9, { colour: theme.ink, align: "center", size: 11 });
  text(context, "dimension of the head", box.x, box.y + box.height + 25, { colour: theme.muted });
  context.fillStyle = theme.muted; context.fillRect(box.x, middle - 0.5, box.width, 1);
  products.forEach((value, i) => {
    const height = Math.abs(value) / most * (box.height / 2 - 2);
    context.fillStyle = css(palette(theme.dark)[value < 0 ? 40 : 472].signed);
    context.fillRect(box.x + i * step, value < 0 ? middle : middle - height, Math.max(1, step - 1), height);
  });
  return products;
}

// The same few methods, written down as SVG.
class Vector {
  constructor(width, height, background) {
    this.vector = true; this.parts = []; this.stack = []; this.clips = 0; this.open = 0; this.path = [];
    this.size = [width, height];
    this.fillStyle = background; this.fillRect(0, 0, width, height);
  }
  add(string) { this.parts.push(string); }
  fillRect(x, y, width, height) { this.add(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${this.fillStyle}"/>`); }
  strokeRect(x, y, width, height) { this.add(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"/>`); }
  fillText(string, x, y) {
    const [, weight, size] = this.font.match(/(\d+) ([\d.]+)px/), anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
    const safe = string.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);
    this.add(`<text x="${x}" y="${y}" font-family="${FONT}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}" dominant-baseline="central" fill="${this.fillStyle}" transform="${this.turn ?? ""}">${safe}</text>`);
  }
  drawImage(canvas, ...box) {
    const [x, y, width, height] = box.slice(-4);
    if (box.length > 4) {  // a part of the canvas
      const [from, down, columns, rows] = box, part = document.createElement("canvas");
      part.width = columns; part.height = rows;
      part.getContext("2d").drawImage(canvas, -from, -down);
      canvas = part;
    }
    this.add(`<image href="${canvas.toDataURL()}" x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="none" style="image-rendering: pixelated"/>`);
  }
  beginPath() { this.path = []; }
  moveTo(x, y) { this.path.push(`M${x} ${y}`); }
  lineTo(x, y) { this.path.push(`L${x} ${y}`); }
  bezierCurveTo(...points) { this.path.push(`C${points.join(" ")}`); }
  stroke() { this.add(`<path d="${this.path.join("")}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-opacity="${this.globalAlpha ?? 1}"/>`); }
  rect(...box) { this.box = box; }
  clip() {
    const [x, y, width, height] = this.box;
    this.add(`<clipPath id="c${++this.clips}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#c${this.clips})">`);
    this.open += 1;
  }
  save() { this.stack.push([this.turn, this.open]); }
  restore() { const [turn, open] = this.stack.pop(); while (this.open > open) { this.add("</g>"); this.open -= 1; } this.turn = turn; }
  translate(x, y) { this.turn = `translate(${x} ${y})`; }
  rotate(angle) { this.turn += ` rotate(${angle * 180 / Math.PI})`; }
  toString() { return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.size[0]}" height="${this.size[1]}" viewBox="0 0 ${this.size.join(" ")}">${this.parts.join("\n")}</svg>`; }
}
