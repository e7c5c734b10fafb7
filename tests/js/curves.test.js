import assert from "node:assert/strict";
import { test } from "node:test";
import { roomForGuessing } from "#view/guess_line.js";
import {
  amount,
  clock,
  Column,
  extent,
  nearest,
  plotOf,
  smooth,
  stride,
  takeIn,
} from "../../ui/components/js/run_curves.js";
import { cases, near } from "./cases.js";

function column(values) {
  const one = new Column();
  one.put(0, Float32Array.from(values));
  return one;
}

test("a smoothed loss is the bias-corrected average, however it came", () => {
  const { values, weight, smoothed } = cases.smooth;
  const state = { out: new Column(), weight, sum: 0, share: 1 };
  const loss = column(values.slice(0, 5));
  smooth(state, loss);
  loss.put(5, Float32Array.from(values.slice(5)));
  near(smooth(state, loss).room.subarray(0, values.length), smoothed, 1e-5, "smoothed");
});

test("what is no number leaves the average where it was", () => {
  const out = smooth({ out: new Column(), weight: 0.5, sum: 0, share: 1 }, column([NaN, 4, NaN]));
  assert.deepEqual([...out.room.subarray(0, 3)], [NaN, 4, 4]);
});

test("a column grows, and knows the lowest and the highest of every block", () => {
  const one = column(Array.from({ length: 3000 }, (_, i) => i));
  one.put(3000, Float32Array.from([-7, NaN]));
  assert.equal(one.length, 3002);
  assert.equal(one.at(-2), -7);
  assert.equal(one.low[Math.floor(3000 / 32)], -7);
  assert.equal(one.high[0], 31);
});

test("the nearest step is found on both sides", () => {
  const steps = column([0, 10, 20, 40]);
  assert.deepEqual(
    [-5, 4, 6, 29, 31, 99].map((value) => nearest(steps, value)),
    [0, 0, 1, 2, 3, 3],
  );
});

test("a message that goes on from later than what is here is missing some", () => {
  const store = {};
  const group = (start, values) => ({
    runs: [{ key: "a/1", groups: { train: { start, count: values.length, columns: ["step"] } } }],
    arrays: { "0/train/step": Float32Array.from(values) },
  });
  assert.ok(!takeIn(store, group(0, [1, 2])));
  assert.ok(!takeIn(store, group(2, [3])));
  assert.equal(store["a/1"].train.step.length, 3);
  assert.ok(takeIn(store, group(5, [6])));
  takeIn(store, { runs: [], arrays: {} });
  assert.deepEqual(store, {});
});

test("values lie where the axes say, on a log scale too", () => {
  const frame = { left: 0, right: 100, top: 0, bottom: 100, range: [0, 10] };
  const plain = plotOf(frame, [0, 4], { log: false });
  assert.deepEqual([plain.x(5), plain.y(1), plain.value(50)], [50, 75, 5]);
  const log = plotOf(frame, [1, 100], { log: true });
  assert.ok(Math.abs(log.y(10) - 50) < 1e-9);
});

test("the extent is of what is shown alone", () => {
  const xs = column([0, 1, 2, 3]);
  const ys = column([9, 5, -1, 2]);
  const box = { left: 0, right: 300, range: [1, 3] };
  assert.deepEqual(extent([[xs, ys]], box, { log: false }), [-1, 5]);
  assert.deepEqual(extent([[xs, ys]], box, { log: true }), [2, 5]);
  assert.equal(stride(column(Array.from({ length: 20000 }, (_, i) => i)), { ...box, range: [0, 20000] }), 32);
});

test("amounts and times are short", () => {
  assert.deepEqual([NaN, 0, 1.23456, 12345.6, 1e7, 1e-5].map(amount), [
    "–",
    "0",
    "1.235",
    "12,346",
    "1.0e+7",
    "1.0e-5",
  ]);
  assert.deepEqual([12, 600, 7200].map(clock), ["12 s", "10 min", "2.0 h"]);
});

test("an axis holds the line of guessing unless that would press the curves together", () => {
  assert.equal(roomForGuessing(8.1, [8.29]), 8.29);
  assert.equal(roomForGuessing(9, [8.29]), 9);
  assert.equal(roomForGuessing(2.5, [8.29]), 2.5);
  assert.equal(roomForGuessing(2.5, []), 2.5);
});
