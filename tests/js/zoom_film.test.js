import assert from "node:assert/strict";
import { test } from "node:test";
import { hasNumber } from "#view/model/parts/numbers.js";
import { LEVELS } from "#view/model/parts/places.js";
import { scenesOf } from "#view/model/zoom_film.js";

test("a film holds at every level and flies from each to the next, as long at any number of frames a second", () => {
  for (const fps of [10, 25]) {
    const scenes = scenesOf(LEVELS.length - 1, fps);
    const holds = scenes.filter(({ part }) => part === 0);
    assert.deepEqual(holds.map(({ level }) => LEVELS[level]), LEVELS); // prettier-ignore
    assert.ok(holds.every(({ lasts }) => lasts === 3 * fps));
    assert.ok(scenes.every(({ part }) => part >= 0 && part < 1));
    const seconds = scenes.reduce((sum, { lasts }) => sum + lasts, 0) / fps;
    assert.ok(seconds > 25 && seconds < 27);
  }
});

test("without the numbers of a number a film ends at the cell", () => {
  const scenes = scenesOf(LEVELS.indexOf("cell"), 10);
  assert.deepEqual(scenes.at(-1), { level: LEVELS.indexOf("cell"), part: 0, lasts: 30 });
});

test("a number is there only for the head, the query and the place that it was made for", () => {
  const number = { position: 5, number: 7 };
  const selection = { kind: "cross", layer: 1, head: 0 };
  const message = { selection, model: { number, first: { cross: [2, 0] } }, arrays: { "number/weights": [1] } };
  const node = { ...selection, pair: [3, 2], feature: 7 };
  assert.ok(hasNumber(message, node));
  for (const other of [{ head: 1 }, { layer: 0 }, { kind: "decoder" }, { pair: [5, 2] }, { feature: 0 }])
    assert.ok(!hasNumber(message, { ...node, ...other }), JSON.stringify(other));
  const inFile = {
    ...message,
    selection: { ...selection, head: 1 },
    model: { number: { ...number, position: 3, ...selection } },
  };
  assert.ok(hasNumber(inFile, node)); // whatever head is looked at now
  assert.ok(!hasNumber(inFile, { ...node, head: 1 }));
  assert.ok(!hasNumber({ ...message, model: {} }, node));
});
