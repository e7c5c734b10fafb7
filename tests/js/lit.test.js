// Which heads are drawn as lines.
import assert from "node:assert/strict";
import { test } from "node:test";
import { allLit, lit } from "#view/attention/selection.js";

const of = (heads, given) => ({
  message: { kinds: { decoder: { heads } } },
  selection: { kind: "decoder", head: 3, ...given },
});

for (const heads of [4, 16, 17, 1024]) {
  test(`of ${heads} heads, all can be asked for, and at first no more than can be told apart`, () => {
    assert.equal(lit(of(heads)).length, heads > 16 ? 1 : heads);
    assert.equal(lit(of(heads, { lit: allLit(of(heads)) })).length, heads);
  });
}
