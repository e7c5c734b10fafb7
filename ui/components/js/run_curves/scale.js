// Where numbers lie in a box, and how they are written.
import { BLOCK } from "./columns.js";

export function amount(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size && (size >= 1e5 || size < 1e-3)) return value.toExponential(1);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

export function clock(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// Blocks at a time where the part that is shown has many points to a column of pixels.
export function stride(xs, { left, right, range: [low, high] }) {
  const span = xs.at(-1) - xs.at(0);
  const share = span > 0 ? Math.min(1, (high - low) / span) : 1;
  return xs.length * share > BLOCK * (right - left) ? BLOCK : 1;
}

// The lowest and the highest number of [xs, ys, scale] in the part that is shown.
export function extent(columns, box, { log }) {
  const [low, high] = box.range;
  let least = Infinity;
  let most = -Infinity;
  for (const [xs, ys, scale = 1] of columns) {
    const by = stride(xs, box);
    for (let i = 0; i < xs.length; i += by) {
      if (!(xs.room[i] >= low && xs.room[i] <= high)) continue;
      const floor = (by > 1 ? ys.low[i / by] : ys.room[i]) * scale;
      const top = (by > 1 ? ys.high[i / by] : ys.room[i]) * scale;
      if (floor < least && !(log && floor <= 0)) least = floor;
      if (top > most) most = top;
    }
  }
  return [least, most];
}

export function plotOf({ left, right, top, bottom, range }, [low, high], { log }) {
  const lift = log ? Math.log : (value) => value;
  const [first, last] = range;
  return {
    ...{ left, right, top, bottom, range, low, high },
    x: (value) => left + ((right - left) * (value - first)) / (last - first || 1),
    y: (value) => bottom - ((bottom - top) * (lift(value) - lift(low))) / (lift(high) - lift(low)),
    value: (x) => first + ((last - first) * (x - left)) / (right - left),
  };
}
