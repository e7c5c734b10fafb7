// Pointer and keyboard on the two pictures of a view.
import { chooserIn } from "#view/page/elements.js";
import { TOP } from "#view/pictures/lines.js";
import { nextHead } from "#view/pictures/many.js";
import { cellUnder } from "#view/pictures/matrix.js";
import { keyboard, moved, pointed, spot } from "#view/page/pointer.js";
import { mayLook, span } from "#view/attention/scores.js";
import { drawMain } from "#view/view/draw.js";
import { belowHead, headAtSpot } from "#view/view/layout/painting.js";
import { change, choose, inLines, infoOf, lit, sizesOf, stageNow } from "#view/attention/selection.js";
import { switchSound } from "#view/view/sound.js";
import { strongestOf } from "#view/view/words/summary.js";
import { comparePair, hasCells, putCursor, putHead, putHover } from "#view/view/readout.js";
import { visible } from "#view/text/tokens.js";
import { moveText, stepText, textSpot } from "#view/view/layout/text.js";
import { headWords } from "#view/view/words/words.js";

export function listenToPointer(view) {
  const { canvas, grid, scroller } = view.parts;
  pointed(canvas, {
    at: (event) => (inLines(view) ? tokenUnder(view, event) : cellAt(view, event)),
    put: (place) => (inLines(view) ? putHover : putCursor)(view, place),
    choose: (place) => {
      if (hasCells(view)) comparePair(view, place);
    },
  });
  pointed(grid, {
    at: (event) => headAt(view, event),
    put: (head) => putHead(view, head),
    choose: ({ at }) => choose(view, at),
  });
  sayPressed(view);
  view.parts.text.onclick = (event) => moveText(view, textSpot(view, event));
  view.parts.closes.onclick = () => change(view, { pair: null });
  scroller.onscroll = () => drawMain(view);
}

// What is under a pointer, or the keyboard is on, for the menu of changes (ui/components/js/shell/what_if.js).
function sayPressed(view) {
  const { canvas, grid, scroller } = view.parts;
  const target = (head, pair = null) => {
    if (!head) return null;
    const info = infoOf(view);
    const { first, queries, keys } = info;
    const name = `${view.selection.kind}, ${headWords(view, head)}`;
    const title = pair ? `${visible(queries[pair[0]], 40)} → ${visible(keys[pair[1]], 40)}, ${name}` : name;
    const [from, to] = pair ? span(info, pair[0], view.selection) : [0, 0];
    return { head, pair, alone: to - from === 1, first: first ?? [0, 0], title };
  };
  const head = () => [view.selection.layer, view.selection.head];
  const seen = ([query, key]) => mayLook(infoOf(view), query, key, view.selection);
  const ofCell = (pair) => (changeable(view) && pair ? target(head(), seen(pair) ? pair : null) : null);
  const beside = ({ pair }) => {
    const { cell, gutter } = view.made;
    const [query, key] = pair ?? view.cursor;
    return [
      gutter.left + (key + 0.5) * cell[0] - scroller.scrollLeft,
      gutter.top + (query + 1) * cell[1] - scroller.scrollTop,
    ];
  };
  const now = () => ofCell(view.cursor ?? [sizesOf(view)[0] - 1, 0]);
  canvas.pressed = { view, at: (event) => ofCell(cellAt(view, event)), now, beside };
  const at = (event) => target(headAt(view, event)?.at);
  const below = (one) => belowHead(view.tiles, one.head);
  grid.pressed = { view, at, now: () => target(view.at ?? head()), beside: below };
}

// Whether a cell is one that the model has: of a head, between pieces.
const changeable = (view) =>
  hasCells(view) && !inLines(view) && view.selection.of === "head" && !infoOf(view).merged && !infoOf(view).numbers;

function cellAt(view, event) {
  const { scroller, canvas } = view.parts;
  if (!hasCells(view)) return view.cursor; // which stays where it is until there are cells again
  return cellUnder(view.made, spot(event, canvas), infoOf(view), [scroller.scrollLeft, scroller.scrollTop]);
}

// The token of the lines, [side, token], or null between them.
function tokenUnder(view, event) {
  const { canvas, scroller } = view.parts;
  const { gutter, layer } = view;
  if (!layer) return null;
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

// The keyboard on the two pictures of a view.

export function listenToKeys(view) {
  const { canvas, grid, text } = view.parts;
  const enter = () => {
    if (hasCells(view) && view.cursor) comparePair(view, view.cursor);
  };
  const leave = () => {
    if (inLines(view)) putHover(view, null);
    else putCursor(view, null);
    return headControl(view);
  };
  const more = { m: () => toStrongest(view), s: () => switchSound(view) };
  keyboard(canvas, (by) => (inLines(view) ? moveToken(view, by) : moveCell(view, by)), enter, leave, more);
  const chooseHead = () => {
    if (view.at) choose(view, view.at);
  };
  keyboard(
    grid,
    (by) => moveHead(view, by),
    chooseHead,
    () => {
      putHead(view, null);
      return headControl(view);
    },
  );
  const nothing = () => {};
  keyboard(text, (by) => stepText(view, by), nothing, nothing);
}

// What says which head is looked at.
const headControl = ({ parts }) =>
  chooserIn(parts.bar, "Head") ?? parts.chips.querySelector("[aria-current=true]") ?? parts.bar.querySelector("button");

// To the largest weight of the row that the cursor is in; in lines to the other end of a token's strongest.
function toStrongest(view) {
  if (inLines(view)) return toStrongestLine(view);
  if (!hasCells(view)) return;
  const query = view.cursor?.[0] ?? sizesOf(view)[0] - 1;
  const { key } = strongestOf(infoOf(view), view.selection, stageNow(view).values, query);
  if (key === null) return;
  putCursor(view, [query, key]);
  intoSight(view);
}

function toStrongestLine(view) {
  const { q, k, values } = view.layer;
  const [side, at] = view.hover ?? [0, q - 1];
  let best = [0, -Infinity];
  for (const head of lit(view)) {
    for (let other = 0; other < (side ? q : k); other++) {
      const value = values[(head * q + (side ? other : at)) * k + (side ? at : other)];
      if (Math.abs(value) > best[1]) best = [other, Math.abs(value)];
    }
  }
  putHover(view, [1 - side, best[0]]);
}

function moveToken(view, /** @type {number[]} */ [down, across]) {
  const [side, at] = view.hover ?? [0, -down];
  const to = across ? Math.max(0, Math.min(1, side + across)) : side;
  const last = (to ? view.layer.k : view.layer.q) - 1;
  putHover(view, [to, Math.max(0, Math.min(last, at + down))]);
}

function moveCell(view, by) {
  if (!hasCells(view)) return;
  const sizes = sizesOf(view);
  putCursor(view, view.cursor ? moved(view.cursor, by, sizes) : [sizes[0] - 1, 0]);
  intoSight(view);
}

function moveHead(view, by) {
  const { layers, heads } = infoOf(view);
  const { layer, head } = view.selection;
  const ranked = view.tiles?.many && nextHead(view.tiles, view.at ?? [layer, head], by);
  const at = ranked || (view.at ? moved(view.at, by, [layers, heads]) : [layer, head]);
  putHead(view, { at });
}

function intoSight(view) {
  const { cell, gutter } = view.made;
  const box = view.parts.scroller;
  const reach = (size, at, room, now) => Math.min(Math.max(now, (at + 1) * size - room), at * size);
  box.scrollTop = reach(cell[1], view.cursor[0], box.clientHeight - gutter.top, box.scrollTop);
  box.scrollLeft = reach(cell[0], view.cursor[1], box.clientWidth - gutter.left, box.scrollLeft);
}
