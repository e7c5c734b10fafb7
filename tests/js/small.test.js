import assert from "node:assert/strict";
import { test } from "node:test";
import { unpack } from "#view/message/message.js";
import { enlarged, partText } from "#view/message/phone.js";
import { cases } from "./cases.js";

const read = ({ message }) => enlarged(unpack(new Uint8Array(Buffer.from(message, "base64"))));

test("a phone reads the weights of a head to five digits", () => {
  for (const one of cases.small) {
    const { weights } = read(one).arrays;
    assert.equal(weights.length, one.weights.length);
    for (const [at, weight] of one.weights.entries()) assert.ok(Math.abs(weights[at] - weight) < 2e-5);
  }
});

test("of a long text the last tokens are drawn, at their places, and it is said", () => {
  const [whole, end] = cases.small.map(read);
  const [, { tokens }] = cases.small;
  assert.equal(partText(whole), "");
  const { queries, keys, first } = end.kinds.decoder;
  assert.deepEqual([queries.length, keys.length], [16, 16]);
  assert.deepEqual(first, [tokens - 16, tokens - 16]);
  assert.match(partText(end), new RegExp(`^The last 16 of ${tokens} tokens are drawn`));
});

test("what is drawn of a long source is said to be its beginning", () => {
  const selection = { kind: "cross" };
  const drawn = (queries, keys, first) => ({ queries: Array(queries).fill("a"), keys: Array(keys).fill("b"), first });
  assert.equal(
    partText({ kinds: { cross: drawn(5, 48, [0, 0]) }, selection, of: [5, 300] }),
    "The first 48 of 300 tokens are drawn: a row adds up to 1 with the others.",
  );
  assert.equal(
    partText({ kinds: { cross: drawn(48, 9, [52, 0]) }, selection, of: [100, 9] }),
    "The last 48 of 100 tokens are drawn.",
  );
});
