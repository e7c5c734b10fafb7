import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

globalThis.document = new EventTarget();
globalThis.window = new EventTarget();
const { listenToSteps } = await import("#view/step_view/controls.js");

let view;
let sent;
let listed; // candidates
beforeEach(() => {
  sent = [];
  const parts = {};
  for (const name of ["word", "number", "first", "back", "step", "play", "last"])
    parts[name] = { dataset: {}, setAttribute() {} };
  const data = { index: 3, answered: 0, farthest: 200 };
  listed = 10;
  const root = { isConnected: true, closest: () => ({ querySelectorAll: () => Array(listed) }) };
  view = { root, parts, data, last: 9, target: 3, sent: 0, choices: [] };
  view.send = (move) => sent.push(move);
  listenToSteps(view);
});

// A key pressed in an element that is what the page asks for, if it asks for that.
function press(key, { on = "", ...more } = {}) {
  const at = {
    closest: (asked) => (on && asked.includes(on) ? at : null),
    matches: (asked) => asked.includes(on),
    blur() {},
  };
  const event = Object.assign(new Event("keydown", { cancelable: true }), { key, ...more });
  event.composedPath = () => [at];
  document.dispatchEvent(event);
  return event;
}
const reached = () => sent.at(-1)?.index;

test("arrows, Home, End and digits go where they say", () => {
  for (const [key, index] of [
    ["ArrowRight", 4],
    ["ArrowLeft", 3],
    ["Home", 0],
    ["End", 9],
  ]) {
    assert.ok(press(key).defaultPrevented);
    assert.equal(reached(), index);
  }
  press("0");
  assert.equal(sent.at(-1).choices.at(-1).nth, 9); // the tenth
});

test("a digit beyond the candidates that are listed chooses nothing", () => {
  listed = 4;
  for (const key of ["5", "9", "0"]) press(key);
  assert.deepEqual(sent, []);
  press("4");
  assert.equal(sent.at(-1).choices.at(-1).nth, 3);
});

test("keys with a modifier, and those that something else has used or moves by, are not the page's", () => {
  press("ArrowRight", { ctrlKey: true });
  for (const on of ["input", "textarea", "select", "canvas", "[role=slider]", "[role=radio]"])
    press("ArrowRight", { on });
  press(" ", { on: "button" });
  view.root.isConnected = false;
  press("ArrowRight");
  assert.deepEqual(sent, []);
});

test("a remote steps where a page is presented, and at an end its key is for what comes after", () => {
  press("PageDown");
  assert.deepEqual(sent, []); // a page that is not presented scrolls
  view.data.large = true;
  press("PageDown");
  press(" ");
  press("PageUp");
  assert.deepEqual(
    sent.map(({ index }) => index),
    [4, 5, 4],
  );
  view.target = 9;
  assert.ok(!press("PageDown").defaultPrevented);
  view.target = 0;
  assert.ok(!press("PageUp").defaultPrevented);
  view.target = 5;
  window.headsUpViews = { lesson: { view: { root: { isConnected: true } } } };
  assert.ok(!press("PageDown").defaultPrevented); // it goes through the lesson
  delete window.headsUpViews;
  assert.equal(sent.length, 3);
});
