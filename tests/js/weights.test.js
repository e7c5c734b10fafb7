import assert from "node:assert/strict";
import { test } from "node:test";
import { pooled, rolledOut, sameHead, unquantised, weightsOf } from "#view/attention/weights.js";
import { cases, near } from "./cases.js";

// A file's message of one kind.
function message({ shape, cells, block, causal }) {
  const [, layers, heads, Q, K] = shape;
  const tokens = (n) => Array.from({ length: n }, (_, i) => String(i));
  const kinds = { decoder: { layers, heads, queries: tokens(Q), keys: tokens(K), causal } };
  const arrays = { "cells/decoder": Uint8Array.from(cells) };
  return {
    arrays,
    shapes: { "cells/decoder": shape },
    kinds,
    block: { decoder: block },
    selection: {},
    made: new Map(),
  };
}

test("every head's weights come back from two bytes a weight", () => {
  const { shape, weights } = cases.cells;
  const [, layers, heads, Q, K] = shape;
  for (let at = 0; at < layers * heads; at++) {
    const expected = weights.slice(at * Q * K, (at + 1) * Q * K);
    near(
      unquantised(message(cases.cells), "decoder", Math.floor(at / heads), at % heads),
      expected,
      2e-5,
      `head ${at}`,
    );
  }
});

test("all heads small are those that Python pools", () => {
  const file = message(cases.cells);
  pooled(file);
  assert.deepEqual(file.shapes["grid/decoder"], cases.cells.pooled.shape);
  near(file.arrays["grid/decoder"], cases.cells.pooled.cells, 1, "pooled"); // both round, one twice
});

test("rollout and the means are Python's", () => {
  const file = message(cases.cells);
  for (const [of, expected] of Object.entries(cases.cells.combined)) {
    near(weightsOf(file, { kind: "decoder", layer: 1, head: 0, of }), expected, 2e-5, of);
  }
});

test("rollout of heads that look at themselves alone stays there", () => {
  const own = Float32Array.from([1, 0, 0, 1]);
  assert.deepEqual([...rolledOut([own, own, own], 2)], [1, 0, 0, 1]);
});

test("a mean is the same picture whatever head was looked at before", () => {
  const selection = { kind: "cross", of: "mean_heads", layer: 1, head: 0 };
  assert.ok(sameHead(selection, { ...selection, head: 3 }));
  assert.ok(!sameHead(selection, { ...selection, layer: 2 }));
  assert.ok(sameHead({ ...selection, of: "mean_all" }, { ...selection, of: "mean_all", layer: 2 }));
});
