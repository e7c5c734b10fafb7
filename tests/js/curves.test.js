import assert from "node:assert/strict";
import { test } from "node:test";
import { roomForGuessing } from "#view/pictures/guess_line.js";
import { amount, clock, countOf, logTicks } from "../../ui/components/js/curves/numbers.js";
import { Column, drawn, extent, nearest, takeIn } from "../../ui/components/js/curves/points.js";
import { atStep, lossLines, panelLines } from "../../ui/components/js/curves/runs.js";
import { begin, smooth, smoothedLoss } from "../../ui/components/js/curves/smoothing.js";

import { cases, near } from "./cases.js";

function column(values) {
  const one = new Column();
  one.put(0, Float32Array.from(values));
  return one;
}

const smoothed = (weight, total, steps, losses) => {
  const out = smooth(begin(weight, total), column(steps), column(losses));
  return [...out.room.subarray(0, out.length)];
};

test("every weight that is chosen smooths, and 0 leaves the loss as it is", () => {
  const [steps, losses] = [
    [1, 2, 3],
    [4, 2, 3],
  ];
  const run = { train: { step: column(steps), loss: column(losses) }, smoothed: new Map(), steps: 300 };
  assert.equal(smoothedLoss(run, 0), run.train.loss);
  for (const weight of [0.1, 0.6, 0.95]) {
    const out = smoothedLoss(run, weight);
    near(out.room.subarray(0, out.length), smoothed(weight, 300, steps, losses), 1e-6, `weight ${weight}`);
    assert.ok(out.at(1) > losses[1], `weight ${weight}`);
  }
});

test("a smoothed loss is the bias-corrected average, however it came", () => {
  const { values, weight, smoothed: expected } = cases.smooth;
  const state = begin(weight, 300); // whose parts are a step each
  const steps = column(values.slice(0, 5).map((_, i) => i + 1));
  const losses = column(values.slice(0, 5));
  smooth(state, steps, losses);
  steps.put(
    5,
    Float32Array.from(values.slice(5), (_, i) => i + 6),
  );
  losses.put(5, Float32Array.from(values.slice(5)));
  near(smooth(state, steps, losses).room.subarray(0, values.length), expected, 1e-5, "smoothed");
});

// 7,280 rows as a run logs them: each of the first steps, then every tenth, then every fiftieth
function rows() {
  const steps = [];
  let step = 0;
  while (steps.length < 7280) {
    step += steps.length < 10 ? 1 : steps.length < 3000 ? 10 : 50;
    steps.push(step);
  }
  const losses = steps.map((one, i) => (i % 97 === 5 ? NaN : 2 + 3 / (1 + one / 500) + 0.2 * Math.sin(one * 7.3)));
  return { steps, losses, total: steps.at(-1) };
}

test("a point that was drawn never moves or goes at a later poll", () => {
  const { steps, losses, total } = rows();
  const store = {};
  const state = begin(0.6, total);
  let drawn = [];
  for (let start = 0; start < steps.length;) {
    const count = Math.min(1 + ((start * 37) % 211), steps.length - start);
    const values = { step: steps.slice(start, start + count), loss: losses.slice(start, start + count) };
    const arrays = Object.fromEntries(
      Object.entries(values).map(([name, one]) => [`0/train/${name}`, Float32Array.from(one)]),
    );
    const groups = { train: { start, count, columns: ["step", "loss"] } };
    assert.ok(!takeIn(store, { runs: [{ key: "a/1", groups }], arrays }));
    const { step, loss } = store["a/1"].train;
    const out = smooth(state, step, loss);
    const now = Array.from({ length: out.length }, (_, i) => [step.at(i), loss.at(i), out.at(i)]);
    assert.deepEqual(now.slice(0, drawn.length), drawn);
    drawn = now;
    start += count;
  }
  assert.equal(drawn.length, 7280);
  assert.deepEqual(
    drawn.map(([step]) => step),
    steps,
  );
});

test("what is drawn of a run over any axis stays as it was, with gaps, clocks set back and evaluations between", () => {
  const store = {};
  let before = [];
  const table = rows();
  const columns = {
    step: table.steps,
    tokens: table.steps.map((step, i) => (i < 700 ? NaN : 64 * step)),
    time: table.steps.map((step, i) => step / 8 - (i > 4000 ? 90 : 0)),
    loss: table.losses,
    accuracy: table.losses.map((loss, i) => (i < 700 ? NaN : 1 / loss)),
  };
  const held = { step: [], tokens: [], validation_loss: [] };
  for (let start = 0; start < 7280;) {
    const count = Math.min(1 + ((start * 37) % 211), 7280 - start);
    const cut = (all) =>
      Object.entries(all).map(([name, one]) => [name, Float32Array.from(one.slice(start, start + count))]);
    const measured = cut(columns).filter(([, one]) => one.some(Number.isFinite));
    const evaluated = held.step.length;
    held.step.push(table.steps[start]);
    held.tokens.push(64 * table.steps[start]);
    held.validation_loss.push(table.losses[start] + 0.1);
    const arrays = Object.fromEntries(measured.map(([name, one]) => [`0/train/${name}`, one]));
    for (const name in held) arrays[`0/held_out/${name}`] = Float32Array.from(held[name].slice(evaluated));
    const groups = {
      train: { start, count, columns: measured.map(([name]) => name) },
      held_out: { start: evaluated, count: 1, columns: Object.keys(held) },
    };
    assert.ok(!takeIn(store, { runs: [{ key: "a/1", groups }], arrays }));
    const run = Object.assign(store["a/1"], { name: "a", colour: "#000000", steps: table.total });
    const now = new Map();
    for (const axis of ["step", "tokens", "time"]) {
      const lines = lossLines([run], { axis, smooth: 0.6 });
      const right = panelLines([run], { name: "accuracy", held: "validation_accuracy" }, { axis });
      for (const { label, xs, ys } of lines) now.set(`${axis} ${label}`, drawn(xs, ys));
      for (const { label, xs, ys } of right) now.set(`${axis} ${label}, right`, drawn(xs, ys));
    }
    for (const [name, [across, up]] of before) {
      assert.deepEqual(now.get(name)[0].slice(0, across.length), across);
      assert.deepEqual(now.get(name)[1].slice(0, up.length), up);
    }
    before = [...now].map(([name, line]) => [name, line.map((one) => one.slice())]);
    start += count;
  }
  const [across] = drawn(store["a/1"].train.tokens, store["a/1"].train.loss);
  assert.equal(across[0], 64 * table.steps[700]);
  assert.ok(drawn(store["a/1"].train.time, store["a/1"].train.loss)[0].every((x, i, all) => !i || x >= all[i - 1]));
});

test("what was not measured at first is no number there", () => {
  const store = {};
  const message = (start, columns) => ({
    runs: [{ key: "a/1", groups: { train: { start, count: 2, columns: Object.keys(columns) } } }],
    arrays: Object.fromEntries(
      Object.entries(columns).map(([name, one]) => [`0/train/${name}`, Float32Array.from(one)]),
    ),
  });
  takeIn(store, message(0, { step: [1, 2] }));
  takeIn(store, message(2, { step: [3, 4], accuracy: [0.5, 0.25] }));
  takeIn(store, message(4, { step: [5, 6] }));
  assert.deepEqual([...store["a/1"].train.accuracy.numbers], [NaN, NaN, 0.5, 0.25, NaN, NaN]);
  const points = drawn(store["a/1"].train.step, store["a/1"].train.accuracy);
  assert.deepEqual(
    points.map((one) => [...one]),
    [
      [3, 4],
      [0.5, 0.25],
    ],
  );
});

test("the extent is of what is shown alone", () => {
  const lines = [drawn(column([0, 1, 2, 3]), column([9, 5, -1, 2])), drawn(column([10]), column([99]))];
  assert.deepEqual(extent([null, ...lines], 1, 3), [-1, 5]);
  assert.deepEqual(extent(lines, 4, 9), [Infinity, -Infinity]);
});

test("a mark lies between the points around its step, on any axis", () => {
  const train = { step: column([10, 20, 30]), tokens: column([100, 300, 400]) };
  assert.deepEqual(
    [10, 15, 30, 99].map((step) => atStep({ train }, train.tokens, step)),
    [100, 200, 400, 400],
  );
  assert.equal(atStep({ train }, train.step, 15), 15);
});

test("round numbers on a log scale, fewer over many powers of ten", () => {
  assert.deepEqual(logTicks(1.4, 9), [1.5, 2, 3, 4, 5, 7]);
  assert.deepEqual(logTicks(10, 2000), [10, 20, 50, 100, 200, 500, 1000, 2000]);
  assert.deepEqual(logTicks(10, 2000, true), [10, 100, 1000]);
});

test("smoothing does not depend on how many points were logged", () => {
  const loss = (step) => 1 + 4 / (1 + step / 200);
  const every = (by) => Array.from({ length: 3000 / by }, (_, i) => (i + 1) * by);
  const at = (by) => {
    const steps = every(by);
    const out = smoothed(0.9, 3000, steps, steps.map(loss));
    return new Map(steps.map((step, i) => [step, out[i]]));
  };
  const [fine, coarse] = [at(1), at(10)];
  for (const step of [500, 1000, 3000]) assert.ok(Math.abs(fine.get(step) - coarse.get(step)) < 0.02, `step ${step}`);
});

test("a value fades with a part of the training, however long that is", () => {
  const losses = [4, 3, 3.5, 1, 2];
  const of = (long) =>
    smoothed(
      0.7,
      300 * long,
      [1, 2, 3, 5, 9].map((step) => step * long),
      losses,
    );
  for (const long of [0.1, 7, 1000]) near(of(long), of(1), 1e-6, `${300 * long} steps`);
  assert.ok(of(7)[1] > 3.3); // it does fade slowly
});

test("smoothing begins at the first value, and goes towards no zero", () => {
  const steps = [1, 2, 3, 4];
  assert.deepEqual(smoothed(0.9, 100, steps, [5, 5, 5, 5]), [5, 5, 5, 5]);
  assert.equal(smoothed(0.99, 100, steps, [8, 1, 1, 1])[0], 8);
  assert.deepEqual(
    smoothed(0.5, 300, [1, 2], [8, 4]).map((one) => Number(one.toFixed(4))),
    [8, 5.3333],
  );
});

test("what is no number leaves the average where it was", () => {
  assert.deepEqual(smoothed(0.5, 300, [1, 2, 3], [NaN, 4, NaN]), [NaN, 4, 4]);
});

test("the nearest step is found on both sides", () => {
  const steps = column([0, 10, 20, 40]);
  assert.deepEqual(
    [-5, 4, 6, 29, 31, 99].map((value) => nearest(steps, value)),
    [0, 0, 1, 2, 3, 3],
  );
  assert.equal(nearest(new Column(), 3), -1);
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

test("amounts, times and counts are short", () => {
  assert.deepEqual([NaN, 0, 1.23456, 12345.6, 1e7, 1e-5].map(amount), [
    "–",
    "0",
    "1.235",
    "12,346",
    "1.0e+7",
    "1.0e-5",
  ]);
  assert.deepEqual(
    [12, 600, 7200].map((seconds) => clock(seconds)),
    ["12 s", "10 min", "2.0 h"],
  );
  assert.deepEqual([clock(185, 10), clock(7200, 1800)], ["3:05 min", "2.0 h"]);
  assert.deepEqual([countOf(9_999), countOf(2_500_000), countOf(2_512_000, 2000)], ["9,999", "2.5 M", "2.512 M"]);
});

test("an axis holds the line of guessing unless that would press the curves together", () => {
  assert.equal(roomForGuessing(8.1, [8.29]), 8.29);
  assert.equal(roomForGuessing(9, [8.29]), 9);
  assert.equal(roomForGuessing(2.5, [8.29]), 2.5);
  assert.equal(roomForGuessing(2.5, []), 2.5);
});
