// Tokens that look on the left, tokens looked at on the right, a line for each weight, a colour for each head.
import SHARED from "#view/message/shared.json";
import { text, textWidth, widest } from "#view/drawing/canvas.js";
import { headColour, SIGNED } from "#view/drawing/colours.js";
import { figure, short } from "#view/text/numbers.js";
import { ROOM, rowLabels } from "#view/pictures/rows.js";
import { visible } from "#view/text/tokens.js";
/** @import { AttentionKind, Selection } from "#view/message/fields.js" */

export const ROW = 22;
export const TOP = 30;
const FAINTEST = SHARED.faintest / 255; // a weaker line is not drawn
const LEVELS = 8;
const LEAST_LINES = 60; // px of their width
const UNNAMED = 480; // px; in less a number says by its colour alone whose it is
const LOOKS = "query: looks";
const LOOKED_AT = "key: looked at";

// How tall the picture of a layer is.
export const linesHeight = ({ q, k }, row = ROW) => TOP + 4 + Math.max(q, k) * row;

// The height of a row with which so many tokens fill a box, those that are yet to come with them.
export const fittingRow = ({ q, k }, { ahead }, tall) =>
  Math.max(8, Math.min(34, (tall - TOP - 4) / Math.max(q + (ahead?.queries.length ?? 0), k)));

/** @param {AttentionKind} info */
function wordsOf(info, weight, head, named) {
  const words = info.open ? figure(weight, info.open.most) : short(weight);
  return named ? `${words}, head ${head}` : words;
}

// The room beside the lines: for the tokens, and for the number that hovering puts there, with its head where there
// are several and it has room; the lines themselves keep some of the width.
/**
 * @param {AttentionKind} info
 * @param {Selection} selection
 */
export function linesGutter(info, selection, lit, width) {
  const named = lit.length > 1 && width >= UNNAMED;
  const most = (info.open?.most ?? 0.996) * (info.open?.signed ? -1 : 1);
  const number = textWidth([wordsOf(info, most, info.heads - 1, named)], 650) + 10;
  const rest = width - 2 * (number + 8) - LEAST_LINES;
  const room = Math.max(60, Math.min(ROOM, 0.6 * rest));
  const left = number + 8 + Math.min(room, widest(rowLabels(info, selection, room)));
  const right = number + 8 + Math.max(30, Math.min(130, 0.4 * rest, textWidth(info.keys)));
  return { number, named, room, left, right };
}

// painting: {info, look, layer, lit, hover, scroll, theme, gutter, row}; hover: [side, token] or null; lit: the heads
// that are drawn; a gutter without a number leaves weights out.
export function paintLines(context, box, painting) {
  const { info, selection, layer, lit, scroll, theme, gutter, row = ROW } = painting;
  const top = box.y + TOP - scroll;
  const places = {
    left: box.x + gutter.left,
    right: box.x + box.width - gutter.right,
    y: (at) => top + at * row + row / 2,
    size: Math.min(13, row * 0.85),
    bottom: box.y + box.height,
    box,
  };
  context.save();
  context.beginPath();
  context.rect(box.x, box.y + 18, box.width, box.height - 18);
  context.clip();
  for (const [nth, head] of lit.entries()) paintHead(context, places, painting, nth, head);
  const keys = info.keys.map((token) => visible(token));
  const queries = rowLabels(info, selection, gutter.room);
  paintSide(context, places, painting, { side: 0, labels: queries, count: layer.q, x: places.left });
  paintSide(context, places, painting, { side: 1, labels: keys, count: layer.k, x: places.right });
  context.restore();
  const options = { colour: theme.muted };
  const left = Math.max(places.left, box.x + textWidth([LOOKS]));
  text(context, LOOKS, left, box.y + 8, { ...options, align: "right" });
  text(context, LOOKED_AT, Math.min(places.right, box.x + box.width - textWidth([LOOKED_AT])), box.y + 8, options);
}

// One head's lines, in buckets of equal strength: far fewer strokes than lines.
function paintHead(context, { left, right, y, bottom, box }, { info, layer, lit, hover, theme }, nth, head) {
  const { values, q: Q, k: K } = layer;
  const whole = info.open?.most ?? 1;
  /** @type {number[][]} */
  const levels = Array.from({ length: 2 * LEVELS }, () => []); // the lower half for what is below 0
  const apart = Math.min(3, 16 / lit.length); // lines of several heads lie side by side
  const aside = (nth - (lit.length - 1) / 2) * apart;
  const inSight = (a, b) => !(Math.max(y(a), y(b)) < box.y || Math.min(y(a), y(b)) > bottom);
  for (let q = 0; q < Q; q++) {
    for (let k = 0; k < K; k++) {
      if (hover && hover[1] !== (hover[0] ? k : q)) continue;
      const weight = values[(head * Q + q) * K + k];
      const strength = Math.abs(weight) / whole;
      if (strength < FAINTEST || !inSight(q, k)) continue;
      levels[Math.min(LEVELS - 1, Math.floor(strength * LEVELS)) + (weight < 0 ? LEVELS : 0)].push(q, k);
    }
  }
  levels.forEach((ends, at) => {
    if (!ends.length) return;
    const level = at % LEVELS;
    context.strokeStyle = lineColour(info, head, at >= LEVELS ? -1 : 1, theme);
    context.globalAlpha = (level + 0.6) / LEVELS;
    context.lineWidth = 1 + (2 * level) / LEVELS;
    context.beginPath();
    for (let i = 0; i < ends.length; i += 2) {
      context.moveTo(left + 4, y(ends[i]) + aside);
      context.lineTo(right - 4, y(ends[i + 1]) + aside);
    }
    context.stroke();
  });
  context.globalAlpha = 1;
}

// Of signed values the colour says whether a line is above or below 0, and else whose it is.
function lineColour({ open, heads }, head, value, { dark }) {
  return open?.signed ? SIGNED[dark][value < 0 ? 0 : 2] : headColour(head, heads, dark);
}

// The tokens of one side, and on the side that is not hovered over the weights of the one that is.
function paintSide(
  context,
  { y, bottom, box, size },
  { info, layer, lit, hover, theme, gutter },
  { side, labels, count, x },
) {
  const { values, q: Q, k: K, first } = layer;
  const align = side ? "left" : "right";
  for (let at = 0; at < count; at++) {
    if (y(at) < box.y || y(at) > bottom) continue;
    const weight = hover && hover[0] === side && hover[1] === at ? 650 : 400;
    text(context, labels[first[side] + at], x, y(at), { colour: theme.ink, align, size, weight });
    if (!hover || hover[0] === side || !gutter.number) continue;
    const [query, key] = side ? [hover[1], at] : [at, hover[1]];
    const weights = lit.map((head) => values[(head * Q + query) * K + key]);
    const most = weights.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
    if (Math.abs(most) < 0.005 * (info.open?.most ?? 1)) continue;
    const edge = side ? box.x + box.width - 4 : box.x + gutter.number - 8;
    const head = lit[weights.indexOf(most)];
    const options = { colour: lineColour(info, head, most, theme), align: "right", size, weight: 650 };
    text(context, wordsOf(info, most, head, gutter.named), edge, y(at), options);
  }
}
