// A training that is played, step by step.
import assert from "node:assert/strict";
import { test } from "node:test";
import { play } from "../../ui/components/js/forming/moves.js";

globalThis.matchMedia = () => ({ matches: false });

test("played from its end a training begins again, and else goes on from where it is", () => {
  for (const [step, begins] of [
    [null, 0],
    [10, 10],
    [0, 0],
  ]) {
    const view = { message: { steps: [0, 10, 100] }, selection: { step }, root: {}, sent: 0 };
    Object.assign(view, { soon() {}, rebuild() {}, send() {} });
    play(view, true);
    assert.equal(view.selection.step, begins);
    play(view, false);
    clearTimeout(view.again);
    assert.equal(view.playing, null);
  }
});
