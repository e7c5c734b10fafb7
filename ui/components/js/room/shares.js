// Bars that were drawn as shares of their sum, and how far they lie from the model's: as transformer/rooms/distance.py.
const SMOOTHED = 0.01; // of what was drawn, spread evenly over all bars, so that one left empty costs much and not all

// Values from 0 up as shares of their sum; all alike where there is nothing.
export function shares(values) {
  const most = Math.max(0, ...values);
  if (!most) return values.map(() => 1 / values.length);
  const sum = values.reduce((all, value) => all + value / most, 0);
  return values.map((value) => value / most / sum);
}

// KL(p ‖ q) in nats (Kullback and Leibler 1951), of the drawn with a hundredth of it spread evenly.
export function divergence(p, q) {
  const even = SMOOTHED / q.length;
  const sum = p.reduce((all, a, at) => (a > 0 ? all + a * Math.log(a / ((1 - SMOOTHED) * q[at] + even)) : all), 0);
  return Math.max(0, sum);
}

// The share that the two have in common, 1 where they are the same.
export const overlap = (p, q) =>
  Math.min(
    1,
    p.reduce((all, a, at) => all + Math.min(a, q[at]), 0),
  );

// Shares as whole percentages that add up to 100: those that lose most by rounding down get what is left.
export function wholePercents(parts) {
  const exact = parts.map((one) => 100 * one);
  const out = exact.map(Math.floor);
  const left = 100 - out.reduce((all, one) => all + one, 0);
  const order = exact.map((one, at) => [one - out[at], at]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  for (const [, at] of order.slice(0, left)) out[at] += 1;
  return out;
}
