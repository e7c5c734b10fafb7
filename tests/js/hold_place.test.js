import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { holdPlace } from "../../ui/components/js/hold_place.js";

let looks;
let root;
let found; // what the next look returns
const held = () => holdPlace(root, () => (looks++, found));
// A second, in steps, as a timer that is set during one begins at its end.
const second = () => Array.from({ length: 10 }, () => mock.timers.tick(100));
const act = (name) => window.dispatchEvent(new Event(name));

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.window = new EventTarget();
  [looks, root, found] = [0, { isConnected: true }, true];
});

const goesOn = () => {
  const before = looks;
  second();
  return looks > before;
};

test("a place is held until the first act of somebody", () => {
  for (const name of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    held();
    assert.ok(goesOn());
    act(name);
    assert.ok(!goesOn(), name);
  }
});

test("an act before the place is there does not end the search for it", () => {
  found = false;
  held();
  act("keydown");
  assert.ok(goesOn());
  found = true;
  assert.ok(goesOn());
  act("keydown");
  assert.ok(!goesOn());
});

test("it ends when no more is asked, with what asked for it, and after five minutes", () => {
  held();
  found = null;
  second();
  assert.ok(!goesOn());
  found = true;
  held();
  root.isConnected = false;
  second();
  assert.ok(!goesOn());
  root.isConnected = true;
  held();
  for (let seconds = 0; seconds < 301; seconds++) goesOn();
  assert.ok(!goesOn());
});
