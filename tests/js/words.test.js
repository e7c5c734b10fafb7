import assert from "node:assert/strict";
import { test } from "node:test";
import { partOfOne, plain, short, ticks, weightText } from "#view/text/numbers.js";
import { plainly, visible } from "#view/text/tokens.js";
import { wordsOf, wordText } from "../../transformer/publishing/js/text/words.js";
import { cases } from "./cases.js";

const bare = (text) => text.replace(/[\u2068\u2069]/g, "");

test("tokens are made visible as Python makes them", () => {
  for (const [token, expected, , plain] of cases.tokens) {
    assert.equal(bare(visible(token, 1000)), bare(expected), token);
    assert.equal(bare(plainly(token, 1000)), bare(plain), token);
  }
});

test("no token acts on the text around it", () => {
  assert.equal(visible("\u202eabc"), "\u2068⟨202E⟩abc\u2069");
  assert.equal(visible("\u0301"), "\u2068◌\u0301\u2069");
  assert.equal(visible("a".repeat(30), 4), "\u2068aaa…\u2069");
});

test("numbers are written plainly, and shortly for a cell", () => {
  assert.deepEqual([-Infinity, 0, 0.123456789, 12345.6, 0.00001].map(plain), [
    "−∞",
    "0",
    "0.123457",
    "1.235e+4",
    "1.000e-5",
  ]);
  assert.deepEqual([0.124, 1, 1.26, 12.6, -0.5].map(short), [".12", "1", "1.3", "13", "-.50"]);
});

test("what is less than all never reads as 1, nor what is more than nothing as 0", () => {
  for (const value of [0.995001, 0.996, 0.9999, 1 - 2 ** -24]) {
    for (const said of [short(value), weightText(value), weightText(value, 4), partOfOne(value, 2)]) {
      assert.ok(parseFloat(said.replace(">", "").trim()) < 1, said);
      assert.ok(parseFloat(said.replace(">", "").trim()) > 0.98, said);
    }
  }
  assert.deepEqual(
    [1, 0.5, 0].map((value) => weightText(value)),
    ["1", "0.5", "0"],
  );
  assert.deepEqual(
    [1, 0.5, 0, 0.001].map((value) => partOfOne(value, 2)),
    ["1.00", "0.50", "0.00", "< 0.01"],
  );
  assert.notEqual(weightText(1e-7), "0");
});

test("an axis has round numbers inside its ends", () => {
  assert.deepEqual(ticks(0, 1, 4), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepEqual(ticks(0.9, 4.1, 3), [2, 4]);
  assert.deepEqual(ticks(0, 123456, 6), [0, 25000, 50000, 75000, 100000]);
  assert.deepEqual(ticks(2, 2, 4), [2]);
});

test("pieces are put together as the words that Python makes of them", () => {
  for (const [pieces, mark, special, together, texts] of cases.words) {
    const words = wordsOf(pieces, mark, new Set(special));
    assert.deepEqual(words, together, JSON.stringify([pieces, mark]));
    assert.deepEqual(
      words.map((places) =>
        wordText(
          places.map((at) => pieces[at]),
          mark,
        ),
      ),
      texts,
    );
  }
});
