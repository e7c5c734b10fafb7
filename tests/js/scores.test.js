import assert from "node:assert/strict";
import { test } from "node:test";
import { dot, mayLook, products, rowsOf, score } from "#view/attention/scores.js";
import { stageOf } from "#view/attention/stages.js";
import { cases, near } from "./cases.js";

const { shape, width, q, k, weights, scores, moved } = cases.head;
const [Q, K] = shape;
const tokens = (n) => Array.from({ length: n }, (_, i) => String(i));
const selection = { kind: "decoder", layer: 0, head: 0, of: "head", stage: "scores" };
const message = () => ({
  kinds: { decoder: { layers: 1, heads: 1, queries: tokens(Q), keys: tokens(K), causal: true } },
  arrays: {
    q: Float32Array.from(q),
    k: Float32Array.from(k),
    weights: Float32Array.from(weights),
    moved: Float32Array.from(moved),
  },
  shapes: { q: [Q, width] },
  selection,
  made: new Map(),
});

test("scores are those of the library's attention", () => {
  near(stageOf(message(), selection).values, scores, 1e-5, "scores");
  const rows = rowsOf(message(), selection);
  const one = products(rows, 2, 1);
  assert.equal(one.length, width);
  assert.ok(Math.abs(one.reduce((a, b) => a + b, 0) - dot(rows, 2, 1)) < 1e-9);
  assert.ok(Math.abs(dot(rows, 2, 1) / Math.sqrt(width) - score(rows, 2, 1)) < 1e-12);
});

test("what positions add to the scores is added", () => {
  const one = message();
  one.arrays.bias = Float32Array.from(scores, (_, i) => -0.5 * (i % K));
  near(
    stageOf(one, selection).values,
    scores.map((value, i) => value - 0.5 * (i % K)),
    1e-5,
    "scores",
  );
});

test("masked scores are minus infinity where nothing may be looked at", () => {
  const { values } = stageOf(message(), { ...selection, stage: "masked" });
  const { decoder } = message().kinds;
  for (let i = 0; i < Q * K; i++) {
    assert.equal(values[i] === -Infinity, !mayLook(decoder, Math.floor(i / K), i % K));
  }
});

test("what a head moves is its weight times the length of the value", () => {
  const { values } = stageOf(message(), { ...selection, stage: "moved" });
  near(
    values,
    weights.map((weight, i) => weight * moved[i % K]),
    1e-6,
    "moved",
  );
});

test("a mean has no scores, and says so", () => {
  const mean = { ...selection, of: "mean_heads" };
  const stage = stageOf({ ...message(), selection: mean }, mean);
  assert.equal(stage.values, null);
  assert.match(stage.why, /A mean has no scores/);
});
