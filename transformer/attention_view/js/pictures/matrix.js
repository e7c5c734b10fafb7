// One matrix of one head, large: its cells, its labels, and the scale of its colours.
import { bitmap, text, textWidth, widest } from "#view/drawing/canvas.js";
import { channels, css, inkOn, palette, pixelOf, pixelPalette, shade } from "#view/drawing/colours.js";
import { figure, plain, short } from "#view/text/numbers.js";
import { ROOM, keyLabels, namedByBoth, rowLabels } from "#view/pictures/rows.js";
import { mayLook } from "#view/attention/scores.js";
import { visible } from "#view/text/tokens.js";
import { BODY, SMALL } from "#view/drawing/type.js";
/** @import { AttentionKind } from "#view/message/fields.js" */

const MOST_VECTOR = 4096; // cells that a file of lines and areas has as such
const UPRIGHT = -Math.PI / 2;
const UNCUT = 40; // characters of a label that is looked at
const LABELLED = 11; // px of a row or column that has its token beside it
const LEAST_ABOVE = 36; // px
const SHORT_SCALE = 150; // px of a scale
export const TYPE = BODY; // of its labels
const SMALLEST = SMALL;
const MOST_ABOVE = 130; // px of labels that stand upright
const LEAST_UPRIGHT = 60;
const LABELS_BESIDE = 28; // px, with the name of the side
const ROOMY = 12; // px of a row that has room for a frame inside
const NUMBERED = 28; // px of a cell that has its number, on the screen
const NONE_AHEAD = { queries: [], keys: [], makes: [] };

// The cells and the room for labels of one matrix. least: the smallest cell; leastRow: the lowest row; tall: the height
// it should fill, if any.
// `ahead` are tokens that are yet to come: there is room for them from the start, so that nothing moves when they do.
// Rows that are too low for their tokens are numbered, but for the newest; where they are much too low, it is as well,
// and the cells have that room.
/**
 * @typedef {object} LayoutOptions
 * @property {any} [selection]
 * @property {number} [zoom]
 * @property {number} [least]
 * @property {number} [leastRow]
 * @property {number | null} [tall]
 * @property {boolean} [bare]
 */

/** @param {any} info @param {number} width @param {LayoutOptions} options */
export function matrixLayout(info, width, options = {}) {
  const named = layoutOf(info, width, options);
  return options.tall && named.cell[1] < LABELLED / 3 ? layoutOf(info, width, { ...options, bare: true }) : named;
}

// Of labels so wide in their usual type, in so much room: how wide they are, in which type, and what is then their
// room in the usual one. They get smaller before any is cut.
function fittedType(wanted, room) {
  const by = Math.min(1, Math.max(SMALLEST / TYPE, room / Math.max(1, wanted)));
  return { wide: Math.min(room, wanted * by), type: TYPE * by, room: room / by };
}

/** @param {any} info @param {number} width @param {LayoutOptions} options */
function layoutOf(info, width, { selection, zoom = 1, least = 1, leastRow = 0, tall = null, bare = false }) {
  const { ahead = NONE_AHEAD } = info;
  const queries = [...info.queries, ...ahead.queries];
  const keys = [...info.keys, ...ahead.keys];
  const makes = info.makes && [...info.makes, ...ahead.makes];
  const rows = bare ? [String(queries.length)] : rowLabels({ queries, makes }, selection, Infinity, TYPE);
  // cells that have their numbers leave the rest of the width to the labels
  const spare = Math.min(width * 0.5, width - LABELS_BESIDE - 2 - keys.length * NUMBERED);
  const beside = fittedType(widest(rows, 650, TYPE), Math.max(Math.min(ROOM, width * 0.3), spare));
  const gutter = { bare, room: beside.room, rows: beside.type, left: beside.wide + LABELS_BESIDE };
  const cw = Math.max(least, Math.min(tall ? 110 : 84, (width - gutter.left - 2) / keys.length) * zoom);
  const longest = textWidth(keys, 650, TYPE);
  const across = cw - (tall ? 0 : 4);
  gutter.upright = cw >= LABELLED && (longest * SMALLEST) / TYPE > across;
  gutter.columns = Math.min(TYPE, Math.max(SMALLEST, (TYPE * across) / longest));
  gutter.top = LEAST_ABOVE;
  if (gutter.upright) {
    const above = fittedType(longest, Math.min(MOST_ABOVE, Math.max(LEAST_UPRIGHT, (tall ?? Infinity) * 0.33)));
    Object.assign(gutter, { columns: above.type, keyRoom: above.room, top: above.wide + 26 });
  }
  const row = tall
    ? Math.max(leastRow, Math.min(52, (tall - gutter.top - 2) / queries.length))
    : Math.min(Math.max(cw, 12), 38, 460 / queries.length);
  const ch = Math.max(least, row * zoom);
  const size = { width: gutter.left + keys.length * cw + 2, height: gutter.top + queries.length * ch + 2 };
  return { cell: [cw, ch], gutter, ...size };
}

// The query and key at a point of a matrix that is scrolled by so much; null beside its cells.
export function cellUnder({ gutter, cell }, /** @type {number[]} */ [x, y], info, [scrolledX, scrolledY] = [0, 0]) {
  const k = Math.floor((x - gutter.left + scrolledX) / cell[0]);
  const q = Math.floor((y - gutter.top + scrolledY) / cell[1]);
  const beside = x < gutter.left || y < gutter.top || k >= info.keys.length || q >= info.queries.length;
  return beside ? null : [q, k];
}

// A scroll position that a browser may give, as it can be: where there is little to scroll, labels can leave it beyond.
const inside = (scroll, all, room) => Math.max(0, Math.min(scroll, all - room));

// What is in sight of a matrix, and where: box {x, y, width, height} with labels; scroll: [x, y] in pixels of it.
function placesOf(box, { info, cell: [cw, ch], gutter, scroll }) {
  const Q = info.queries.length;
  const K = info.keys.length;
  const left = box.x + gutter.left;
  const top = box.y + gutter.top;
  const sx = inside(scroll[0], K * cw, box.width - gutter.left);
  const sy = inside(scroll[1], Q * ch, box.height - gutter.top);
  const width = Math.max(0, Math.min(box.width - gutter.left, K * cw - sx));
  const height = Math.max(0, Math.min(box.height - gutter.top, Q * ch - sy));
  return {
    Q,
    K,
    cw,
    ch,
    x0: box.x,
    left,
    top,
    width,
    height,
    q0: Math.floor(sy / ch),
    q1: Math.min(Q, Math.ceil((sy + height) / ch)),
    k0: Math.floor(sx / cw),
    k1: Math.min(K, Math.ceil((sx + width) / cw)),
    x: (k) => left + k * cw - sx,
    y: (q) => top + q * ch - sy,
  };
}

// painting: {info, stage, look, cell, gutter, scroll, cursor, newest, theme}; see matrixLayout and stageOf.
export function paintMatrix(context, box, painting) {
  const { info, selection } = painting;
  const places = placesOf(box, painting);
  paintRoomAhead(context, places, painting);
  const hidden = (q, k) => !mayLook(info, q, k, selection) && selection.stage !== "scores";
  context.save();
  context.beginPath();
  context.rect(places.left, places.top, places.width, places.height);
  context.clip();
  paintCells(context, places, { ...painting, hidden });
  if (places.cw >= 7 && places.ch >= 7 && (info.causal || info.near) && selection.stage !== "scores") {
    paintStripes(context, places, hidden, painting.theme);
  }
  const least = NUMBERED / (painting.zoom ?? 1);
  if (places.cw >= least && places.ch >= Math.min(17, least)) paintValues(context, places, { ...painting, hidden });
  paintMarks(context, places, painting);
  context.restore();
  paintLabels(context, places, painting);
  paintTitles(context, box, places, painting);
}

// A frame round the rows and columns of tokens that are yet to come.
function paintRoomAhead(context, { left, top, cw, ch, Q, K }, { info: { ahead }, theme }) {
  if (!ahead || !(ahead.queries.length || ahead.keys.length)) return;
  context.strokeStyle = theme.stripe;
  context.lineWidth = 1;
  const [width, height] = [(K + ahead.keys.length) * cw, (Q + ahead.queries.length) * ch];
  context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
}

const kindOf = (stage) => (stage.signed ? "signed" : "plain");

function eachCell({ q0, q1, k0, k1 }, act) {
  for (let q = q0; q < q1; q++) for (let k = k0; k < k1; k++) act(q, k);
}

const colourAt = ({ stage, selection, theme }, { K }) => {
  const colours = palette(theme.dark);
  const place = shade(stage, selection.scale);
  return (q, k) => colours[place(stage.values[q * K + k])][kindOf(stage)];
};

function paintCells(context, places, painting) {
  const { q0, q1, k0, k1, x, y, cw, ch, K } = places;
  const { hidden, theme, stage, selection } = painting;
  if (q1 <= q0 || k1 <= k0) return; // no room for a single cell
  if (context.vector && (q1 - q0) * (k1 - k0) <= MOST_VECTOR) {
    const colour = colourAt(painting, places);
    eachCell(places, (q, k) => {
      context.fillStyle = hidden(q, k) ? theme.forbidden : css(colour(q, k));
      context.fillRect(x(k), y(q), cw, ch);
    });
    return;
  }
  context.imageSmoothingEnabled = false;
  const forbidden = pixelOf(channels(theme.forbidden));
  const colours = pixelPalette(theme.dark, kindOf(stage));
  const place = shade(stage, selection.scale);
  const cells = bitmap(k1 - k0, q1 - q0, (pixels) => {
    let at = 0;
    eachCell(places, (q, k) => {
      pixels[at++] = hidden(q, k) ? forbidden : colours[place(stage.values[q * K + k])];
    });
  });
  context.drawImage(cells, x(k0), y(q0), (k1 - k0) * cw, (q1 - q0) * ch);
}

// Forbidden is not the same as zero.
function paintStripes(context, places, hidden, theme) {
  const { x, y, cw, ch } = places;
  context.strokeStyle = theme.stripe;
  context.lineWidth = 1;
  context.beginPath();
  eachCell(places, (q, k) => {
    if (!hidden(q, k)) return;
    context.moveTo(x(k), y(q) + ch);
    context.lineTo(x(k) + cw, y(q));
  });
  context.stroke();
}

function paintValues(context, places, painting) {
  const { x, y, cw, ch, K } = places;
  const { info, stage, hidden } = painting;
  const colour = colourAt(painting, places);
  const size = Math.min(SMALL, ch - 2, (cw - 2) / 2);
  eachCell(places, (q, k) => {
    const value = stage.values[q * K + k];
    if (hidden(q, k) || Math.abs(value) < 0.005 * (info.open ? stage.high : 1)) return;
    text(context, info.open ? figure(value, stage.high) : short(value), x(k) + cw / 2, y(q) + ch / 2, {
      size,
      colour: inkOn(colour(q, k)),
      align: "center",
    });
  });
}

function paintMarks(context, { Q, K, cw, ch, left, top, width, height, x, y }, { selection, cursor, newest, theme }) {
  const frame = (colour, line, ...box) => {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(...box);
  };
  // inside the row; round a low one, whose cells it would cover
  if (newest && ch >= ROOMY) frame(theme.mark, 3, left + 1.5, y(Q - 1) + 1.5, Math.min(width, K * cw) - 3, ch - 3);
  else if (newest) frame(theme.mark, 2, left + 1, y(Q - 1) - 1, Math.min(width, K * cw) - 2, ch + 0.5);
  if (selection.pair)
    frame(theme.mark, 2, x(selection.pair[1]), y(selection.pair[0]), Math.max(cw, 3), Math.max(ch, 3));
  if (!cursor) return;
  frame(theme.ink, 1.5, left + 1, y(cursor[0]) + 1, width - 2, ch - 2); // lines alone: a tint would be a colour
  frame(theme.ink, 1.5, x(cursor[1]) + 1, top + 1, cw - 2, height - 2); // that is not on the scale
}

// Which of many labels are drawn at `size` pixels each: all of them, or a position number now and then.
function labels(names, size, first, last, from = 0) {
  const all = Array.from({ length: last - first }, (_, i) => first + i);
  if (size >= LABELLED) return all.map((at) => [at, names[at]]);
  const every = [5, 10, 20, 25, 50, 100, 200, 250, 500, 1000].find((n) => n * size >= 26) ?? 5000;
  return all.filter((at) => (at + from) % every === 0).map((at) => [at, String(at + from)]);
}

function paintLabels(context, places, { info, selection, gutter, cursor, newest, theme }) {
  const { Q, cw, ch, left, top, height, q0, q1, k0, k1, x, y } = places;
  const bold = (axis, at) => (cursor?.[axis] === at || (axis === 0 && newest && at === Q - 1) ? 650 : 400);
  const size = (room, type = TYPE) => Math.min(type, Math.max(theme.least, room * 0.8));
  const high = gutter.bare ? Math.min(ch, LABELLED - 1) : ch;
  const rows = rowLabels(info, selection, gutter.room, TYPE);
  const last = newest && q1 === Q && high < LABELLED && !gutter.bare ? Q - 1 : null; // named between numbers
  const shown = labels(rows, high, q0, q1, info.first?.[0]);
  const apart = shown.filter(([q]) => last === null || (last - q) * ch >= TYPE);
  for (const [q, label] of last === null ? apart : [...apart, [last, rows[last]]]) {
    const options = {
      colour: theme.ink,
      align: "right",
      weight: bold(0, q),
      size: size(q === last ? TYPE : ch, gutter.rows),
    };
    const middle = y(q) + ch / 2;
    const whole = Math.max(top, Math.min(middle, top + height - 0.65 * options.size)); // above the picture's edge
    if (middle >= top) text(context, label, left - 6, whole, options);
  }
  const keys = keyLabels(info, gutter.keyRoom, TYPE);
  for (const [k, label] of labels(keys, cw, k0, k1, info.first?.[1])) {
    const options = { colour: theme.ink, weight: bold(1, k), size: size(cw, gutter.columns) };
    if (x(k) + cw / 2 < left) continue;
    if (gutter.upright) text(context, label, x(k) + cw / 2, top - 6, { ...options, turn: UPRIGHT });
    else text(context, label, x(k) + cw / 2, top - 10, { ...options, align: "center" });
  }
  if (!cursor) return;
  const [q, k] = cursor;
  const both = namedByBoth(info, selection) ? ` → ${visible(info.makes[q], UNCUT)}` : "";
  const [row, key] = [`${visible(info.queries[q], UNCUT)}${both}`, visible(info.keys[k], UNCUT)];
  if (high >= LABELLED && row !== rows[q]) paintWhole(context, row, places.x0 + 16, y(q) + ch / 2, theme);
  if (cw >= LABELLED && key !== keys[k]) paintWhole(context, key, Math.max(left, x(k) - 8), top - 10, theme);
}

// A label that was cut, where somebody looks at its row or column.
function paintWhole(context, label, x, y, theme) {
  context.fillStyle = theme.page;
  context.fillRect(x - 4, y - 9, widest([label], 650, TYPE) + 8, 18);
  text(context, label, x, y, { colour: theme.ink, weight: 650, size: TYPE });
}

function paintTitles(context, box, { left, top, height }, { info, selection, theme }) {
  const options = { colour: theme.muted, size: SMALL };
  text(context, theme.brief ? "key" : "key: the token looked at", left, box.y + 8, options);
  const both = namedByBoth(info, selection);
  const words = both ? "query: token read → predicted" : "query: the token that looks";
  const query = theme.brief || height < 180 ? "query" : words;
  text(context, query, box.x + 8, top + 2, { ...options, turn: UPRIGHT, align: "right" });
}

// words: what the scale is of, beside it.
export function paintLegend(context, x, y, { stage, scale, theme, width = 230, words = "" }) {
  if (words) text(context, words, x + width + 14, y + 5, { colour: theme.ink });
  const colours = pixelPalette(theme.dark, kindOf(stage));
  const place = shade(stage, scale);
  const from = stage.signed ? -stage.high : 0;
  const ramp = bitmap(width, 1, (pixels) => {
    for (let i = 0; i < width; i++) pixels[i] = colours[place(from + ((stage.high - from) * i) / (width - 1))];
  });
  context.drawImage(ramp, x, y, width, 10);
  const all = stage.signed ? [-1, -0.5, 0, 0.5, 1] : [0, 0.1, 0.25, 0.5, 1];
  const few = stage.signed ? [-1, 0, 1] : [0, 0.5, 1];
  const marks = width < SHORT_SCALE ? few : all;
  for (const mark of marks) {
    const words = stage.high === 1 ? String(mark) : plain(Number((mark * stage.high).toPrecision(3)));
    const align = mark === marks[0] ? "left" : mark === 1 ? "right" : "center";
    const at = x + width * (stage.signed ? (mark + 1) / 2 : mark);
    text(context, words, at, y + 18, { colour: theme.ink, size: SMALL, align });
  }
}
