import assert from "node:assert/strict";
import { test } from "node:test";
import { rowSums } from "#view/attention/checks.js";
import { unpack } from "#view/message/message.js";
import { carriedOf } from "#view/model/parts/numbers.js";
import { cutTo, stepOf } from "#view/step_view/upto.js";
import { withHeads } from "#view/view/layout/painting.js";
import { pooled, weightsOf } from "#view/attention/weights.js";
import { cases, near } from "./cases.js";

test("an array is cut along the axes that had fewer", () => {
  const array = Float32Array.from({ length: 24 }, (_, at) => at); // (2, 3, 4)
  const [cut, shape] = cutTo(array, [2, 3, 4], { 1: 2, 2: 3 });
  assert.deepEqual(shape, [2, 2, 3]);
  assert.deepEqual([...cut], [0, 1, 2, 4, 5, 6, 12, 13, 14, 16, 17, 18]);
  assert.equal(cutTo(array, [2, 3, 4], { 1: 3 })[0], array);
});

test("a step has the queries there were, of the decoder as many keys, and room for what comes", () => {
  const info = (queries, keys) => ({ layers: 1, heads: 1, queries, keys, makes: queries.map((one) => `${one}!`) });
  const target = ["<s>", "le", "vin"];
  const message = {
    path: { prompt: 1 },
    kinds: { cross: info(target, ["wine", "</s>"]), decoder: info(target, target) },
    arrays: { "cells/cross": new Uint8Array(12), "q/decoder": new Float32Array(6), "k/cross": new Float32Array(4) },
    shapes: { "cells/cross": [2, 1, 1, 3, 2], "q/decoder": [1, 1, 3, 2], "k/cross": [1, 1, 2, 2] },
  };
  const step = stepOf(message, 1); // two tokens have been read
  assert.deepEqual(step.shapes, { "cells/cross": [2, 1, 1, 2, 2], "q/decoder": [1, 1, 2, 2], "k/cross": [1, 1, 2, 2] });
  assert.deepEqual(step.kinds.decoder.keys, ["<s>", "le"]);
  assert.deepEqual(step.kinds.decoder.ahead, { queries: ["vin"], keys: ["vin"], makes: ["vin!"] });
  assert.deepEqual(step.kinds.cross.keys, ["wine", "</s>"]);
  assert.deepEqual(step.kinds.cross.ahead.keys, []);
  assert.equal(message.kinds.cross.queries.length, 3);
});

test("the picture of the model follows the newest token of a step, with the effects on what came next", () => {
  const info = (queries, keys) => ({ layers: 2, heads: 1, queries, keys });
  const target = ["<s>", "le", "vin"];
  const steps = [{ effectOf: "le", logit: 1 }, { why: "no." }, { effectOf: "</s>", logit: 3 }];
  const message = {
    path: { prompt: 1 },
    kinds: { decoder: info(target, target) },
    model: { stack: "decoder", position: 2, token: "vin", effectOf: "</s>", logit: 3, steps },
    arrays: {
      "effects/decoder": Float32Array.from([1, 2, 0, 0, 5, 6]),
      "norms/decoder": Float32Array.from({ length: 12 }, (_, at) => at),
      "added/decoder": new Float32Array(12),
    },
    shapes: { "effects/decoder": [3, 2, 1], "norms/decoder": [3, 4], "added/decoder": [3, 4] },
  };
  const [first, second, last] = [0, 1, 2].map((index) => stepOf(message, index));
  assert.deepEqual([...first.arrays["effects/decoder"]], [1, 2]);
  assert.deepEqual(first.shapes["effects/decoder"], [2, 1]);
  assert.deepEqual(first.model, { stack: "decoder", position: 0, token: "<s>", effectOf: "le", logit: 1 });
  assert.equal(second.arrays["effects/decoder"], undefined);
  assert.deepEqual(second.model, { stack: "decoder", position: 1, token: "le", why: "no." });
  assert.deepEqual([...last.arrays["effects/decoder"]], [5, 6]);
  assert.deepEqual(
    [...carriedOf({ ...second, model: { ...second.model, parts: { decoder: "abcd" } } }, "decoder").norms],
    [4, 5, 6, 7],
  );
});

for (const [name, { message: sent, tokens, last }] of Object.entries(cases.paths)) {
  test(`${name}: every step of a decoding has every head, with all of its weight`, () => {
    const message = unpack(new Uint8Array(Buffer.from(sent, "base64")));
    const end = message.path.bars.length - 1;
    assert.equal(message.path.prompt + end, tokens);
    for (const index of [0, end]) {
      const step = stepOf(message, index);
      pooled(step);
      for (const [kind, info] of Object.entries(step.kinds)) {
        const selection = { ...message.selection, kind, layer: info.layers - 1, head: info.heads - 1 };
        const grid = withHeads({ info, selection }, step);
        const { cells, shape } = grid.many ?? grid;
        const drawn = grid.many?.drawn.length ?? info.layers * info.heads;
        assert.equal(cells.length, drawn * shape.at(-1) * shape.at(-2));
        assert.ok(cells.some(Boolean));
        const weights = weightsOf(step, selection);
        near(rowSums(weights, info.keys.length), [1, 1], 1e-3, kind);
        if (index === end) near(weights.subarray(-info.keys.length), last[kind], 2e-5, kind);
      }
    }
  });
}
