// Tokens that look on the left, tokens looked at on the right, a line for each weight, a colour for each head.
const ROW = 22, FAINTEST = 3 / 255, LEVELS = 8;

// Hues far apart, lightness alternating, so that neighbours differ without colour too.
const headColour = (head, heads, dark) => `oklch(${(dark ? 0.72 : 0.55) + (head % 2 ? 0.1 : -0.04)} 0.15 ${(250 + head * 360 / heads) % 360})`;

// The weights of all heads of the layer looked at, {values (H, q, k), first: [query, key], q, k}; null where they are not here.
function layerOf(message, look) {
  const info = message.kinds[look.kind], queries = info.queries.length, keys = info.keys.length;
  if (message.arrays.layer && message.look.kind === look.kind && message.look.layer === look.layer) {
    const [, q, k] = message.shapes.layer;
    return { values: message.arrays.layer, first: message.window, q, k };
  }
  if (!message.arrays[`cells/${look.kind}`]) return null;
  const id = `layer,${look.kind},${look.layer}`;
  if (!message.made.has(id)) {
    const most = Math.max(32, Math.floor(Math.sqrt(1e6 / info.heads)));
    const first = [Math.max(0, queries - most), Math.max(0, keys - most)], q = queries - first[0], k = keys - first[1];
    const values = new Float32Array(info.heads * q * k);
    for (let head = 0; head < info.heads; head++) {
      const all = unquantised(message, look.kind, look.layer, head);
      for (let row = 0; row < q; row++)
        values.set(all.subarray((first[0] + row) * keys + first[1], (first[0] + row + 1) * keys), (head * q + row) * k);
    }
    message.made.set(id, { values, first, q, k });
  }
  return message.made.get(id);
}

// The room beside the lines: for the tokens, and for the number that hovering puts there, with its head where there are several.
const saidOf = (weight, head, lit) => lit.length > 1 ? `${short(weight)}, head ${head}` : short(weight);
function linesGutter(info, lit) {
  const number = textWidth([saidOf(0.01, info.heads - 1, lit)], 700) + 10;
  return { number, left: number + Math.min(130, textWidth(info.queries)) + 8, right: number + Math.min(130, textWidth(info.keys)) + 8 };
}

// hover: [side, token] or null; lit: the heads drawn.
function paintLines(context, box, { info, layer, lit, hover, scroll, theme, gutter }) {
  const { values, q: Q, k: K, first } = layer, top = box.y + 30 - scroll;
  const left = box.x + gutter.left, right = box.x + box.width - gutter.right;
  const y = (at) => top + at * ROW + ROW / 2, bottom = box.y + box.height;
  const apart = Math.min(3, 16 / lit.length);  // lines of several heads lie side by side
  const seen = (a, b) => !(Math.max(y(a), y(b)) < box.y || Math.min(y(a), y(b)) > bottom);
  context.save();
  context.beginPath(); context.rect(box.x, box.y + 18, box.width, box.height - 18); context.clip();
  for (const [nth, head] of lit.entries()) {
    const aside = (nth - (lit.length - 1) / 2) * apart, levels = Array.from({ length: LEVELS }, () => []);
    for (let q = 0; q < Q; q++) for (let k = 0; k < K; k++) {
      if (hover && hover[1] !== (hover[0] ? k : q)) continue;
      const weight = values[(head * Q + q) * K + k];
      if (weight >= FAINTEST && seen(q, k)) levels[Math.min(LEVELS - 1, Math.floor(weight * LEVELS))].push(q, k);
    }
    context.strokeStyle = headColour(head, info.heads, theme.dark);
    levels.forEach((ends, level) => {
      if (!ends.length) return;
      context.globalAlpha = (level + 0.6) / LEVELS; context.lineWidth = 1 + 2 * level / LEVELS;
      context.beginPath();
      for (let i = 0; i < ends.length; i += 2) { context.moveTo(left + 4, y(ends[i]) + aside); context.lineTo(right - 4, y(ends[i + 1]) + aside); }
      context.stroke();
    });
    context.globalAlpha = 1;
  }
  for (const [side, tokens, x, align] of [[0, info.queries, left, "right"], [1, info.keys, right, "left"]]) {
    const count = side ? K : Q;
    for (let at = 0; at < count; at++) {
      if (y(at) < box.y || y(at) > bottom) continue;
      const chosen = hover && hover[0] === side && hover[1] === at;
      text(context, visible(tokens[first[side] + at]), x, y(at), { colour: theme.ink, align, size: 13, weight: chosen ? 700 : 400 });
      if (!hover || hover[0] === side) continue;
      const weights = lit.map((head) => values[side ? (head * Q + hover[1]) * K + at : (head * Q + at) * K + hover[1]]);
      const most = Math.max(...weights);
      if (most < 0.005) continue;
      const edge = side ? box.x + box.width - 4 : box.x + gutter.number - 8, which = lit[weights.indexOf(most)];
      text(context, saidOf(most, which, lit), edge, y(at), { colour: headColour(which, info.heads, theme.dark), align: "right", weight: 700 });
    }
  }
  context.restore();
  text(context, "query: looks", Math.max(left, box.x + textWidth(["query: looks"])), box.y + 8, { colour: theme.muted, align: "right" });
  text(context, "key: looked at", Math.min(right, box.x + box.width - textWidth(["key: looked at"])), box.y + 8, { colour: theme.muted });
}
