// Draws everything of a view, each time anything has changed.
import { sized, zoomOf } from "#view/drawing/canvas.js";
import { checked } from "#view/attention/checks.js";
import { headColour } from "#view/drawing/colours.js";
import { part, say } from "#view/page/elements.js";
import { ROW, fittingRow, linesGutter, linesHeight, paintLines } from "#view/pictures/lines.js";
import { paintLegend, paintMatrix } from "#view/pictures/matrix.js";
import { plain } from "#view/text/numbers.js";
import { SAME_WEIGHT, added, dot, mayLook, ownWeight, paintProducts, rowsOf, score } from "#view/attention/scores.js";
import { missingText } from "#view/attention/stages.js";
import { spoken, visible } from "#view/text/tokens.js";
import { ordering } from "#view/view/layout/ordering.js";
import { gridOf, matrixOf, paintHeads } from "#view/view/layout/painting.js";
import { allLit, boxed, change, inLines, inModel, infoOf, lit, sizesOf, stageNow } from "#view/attention/selection.js";
import { inSight, layout, roomOfGrid, setZoom, tallest } from "#view/view/layout/sizes.js";
import { onPhone } from "#view/page/window.js";
import { summary } from "#view/view/words/summary.js";
import { drawText, placeText } from "#view/view/layout/text.js";
import { toolbar } from "#view/view/toolbar.js";
import {
  atRest,
  briefly,
  caption,
  headName,
  heading,
  known,
  mergedText,
  shows,
  source,
} from "#view/view/words/words.js";
import { layerOf } from "#view/attention/weights.js";

const SCALE = { wide: 230, beside: 30 }; // px of the scale of the colours, and of its canvas beside it
const SCALE_ON_PHONE = { wide: 92, beside: 8 };

export function draw(view) {
  const { root, parts, selection } = view;
  const words = atRest(view);
  if (!view.pointing) say(parts.readout, words);
  setZoom(view);
  place(view);
  toolbar(view);
  describe(view, words);
  drawChips(view);
  drawBetween(view);
  drawGrid(view);
  placeText(view);
  drawMain(view);
  drawText(view);
  view.drawn?.();
  if (root.classList.contains("waiting")) return;
  if (inModel(view)) return; // which says so itself
  const { whole, queries } = infoOf(view);
  root.dataset.drawn = [selection.kind, selection.layer, selection.head, whole?.[0] ?? queries.length];
}

// In a box on a narrow window all heads stand below the first screen, and a product lies over the picture.
function place(view) {
  const { parts } = view;
  if (!boxed(view)) return;
  const phone = onPhone();
  const [side, between] = phone ? [view.below, parts.main] : [parts.panes, parts.side];
  if (parts.side.parentElement !== side) side.append(parts.side);
  if (parts.between.parentElement !== between) between.append(parts.between);
}

// Beside a heading, where it does not spell out how scores are made, or what is moved.
const hasRoom = ({ view, stage }) => view === "lines" || ["weights", "masked"].includes(stage);

function describe(view, words) {
  const { parts, message, selection } = view;
  const { layers, heads, groups } = infoOf(view);
  const keys = "Arrow keys move between tokens, M goes to the largest of a row, S switches sound, Enter compares two";
  const matrix = `${shows(view)}. ${summary(view, spoken)} ${keys}, Escape leaves.`;
  const shared = groups ? `; every ${heads / groups} that follow each other share keys and values` : "";
  const grid = `All ${selection.kind} heads, ${layers} layers of ${heads}${shared}`;
  const more = boxed(view) && !onPhone() && !view.large && hasRoom(selection) && briefly(view);
  parts.title.textContent = more ? `${heading(view)} · ${more}` : heading(view);
  parts.source.textContent = message.standalone ? caption(view)[1] : source(view);
  parts.title.title = source(view);
  parts.checked.textContent = boxed(view) ? "" : [summary(view), mergedText(view) || known(view)].join(" ");
  const check = checked(message, selection);
  const all = words.includes(check) ? words : `${words} ${check}`;
  parts.readout.title = boxed(view) ? all : ""; // it has two lines there
  parts.canvas.setAttribute("aria-label", matrix);
  parts.grid.setAttribute("aria-label", `${grid}. Arrow keys move between heads, Enter chooses, Escape leaves.`);
}

function drawChips(view) {
  const { parts, theme } = view;
  const { heads } = infoOf(view);
  const on = new Set(lit(view));
  const few = boxed(view) && onPhone(); // then a chip has its number alone, and all are in one row
  parts.chips.hidden = !inLines(view);
  if (parts.chips.hidden) return;
  const chips = Array.from({ length: heads }, (_, head) => {
    const title = "click: on or off; double click: only this one";
    const name = headName(view, head);
    const chip = part("button", { textContent: few ? name.replace("head ", "") : name, ariaLabel: name, title });
    chip.ariaPressed = String(on.has(head));
    chip.ariaCurrent = String(head === view.selection.head);
    chip.style.setProperty("--head", headColour(head, heads, theme.dark));
    chip.onclick = (event) => {
      if (event.detail > 1) return change(view, { lit: [head], head });
      const next = new Set(lit(view));
      if (!next.delete(head)) next.add(head);
      change(view, { lit: next.size === heads ? allLit(view) : [...next].sort((a, b) => a - b) });
    };
    return chip;
  });
  const onclick = () => change(view, { lit: allLit(view) });
  const all = part("button", { textContent: "all", className: "all", onclick });
  parts.chips.replaceChildren(...(few ? ["Heads "] : []), ...chips, all);
}

export function drawGrid(view) {
  const { parts } = view;
  const grid = gridOf(view);
  if (!grid || parts.grid.hidden) return;
  const { layers, heads } = grid.info;
  const width = parts.side.clientWidth;
  ordering(view, grid);
  const natural = grid.many ? 560 : Math.min(560, 40 + layers * (14 + Math.min(110, width / heads)));
  const height = Math.min(natural, boxed(view) ? roomOfGrid(view) : tallest(view));
  const box = { x: 0, y: 0, width, height };
  view.tiles = paintHeads(sized(view, parts.grid, width, height), box, { ...grid, at: view.at });
}

// The picture of the whole model is fetched when it is first asked for; a page of its own brings it along.
/** @type {((view: any) => void) | null} */
let showModel = null;
export function provideModel(show) {
  showModel = show;
}

function drawModel(view) {
  if (showModel) return view.message.model && showModel(view);
  import("#view/model/model_view.js").then((module) => {
    provideModel(module.showModel);
    view.redraw();
  });
}

export function drawMain(view) {
  view.root.classList.toggle("modelled", inModel(view));
  // said above too: a style with :has() there would be found anew for all of it with every element that comes or goes
  view.root.closest(".step-view")?.classList.toggle("of-model", inModel(view));
  if (inModel(view)) drawModel(view);
  else if (inLines(view)) drawLines(view);
  else drawMatrix(view);
}

function drawLines(view) {
  const { root, parts, message, selection, theme, hover } = view;
  const layer = layerOf(message, selection);
  root.classList.toggle("waiting", layer === null);
  if (!layer) {
    parts.why.textContent = message.standalone ? missingText(message) : "";
    parts.scroller.hidden = message.standalone;
    return;
  }
  const width = parts.scroller.clientWidth;
  const gutter = linesGutter(infoOf(view), selection, lit(view), width);
  const row = boxed(view) ? fittingRow(layer, infoOf(view), tallest(view)) : ROW;
  const height = linesHeight(layer, row);
  const tall = boxed(view) ? tallest(view) : Math.min(height, tallest(view));
  Object.assign(view, { gutter, layer, row });
  parts.scroller.hidden = false;
  parts.legend.hidden = true; // its scale is the matrix's
  parts.spacer.style.cssText = `width: ${width}px; height: ${height}px`;
  if (!boxed(view)) parts.scroller.style.height = `${tall}px`;
  const cut = `Lines show the last ${layer.q} queries and ${layer.k} keys: more are not sent at once.`;
  const more = infoOf(view).whole ? "more" : "all";
  parts.why.textContent = layer.first.some(Boolean) ? `${cut} The matrix shows ${more}.` : "";
  const painting = {
    info: infoOf(view),
    selection,
    layer,
    lit: lit(view),
    hover: hover ?? (message.step_view?.brief ? [0, layer.q - 1] : null), // at first the lines of one token are enough
    scroll: parts.scroller.scrollTop,
    theme,
    gutter,
    row,
  };
  paintLines(sized(view, parts.canvas, width, tall), { x: 0, y: 0, width, height: tall }, painting);
}

function drawMatrix(view) {
  const { root, parts, selection, theme } = view;
  const stage = stageNow(view);
  const waiting = stage.why === "…";
  root.classList.toggle("waiting", waiting);
  if (waiting) return;
  parts.why.textContent = stage.why ?? "";
  parts.scroller.hidden = parts.legend.hidden = !stage.values;
  if (!stage.values) return;
  const width = parts.scroller.clientWidth;
  const { made, tall } = laidOut(view, width);
  parts.spacer.style.cssText = `width: ${made.width}px; height: ${made.height}px`;
  if (!boxed(view)) parts.scroller.style.height = `${tall + (made.width > width ? 14 : 0)}px`;
  view.made = made;
  toNewest(view);
  const seen = Math.min(made.height, parts.scroller.clientHeight); // where scroll bars take no room, all of it
  const { scrollLeft, scrollTop } = parts.scroller;
  const painting = { ...matrixOf(view), scroll: [scrollLeft, scrollTop], cursor: view.cursor, zoom: zoomOf(view) };
  const context = sized(view, parts.canvas, Math.min(width, made.width), seen);
  paintMatrix(context, { x: 0, y: 0, width, height: seen }, painting);
  const { wide, beside } = boxed(view) && onPhone() ? SCALE_ON_PHONE : SCALE;
  const legend = { stage, scale: selection.scale, theme, width: wide };
  paintLegend(sized(view, parts.legend, wide + beside, 30), 4, 2, legend);
}

function laidOut(view, width) {
  const fitted = () => {
    const made = layout(view, width, view.zoom);
    return { made, tall: Math.min(made.height, tallest(view)) };
  };
  const first = fitted();
  const unseen = view.large && inSight(view, first.made, width, first.tall);
  if (!unseen) return first;
  view.parts.title.textContent = `${heading(view)} · ${unseen} in sight`; // which may then take a second line
  return fitted();
}

// Scrolls to the newest row where rows scroll, on a projector and a phone, and to what it has just read. It stays in
// sight in a window that changes, until somebody scrolls.
function toNewest(view) {
  const { parts, selection, made, large } = view;
  const { scroller } = parts;
  const newest = `${selection.kind} ${infoOf(view).queries.length}`;
  if (!(large || onPhone())) return;
  const further = view.newest !== newest;
  if (!further && scroller.scrollTop !== view.newestAt) return;
  scroller.scrollTop = made.height;
  if (further && selection.kind === "decoder") scroller.scrollLeft = made.width;
  Object.assign(view, { newest, newestAt: scroller.scrollTop });
}

function drawBetween(view) {
  const { parts, message, selection, theme } = view;
  const pair = !inLines(view) && !inModel(view) && selection.pair;
  const rows = pair ? rowsOf(message, selection) : null;
  parts.between.hidden = !rows;
  // where they stand side by side, a product takes the place of all heads until it is closed
  parts.grid.hidden = parts.sideTitle.hidden = parts.order.hidden = Boolean(rows) && boxed(view) && !onPhone();
  if (!rows) return;
  const weight = stageNow(view).weights[pair[0] * sizesOf(view)[1] + pair[1]];
  parts.sum.textContent = sumOf(view, rows, pair, weight);
  Object.assign(parts.between.dataset, { score: score(rows, ...pair), weight, products: rows.width });
  const width = (boxed(view) ? parts.between.clientWidth : parts.scroller.clientWidth) || 300;
  const box = { x: 0, y: 0, width, height: 134 };
  paintProducts(sized(view, parts.products, width, 134), box, { rows, pair, theme });
  parts.products.setAttribute("role", "img");
  parts.products.setAttribute("aria-label", "the products of query and key, in the order of head_dim");
}

function sumOf(view, rows, /** @type {number[]} */ [query, key], weight) {
  const { queries, keys, first = [0, 0] } = infoOf(view);
  const made = !mayLook(infoOf(view), query, key, view.selection)
    ? "the mask turns it into −∞, so the weight is 0."
    : Math.abs(ownWeight(infoOf(view), rows, [query, key], view.selection) - weight) < SAME_WEIGHT
      ? `the softmax over the row makes it the weight ${plain(weight)}.`
      : `what is changed makes it the weight ${plain(weight)}.`;
  const from = `${visible(queries[query])} (query ${query + first[0]})`;
  const pair = `Between ${from} and ${visible(keys[key])} (key ${key + first[1]})`;
  const sum = `the ${rows.width} products q·k add up to ${dot(rows, query, key).toFixed(2)}`;
  const positions = rows.bias ? `, with the ${plain(added(rows, query, key))} that positions add,` : "";
  const { scale, cap } = rows;
  const by = scale === undefined ? `divided by √${rows.width}` : `multiplied by ${plain(scale)}`;
  const capped = cap ? `${positions ? "" : ","} capped at ±${cap},` : "";
  const divided = `${by}${positions}${capped} that is the score ${plain(score(rows, query, key))}`;
  const bars = "The products, one for each dimension of the head: blue raises the score, red lowers it.";
  return `${pair}: ${sum}; ${divided}; ${made} ${bars}`;
}
