// Numbers as they are written, and the round ones of an axis.

export function plain(value) {
  if (value === -Infinity) return "−∞";
  const size = Math.abs(value);
  return size >= 1e4 || (value && size < 1e-4) ? value.toExponential(3) : String(Number(value.toFixed(6)));
}

const MORE_DIGITS = 4;
// A part of one to so many digits, or as many more as it takes not to read as all of it; what is more than nothing
// never reads as nothing. As part_of_one in ui/figures/labels.py.
export function partOfOne(value, digits) {
  if (value > 0 && value < 10 ** -digits / 2) return `< ${(10 ** -digits).toFixed(digits)}`;
  for (let more = digits; more <= digits + MORE_DIGITS; more++) {
    const text = value.toFixed(more);
    if (!(value < 1) || Number(text) < 1) return text;
  }
  return `> 0.${"9".repeat(digits + MORE_DIGITS)}`;
}

// A number as people type it, with a point or a comma, a minus of any kind, in percent or not; null for none.
export function readNumber(typed) {
  const plain = typed
    .trim()
    .replace(/\s*%$/, "")
    .replace(/^[−–‐‑]\s*/, "-")
    .replace(",", ".");
  return /^[-+]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : null;
}

// A weight, and never a false 1.
export function weightText(value, digits = 6) {
  const rounded = Number(value.toFixed(digits));
  return rounded === 1 && value < 1 ? partOfOne(value, digits) : plain(rounded || value);
}

// As it is read out.
export function numberSpoken(value) {
  if (value === -Infinity) return "minus infinity";
  if (value >= 0 && value <= 1) return partOfOne(value, 2).replace("<", "less than").replace(">", "more than");
  return String(Number(value.toPrecision(3))).replace("-", "minus ");
}

// For a cell: .12, 1.2, 12; what is a little less than 1 is >.99.
export function short(value) {
  const size = Math.abs(value);
  if (size > 0.995 && size < 1) return value < 0 ? "<-.99" : ">.99";
  if (size < 0.995) return value.toFixed(2).replace("0.", ".");
  return value.toFixed(size < 10 ? 1 : 0).replace(/\.0$/, "");
}

// The same on a scale of its own, to two figures.
export const figure = (value, most) =>
  most > 1 && most < 1e4 ? short(value) : plain(Number(value.toPrecision(2))).replace("0.", ".");

// A probability to a tenth of a percent, to a hundredth where it would be none or all, and never a false 0 or 100; as
// in_percent in transformer/basics/formatting.py.
export function inPercent(value) {
  if (value === 0 || value === 1) return `${100 * value}%`;
  if (value < 0.0001) return "<0.01%";
  if (value > 0.9999) return ">99.99%";
  return `${(100 * value).toFixed(value < 0.001 || value > 0.999 ? 2 : 1)}%`;
}

export const thousands = (step) => step.toLocaleString("en");

// Round numbers from low to high, about `most` of them.
export function ticks(low, high, most) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5].find((n) => n * ten >= rough) ?? 10) * ten;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => Number(((first + i) * step).toPrecision(8)));
}
