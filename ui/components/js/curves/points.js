// The points of runs, kept between messages, which bring only new ones: columns of numbers that grow.

// float32 numbers that grow
export class Column {
  constructor() {
    this.room = new Float32Array(1024);
    this.length = 0;
    this.finite = false; // whether there is a number among them
  }

  put(start, values) {
    const need = start + values.length;
    if (need > this.room.length) {
      const more = new Float32Array(Math.max(need, 2 * this.room.length));
      more.set(this.room.subarray(0, this.length));
      this.room = more;
    }
    this.room.set(values, start);
    this.length = need;
    this.finite ||= values.some(Number.isFinite);
  }

  at(i) {
    return this.room[i < 0 ? this.length + i : i];
  }
}

// Takes a message in; true where it goes on from later than what is here.
export function takeIn(store, header) {
  let behind = false;
  header.runs.forEach((run, number) => {
    const kept = (store[run.key] ??= { train: {}, held_out: {}, smoothed: new Map() });
    for (const [group, { start, count, columns }] of Object.entries(run.groups)) {
      if (start > (kept[group].step?.length ?? 0)) behind = true;
      else if (count) {
        for (const name of columns) {
          (kept[group][name] ??= new Column()).put(start, header.arrays[`${number}/${group}/${name}`]);
        }
      }
    }
  });
  for (const key in store) if (!header.runs.some((run) => run.key === key)) delete store[key];
  return behind;
}

// The place of the number nearest to a value in a column that rises; -1 for an empty one.
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
