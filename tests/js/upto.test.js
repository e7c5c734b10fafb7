import assert from "node:assert/strict";
import { test } from "node:test";
import { cutTo, stepOf } from "#view/stage/upto.js";

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
