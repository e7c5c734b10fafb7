import assert from "node:assert/strict";
import { test } from "node:test";
import { checked, largestDifference, rowSums } from "#view/attention/checks.js";
import { cases } from "./cases.js";

const { shape, width, q, k, weights } = cases.head;
const [Q, K] = shape;
const tokens = (n) => Array.from({ length: n }, (_, i) => String(i));
const info = { layers: 1, heads: 1, queries: tokens(Q), keys: tokens(K), causal: true };
const rows = { q: Float32Array.from(q), k: Float32Array.from(k), width };
const selection = { kind: "decoder", layer: 0, head: 0, of: "head", stage: "scores" };
const message = (values, more) => ({
  kinds: { decoder: info },
  arrays: { ...rows, weights: Float32Array.from(values), ...more },
  shapes: { q: [Q, width] },
  selection,
  made: new Map(),
});

test("the softmax made again is the library's", () => {
  assert.ok(largestDifference(info, rows, Float32Array.from(weights)) < 1e-6);
  assert.match(checked(message(weights), selection), /^Each row adds up to 1; softmax.* agrees to 1e-6\.$/);
});

test("weights that are others are said to differ", () => {
  const others = [...weights];
  others[K] += 0.01; // of the second query, on the first key
  others[K + 1] -= 0.01;
  assert.match(checked(message(others), selection), /differs by up to 0\.01\.$/);
});

test("nothing is said to be recomputed of a mean, of weights alone, and of rounded ones", () => {
  const mean = { ...selection, of: "mean_heads" };
  assert.equal(checked({ ...message(weights), selection: mean }, mean), "Each row adds up to 1.");
  assert.equal(checked(message(weights, { q: undefined }), selection), "Each row adds up to 1.");
  const cells = Uint8Array.from(cases.cells.cells);
  const [, layers, heads] = cases.cells.shape;
  const file = message([], { weights: undefined, q: undefined, "cells/decoder": cells });
  file.kinds = { decoder: { ...info, layers, heads } };
  file.shapes = { "cells/decoder": cases.cells.shape, "q/decoder": [layers, heads, Q, width] };
  const at = layers * heads - 1; // the head of `cases.head`
  for (const name of ["q", "k"]) {
    file.arrays[`${name}/decoder`] = new Float32Array((at + 1) * rows[name].length);
    file.arrays[`${name}/decoder`].set(rows[name], at * rows[name].length);
  }
  const words = checked(file, { ...selection, layer: 1, head: 1 });
  assert.match(words, /weights are rounded in this file: softmax\(.*\) differs by up to \de-[56]\.$/);
  assert.doesNotMatch(words, /recomputed/);
});

test("rows that are cut do not add up to 1", () => {
  const half = Float32Array.from([0.25, 0.25, 0.5, 0.5]);
  assert.deepEqual(rowSums(half, 2), [0.5, 1]);
  const cut = weights.map((weight, i) => (i === K ? 0 : weight));
  const part = message(cut);
  assert.match(checked(part, selection), /add up to .* to 1/);
  assert.doesNotMatch(checked(part, selection), /not drawn/); // where nothing is known to be beyond the edge
  for (const more of [{ cut: true }, { whole: [9, 9] }]) {
    part.kinds = { decoder: { ...info, ...more } };
    part.made.clear();
    assert.match(checked(part, selection), /the rest is on tokens not drawn here/);
  }
});
