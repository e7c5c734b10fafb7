import assert from "node:assert/strict";
import { test } from "node:test";
import { Vector } from "#view/svg.js";

test("what XML has no place for is drawn as the sign for that", () => {
  const picture = new Vector(10, 10, "#ffffff");
  picture.font = "400 12px sans-serif";
  picture.fillText("a\u0001\u000b\ufffe<😀", 0, 0);
  assert.match(picture.parts.join(""), />a\ufffd\ufffd\ufffd&#60;😀<\/text>/);
});
