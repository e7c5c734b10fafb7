// How numbers and times are written beside curves.

export function amount(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size && (size >= 1e5 || size < 1e-3)) return value.toExponential(1);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

// apart: seconds to the next one beside it, as on an axis
export function clock(seconds, apart = 60) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (apart < 60) return `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, "0")} min`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function countOf(value, apart = 1e4) {
  const digits = Math.min(6, Math.max(2, 6 - Math.floor(Math.log10(apart))));
  if (apart < 1 && !Number.isInteger(value)) return ""; // there is none between two steps
  if (value >= 1e6) return `${Number((value / 1e6).toFixed(digits))} M`;
  return Math.round(value).toLocaleString("en");
}

// Round numbers on a log scale: those that begin with 1, 2, 3, 5 or 7, or fewer of them over more powers of ten.
export function logTicks(low, high, few = false) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Math.log10(high / low);
  const leading = powers < 1.5 ? [1, 1.5, 2, 3, 4, 5, 7] : powers < 4 && !few ? [1, 2, 5] : [1];
  const places = [];
  for (let power = first; power <= last; power++) for (const digit of leading) places.push(Number(`${digit}e${power}`));
  return places.filter((place) => place >= low && place <= high);
}
