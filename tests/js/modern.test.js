import assert from "node:assert/strict";
import { test } from "node:test";
import { largestDifference } from "#view/attention/checks.js";
import { shutCells } from "#view/pictures/grid.js";
import { unpack } from "#view/message/message.js";
import { sharedText, windowText } from "#view/text/names.js";
import { formula, mayLook, rowsOf, score, wholeInfo } from "#view/attention/scores.js";
import { stageName } from "#view/attention/stages.js";
import { cases, near } from "./cases.js";

for (const [kind, { message, scores, weights, mask }] of Object.entries(cases.modern)) {
  const file = unpack(Uint8Array.from(Buffer.from(message, "base64")));
  const info = file.kinds[kind];
  const K = info.keys.length;
  const pairs = Array.from({ length: info.queries.length * K }, (_, i) => [Math.floor(i / K), i % K]);

  for (const layer of [0, 1]) {
    const selection = { kind, layer, head: 1, of: "head" };
    const rows = rowsOf(file, selection);

    test(`${kind}, layer ${layer}: what may be looked at, scores and weights are Python's`, () => {
      const seen = pairs.map(([q, k]) => Number(mayLook(info, q, k, selection)));
      assert.deepEqual(seen, mask[layer]);
      const made = pairs.map(([q, k], i) => (seen[i] ? score(rows, q, k) : -1e9));
      near(made, scores[layer], 1e-5, "scores");
      assert.ok(largestDifference(info, rows, Float32Array.from(weights[layer]), selection) < 1e-6);
    });

    test(`${kind}, layer ${layer}: small heads are shut where no query of a row may look`, () => {
      const whole = wholeInfo({ ...info, first: [3, 3], whole: [info.queries.length, K] }, selection);
      const [dots, down] = [Math.ceil(K / 2), Math.ceil(K / 3)];
      const expected = new Uint8Array(dots * down).fill(1);
      const on = (at, sizes, count) => {
        // every pixel that a token falls on
        const first = Math.floor((at * sizes) / count);
        const last = Math.ceil(((at + 1) * sizes) / count) - 1;
        return Array.from({ length: last - first + 1 }, (_, i) => first + i);
      };
      pairs.forEach(([q, k], i) => {
        if (!mask[layer][i]) return;
        for (const row of on(q, down, K)) for (const x of on(k, dots, K)) expected[row * dots + x] = 0;
      });
      assert.deepEqual(shutCells(whole, dots, down, selection), expected);
    });
  }

  test(`${kind}: a mean over all layers sees what any layer sees, and so does rollout`, () => {
    const any = pairs.map((_, i) => Math.max(mask[0][i], mask[1][i]));
    for (const of of ["mean_all", "rollout"]) {
      const seen = pairs.map(([q, k]) => Number(mayLook(info, q, k, { kind, layer: info.near.layers[0], of })));
      assert.deepEqual(seen, any);
    }
  });
}

test("of a part of a text the window lies where it is in the whole", () => {
  const tokens = Array.from({ length: 4 }, String);
  const info = { layers: 1, queries: tokens, keys: tokens, causal: true, near: { layers: [0], size: 3 } };
  const sees = (first) =>
    tokens.map((_, q) => tokens.map((__, k) => Number(mayLook({ ...info, first }, q, k, { layer: 0 }))).join(""));
  assert.deepEqual(sees([8, 6]), ["1110", "0111", "0011", "0001"]);
  assert.deepEqual(sees([0, 6]), ["0000", "0000", "0000", "0000"]);
});

test("how scores are made, which heads share keys, and how far a layer sees are said", () => {
  assert.equal(formula({}), "q·k / √d");
  assert.equal(formula({ scale: 0.22, cap: 50 }), "q·k × 0.22, capped at ±50");
  assert.equal(formula({ scale: 1, bias: [0] }), "q·k + bias");
  const message = { kinds: { decoder: { scale: 0.22 } }, arrays: {} };
  const selection = { kind: "decoder", stage: "scores" };
  assert.equal(stageName(message, selection), "scores q·k × 0.22");
  for (const name of ["bias", "bias/decoder"]) {
    const biased = { ...message, arrays: { [name]: new Float32Array(1) } };
    assert.equal(stageName(biased, selection), "scores q·k × 0.22 + bias");
  }
  assert.equal(sharedText({ heads: 9, groups: 3 }, 4), "heads 3 to 5 share keys and values (key-value head 1)");
  assert.equal(sharedText({ heads: 4, groups: 2 }, 0), "heads 0 and 1 share keys and values (key-value head 0)");
  assert.equal(sharedText({ heads: 4, groups: 1 }, 0), "all heads share keys and values");
  assert.equal(sharedText({ heads: 4 }, 0), "");
  const windowed = { near: { layers: [1], size: 4 } };
  assert.equal(windowText({ ...windowed, causal: true }, 1), "window of 4 tokens");
  assert.equal(windowText(windowed, 1), "window of 3 tokens to each side");
  assert.equal(windowText(windowed, 0), "");
});
