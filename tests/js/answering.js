// Answers lines of JSON with lines of JSON, one after another, so that one process serves all tests of a file; see
// tests/node.py. What an answer fails with is answered too.
import { createInterface } from "node:readline";

// `answering((asked) => answer)`; numbers of an answer may be in arrays of any type.
export async function answering(answer) {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const said = await Promise.resolve(JSON.parse(line))
      .then(answer)
      .then((value) => ({ value }))
      .catch((error) => ({ failed: error.stack }));
    process.stdout.write(`${JSON.stringify(said, packed)}\n`);
  }
}

const TYPES = { Float32Array: "<f4", Float64Array: "<f8", Uint8Array: "u1", Uint16Array: "<u2", Int32Array: "<i4" };

// An array of numbers as its bytes.
function packed(_, value) {
  if (!ArrayBuffer.isView(value)) return value;
  const { buffer, byteOffset, byteLength, constructor } = value;
  return { type: TYPES[constructor.name], bytes: Buffer.from(buffer, byteOffset, byteLength).toString("base64") };
}
