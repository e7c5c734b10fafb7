import assert from "node:assert/strict";
import { test } from "node:test";
import { distinct, zipped } from "#view/export/figures/page.js";
import { encoderFor, filmKinds } from "#view/export/film/kinds.js";
import { MOST_COLOURS, changed, countColours, indexer, paletteOf } from "#view/export/film/make.js";
import { nearestColorIndex, quantize } from "#view/vendor/gifenc/gifenc.js";

const pixel = (r, g, b) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

function counted(pixels) {
  const counts = new Map();
  countColours(Uint32Array.from(pixels), counts);
  return counts;
}

test("few colours are kept as they are, the most frequent first", () => {
  const [white, ink, red] = [pixel(255, 255, 255), pixel(38, 39, 48), pixel(230, 97, 0)];
  const counts = counted([white, white, white, ink, ink, red, white]);
  assert.deepEqual([...counts], [[white, 4], [ink, 2], [red, 1]]); // prettier-ignore
  const palette = paletteOf(counts, quantize);
  assert.deepEqual(palette, [[255, 255, 255], [38, 39, 48], [230, 97, 0]]); // prettier-ignore
  assert.deepEqual([...indexer(palette, nearestColorIndex)(Uint32Array.of(red, red, white, ink))], [2, 2, 0, 1]);
});

test("of many colours the frequent ones stay exact, and every other one has one near it", () => {
  const many = Array.from({ length: 3000 }, (_, i) => pixel((7 * i) % 256, (i * 13) % 256, (i >> 2) % 256));
  const page = pixel(11, 14, 20);
  const counts = counted([...new Array(500).fill(page), ...many]);
  const palette = paletteOf(counts, quantize);
  assert.ok(palette.length <= MOST_COLOURS);
  assert.deepEqual(palette[0], [11, 14, 20]);
  assert.deepEqual(palette, paletteOf(counted([...new Array(500).fill(page), ...many]), quantize));
  const places = indexer(palette, nearestColorIndex)(Uint32Array.from(many));
  const off = many.map((one, i) => {
    const [r, g, b] = palette[places[i]];
    return Math.hypot((one & 255) - r, ((one >> 8) & 255) - g, ((one >> 16) & 255) - b);
  });
  assert.ok(off.reduce((a, b) => a + b) / off.length < 60);
});

test("what is as before is not written again", () => {
  assert.deepEqual([...changed(Uint8Array.of(1, 2, 3), Uint8Array.of(1, 5, 3), 255)], [255, 5, 255]);
});

test("only films that the browser can make are offered, with a sentence on the others", async () => {
  globalThis.window = { isSecureContext: false };
  assert.deepEqual(await filmKinds(), {
    kinds: ["gif"],
    why: "WebM and MP4 need https: over plain http a browser makes no video.",
  });
  globalThis.window = { isSecureContext: true };
  const played = [];
  const canPlayType = (type) =>
    played.push(type) && type.includes("mp4") ? "maybe" : type.includes("vp8") && "probably";
  globalThis.document = { createElement: () => ({ canPlayType }) };
  globalThis.VideoEncoder = {
    isConfigSupported: async ({ codec }) => {
      assert.ok(played.at(-1).includes(codec)); // first whether it plays, or WebKitGTK ends the page
      if (codec.startsWith("avc1")) throw new TypeError("unknown");
      return { supported: codec === "vp8" };
    },
  };
  assert.deepEqual(await filmKinds(), { kinds: ["gif", "webm"], why: "This browser cannot make MP4." });
  assert.equal((await encoderFor("webm", { width: 64, height: 64, fps: 4 })).codec, "vp8");
});

test("files of one name get numbers, and the same files make the same zip", async () => {
  assert.deepEqual(distinct(["a.svg", "b", "a.svg", "b", "a.svg"]), ["a.svg", "b", "a-2.svg", "b-2", "a-3.svg"]);
  const files = { "a.svg": new Blob(["<svg/>"]), "b.png": new Blob(["x"]) };
  const [one, other] = await Promise.all([zipped(files), zipped(files)].map(async (zip) => (await zip).text()));
  assert.equal(one, other);
  assert.ok(one.startsWith("PK"));
});
