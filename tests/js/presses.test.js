import assert from "node:assert/strict";
import { test } from "node:test";
import { act, beginSteps, receiveSteps } from "#view/step_view/controls.js";

const told = (index, answered, more) => ({
  ...{ page: "translate", index, opened: index, answered, last: 9, decoding: 1 },
  ...more,
});

// Controls without a document: only what they ask for is looked at.
function controls(data, before) {
  const button = () => ({ dataset: {}, setAttribute: () => {} });
  const names = ["word", "number", "first", "back", "step", "play", "last"];
  const view = { parts: Object.fromEntries(names.map((name) => [name, button()])), asked: [] };
  view.send = (move) => view.asked.push(move);
  beginSteps(view, data, before);
  receiveSteps(view, data);
  return view;
}

test("presses add up while a page is behind", () => {
  const view = controls(told(5, 0));
  for (const name of ["back", "back", "step", "back"]) act(view, name);
  assert.equal(view.asked.at(-1).index, 3);
});

test("controls drawn anew go on with what was asked of those before", () => {
  const before = controls(told(5, 0));
  act(before, "back");
  const after = controls(told(5, 0), before); // drawn by a run that had begun before the press
  act(after, "back");
  const [{ number }] = before.asked;
  assert.equal(after.asked.at(-1).index, 3);
  assert.ok(after.asked.at(-1).number > number);
  receiveSteps(after, told(4, number)); // the first press is answered, the second is not
  assert.equal(after.target, 3);
});

test("nothing goes on from another page, nor what has been answered", () => {
  const before = controls(told(5, 0));
  act(before, "back");
  assert.equal(controls(told(7, 0, { page: "write" }), before).target, 7);
  assert.equal(controls(told(4, 1), before).target, 4);
});

test("what is pressed for a text on its way counts once from where it opens, whatever of it has been answered", () => {
  for (const answered of [0, 1, 2]) {
    const view = controls(told(5, 0));
    act(view, "back");
    act(view, "back");
    receiveSteps(view, told(7 - answered, answered, { decoding: 2, opened: 7 }));
    assert.equal(view.target, 5);
    act(view, "back");
    assert.deepEqual([view.asked.at(-1).index, view.asked.at(-1).decoding], [4, 2]);
  }
});
