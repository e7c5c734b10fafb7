import assert from "node:assert/strict";
import { test } from "node:test";
import { faded, fillShape } from "#view/model/paint/brushes.js";
import { Vector } from "#view/drawing/svg.js";

test("what XML has no place for is drawn as the sign for that", () => {
  const picture = new Vector(10, 10, "#ffffff");
  picture.font = "400 12px sans-serif";
  picture.fillText("a\u0001\u000b\ufffe<😀", 0, 0);
  assert.match(picture.parts.join(""), />a\ufffd\ufffd\ufffd&#60;😀<\/text>/);
});

test("a shape is filled, what is partly seen through says so and only that, and places are short", () => {
  const picture = new Vector(10, 10, "#ffffff");
  picture.parts = [];
  const square = [[0, 0], [1 / 3, 0], [1 / 3, 1 / 3], [0, 1 / 3]]; // prettier-ignore
  faded(picture, 0.5, () => fillShape(picture, square, "#ff0000"));
  picture.fillRect(0, 0, 2 / 3, 1);
  assert.deepEqual(picture.parts, [
    '<path d="M0 0L0.33 0L0.33 0.33L0 0.33" fill="#ff0000" opacity="0.5"/>',
    '<rect x="0" y="0" width="0.67" height="1" fill="#ff0000"/>',
  ]);
});

test("what is drawn in a part of the picture is cut off at its edge, and nothing after it is", () => {
  const picture = new Vector(10, 10, "#ffffff");
  picture.save();
  picture.beginPath();
  picture.rect(0, 0, 5, 5);
  picture.clip();
  picture.fillRect(0, 0, 9, 9);
  picture.restore();
  picture.fillRect(5, 5, 1, 1);
  const text = String(picture);
  assert.match(text, /<g clip-path="url\(#c1\)">\n<rect [^>]*width="9"[^>]*\/>\n<\/g>\n<rect [^>]*width="1"/);
});
