// The colours of a GIF: one palette for all of its frames, so that nothing flickers.
export const MOST_COLOURS = 255; // one more stands for "as before"
const EXACT = 216; // of more colours than that, so many are kept as they are: a colour stands for a number

// pixels: as a canvas has them, four bytes each in one number. Adds to how often each colour is there.
export function countColours(pixels, counts) {
  for (let i = 0, from = 0; i < pixels.length; i = from) {
    while (from < pixels.length && pixels[from] === pixels[i]) from++;
    counts.set(pixels[i], (counts.get(pixels[i]) ?? 0) + from - i);
  }
}

export const rgbOf = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];

// All colours, or the most frequent ones and what `quantize` makes of the rest.
export function paletteOf(counts, quantize) {
  const order = [...counts].sort(([a, often], [b, more]) => more - often || a - b);
  if (order.length <= MOST_COLOURS) return order.map(([pixel]) => rgbOf(pixel));
  const rest = order.slice(EXACT).flatMap(([pixel, count]) => new Array(1 + Math.round(Math.log2(count))).fill(pixel));
  const made = quantize(new Uint8Array(Uint32Array.from(rest).buffer), MOST_COLOURS - EXACT, { format: "rgb565" });
  return [...order.slice(0, EXACT).map(([pixel]) => rgbOf(pixel)), ...made.map((colour) => colour.slice(0, 3))];
}

// Gives a function from pixels to places in the palette; each colour is looked up once.
export function indexer(palette, nearest) {
  const places = new Map(palette.map(([r, g, b], at) => [((255 << 24) | (b << 16) | (g << 8) | r) >>> 0, at]));
  const placeOf = (pixel) => {
    if (!places.has(pixel)) places.set(pixel, nearest(palette, rgbOf(pixel)));
    return places.get(pixel);
  };
  return (pixels) => {
    const out = new Uint8Array(pixels.length);
    for (let i = 0, from = 0; i < pixels.length; i = from) {
      while (from < pixels.length && pixels[from] === pixels[i]) from++;
      out.fill(placeOf(pixels[i]), i, from);
    }
    return out;
  };
}

// What has changed between two frames; the rest is `same`.
export function changed(before, now, same) {
  return now.map((place, i) => (place === before[i] ? same : place));
}
