import assert from "node:assert/strict";
import { test } from "node:test";
import { crosses, placed } from "../../ui/views/by_hand/vectors/place_names.js";

const from = [200, 200];
const size = { width: 400, height: 400 };
const boxOf = ([x, y], half) => ({ left: x - half, right: x + half, top: y - 9, bottom: y + 9 });

test("a name stands beyond the tip of its arrow where nothing else is", () => {
  assert.deepEqual(placed([{ id: "q", from, tip: [300, 200], half: 20 }], size), [["q", [334, 200]]]);
});

test("no name lies on an arrow, nor on another name, however close the arrows are", () => {
  for (const tips of [
    [
      [300, 200],
      [340, 205],
    ],
    [
      [150, 215],
      [120, 230],
      [260, 150],
    ],
    [
      [205, 120],
      [210, 60],
      [195, 130],
    ],
  ]) {
    const arrows = tips.map((tip, id) => ({ id, from, tip, half: 24 }));
    const boxes = placed(arrows, size).map(([, place]) => boxOf(place, 24));
    for (const [at, box] of boxes.entries()) {
      for (const { tip } of arrows) assert.ok(!crosses(from, tip, box), `${tips}: name ${at} is on an arrow`);
      for (const other of boxes.slice(0, at))
        assert.ok(
          box.right <= other.left || other.right <= box.left || box.bottom <= other.top || other.bottom <= box.top,
        );
    }
  }
});

test("at the edge a name stays within the picture", () => {
  const [[, [x, y]]] = placed([{ id: "q", from, tip: [399, 1], half: 30 }], size);
  assert.ok(x <= 370 && y >= 9);
});

test("an arrow crosses a box that it goes through, and none that it ends before or goes by", () => {
  const box = { left: 250, right: 290, top: 190, bottom: 210 };
  assert.ok(crosses(from, [350, 200], box));
  assert.ok(!crosses(from, [240, 200], box));
  assert.ok(!crosses(from, [200, 350], box));
});
