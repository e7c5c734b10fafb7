import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { setTimeout as later } from "node:timers/promises";

globalThis.window = new EventTarget();
const { unpressed } = await import("../../ui/components/js/room/lecturer/widgets.js");

let root;
let drawn;
let draw;
beforeEach(() => {
  root = new EventTarget();
  drawn = 0;
  draw = unpressed(root, () => (drawn += 1));
});

const press = (kind, key) => root.dispatchEvent(Object.assign(new Event(kind), { key }));
const end = (kind) => window.dispatchEvent(new Event(kind));

test("nothing is pressed: it is drawn at once", () => {
  draw();
  assert.equal(drawn, 1);
});

for (const [begins, key, ends] of [
  ["pointerdown", undefined, "pointerup"],
  ["pointerdown", undefined, "pointercancel"],
  ["pointerdown", undefined, "contextmenu"], // which may take the release
  ["keydown", " ", "keyup"],
]) {
  test(`${begins} to ${ends}: it is drawn once, after the click`, async () => {
    press(begins, key);
    draw();
    draw();
    assert.equal(drawn, 0);
    end(ends);
    assert.equal(drawn, 0);
    await later(5);
    assert.equal(drawn, 1);
    draw();
    assert.equal(drawn, 2);
  });
}

test("a press during which nothing came draws nothing", async () => {
  press("pointerdown");
  end("pointerup");
  await later(5);
  assert.equal(drawn, 0);
});

test("a second finger loses nothing of what came under the first", async () => {
  press("pointerdown");
  draw();
  press("pointerdown");
  end("pointerup");
  await later(5);
  assert.equal(drawn, 1);
});

test("keys that press nothing hold nothing up", () => {
  press("keydown", "ArrowRight");
  draw();
  assert.equal(drawn, 1);
});
