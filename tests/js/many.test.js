import assert from "node:assert/strict";
import { test } from "node:test";
import { drawnFirst, layoutMany, manyOf, nextHead, oneOfMany } from "#view/pictures/many.js";
import { rowSpan } from "#view/step_view/rows.js";
import { range } from "#view/view/layout/text.js";

const BOX = { x: 0, y: 0, width: 290, height: 380 };

// Heads of which each has its place among all as its number, drawn as Python would send them.
function many(layers, heads, selection, cells = 4) {
  const numbers = Uint8Array.from({ length: layers * heads }, (_, at) => (at * 7) % 256);
  const drawn = drawnFirst(numbers, layers, heads, selection);
  return { layers, heads, numbers, drawn, cells: new Uint8Array(drawn.length * cells ** 2), shape: [1, cells, cells] };
}

for (const [layers, heads] of [
  [30, 9],
  [32, 32],
  [80, 64],
]) {
  test(`${layers} x ${heads} heads: the layer looked at is drawn whole, inside the box and large enough`, () => {
    for (const layer of [0, 5, layers - 1]) {
      const selection = { order: "layers", layer, head: 0, of: "head" };
      const places = layoutMany(BOX, many(layers, heads, selection), selection);
      const own = places.tiles.filter(({ at }) => at[0] === layer);
      assert.equal(own.length, heads);
      assert.ok(places.width >= 16);
      for (const { x, y } of places.tiles) {
        assert.ok(x + places.width <= BOX.width && y + places.height <= BOX.height);
      }
      assert.ok(places.map.y + places.map.height <= BOX.height);
    }
  });
}

test("a ranking is drawn from its first, and the arrows go through it", () => {
  const selection = { order: "apart", layer: 0, head: 0, of: "head" };
  const heads = many(32, 32, selection);
  const places = layoutMany(BOX, heads, selection);
  const at = ([layer, head]) => heads.numbers[layer * 32 + head];
  assert.equal(at(places.tiles[0].at), Math.max(...heads.numbers));
  for (const [nth, tile] of places.tiles.entries()) assert.ok(!nth || at(tile.at) <= at(places.tiles[nth - 1].at));
  assert.deepEqual(nextHead(places, places.tiles[0].at, [0, 1]), places.tiles[1].at);
  assert.deepEqual(nextHead(places, places.tiles[0].at, [1, 0]), places.tiles[places.columns].at);
  assert.deepEqual(nextHead(places, [31, 31], [0, 1]), places.tiles[0].at);
});

test("the pointer finds a head on the map, and one that is large with the place in it", () => {
  const selection = { order: "layers", layer: 5, head: 0, of: "head" };
  const places = layoutMany(BOX, many(30, 9, selection), selection);
  const { map, tiles } = places;
  const onMap = [map.x + 2.5 * map.cw, map.y + 7.5 * map.ch];
  assert.deepEqual(oneOfMany(places, onMap), { at: [7, 2], inside: null });
  const [tile] = tiles;
  const found = oneOfMany(places, [tile.x + places.width / 2, tile.y + places.height / 4]);
  assert.deepEqual([found.at, found.inside, found.nth], [tile.at, [0.25, 0.5], tile.nth]);
  assert.equal(oneOfMany(places, [tile.x - 2, tile.y + 2]), null);
});

test("out of a file that has all heads those of the order are cut", () => {
  const [layers, heads] = [20, 10];
  const grid = Uint8Array.from({ length: layers * heads }, (_, at) => at);
  const map = Uint8Array.from({ length: 2 * layers * heads }, (_, at) => (at < 200 ? 0 : 255 - (at - 200)));
  const message = {
    arrays: { "map/decoder": map, "grid/decoder": grid },
    shapes: { "map/decoder": [2, layers, heads], "grid/decoder": [layers, heads, 1, 1] },
    maps: ["layers", "apart"],
    kinds: { decoder: {} },
    made: new Map(),
  };
  const first = manyOf(message, { kind: "decoder", order: "apart", layer: 0 });
  assert.deepEqual([...first.cells.slice(0, 3)], [0, 1, 2]);
  const group = manyOf(message, { kind: "decoder", order: "layers", layer: 17 });
  assert.deepEqual([group.drawn[0], group.cells[0]], [[16, 0], 160]);
});

test("of many tokens those round the predicted one stand in a row", () => {
  assert.deepEqual(rowSpan(60, 59), [0, 60]);
  assert.deepEqual(rowSpan(4001, 4000), [3601, 4001]);
  assert.deepEqual(rowSpan(4001, 2000), [1700, 2100]);
  assert.deepEqual(rowSpan(900), [0, 400]);
});

test("what is drawn of a long text is said by the places of its tokens", () => {
  const side = Array(256).fill("a");
  const info = { whole: [4000, 4000], first: [3744, 10], queries: side, keys: side };
  assert.equal(range(info, 0), "queries 3,744 to 3,999 of 4,000");
  assert.equal(range(info, 1), "keys 10 to 265 of 4,000");
});
