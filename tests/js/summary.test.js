import assert from "node:assert/strict";
import { test } from "node:test";
import { spoken } from "#view/text/tokens.js";
import { numberSpoken } from "#view/text/numbers.js";
import { loudnessOf, pitchOf } from "#view/view/sound.js";
import { strongestOf, summary } from "#view/view/words/summary.js";
import { cases } from "./cases.js";

const bare = (words) => words.replace(/[\u2066-\u2069]/g, "");

// A view of one head of these weights, row by row.
function viewOf(kind, rows, info = {}, selection = {}) {
  const tokens = (n) => Array.from({ length: n }, (_, at) => `t${at}`);
  const one = {
    layers: 1,
    heads: 1,
    queries: tokens(rows.length),
    keys: tokens(rows[0].length),
    causal: false,
    ...info,
  };
  const seen = { kind, layer: 0, head: 0, of: "head", stage: "weights", view: "matrix", ...selection };
  const arrays = { weights: Float32Array.from(rows.flat()), layer: Float32Array.from(rows.flat()) };
  const shapes = { layer: [1, rows.length, rows[0].length] };
  return {
    selection: seen,
    message: { selection: seen, kinds: { [kind]: one }, arrays, shapes, window: [0, 0], made: new Map() },
  };
}

test("a summary counts the rows with one key in front, and names the largest weight", () => {
  const rows = [
    [0.9, 0.1, 0],
    [0.3, 0.3, 0.4],
    [0, 0.004, 0.996],
  ];
  const said = bare(summary(viewOf("cross", rows)));
  assert.match(said, /^2 of 3 tokens .*their weight on .* 0\.996, from “t2” to “t2”\.$/);
  assert.match(
    bare(summary(viewOf("cross", rows, { makes: ["a", "b", "c"] }))),
    /0\.996, to “t2” in predicting “c”\.$/,
  );
  assert.match(bare(summary(viewOf("cross", [rows[0], rows[2]]))), /^Each token .*its weight/);
  assert.match(bare(summary(viewOf("cross", [rows[1]]))), /^No token /);
});

test("a row that may look at one key alone says nothing of its head", () => {
  const first = [1, 0, 0];
  const said = bare(summary(viewOf("decoder", [first, [0.6, 0.4, 0], [0.2, 0.3, 0.5]], { causal: true })));
  assert.match(said, /^1 of 2 tokens .* 0\.60, from “t1” to “t0”\.$/);
  assert.equal(summary(viewOf("decoder", [[1]], { causal: true })), "");
});

test("where nearly every token looks is said of tokens of one text, by their places in it", () => {
  const six = [0, 1, 2, 3, 4, 5];
  const before = six.map((q) => six.map((k) => (k === Math.max(0, q - 1) ? 0.8 : 0.04)));
  assert.match(summary(viewOf("decoder", before, { causal: true })), /5 of 5 look most at the token before/);
  assert.doesNotMatch(summary(viewOf("cross", before)), /look most at/);
  const later = viewOf("encoder", before, { first: [5, 6], whole: [20, 20] });
  assert.match(summary(later), /look most at the token itself/); // key 6 + 0 is query 5 + 1
});

test("of values, scores and lines it says what there is", () => {
  const values = viewOf("encoder", [
    [-0.5, 0.1],
    [0.2, 0.3],
  ]);
  values.message.kinds.encoder.open = { signed: true, most: 0.5 };
  assert.match(bare(summary(values)), /\.3, from “t1” to “t1”; .* -\.5, from “t0” to “t0”/);
  const lines = viewOf("cross", [[0.9, 0.1]], {}, { view: "lines", lit: [0] });
  assert.match(bare(summary(lines)), /0\.90, from “t0” to “t0”/);
});

test("the largest of a row is found among what it may look at", () => {
  const { message, selection } = viewOf("decoder", [
    [0.2, 0.8],
    [0.7, 0.3],
  ]);
  const info = { ...message.kinds.decoder, causal: true };
  assert.deepEqual(strongestOf(info, selection, message.arrays.weights, 0), { key: 0, open: 1 });
  assert.deepEqual(strongestOf(info, selection, message.arrays.weights, 1), { key: 0, open: 2 });
});

test("what is read out has words for marks, spaces and infinity, as in Python", () => {
  for (const [token, , said] of cases.tokens) assert.equal(spoken(token), said);
  assert.deepEqual(["constructor", "▁toString"].map(spoken), ["constructor", "toString"]);
  for (const token of ["▁red", " red", ".", " .", " ", "\n", "a b", "▁"]) {
    assert.doesNotMatch(spoken(token), /[_␣▁↵.]/);
  }
  assert.equal(numberSpoken(-Infinity), "minus infinity");
  assert.equal(numberSpoken(-2.05829), "minus 2.06");
  assert.equal(numberSpoken(0.0388), "0.04");
});

test("a tone is higher for later keys and louder for larger weights", () => {
  assert.ok(pitchOf(0, 9) < pitchOf(4, 9) && pitchOf(4, 9) < pitchOf(8, 9));
  assert.equal(pitchOf(8, 9), pitchOf(99, 100));
  assert.equal(loudnessOf(0), 0);
  assert.ok(loudnessOf(0.01) < loudnessOf(0.5) && loudnessOf(0.5) < loudnessOf(1));
});
