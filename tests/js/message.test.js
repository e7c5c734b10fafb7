import assert from "node:assert/strict";
import { test } from "node:test";
import { readBytes, sameBytes, unpack } from "#view/message/message.js";
import { cases } from "./cases.js";

test("a message comes back as Python packed it, what the mask hides included", () => {
  const { message, arrays } = cases.message;
  const bytes = Uint8Array.from(Buffer.from(message, "base64"));
  const unpacked = unpack(bytes);
  assert.equal(unpacked.text, "é");
  for (const [name, { shape, values }] of Object.entries(arrays)) {
    assert.deepEqual(unpacked.shapes[name], shape);
    assert.deepEqual([...unpacked.arrays[name]], values);
  }
});

test("a message that lies at an odd place of a larger one is read all the same", () => {
  const bytes = Buffer.from(cases.message.message, "base64");
  const larger = new Uint8Array(bytes.length + 1);
  larger.set(bytes, 1);
  assert.deepEqual([...unpack(larger.subarray(1)).arrays.a], cases.message.arrays.a.values);
});

test("bytes written seven bits a character come back", () => {
  const { text, bytes } = cases.written;
  assert.deepEqual([...readBytes(text)].slice(0, bytes.length), bytes);
});

test("bytes are the same or not", () => {
  assert.ok(sameBytes([1, 2], [1, 2]));
  assert.ok(!sameBytes([1, 2], [1, 3]));
  assert.ok(!sameBytes([1], undefined));
});
