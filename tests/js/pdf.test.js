import assert from "node:assert/strict";
import { test } from "node:test";
import { faded, fillShape } from "#view/model/paint/brushes.js";
import { Pdf } from "#view/drawing/pdf.js";

const square = [[0, 0], [1, 0], [1, 1]]; // prettier-ignore

function page(paint) {
  const pdf = new Pdf(10, 10, "#ffffff");
  pdf.page = [];
  paint(pdf);
  return pdf;
}

test("a shape is filled with its colour", () => {
  assert.deepEqual(page((pdf) => fillShape(pdf, square, "#ff0000")).page, ["1 0 0 rg 0 0 m 1 0 l 1 1 l f"]);
});

test("what is partly seen through is so alone, and the file says how much", () => {
  const pdf = page((one) => {
    faded(one, 0.5, () => {
      fillShape(one, square, "#ff0000");
      one.fillRect(0, 0, 1, 1);
    });
    one.fillRect(0, 0, 2, 2);
  });
  const shape = ["q", "/G0 gs", "1 0 0 rg 0 0 m 1 0 l 1 1 l f", "Q"];
  const box = ["q", "/G0 gs", "1 0 0 rg 0 0 1 1 re f", "Q"];
  assert.deepEqual(pdf.page, [...shape, ...box, "1 0 0 rg 0 0 2 2 re f"]);
  const text = pdf.bytes().map((part) => String.fromCharCode(...part)).join(""); // prettier-ignore
  assert.match(text, /\/G0 << \/CA 0.5 \/ca 0.5 >>/);
});

test("text is as faint as what it is drawn with", () => {
  const pdf = page((one) => {
    Object.assign(one, { font: "400 10px sans-serif", fillStyle: "#000000", textAlign: "left" });
    faded(one, 0.25, () => one.fillText("a", 0, 0));
  });
  assert.deepEqual(pdf.page.slice(0, 2), ["q", "/G0 gs"]);
  assert.match(pdf.page[2], /<61> Tj/);
});
