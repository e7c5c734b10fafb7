// What is in a head, in one of its cells, and in one number of a query: matrices with the numbers that make each other.
import { bitmap, text, widest } from "#view/drawing/canvas.js";
import { channels, css, inkOn, palette, pixelOf, pixelPalette, shade } from "#view/drawing/colours.js";
import { TYPE, fitted, tokenIn, screenOf, shapeText } from "#view/model/paint/brushes.js";
import { hasNumber, headNorm } from "#view/model/parts/numbers.js";
import { HEAD, ROWS, inside } from "#view/model/parts/places.js";
import { plain, short } from "#view/text/numbers.js";
import { SAME_WEIGHT, dot, formula, mayLook, ownWeight, rowsOf, score } from "#view/attention/scores.js";
import { stageOf } from "#view/attention/stages.js";
import { visible } from "#view/text/tokens.js";
import { SMALL } from "#view/drawing/type.js";
/** @import { AttentionKind, Message } from "#view/message/fields.js" */

const NUMBERED = 30; // px of a cell that has its number

const stageIn = ({ message, selection }) => stageOf(message, { ...selection, of: "head", stage: "weights" });

/**
 * A matrix of numbers (rows x columns) as cells; signed ones from red to blue.
 * @param {any} context
 * @param {number[]} box
 * @param {ArrayLike<number> | null | undefined} numbers
 * @param {number[]} shape
 * @param {{theme: any, high: number, signed?: boolean, shut?: ((at: number) => boolean) | null}} options
 */
function paintArray(context, [x, y, w, h], numbers, [rows, columns], { theme, high, signed = true, shut = null }) {
  if (!numbers || !rows || !columns) return;
  const scale = { high: high || 1, signed };
  const place = shade(scale, "sqrt");
  const kind = signed ? "signed" : "plain";
  if (context.vector && rows * columns <= 4096) {
    const colours = palette(theme.dark);
    for (let at = 0; at < rows * columns; at++) {
      context.fillStyle = shut?.(at) ? theme.forbidden : css(colours[place(numbers[at])][kind]);
      context.fillRect(
        x + ((at % columns) * w) / columns,
        y + (Math.floor(at / columns) * h) / rows,
        w / columns,
        h / rows,
      );
    }
    return;
  }
  const picture = pictureOfArray(numbers, [rows, columns], { theme, place, kind, shut });
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, columns, rows, x, y, w, h);
}

// The cells of an array, which are the same at each frame of a zoom.
const pictures = new WeakMap();
function pictureOfArray(numbers, [rows, columns], { theme, place, kind, shut }) {
  const known = pictures.get(numbers);
  if (known?.dark === theme.dark) return known.picture;
  const colours = pixelPalette(theme.dark, kind);
  const forbidden = pixelOf(channels(theme.forbidden));
  const picture = bitmap(columns, rows, (pixels) => {
    for (let at = 0; at < rows * columns; at++) pixels[at] = shut?.(at) ? forbidden : colours[place(numbers[at])];
  });
  pictures.set(numbers, { dark: theme.dark, picture });
  return picture;
}

const five = (value) => plain(Number(value.toPrecision(5))).replace("-", "−"); // digits

const highest = (numbers) => numbers?.reduce((most, one) => Math.max(most, Math.abs(one)), 0) ?? 0;

function transposed(numbers, rows, columns) {
  const out = new Float32Array(numbers.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) out[c * rows + r] = numbers[r * columns + c];
  return out;
}

// Kept as long as the message is, since it is drawn at each frame.
/** @param {Message} message */
function once(message, id, make) {
  if (!message.made.has(id)) message.made.set(id, make());
  return message.made.get(id);
}

function caption(context, theme, words, x, y, room, options = {}) {
  const usual = options.size ?? TYPE;
  for (const size of [usual, 11, 10]) {
    const shorter = size <= usual && fitted(words, room, size, options.weight ?? 400);
    if (shorter) return text(context, shorter, x, y, { colour: theme.ink, ...options, size });
  }
}

// A head: queries beside the matrix, keys above it, and what the weights carry: values below it, the result beside it.
export function paintHead(context, picture, node) {
  const { message, selection, theme } = picture;
  const info = message.kinds[node.kind];
  const stage = stageIn(picture);
  const place = (name) => screenOf(picture, inside(node.box, HEAD[name]));
  const matrix = place("matrix");
  const [Q, K] = [info.queries.length, info.keys.length];
  const rows = rowsOf(message, { ...selection, of: "head" });
  context.strokeStyle = theme.stripe;
  context.lineWidth = 1;
  if (stage.values) {
    const shut = (at) => !mayLook(info, Math.floor(at / K), at % K, { ...selection, of: "head" });
    paintArray(context, matrix, stage.values, [Q, K], { theme, high: 1, signed: false, shut });
    paintCellNumbers(context, picture, matrix, stage.values, [Q, K], shut);
  }
  context.strokeRect(...matrix);
  paintAxes(context, picture, matrix, info);
  if (!rows) {
    caption(context, theme, "Queries and keys are not here.", matrix[0], matrix[1] - 10, matrix[2]);
    return;
  }
  const { width } = rows;
  const parts = once(message, `head parts ${node.id}`, () => partsOfHead(rows, stage, [Q, K], Boolean(info.whole)));
  const strips = [
    ["q", parts.q, [Q, width], `q: ${Q} × ${width}`],
    ["k", parts.k, [width, K], `kᵀ: ${width} × ${K}`],
    ["v", parts.v, [width, K], `vᵀ: ${width} × ${K}`],
    ["z", parts.z, [Q, width], `z (weights times v): ${Q} × ${width}`],
  ];
  for (const [name, numbers, sizes, words] of strips) {
    const box = place(name);
    if (name === "z" && info.whole)
      caption(context, theme, "z needs all keys, not this part", box[0], box[1] + 11, box[2] * 1.7);
    if (!numbers) continue;
    paintArray(context, box, numbers, sizes, {
      theme,
      high: once(message, `high ${name} ${node.id}`, () => highest(numbers)),
    });
    context.strokeRect(...box);
    const [x, y, w] = box;
    const room = name === "q" ? Math.max(w, matrix[0] - x - 4, 110) : 0.28 * (w / HEAD.k[2]);
    if (name === "q") caption(context, theme, words, x, y - 11, room, { weight: 650 });
    else if (name === "z") caption(context, theme, words, x, y + box[3] + 11, w * 1.7, { weight: 650 });
    else if (name === "k") caption(context, theme, words, x + w + 6, y + box[3] / 2, 0.5 * w, { weight: 650 });
    else caption(context, theme, words, x - 6, y + box[3] / 2, room, { weight: 650, align: "right" });
  }
  paintFormulas(context, picture, node, rows);
  paintPair(context, picture, node, place, [Q, K]);
}

const WIDE = 700; // px of a head that has room for what goes in and out

// What goes in and what comes out, in the corners below.
function paintFormulas(context, { message, theme, lengths, ...picture }, node, rows) {
  const { width } = rows;
  const [x, y, w, h] = screenOf(picture, node.box);
  const d = node.block.takes[1].toLocaleString("en");
  const norm = headNorm(message, node);
  const left = [
    `in: ${shapeText(node.block.takes, lengths)}${node.kind === "cross" ? `; memory: ${lengths.S} × ${d}` : ""}`,
    `q, k, v: ${d} → ${width} each`,
    `weights = softmax(${formula(rows)})`,
  ];
  const right = [`out: z W_o, ${width} → ${d}`];
  if (norm !== null) right.push(`adds a vector of length ${plain(Number(norm.toPrecision(3)))}`);
  const line = Math.min(18, (0.18 * h) / 3);
  if (line < 11 || w < WIDE) return; // they would lie over the name of v
  const below = Math.max(0.84 * h, (HEAD.z[1] + HEAD.z[3]) * h + 11 + TYPE + 2); // the name of z
  const options = { colour: theme.muted, size: SMALL };
  left.forEach((words, at) =>
    caption(context, theme, words, x + 0.015 * w, y + 0.84 * h + at * line, 0.2 * w, options),
  );
  right.forEach((words, at) => caption(context, theme, words, x + 0.77 * w, y + below + at * line, 0.22 * w, options));
}

// isPart: of a long text, of which not all keys are here.
function partsOfHead(rows, stage, /** @type {number[]} */ [Q, K], isPart) {
  const { width, v: sent } = rows;
  /** @type {Float32Array | null} */
  let z = null;
  if (sent && stage.weights && !isPart) {
    const found = (z = new Float32Array(Q * width));
    for (let q = 0; q < Q; q++)
      for (let k = 0; k < K; k++) {
        const weight = stage.weights[q * K + k];
        if (weight) for (let d = 0; d < width; d++) found[q * width + d] += weight * sent[k * width + d];
      }
  }
  return { q: rows.q, k: transposed(rows.k, K, width), v: sent ? transposed(sent, K, width) : null, z };
}

// The row, the column and the cell that are looked at, through everything that makes them.
function paintPair(context, picture, node, place, [Q, K]) {
  const { theme } = picture;
  const [query, key] = picture.path[4].pair;
  context.strokeStyle = theme.mark;
  context.lineWidth = 2;
  for (const name of picture.message.kinds[node.kind].whole ? ["q"] : ["q", "z"]) {
    const [x, y, w, h] = place(name);
    context.strokeRect(x, y + (query * h) / Q, w, h / Q);
  }
  for (const name of ["k", "v"]) {
    const [x, y, w, h] = place(name);
    context.strokeRect(x + (key * w) / K, y, w / K, h);
  }
  context.strokeRect(...screenOf(picture, picture.path[4].box));
}

function paintCellNumbers(
  context,
  picture,
  /** @type {number[]} */ [x, y, w, h],
  values,
  /** @type {number[]} */ [Q, K],
  shut,
) {
  const [cw, ch] = [w / K, h / Q];
  if (cw < NUMBERED || ch < 15) return;
  const { theme } = picture;
  const [width, height] = picture.size;
  for (let q = 0; q < Q; q++)
    for (let k = 0; k < K; k++) {
      const [left, top] = [x + k * cw, y + q * ch];
      if (left > width || top > height || left + cw < 0 || top + ch < 0 || shut(q * K + k)) continue;
      const value = values[q * K + k];
      if (value < 0.005) continue;
      const colour = palette(theme.dark)[256 + Math.round(256 * Math.sqrt(Math.min(1, value)))].plain;
      text(context, short(value), left + cw / 2, top + ch / 2, { colour: inkOn(colour), align: "center", size: SMALL });
    }
}

// Tokens beside the rows of q and above the columns of k, where there is room for them.
/** @param {AttentionKind} info */
function paintAxes(context, picture, /** @type {number[]} */ [x, y, w, h], info) {
  const { theme } = picture;
  const [Q, K] = [info.queries.length, info.keys.length];
  const [query, key] = picture.path[4].pair;
  const [left] = screenOf(picture, inside(picture.path[3].box, HEAD.q));
  const [, top] = screenOf(picture, inside(picture.path[3].box, HEAD.k));
  const [edge, ceiling] = screenOf(picture, picture.path[3].box);
  const line = Math.max(1, Math.ceil(14 / (h / Q)));
  for (let q = 0; q < Q; q += line) {
    const options = { colour: theme.ink, align: "right", size: SMALL, weight: q === query ? 650 : 400 };
    const room = left - edge - 8;
    caption(context, theme, tokenIn(info.queries[q], room, 10, 650), left - 6, y + ((q + 0.5) * h) / Q, room, options);
  }
  const wide = w / K;
  const longest = widest(info.keys.map((one) => visible(one, 12)));
  const flat = longest <= wide - 4;
  const step = flat ? 1 : Math.max(1, Math.ceil(14 / wide));
  for (let k = 0; k < K; k += step) {
    const options = { colour: theme.ink, size: SMALL, weight: k === key ? 650 : 400 };
    const middle = x + (k + 0.5) * wide;
    if (flat)
      caption(context, theme, visible(info.keys[k], 12), middle, top - 9, wide, { ...options, align: "center" });
    else
      caption(context, theme, tokenIn(info.keys[k], top - ceiling - 6, 10, 650), middle, top - 4, top - ceiling - 6, {
        ...options,
        turn: -Math.PI / 2,
      });
  }
}

// Two rows of numbers, their products as bars, and what these come to.
function paintProductRows(context, picture, node, { first, second, names, products, lines }) {
  const { theme } = picture;
  const place = (name) => screenOf(picture, inside(node.box, ROWS[name]));
  const box = screenOf(picture, node.box);
  context.fillStyle = theme.page;
  context.fillRect(...box);
  for (const [name, numbers, words] of [
    ["first", first, names[0]],
    ["second", second, names[1]],
  ]) {
    const strip = place(name);
    const high = highest(numbers);
    paintArray(context, strip, numbers, [1, numbers.length], { theme, high });
    context.strokeStyle = theme.stripe;
    context.lineWidth = 1;
    context.strokeRect(...strip);
    caption(context, theme, words, strip[0], strip[1] - 10, strip[2], { weight: 650 });
    paintStripNumbers(context, picture, strip, numbers, high);
  }
  const [x, y, w, h] = place("sum");
  const most = highest(products) || 1;
  const each = w / products.length;
  caption(context, theme, names[2], x, y + 4, w, { weight: 650 });
  const middle = y + h * 0.58;
  context.fillStyle = theme.muted;
  context.fillRect(x, middle - 0.5, w, 1);
  products.forEach((value, at) => {
    const tall = (Math.abs(value) / most) * h * 0.4;
    context.fillStyle = css(palette(theme.dark)[value < 0 ? 40 : 472].signed);
    context.fillRect(x + at * each, value < 0 ? middle : middle - tall, Math.max(1, each - 1), tall);
  });
  const foot = y + h + 14;
  const room = box[1] + box[3] - foot;
  if (room < 11) return;
  const last = lines.slice(-Math.floor(room / 11)); // what fits
  const step = Math.min(20, room / last.length);
  last.forEach((words, at) => {
    caption(context, theme, words, x, foot + (at + 0.3) * step, w + 0.1 * w, {
      weight: at === last.length - 1 ? 650 : 400,
    });
  });
}

function paintStripNumbers(context, { theme, size }, /** @type {number[]} */ [x, y, w, h], numbers, high) {
  const each = w / numbers.length;
  if (each < NUMBERED || h < 15) return;
  numbers.forEach((value, at) => {
    const left = x + at * each;
    if (left > size[0] || left + each < 0) return;
    const part = Math.sign(value) * Math.min(1, Math.abs(value) / (high || 1));
    const colour = palette(theme.dark)[256 + Math.round(256 * part)].signed;
    text(context, short(value), left + each / 2, y + h / 2, { colour: inkOn(colour), align: "center", size: SMALL });
  });
}

// One cell: the query and the key of two tokens, number by number.
export function paintCell(context, picture, node) {
  const { message, selection, theme } = picture;
  const info = message.kinds[node.kind];
  const [query, key] = node.pair;
  const rows = rowsOf(message, { ...selection, of: "head" });
  if (!rows) return;
  const { width } = rows;
  const [q, k, products] = once(message, `pair ${node.id}`, () => {
    const [one, other] = [
      rows.q.subarray(query * width, (query + 1) * width),
      rows.k.subarray(key * width, (key + 1) * width),
    ];
    return [one, other, one.map((number, at) => number * other[at])];
  });
  const stage = stageIn(picture);
  const weight = stage.weights?.[query * info.keys.length + key];
  const sum = dot(rows, query, key);
  const seen = mayLook(info, query, key, { ...selection, of: "head" });
  const scaled = rows.scale === undefined ? `÷ √${width}` : `× ${plain(rows.scale)}`;
  const placed = rows.bias ? " + what positions add" : "";
  const capped = rows.cap ? `, capped at ±${rows.cap}` : "";
  const ofWhole = { ...selection, of: "head" };
  // of a part of a long text the softmax has more keys than are here
  const own = info.whole ? weight : seen && ownWeight(info, rows, [query, key], ofWhole);
  const isOwn = weight === undefined || Math.abs(own - weight) < SAME_WEIGHT;
  const what = isOwn ? "the softmax over the row makes" : "what is changed here makes";
  const made = seen ? `${what} it the weight ${five(weight ?? 0)}` : "the mask makes it −∞, so the weight is 0";
  const lines = [`q · k = ${five(sum)}, ${scaled}${placed}${capped} = ${five(score(rows, query, key))}`, made];
  const names = [
    `q of ${visible(info.queries[query])}: what it asks, ${width} numbers`,
    `k of ${visible(info.keys[key])}: what it answers to`,
    "q times k, number by number: blue raises the score, red lowers it",
  ];
  paintProductRows(context, picture, node, { first: q, second: k, names, products, lines });
  const [x, y, w, h] = screenOf(picture, picture.path[5].box);
  context.strokeStyle = theme.mark;
  context.lineWidth = 2;
  context.strokeRect(x, y, w, h);
}

// One number of a query: a row of weights times what the token's vector is there.
export function paintNumber(context, picture, node) {
  const { message } = picture;
  const number = message.model?.number;
  const weights = message.arrays["number/weights"];
  if (!hasNumber(message, node)) {
    const { theme } = picture;
    const box = screenOf(picture, node.box);
    context.fillStyle = theme.page;
    context.fillRect(...box);
    const words = message.standalone ? "Weights are not in this file." : "…";
    caption(context, theme, words, box[0] + box[2] / 2, box[1] + box[3] / 2, box[2], { align: "center" });
    return;
  }
  const row = message.arrays["number/row"];
  const products = once(message, "products", () => weights.map((one, at) => one * row[at]));
  const info = message.kinds[node.kind];
  const lines = linesOfNumber(number, node);
  const names = [
    `column ${node.head * node.block.heads.width + node.feature} of W_q: ${weights.length} learned weights`,
    `the vector of ${visible(info.queries[node.pair[0]])} as this layer reads it: ${row.length} numbers`,
    "weight times number: what each adds",
  ];
  paintProductRows(context, picture, node, { first: weights, second: row, names, products, lines });
}

// How a row of weights becomes a number of the query, line by line.
function linesOfNumber(number, node) {
  const { projected, bias, clipped, clip, normed, partner, partnerValue, cos, sin, value, changed } = number;
  const lines = [`${bias ? `With the bias, ${five(bias)}, they` : "They"} add up to ${five(projected)}.`];
  if (clip !== undefined && clipped !== projected) lines.push(`Cut at ±${five(clip)}: ${five(clipped)}.`);
  if (normed !== undefined && normed !== clipped) lines.push(`After the norm of queries: ${five(normed)}.`);
  if (partner !== undefined) {
    lines.push(
      `Turned by its position with number ${partner} (${five(partnerValue)}): cos ${five(cos)}, sin ${five(sin)}.`,
    );
  }
  if (changed) lines.push("Here a change of yours takes its place.");
  return [...lines, `q[${node.feature}] = ${five(value)}`];
}
