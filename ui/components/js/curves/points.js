// The points of runs, kept between messages, which bring only new ones: columns of numbers that grow.

// float32 numbers that grow
export class Column {
  constructor() {
    this.room = new Float32Array(1024).fill(NaN);
    this.length = 0;
    this.finite = false; // whether there is a number among them
    this.whole = true; // whether all are numbers
    this.rising = true; // whether none is below the one before
  }

  put(start, values) {
    const need = start + values.length;
    if (need > this.room.length) {
      const more = new Float32Array(Math.max(need, 2 * this.room.length)).fill(NaN);
      more.set(this.room.subarray(0, this.length));
      this.room = more;
    }
    this.room.set(values, start);
    const before = this.length;
    this.length = need;
    if (start > before) this.whole = false;
    for (let i = start; i < need; i++) {
      const value = this.room[i];
      if (!Number.isFinite(value)) this.whole = false;
      else this.finite = true;
      if (value < this.room[i - 1]) this.rising = false;
    }
  }

  get numbers() {
    return this.room.subarray(0, this.length);
  }

  at(i) {
    return this.room[i < 0 ? this.length + i : i];
  }
}

const PATIENCE = 3000; // ms

// Asks for all points where a view lacks some, again and again until they have come; returns whether it lacks some. Of
// messages that come at once Streamlit hands on the second alone, and what is said as a run begins may be lost.
export function askForMissing(view, lacks, setTriggerValue) {
  clearInterval(view.asking);
  if (!lacks) return false;
  const ask = () => (view.root.isConnected ? setTriggerValue("missing", Date.now()) : clearInterval(view.asking));
  view.asking = setInterval(ask, PATIENCE);
  ask();
  return true;
}

// Takes a message in; true where it goes on from later than what is here.
export function takeIn(store, header) {
  let behind = false;
  header.runs.forEach((run, number) => {
    const kept = (store[run.key] ??= { train: {}, held_out: {}, smoothed: new Map() });
    for (const [group, { start, count, columns }] of Object.entries(run.groups)) {
      if (start > (kept[group].step?.length ?? 0)) behind = true;
      else if (count) {
        for (const name of columns) kept[group][name] ??= new Column();
        for (const name in kept[group]) {
          const values = header.arrays[`${number}/${group}/${name}`] ?? new Float32Array(count).fill(NaN);
          kept[group][name].put(start, values);
        }
      }
    }
  });
  for (const key in store) if (!header.runs.some((run) => run.key === key)) delete store[key];
  return behind;
}

export const NO_POINTS = [new Float32Array(), new Float32Array()];
const kept = new WeakMap(); // column -> column across -> {across, up, read}

// What is drawn of two columns, [across, up]: the points that have both numbers and do not go back. A column without
// gaps is drawn as it stands; else the points are kept, and only new ones looked at.
export function drawn(xs, ys) {
  if (xs.whole && ys.whole && xs.rising) {
    const length = Math.min(xs.length, ys.length);
    return [xs.room.subarray(0, length), ys.room.subarray(0, length)];
  }
  if (!kept.has(ys)) kept.set(ys, new WeakMap());
  const all = kept.get(ys);
  if (!all.has(xs)) all.set(xs, { across: new Column(), up: new Column(), read: 0 });
  const points = all.get(xs);
  /** @type {{across: number[], up: number[]}} */
  const added = { across: [], up: [] };
  let last = points.across.length ? points.across.at(-1) : -Infinity;
  for (; points.read < Math.min(xs.length, ys.length); points.read++) {
    const [x, y] = [xs.at(points.read), ys.at(points.read)];
    if (!(x >= last) || !Number.isFinite(y)) continue;
    added.across.push(x);
    added.up.push(y);
    last = x;
  }
  for (const name of ["across", "up"]) points[name].put(points[name].length, added[name]);
  return [points.across.numbers, points.up.numbers];
}

// The place of the first number for which something is true, as it is for all after that.
export function firstThat(numbers, isTrue) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(numbers[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The lowest and the highest number of lines between two places across; Infinity and -Infinity where there is none.
export function extent(lines, from, to) {
  let [low, high] = [Infinity, -Infinity];
  for (const [across, up] of lines.filter(Boolean)) {
    const end = firstThat(across, (x) => x > to);
    for (let i = firstThat(across, (x) => x >= from); i < end; i++) {
      if (up[i] < low) low = up[i];
      if (up[i] > high) high = up[i];
    }
  }
  return [low, high];
}

// The place of the number nearest to a value in a column that rises; -1 for an empty one.
export function nearest(column, value) {
  let low = 0;
  let high = column.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (column.at(middle) >= value) high = middle;
    else low = middle; // what is no number comes before the first
  }
  return Math.abs(column.at(low) - value) <= Math.abs(column.at(high) - value) ? low : high;
}
