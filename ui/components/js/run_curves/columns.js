// The points of runs: columns of numbers that grow, and the smoothed loss.

export const BLOCK = 32; // points that are drawn as their lowest and highest where many share a column of pixels

function grown(room, length, need) {
  if (need <= room.length) return room;
  const more = new Float32Array(Math.max(need, 2 * room.length));
  more.set(room.subarray(0, length));
  return more;
}

// float32 numbers that grow, with the lowest and the highest of every block
export class Column {
  constructor() {
    this.room = new Float32Array(1024);
    this.low = new Float32Array(32);
    this.high = new Float32Array(32);
    this.length = 0;
    this.finite = false;
  }

  put(start, values) {
    const need = start + values.length;
    const blocks = Math.ceil(need / BLOCK);
    this.room = grown(this.room, this.length, need);
    this.low = grown(this.low, this.low.length, blocks);
    this.high = grown(this.high, this.high.length, blocks);
    this.room.set(values, start);
    this.length = need;
    for (let block = Math.floor(start / BLOCK); block < blocks; block++) this.measure(block);
  }

  measure(block) {
    let low = Infinity;
    let high = -Infinity;
    for (let i = block * BLOCK; i < Math.min(this.length, (block + 1) * BLOCK); i++) {
      const value = this.room[i];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    this.low[block] = low; // no number among them: Infinity and -Infinity
    this.high[block] = high;
    if (low < Infinity) this.finite = true;
  }

  at(i) {
    return this.room[i < 0 ? this.length + i : i];
  }
}

// True where a message goes on from later than the browser has.
export function takeIn(store, header) {
  let missing = false;
  header.runs.forEach((run, number) => {
    const kept = (store[run.key] ??= { train: {}, held_out: {} });
    for (const [group, { start, count, columns }] of Object.entries(run.groups)) {
      if (start > (kept[group].step?.length ?? 0)) missing = true;
      else if (count) {
        for (const name of columns) {
          (kept[group][name] ??= new Column()).put(start, header.arrays[`${number}/${group}/${name}`]);
        }
      }
    }
  });
  for (const key in store) if (!header.runs.some((run) => run.key === key)) delete store[key];
  return missing;
}

// An exponential moving average that starts at the first value instead of zero (as in Kingma and Ba 2015, section 3),
// continued where it was left. state: {out, weight, sum: 0, share: 1} to begin with.
export function smooth(state, column) {
  const { out, weight } = state;
  const from = out.length;
  const more = new Float32Array(column.length - from);
  for (let i = from; i < column.length; i++) {
    const value = column.room[i];
    if (Number.isFinite(value)) {
      state.sum = weight * state.sum + (1 - weight) * value;
      state.share *= weight;
    }
    more[i - from] = state.share === 1 ? NaN : state.sum / (1 - state.share);
  }
  out.put(from, more);
  return out;
}

// The place of the number nearest to a value in a column that rises.
export function nearest(column, value) {
  let low = 0;
  let high = column.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (column.at(middle) < value) low = middle;
    else high = middle;
  }
  return Math.abs(column.at(low) - value) <= Math.abs(column.at(high) - value) ? low : high;
}
