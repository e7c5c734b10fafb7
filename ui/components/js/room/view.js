// What the lecturer shows, on a phone: the tokens, one head large, all heads small, and what comes next. Nothing on it
// can be chosen; a weight is read where it is tapped.
import { resized } from "#view/canvas.js";
import { prefersDark, themeOf } from "#view/colours.js";
import { part, say } from "#view/elements.js";
import { paintGrid, tileHeight, tileWidth } from "#view/grid.js";
import { cellUnder, matrixLayout, paintLegend, paintMatrix } from "#view/matrix.js";
import { OF, kindName, numbered } from "#view/names.js";
import { weightSaid } from "#view/numbers.js";
import { keyboard, moved, same, spot } from "#view/pointer.js";
import { rowSaid } from "#view/rows.js";
import { mayLook, wholeInfo } from "#view/scores.js";
import { enlarged, partSaid } from "#view/small.js";
import { withoutNext } from "#view/step_view/covered.js";
import { drawRows, shadeRows } from "#view/step_view/rows.js";
import { placed } from "#view/tokens.js";
import { layerOf, weightsOf } from "#view/weights.js";
import { drawCandidates } from "./candidates.js";
import { drawLayer, linesSaid, tokenAt } from "./layer.js";

const OTHER_STAGE = "The lecturer shows another stage; here are the weights.";
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
  parts.note.textContent = [other, partSaid(message)].filter(Boolean).join(" ");
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
  return `${kind}, ${at} · head ${numbered(info, "heads", selection.head)}`;
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
  if (layer) return say(parts.readout, picture.hover ? linesSaid(picture) : "Tap a token to see its lines alone.");
  if (!weights) return say(parts.readout, "");
  if (!cursor) return say(parts.readout, "Tap a cell to read its weight.");
  const [query, key] = cursor;
  const weight = weights[query * info.keys.length + key];
  const said = mayLook(info, query, key, selection) ? `weight ${weightSaid(weight, 4)}` : "masked, weight 0";
  say(
    parts.readout,
    `${rowSaid(info, selection, query)} looks at ${placed(info.keys, key, info.first?.[1])}: ${said}`,
    {
      query,
      key,
      weight,
    },
  );
}
