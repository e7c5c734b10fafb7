import assert from "node:assert/strict";
import { test } from "node:test";
import { cases } from "./cases.js";

// A ruler for which every character is seven pixels wide.
globalThis.document = {
  createElement: () => ({ getContext: () => ({ measureText: (words) => ({ width: 7 * words.length }) }) }),
};
const { rowLabels, rowNames, rowText } = await import("#view/pictures/rows.js");
const { mayLook } = await import("#view/attention/scores.js");
const { mergedText } = await import("#view/view/words/words.js");
const { change } = await import("#view/attention/selection.js");

const info = { queries: ["<s>", "▁le"], keys: ["▁wine", "▁red"], makes: ["▁le", "▁vin"], causal: false };
const plain = (label) => label.replace(/[\u2066-\u2069]/g, "");

test("a row is named by the token read and the one predicted from it, or by the first alone", () => {
  assert.deepEqual(rowLabels(info, { rows: "made" }).map(plain), ["<s> → ␣le", "␣le → ␣vin"]);
  assert.deepEqual(rowLabels(info, { rows: "read" }).map(plain), ["<s>", "␣le"]);
  assert.deepEqual(rowNames(info, { rows: "made" }), ["<s> → ▁le", "▁le → ▁vin"]);
  assert.equal(plain(rowText(info, { rows: "made" }, 1)), "␣le (1), read to predict ␣vin,");
  assert.equal(plain(rowText({ ...info, merged: { words: true } }, {}, 1)), "␣le (1), followed by ␣vin,");
  assert.equal(plain(rowText(info, { rows: "read" }, 1)), "␣le (1)");
  const encoder = { ...info, makes: undefined };
  assert.deepEqual(rowLabels(encoder, { rows: "made" }).map(plain), ["<s>", "␣le"]);
});

test("a long label is shortened on both sides until it has room", () => {
  const long = { ...info, queries: ["a".repeat(30), "b"], makes: ["c".repeat(30), "d"] };
  const [label] = rowLabels(long, {});
  assert.match(plain(label), /^a+… → c+…$/);
  assert.ok(7 * label.length <= 150);
});

test("what a query may look at is counted where keys are left out", () => {
  const sees = { queries: ["<s>", "a", "b"], keys: ["a", "b"], causal: true, sees: [0, 1, 2] };
  assert.deepEqual(
    [0, 1, 2].map((query) => [0, 1].map((key) => mayLook(sees, query, key))),
    [
      [false, false],
      [true, false],
      [true, true],
    ],
  );
});

const selection = { kind: "cross", layer: 0, head: 0, of: "head", stage: "weights", view: "matrix", special: "hidden" };
const viewOf = (merged, weights) => {
  const kinds = { cross: { ...info, layers: 1, heads: 1, merged } };
  return {
    selection,
    message: { selection, kinds, arrays: { weights: Float32Array.from(weights) }, shapes: {}, made: new Map() },
  };
};

test("how much is hidden is said in one line", () => {
  const merged = { words: true, special: ["</s>"], sinks: ["▁we"] };
  assert.equal(
    plain(mergedText(viewOf(merged, [0.5, 0.5, 0.25, 0.25]))),
    "Weights of a word’s pieces are added over keys and averaged over queries. Left out: </s>, we (a sink), " +
      "with 25% of this head’s weight (0% to 50% of a row). What is left is not scaled up.",
  );
  const none = { words: false, special: [], sinks: [] };
  assert.equal(mergedText(viewOf(none, [1, 0, 0, 1])), "There is no special token and no sink to leave out.");
  assert.equal(mergedText(viewOf(undefined, [1, 0, 0, 1])), "");
});

test("choices that exclude one another are settled as in Python", () => {
  for (const [asked, rolls, expected] of cases.settled) {
    const view = { ...viewOf(null, [1, 0, 0, 1]), sent: 0, send: () => {}, redraw: () => {} };
    view.message.kinds.cross.rolls = rolls;
    view.selection = { ...selection, pair: null };
    change(view, asked);
    for (const name of Object.keys(asked)) assert.equal(view.selection[name], expected[name], JSON.stringify(asked));
  }
});

test("words have no stages but weights, and no pair that was of pieces", () => {
  const view = { ...viewOf(null, [1, 0, 0, 1]), sent: 0, send: () => {}, redraw: () => {} };
  view.selection = { ...selection, special: "shown", tokens: "pieces", stage: "scores", of: "head", pair: [1, 1] };
  change(view, { tokens: "words" });
  assert.equal(view.selection.stage, "weights");
  assert.equal(view.selection.pair, null);
});
