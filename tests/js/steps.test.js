import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { act, beginSteps, chooseCandidate, receiveSteps, showSteps } from "#view/step_view/controls.js";

const part = () => ({ dataset: {}, setAttribute() {} });
const NAMES = ["word", "number", "first", "back", "step", "play", "last"];
const START = { index: 3, opened: 3, last: 9, decoding: 1, answered: 0, farthest: 200 };
let view;
let sent;

const said = () => `${view.parts.word.textContent}${view.parts.number.textContent}`;
const told = (data) => {
  receiveSteps(view, { ...START, ...data });
  showSteps(view);
};
// Python goes where the last message asks it to.
const answer = (data) => told({ index: sent.at(-1).index, answered: sent.at(-1).number, ...data });

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  const parts = { ...Object.fromEntries(NAMES.map((name) => [name, part()])), speed: { valueAsNumber: 2 } };
  sent = [];
  const send = (move) => sent.push(move);
  const root = { isConnected: true };
  view = { root, parts, send, playing: false, timer: 0, choices: [], sent: 0, target: 3, decoding: 1, from: 3 };
  told({});
});

test("a press shows at once, and presses made before an answer add up", () => {
  for (const name of ["step", "step", "back", "step"]) act(view, name);
  assert.equal(said(), "step 5 of 9");
  assert.deepEqual(sent.at(-1), { index: 5, number: 4, decoding: 1, from: 3, choices: [] });
  told({ index: 4, answered: 1 }); // that of the first press comes late
  assert.equal(said(), "step 5 of 9");
  answer({});
  assert.equal(said(), "step 5 of 9");
});

test("there is no step before the first and none after the last", () => {
  act(view, "first");
  act(view, "back");
  assert.equal(sent.at(-1).index, 0);
  act(view, "last");
  act(view, "step");
  assert.equal(sent.at(-1).index, 9);
  assert.equal(sent.length, 2);
});

test("candidates and steps pressed at once count in their order", () => {
  act(view, "step");
  chooseCandidate(view, 1);
  chooseCandidate(view, 2);
  act(view, "step");
  const { index, choices } = sent.at(-1);
  assert.equal(index, 7);
  assert.deepEqual(choices, [
    { number: 2, at: 4, nth: 1 },
    { number: 3, at: 5, nth: 2 },
  ]);
  told({ index: 5, answered: 2 }); // what has been answered is sent no more
  act(view, "step");
  assert.deepEqual(
    sent.at(-1).choices.map(({ number }) => number),
    [3],
  );
});

test("what is pressed for a text that is on its way counts from where it opens", () => {
  act(view, "back");
  act(view, "back");
  told({ decoding: 2, index: 6, opened: 6, last: 6 });
  assert.equal(view.target, 4);
});

test("on a long way every press stops at what is seen, but those of either end", () => {
  for (const name of ["end", "back", "step", "play"]) {
    told({ last: null, answered: view.sent }); // the end is not known yet
    act(view, "last");
    told({ index: 5, last: null, going: true, answered: sent.at(-1).number - 1 });
    assert.equal(view.parts.last.dataset.does, "stop");
    assert.match(said(), /^step 5 …$/);
    act(view, name);
    assert.equal(sent.at(-1).index, 5, name);
    assert.equal(said(), "step 5");
    answer({ last: null });
  }
});

test("at the end it plays from the start, a step at a time, and a press stops it", () => {
  told({ index: 9 });
  assert.equal(view.parts.step.dataset.does, "again");
  act(view, "main");
  const shown = [];
  for (let turn = 0; turn < 4; turn++) {
    answer({});
    shown.push(said());
    mock.timers.tick(500); // two a second
  }
  assert.deepEqual(shown, ["step 0 of 9", "step 1 of 9", "step 2 of 9", "step 3 of 9"]);
  mock.timers.tick(5_000); // while the last step is still being drawn no further one is asked for
  assert.equal(sent.at(-1).index, 4);
  act(view, "back");
  assert.equal(view.playing, false);
  mock.timers.tick(5_000);
  assert.equal(sent.at(-1).index, 3);
});

test("a file has no page, and its controls begin where it stands", () => {
  const own = {};
  beginSteps(own, { answered: 0, index: 5, decoding: 0 }, undefined);
  assert.deepEqual([own.target, own.sent], [5, 0]);
});
