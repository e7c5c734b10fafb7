// The heads of a layer as lines between tokens, on a phone: the weights of a token that is tapped are said below, so
// they need no room beside the lines.
import { resized, textWidth, widest } from "#view/canvas.js";
import { fittingRow, linesHeight, paintLines, TOP } from "#view/lines.js";
import { numbered } from "#view/names.js";
import { short } from "#view/numbers.js";
import { rowLabels, rowSaid } from "#view/rows.js";
import { placed } from "#view/tokens.js";

const MOST_SAID = 3; // lines of one token
const TALL = 420; // px that they fill where there are few

const litOf = ({ selection, info }) => selection.lit ?? Array.from({ length: info.heads }, (_, head) => head);

export function drawLayer(picture) {
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
export function tokenAt({ gutter, layer, row, width }, [x, y]) {
  const at = Math.floor((y - TOP) / row);
  const right = x > width - gutter.right;
  const beside = (x > gutter.left && !right) || at < 0 || at >= (right ? layer.k : layer.q);
  return beside ? null : [right ? 1 : 0, at];
}

// The strongest lines of the token that is tapped.
export function linesSaid(picture) {
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
    : `${rowSaid(info, selection, at)} looks at`;
  return `${says} ${words.join(", ")}`;
}
