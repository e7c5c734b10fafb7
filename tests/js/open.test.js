// What is no attention weight is drawn as what it is, and what is not in a file is said not to be.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checked, openText } from "#view/attention/checks.js";
import { palette, shade } from "#view/drawing/colours.js";
import { largestCells } from "#view/pictures/grid.js";
import { unpack } from "#view/message/message.js";
import { stageOf } from "#view/attention/stages.js";
import { cellValue, layerOf, pooled, weightsOf } from "#view/attention/weights.js";
import { withHeads } from "#view/view/layout/painting.js";
import { FILES, save } from "#view/view/save.js";
import { cases, near } from "./cases.js";

const opened = (sent) => unpack(new Uint8Array(Buffer.from(sent, "base64")));
const SIGNED = ["difference", "shifted", "tiny", "many"];
const OPEN = [...SIGNED, "large", "half"];

function viewOf(message, more = {}) {
  const readout = { dataset: {} };
  return { message, selection: { ...message.selection, ...more }, parts: { readout }, readout };
}

async function csv(view) {
  return (await FILES.csv(view).text()).trim().split("\n");
}

for (const name of OPEN) {
  const { exact, pooled: small, kind, values, most } = cases.open[name];
  const at = (layer, head) => values.slice((layer * 4 + head) * 49, (layer * 4 + head + 1) * 49);

  test(`${name}: every number is the one given, to see and to save`, async () => {
    const message = opened(exact);
    const { layer, head } = message.selection;
    for (const [one, other] of [
      [layer, head],
      [0, 0],
    ]) {
      const view = viewOf(message, { layer: one, head: other });
      near(weightsOf(message, view.selection), at(one, other), 0, name);
      near(layerOf(message, view.selection).values.subarray(other * 49, (other + 1) * 49), at(one, other), 0, name);
      const rows = (await csv(view)).filter((line) => line.startsWith('"') && !line.startsWith('"query'));
      const saved = rows.flatMap((line) => line.split(",").slice(1).map(Number));
      near(saved, at(one, other), 0, name);
    }
    near(weightsOf(opened(small), message.selection), at(layer, head), 0, name);
  });

  test(`${name}: the scale reaches what there is, and says that it is no weight`, async () => {
    const message = opened(exact);
    const stage = stageOf(message, message.selection);
    assert.equal(Boolean(stage.signed), SIGNED.includes(name));
    near([stage.high, stage.low], [most, SIGNED.includes(name) ? -most : 0], most * 1e-6);
    assert.match(openText(message.kinds[kind]), /[Nn]ot attention weights/);
    assert.doesNotMatch(checked(message, message.selection), /not drawn/);
    assert.match((await csv(viewOf(message))).join("\n"), /[Nn]ot attention weights/);
    const place = shade(stage, "sqrt");
    assert.equal(place(most), 512);
    if (stage.signed) assert.equal(place(-most), 0);
  });

  test(`${name}: the small pictures have its values, the one furthest from 0 in each cell`, () => {
    for (const sent of [exact, small]) {
      const message = opened(sent);
      pooled(message);
      const info = message.kinds[kind];
      const grid = withHeads({ info, selection: message.selection }, message);
      const { cells, shape } = grid.many ?? grid;
      const [R, C] = shape.slice(-2);
      const [layer, head] = grid.many?.drawn[0] ?? [0, 0];
      near(
        Array.from(cells.subarray(0, R * C), (cell) => cellValue(info, cell)),
        at(layer, head),
        most / 100,
        name,
      );
    }
  });
}

test("of several cells on a pixel the one furthest from the middle is drawn", () => {
  assert.deepEqual([...largestCells(Uint8Array.of(120, 20, 130, 140), [1, 1, 1, 4], 2, 1, 128)], [20, 140]);
  assert.deepEqual([...largestCells(Uint8Array.of(0, 20, 7, 3), [1, 1, 1, 4], 2, 1)], [20, 7]);
});

for (const name of ["weights", "bfloat16", "float16"]) {
  test(`${name}: a row is said to add up to 1`, () => {
    const message = opened(cases.open[name].exact);
    assert.match(checked(message, message.selection), /^Each row adds up to 1/);
    assert.equal(stageOf(message, message.selection).high, 1);
  });
}

test("what a file does not hold is not saved, and that is said", () => {
  const kinds = Object.keys(FILES);
  assert.ok(kinds.includes("csv"));
  for (const view of ["matrix", "lines"]) {
    for (const kind of kinds) {
      const shown = viewOf(opened(cases.open.weights.pooled), { layer: 0, head: 0, view });
      save(shown, kind);
      assert.match(shown.readout.textContent, /pooled/, `${view} ${kind}`);
    }
  }
});

test("numbers of a head that are still on their way are not saved, though its lines are drawn", () => {
  const message = opened(cases.open.weights.pooled);
  const { kind, layer, head } = message.selection;
  const { heads, queries, keys } = message.kinds[kind];
  message.standalone = false;
  message.arrays.layer = new Float32Array(heads * queries.length * keys.length);
  message.shapes.layer = [heads, queries.length, keys.length];
  message.window = [0, 0];
  const shown = viewOf(message, { layer, head: head - 1, view: "lines" });
  save(shown, "csv");
  assert.match(shown.readout.textContent, /^Nothing is saved\. .*on their way/);
});

test("a palette of signed values tells both sides apart, and both from 0", () => {
  for (const dark of [true, false]) {
    const [below, none, above] = [0, 256, 512].map((i) => palette(dark)[i].signed.join());
    assert.equal(new Set([below, none, above]).size, 3);
  }
});
