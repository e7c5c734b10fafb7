// The pointer on the two pictures of a view.
import { TOP } from "#view/lines.js";
import { cellUnder } from "#view/matrix.js";
import { spot } from "#view/pointer.js";
import { drawMain } from "#view/view/draw.js";
import { change, choose, infoOf, inLines } from "#view/view/selection.js";
import { headAtSpot } from "#view/view/painting.js";
import { moveText, textSpot } from "#view/view/text.js";
import { comparePair, hasCells, putCursor, putHead, putHover } from "#view/view/tell.js";

export function listenToPointer(view) {
  const { canvas, grid, scroller } = view.parts;
  canvas.onpointermove = (event) => {
    if (inLines(view)) putHover(view, view.layer ? tokenUnder(view, event) : null);
    else if (hasCells(view)) putCursor(view, cellAt(view, event));
  };
  canvas.onpointerleave = () => (inLines(view) ? putHover(view, null) : putCursor(view, null));
  canvas.onclick = (event) => {
    const pair = hasCells(view) && cellAt(view, event);
    if (pair) comparePair(view, pair);
  };
  grid.onpointermove = (event) => {
    const head = headAt(view, event);
    putHead(view, head);
  };
  grid.onpointerleave = () => putHead(view, null);
  grid.onclick = (event) => {
    const head = headAt(view, event);
    if (head) choose(view, head.at);
  };
  view.parts.text.onclick = (event) => moveText(view, textSpot(view, event));
  view.parts.closes.onclick = () => change(view, { pair: null });
  scroller.onscroll = () => drawMain(view);
}

function cellAt(view, event) {
  const { scroller, canvas } = view.parts;
  return cellUnder(view.made, spot(event, canvas), infoOf(view), [scroller.scrollLeft, scroller.scrollTop]);
}

// The token of the lines, [side, token], or null between them.
function tokenUnder(view, event) {
  const { canvas, scroller } = view.parts;
  const { gutter, layer } = view;
  const [x, y] = spot(event, canvas);
  const at = Math.floor((y - TOP + scroller.scrollTop) / view.row);
  const right = x > canvas.offsetWidth - gutter.right;
  const beside = (x > gutter.left && !right) || at < 0 || at >= (right ? layer.k : layer.q);
  return beside ? null : [right ? 1 : 0, at];
}

function headAt(view, event) {
  const { layers, heads } = infoOf(view);
  return view.tiles ? headAtSpot(view.tiles, spot(event, view.parts.grid), [layers, heads]) : null;
}
