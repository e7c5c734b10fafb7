import assert from "node:assert/strict";
import { test } from "node:test";
import { themeOf } from "#view/drawing/colours.js";
import { matrixLayout, paintMatrix } from "#view/pictures/matrix.js";

const written = [];
let font = "";
const isolates = /[\u2066-\u2069]/g; // which have no width
const context = new Proxy(
  {
    measureText: (text) => ({
      width: (7 * text.replace(isolates, "").length * Number(font.match(/([\d.]+)px/)[1])) / 13,
    }),
    createImageData: (width, height) => ({ data: { buffer: new ArrayBuffer(4 * width * height) } }),
    fillText: (text) => written.push(text.replace(isolates, "")),
  },
  {
    get: (methods, name) => methods[name] ?? (() => {}),
    set: (_, name, value) => {
      if (name === "font") font = value;
      return true;
    },
  },
);
globalThis.document = { createElement: () => ({ getContext: () => context }) };

const tokens = (count, name = "ab") => Array.from({ length: count }, (_, at) => `▁${name}${at}`);

// What is written of a matrix in so much room, with its layout.
function painted({ queries, keys, ahead = 0, width = 312, tall = 160 }) {
  const rows = tokens(queries);
  const info = { queries: rows, keys: tokens(keys, "k"), makes: rows, causal: false };
  info.ahead = { queries: tokens(ahead), keys: [], makes: tokens(ahead) };
  const selection = { stage: "weights", scale: "linear", rows: "both" };
  const stage = { values: new Float32Array(queries * keys).fill(0.5), high: 1 };
  const { cell, gutter } = matrixLayout(info, width, { selection, tall });
  written.length = 0;
  const box = { x: 0, y: 0, width, height: tall };
  paintMatrix(context, box, {
    info,
    stage,
    selection,
    cell,
    gutter,
    scroll: [0, 0],
    newest: true,
    theme: themeOf(false, true),
  });
  return { cell, gutter, written: [...written] };
}

test("the newest row has its name, however many there are, unless they are mere lines", () => {
  for (const [queries, ahead] of [
    [1, 0],
    [1, 15],
    [16, 0],
    [12, 8],
  ]) {
    const { written } = painted({ queries, keys: 12, ahead });
    assert.ok(written.includes(`␣ab${queries - 1} → ␣ab${queries - 1}`), `${queries} and ${ahead}: ${written}`);
  }
  const { gutter, written } = painted({ queries: 200, keys: 12 });
  assert.ok(gutter.bare && !written.some((one) => one.includes("→")));
});

test("labels leave the cells the room for their numbers", () => {
  for (const keys of [3, 4, 5, 6]) {
    const { cell, written } = painted({ queries: 6, keys });
    assert.ok(cell[0] >= 30, `${keys} keys: ${cell[0]}`);
    assert.equal(written.filter((one) => one === ".50").length, 6 * keys);
  }
});
