// What the lecturer shows, on a phone: the tokens, one head large, all heads small, and what comes next. Nothing on it
// can be chosen; a weight is read where it is tapped.
import { resized, textWidth, widest } from "#view/drawing/canvas.js";
import { prefersDark, themeOf } from "#view/drawing/colours.js";
import { part, say } from "#view/page/elements.js";
import { paintGrid, tileHeight, tileWidth } from "#view/pictures/grid.js";
import { TOP, fittingRow, linesHeight, paintLines } from "#view/pictures/lines.js";
import { cellUnder, matrixLayout, paintLegend, paintMatrix } from "#view/pictures/matrix.js";
import { OF, kindName, numbered } from "#view/text/names.js";
import { withoutNext } from "#view/message/message.js";
import { inPercent, short, weightText } from "#view/text/numbers.js";
import { enlarged, partText } from "#view/message/phone.js";
import { keyboard, moved, same, spot } from "#view/page/pointer.js";
import { rowLabels, rowText } from "#view/pictures/rows.js";
import { mayLook, wholeInfo } from "#view/attention/scores.js";
import { drawRows, letKeyboardScroll, shadeRows } from "#view/step_view/rows.js";
import { placed, visible } from "#view/text/tokens.js";
import { layerOf, weightsOf } from "#view/attention/weights.js";

const OTHER_STAGE = "The lecturer shows another stage; here are the weights.";
const OTHER_VIEW = "On the screen is the whole model; here is the head that it is near.";
const WIDEST_LEGEND = 230; // px

// The elements, made once for `root`.
export function newPicture(root) {
  const canvas = (className) => part("canvas", { className, tabIndex: 0 });
  const parts = {
    rows: part("div", { className: "rows" }),
    title: part("h2"),
    note: part("p", { className: "note" }),
    matrix: canvas("matrix"),
    legend: part("canvas", { className: "legend", ariaHidden: "true" }),
    readout: part("output", { className: "readout", ariaLive: "polite" }),
    gridTitle: part("h2"),
    grid: part("canvas", { className: "grid", role: "img" }),
    bars: part("div", { className: "candidates" }),
    source: part("p", { className: "source" }),
  };
  const { rows, title, note, matrix, legend, readout, gridTitle, grid, bars, source } = parts;
  matrix.setAttribute("role", "application");
  root.replaceChildren(rows, title, note, matrix, legend, readout, bars, gridTitle, grid, source);
  const picture = { root, parts, message: null, cursor: null, hover: null };
  listenToPicture(picture);
  return picture;
}

// message: what the lecturer's page was sent; see message.py.
export function showPicture(picture, sent) {
  if (picture.sent === sent) return;
  const whole = enlarged(sent);
  const message = sent.step_view?.hide ? withoutNext(whole) : whole;
  const { selection } = message;
  Object.assign(picture, { sent, message, selection, cursor: null, hover: null });
  picture.info = message.kinds[selection.kind];
  const { rows, bars, source } = picture.parts;
  rows.hidden = !message.step_view;
  if (message.step_view) {
    drawRows({ parts: { rows }, data: message.step_view });
    letKeyboardScroll(rows);
    shadeRows({ parts: { rows, picture: { view: picture } }, data: message.step_view, message });
  }
  drawCandidates(bars, message.step_view);
  source.textContent = (message.about.checkpoint ?? "").split("@")[0]; // which a class knows it by
  redrawPicture(picture);
}

// Its canvases anew: for another width, or other colours.
export function redrawPicture(picture) {
  if (!picture.message) return;
  const { message, selection, parts } = picture;
  picture.theme = themeOf(prefersDark());
  picture.width = Math.max(200, picture.root.clientWidth);
  picture.layer = selection.view === "lines" ? layerOf(message, selection) : null;
  picture.weights = weightsOf(message, selection);
  parts.title.textContent = titleOf(picture);
  const other = message.asked !== "weights" && !picture.layer ? OTHER_STAGE : "";
  const near = selection.view === "model" ? OTHER_VIEW : "";
  parts.note.textContent = [near, other, partText(message)].filter(Boolean).join(" ");
  parts.matrix.hidden = !picture.weights && !picture.layer;
  parts.legend.hidden = !picture.weights || Boolean(picture.layer);
  if (picture.layer) drawLayer(picture);
  else if (picture.weights) drawHead(picture);
  drawHeads(picture);
  tellSpot(picture);
}

function titleOf({ selection, info, layer }) {
  const kind = `${kindName(selection.kind)} attention`;
  const at = `layer ${numbered(info, "layers", selection.layer)}`;
  if (layer) return `${kind}, ${at}`;
  if (selection.of !== "head") return `${kind}, ${OF[selection.of](info, selection)}`;
  return `${kind}, ${at}, head ${numbered(info, "heads", selection.head)}`;
}

const stageOfWeights = (weights) => ({ values: weights, low: 0, high: 1, signed: false });

function drawHead(picture) {
  const { parts, info, selection, width, theme, message, cursor, weights } = picture;
  const made = matrixLayout(info, width, { selection });
  picture.made = made;
  const size = { width: Math.min(width, made.width), height: made.height };
  const context = resized(parts.matrix, size.width, size.height);
  const stage = stageOfWeights(weights);
  const { cell, gutter } = made;
  const painting = {
    info,
    stage,
    selection,
    cell,
    gutter,
    scroll: [0, 0],
    cursor,
    newest: message.newest,
    theme,
  };
  paintMatrix(context, { x: 0, y: 0, ...size }, painting);
  const legend = Math.min(WIDEST_LEGEND, width - 20);
  paintLegend(resized(parts.legend, legend + 20, 30), 10, 2, { stage, scale: selection.scale, theme, width: legend });
  parts.matrix.setAttribute(
    "aria-label",
    `${titleOf(picture)}: ${info.queries.length} by ${info.keys.length} weights. Arrow keys read one at a time.`,
  );
}

function drawHeads({ parts, message, selection, info, width, theme }) {
  const cells = message.arrays[`grid/${selection.kind}`];
  parts.grid.hidden = parts.gridTitle.hidden = !cells;
  if (!cells) return;
  const shape = message.shapes[`grid/${selection.kind}`];
  const [queries, keys] = [info.queries.length, info.keys.length];
  const ahead = info.ahead ?? { queries: [], keys: [] };
  const tall = tileHeight(tileWidth(width, shape[1]), queries + ahead.queries.length, keys + ahead.keys.length);
  const height = Math.min(560, 40 + shape[0] * (tall + 4));
  const context = resized(parts.grid, width, height);
  const cut = queries < message.of[0] || keys < message.of[1];
  const drawn = cut ? wholeInfo({ ...info, whole: message.of }, selection) : info;
  const grid = { info: drawn, cells, shape, selection, at: null, theme, scale: selection.scale };
  paintGrid(context, { x: 0, y: 0, width, height }, grid);
  parts.gridTitle.textContent = `All ${shape[0] * shape[1]} heads`;
  parts.grid.setAttribute("aria-label", `${shape[0]} layers of ${shape[1]} heads, small.`);
}

function listenToPicture(picture) {
  const { matrix } = picture.parts;
  const point = (event) => {
    const at = spot(event, matrix);
    if (picture.layer) putToken(picture, tokenAt(picture, at));
    else if (picture.weights) putCell(picture, cellUnder(picture.made, at, picture.info));
  };
  matrix.onclick = point;
  matrix.onpointermove = (event) => {
    if (event.pointerType === "mouse") point(event);
  };
  const step = (by) => {
    if (picture.layer || !picture.weights) return;
    const { queries, keys } = picture.info;
    const from = picture.cursor ?? [queries.length - 1, 0];
    putCell(picture, picture.cursor ? moved(from, by, [queries.length, keys.length]) : from);
  };
  const leave = () => (picture.layer ? putToken(picture, null) : putCell(picture, null));
  keyboard(matrix, step, () => {}, leave);
}

function putCell(picture, to) {
  if (same(to, picture.cursor)) return;
  picture.cursor = to;
  drawHead(picture);
  tellSpot(picture);
}

function putToken(picture, to) {
  if (same(to, picture.hover)) return;
  picture.hover = to;
  drawLayer(picture);
  tellSpot(picture);
}

function tellSpot(picture) {
  const { parts, cursor, info, selection, weights, layer } = picture;
  if (layer) return say(parts.readout, picture.hover ? linesText(picture) : "Tap a token to see its lines alone.");
  if (!weights) return say(parts.readout, "");
  if (!cursor) return say(parts.readout, "Tap a cell to read its weight.");
  const [query, key] = cursor;
  const weight = weights[query * info.keys.length + key];
  const said = mayLook(info, query, key, selection) ? `weight ${weightText(weight, 4)}` : "masked, weight 0";
  say(
    parts.readout,
    `${rowText(info, selection, query)} looks at ${placed(info.keys, key, info.first?.[1])}: ${said}`,
    {
      query,
      key,
      weight,
    },
  );
}

// What may come next, or the classes of a text, as bars that nobody can choose.

const LEAST_BAR = 0.005; // what is less likely has no bar that could be seen
const MOST_BARS = 8;

function drawCandidates(root, stepView) {
  const bars = stepView?.bars;
  root.hidden = !bars;
  if (!bars) return;
  const title = part("h2", { textContent: stepView.hide ? `${bars.title} (hidden)` : bars.title });
  if (stepView.hide) {
    root.replaceChildren(title);
    return;
  }
  const rows = bars.rows.slice(0, MOST_BARS).filter((row, at) => at < bars.least || row.probability >= LEAST_BAR);
  const named = rows.map((row) => [bars.tokens ? visible(row.label).slice(1, -1) : row.label, row.probability, row]);
  const left = bars.rows.slice(rows.length).filter((row) => !row.excluded);
  const rest = bars.rest === null ? 0 : left.reduce((all, row) => all + row.probability, bars.rest);
  if (rest > 0) named.push(["all others", rest, { others: true }]);
  const list = part("ul", { ariaLabel: bars.label }, ...named.map((one) => candidateRow(...one)));
  root.replaceChildren(title, list);
  if (bars.note) root.append(part("p", { className: "note", textContent: bars.note }));
}

function candidateRow(label, probability, row) {
  const bar = part("i");
  bar.style.width = `${probability < LEAST_BAR ? 0 : 100 * probability}%`;
  const line = part("span", { className: "line", ariaHidden: "true" }, bar);
  const name = part("bdi", { textContent: label });
  const element = part("li", {}, name, line, part("span", { textContent: inPercent(probability) }));
  element.className = ["chosen", "excluded", "others"].filter((kind) => row[kind]).join(" ");
  return element;
}

// The heads of a layer as lines between tokens, on a phone: the weights of a token that is tapped are said below, so
// they need no room beside the lines.

const MOST_SAID = 3; // lines of one token
const TALL = 420; // px that they fill where there are few

const litOf = ({ selection, info }) => selection.lit ?? Array.from({ length: info.heads }, (_, head) => head);

function drawLayer(picture) {
  const { parts, info, selection, layer, width, theme, hover } = picture;
  const lit = litOf(picture);
  const gutter = slimGutter(info, selection, width);
  const row = Math.max(14, fittingRow(layer, info, TALL));
  const height = linesHeight(layer, row);
  Object.assign(picture, { gutter, row });
  const context = resized(parts.matrix, width, height);
  const painting = { info, selection, layer, lit, hover, scroll: 0, theme, gutter, row };
  paintLines(context, { x: 0, y: 0, width, height }, painting);
  parts.matrix.setAttribute(
    "aria-label",
    `${parts.title.textContent}: lines between tokens, stronger for larger weights.`,
  );
}

function slimGutter(info, selection, width) {
  const most = 0.36 * width;
  const left = Math.min(most, widest(rowLabels(info, selection, most)));
  return { number: 0, room: most, left: left + 4, right: Math.min(most, textWidth(info.keys)) + 4 };
}

// The token of the lines at a place, [side, token], or null.
function tokenAt({ gutter, layer, row, width }, /** @type {number[]} */ [x, y]) {
  const at = Math.floor((y - TOP) / row);
  const right = x > width - gutter.right;
  const beside = (x > gutter.left && !right) || at < 0 || at >= (right ? layer.k : layer.q);
  return beside ? null : [right ? 1 : 0, at];
}

// The strongest lines of the token that is tapped.
function linesText(picture) {
  const { info, selection, layer, hover } = picture;
  const [side, token] = hover;
  const { values, q: Q, k: K, first } = layer;
  const found = litOf(picture).flatMap((head) =>
    Array.from({ length: side ? Q : K }, (_, at) => {
      const [query, key] = side ? [at, token] : [token, at];
      return { head, other: first[1 - side] + at, weight: values[(head * Q + query) * K + key] };
    }),
  );
  found.sort((one, two) => two.weight - one.weight);
  const words = found.slice(0, MOST_SAID).map(({ head, other, weight }) => {
    const name = placed(side ? info.queries : info.keys, other, info.first?.[1 - side]);
    return `${name} about ${short(weight)} (head ${numbered(info, "heads", head)})`;
  });
  const at = first[side] + token;
  const says = side
    ? `${placed(info.keys, at, info.first?.[1])} is looked at by`
    : `${rowText(info, selection, at)} looks at`;
  return `${says} ${words.join(", ")}`;
}
