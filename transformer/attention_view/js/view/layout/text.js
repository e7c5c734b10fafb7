// A long text as a whole: the head looked at, small, with a frame round what of it is drawn large; a click moves that.
import { bitmap, sized } from "#view/drawing/canvas.js";
import { channels, pixelOf, pixelPalette } from "#view/drawing/colours.js";
import { shutCells } from "#view/pictures/grid.js";
import { spot } from "#view/page/pointer.js";
import { mayLook, wholeInfo } from "#view/attention/scores.js";
import { change, infoOf, inLines, inModel, sizesOf } from "#view/attention/selection.js";
import { onPhone } from "#view/page/window.js";

const TEXT_SIZE = 132; // px
const TEXT_ON_PHONE = 84;

// Before the picture is drawn: what no query may look at is free in the corner; where that is not so, it makes room.
export function placeText(view) {
  const { parts } = view;
  const info = infoOf(view);
  const free = info.whole && !inLines(view) && !mayLook(info, 0, info.keys.length - 1, view.selection);
  parts.text.hidden = !info.whole;
  parts.main.classList.toggle("beside", Boolean(info.whole) && !free);
}

export function drawText(view) {
  const { parts, message, theme } = view;
  const info = infoOf(view);
  const cells = message.arrays.text;
  if (!info.whole || inModel(view)) return;
  const size = onPhone() ? TEXT_ON_PHONE : TEXT_SIZE;
  const context = sized(view, parts.text, size, size);
  context.fillStyle = theme.forbidden;
  context.fillRect(0, 0, size, size);
  context.imageSmoothingEnabled = false;
  if (cells) context.drawImage(picture(cells, message.shapes.text, view), 0, 0, size, size);
  parts.text.style.top = `${parts.scroller.offsetTop + (inLines(view) ? 0 : view.made.gutter.top)}px`;
  const [x, y, width, height] = frame(info, size);
  context.lineWidth = 3;
  context.strokeStyle = theme.mark;
  context.strokeRect(x, y, width, height);
  const said = `${range(info, 0)} look at ${range(info, 1)}`;
  parts.text.title = `The whole text. Large: ${said}. Click where to look.`;
  parts.text.setAttribute("aria-label", `The whole text; drawn large: ${said}. Arrow keys move that.`);
}

function picture(cells, /** @type {number[]} */ [R, C], view) {
  const { theme, selection } = view;
  const colours = pixelPalette(theme.dark, "plain");
  const forbidden = pixelOf(channels(theme.forbidden));
  const shut = shutCells(wholeInfo(infoOf(view), selection), C, R, selection);
  return bitmap(C, R, (pixels) => {
    cells.forEach((cell, at) => {
      pixels[at] = shut[at] ? forbidden : colours[256 + Math.round((256 * cell) / 255)];
    });
  });
}

function frame({ whole: [Q, K], first: [q, k], queries, keys }, size) {
  const at = [(k / K) * size, (q / Q) * size, (keys.length / K) * size, (queries.length / Q) * size];
  return at.map((one, side) => (side < 2 ? Math.max(2, one) : Math.max(5, one - 3)));
}

// The first and the last token drawn of a side, and of how many.
export function range({ whole, first, queries, keys }, side) {
  const drawn = [queries, keys][side].length;
  const [from, to, all] = [first[side], first[side] + drawn - 1, whole[side]].map((n) => n.toLocaleString("en"));
  return `${["queries", "keys"][side]} ${from} to ${to} of ${all}`;
}

// The query and the key at a point of it.
export function textSpot({ parts, ...view }, event) {
  const { whole } = infoOf(view);
  const [x, y] = spot(event, parts.text);
  return [(y / parts.text.offsetHeight) * whole[0], (x / parts.text.offsetWidth) * whole[1]];
}

// What is drawn large moves to have that query and key in its middle.
export function moveText(view, /** @type {number[]} */ [query, key]) {
  const { whole } = infoOf(view);
  const start = sizesOf(view).map((size, side) => {
    const middle = Math.round([query, key][side] - size / 2);
    return Math.max(0, Math.min(whole[side] - size, middle));
  });
  change(view, { start, pair: null });
}

export function stepText(view, by) {
  const { first } = infoOf(view);
  const middle = sizesOf(view).map((size, side) => first[side] + size / 2 + by[side] * (size / 2));
  moveText(view, middle);
}
