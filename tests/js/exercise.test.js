import assert from "node:assert/strict";
import { test } from "node:test";
import { judged, neighbour, numberOf } from "../../ui/views/by_hand/exercise/judge.js";

test("numbers are read as people write them", () => {
  for (const [text, number] of [
    ["0.25", 0.25],
    [" .25 ", 0.25],
    ["0,25", 0.25],
    ["−1.5", -1.5],
    ["-1.5", -1.5],
    ["-inf", -Infinity],
    ["−∞", -Infinity],
  ])
    assert.equal(numberOf(text), number, text);
  for (const text of ["", "x", "1.2.3", "inf", "0.2 5"]) assert.ok(!Number.isFinite(numberOf(text)), text);
});

test("a number is right between its bounds", () => {
  assert.equal(judged("", 0, 1), "");
  assert.equal(judged("  ", 0, 1), "");
  assert.equal(judged("0.24", 0.24, 0.26), "right");
  assert.equal(judged("0.27", 0.24, 0.26), "wrong");
  assert.equal(judged("a quarter", 0.24, 0.26), "wrong");
  assert.equal(judged("-inf", null, null), "right");
  assert.equal(judged("-9", null, null), "wrong");
  assert.equal(judged("-inf", 0, 1), "wrong");
});

test("the arrow keys go to the neighbours that are open", () => {
  const places = [
    [0, 0],
    [0, 1],
    [2, 0],
    [2, 1],
  ];
  assert.equal(neighbour(places, 0, "ArrowRight"), 1);
  assert.equal(neighbour(places, 1, "ArrowRight"), null);
  assert.equal(neighbour(places, 2, "ArrowLeft"), null);
  assert.equal(neighbour(places, 0, "ArrowDown"), null);
  const square = [...places.slice(0, 2), [1, 0], [1, 1]];
  assert.equal(neighbour(square, 1, "ArrowDown"), 3);
  assert.equal(neighbour(square, 3, "ArrowUp"), 1);
});
