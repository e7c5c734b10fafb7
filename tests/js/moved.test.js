import assert from "node:assert/strict";
import { test } from "node:test";

let fire;
globalThis.ResizeObserver = class {
  constructor(heard) {
    fire = heard;
  }
  observe() {}
};
let foot = "0px";
globalThis.document = { querySelector: () => null, documentElement: {} };
globalThis.getComputedStyle = () => ({ getPropertyValue: () => foot });
globalThis.window = {};
const { emit } = await import("#view/page/app.js");
const { FOOT_CHANGED, redrawWhenMoved } = await import("#view/page/elements.js");

test("what has another width is drawn again, and what was taken off the page is not", () => {
  let drawn = 0;
  const root = { clientWidth: 800, isConnected: true, redraw: () => (drawn += 1) };
  redrawWhenMoved(root);
  fire();
  assert.equal(drawn, 0);
  root.clientWidth = 700;
  fire();
  assert.equal(drawn, 1);
  foot = "44px"; // a strip has come
  emit(FOOT_CHANGED);
  assert.equal(drawn, 2);
  Object.assign(root, { clientWidth: 0, isConnected: false });
  fire();
  assert.equal(drawn, 2); // else its keys would be listened to, and those of what replaced it not
});
