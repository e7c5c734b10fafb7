// The message that Python sends: a JSON header, then numbers as they lie in memory; see message.py. Matrices are
// row-major: queries down, keys across.
const ARRAYS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array };

// The header with its arrays, {name: numbers}, their shapes, and a place for what is made from them.
export function unpack(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let start = bytes.byteOffset + 4 + length;
  let buffer = bytes.buffer;
  if (start % 4) {
    // numbers must lie on multiples of their size
    buffer = bytes.slice(4 + length).buffer;
    start = 0;
  }
  const arrays = {};
  const shapes = {};
  for (const [name, { type, shape, at, lower, most }] of Object.entries(header.arrays)) {
    const size = shape.reduce((a, b) => a * b, 1);
    const n = shape.at(-1);
    const sent = lower ? (size / (n * n)) * ((n * (n + 1)) / 2) : size;
    const numbers = most
      ? ofThreeBytes(new Uint8Array(buffer, start + at, 3 * sent), most)
      : new ARRAYS[type](buffer, start + at, sent);
    arrays[name] = lower ? squared(numbers, n, new ARRAYS[type](size)) : numbers;
    shapes[name] = shape;
  }
  return { ...header, arrays, shapes, made: new Map() };
}

// Numbers of three bytes each, all high bytes first; `shortened` in message.py made them.
function ofThreeBytes(bytes, most) {
  const count = bytes.length / 3;
  const numbers = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const whole = (bytes[i] << 16) | (bytes[count + i] << 8) | bytes[2 * count + i];
    numbers[i] = ((whole - 2 ** 23) * most) / (2 ** 23 - 1);
  }
  return numbers;
}

// Matrices of n rows that came without what is above the diagonal.
function squared(numbers, n, out) {
  for (let row = 0, from = 0; from < numbers.length; from += (row % n) + 1, row++) {
    out.set(numbers.subarray(from, from + (row % n) + 1), row * n);
  }
  return out;
}

// The message that a page of its own holds, and the element to draw it in.
export async function embeddedMessage() {
  const packed = new Blob([readBytes(/** @type {HTMLElement} */ (document.getElementById("message")).textContent)]);
  const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  /** @type {any} */
  const root = document.querySelector(".attention-view, .step-view"); // which will hold its view
  return { root, data };
}

// The bytes of a text of seven bits a character; see `text_of` in offline_page.py.
export function readBytes(text) {
  const out = new Uint8Array(Math.floor((text.length * 7) / 8));
  let [i, at] = [0, 0];
  for (; i + 8 <= text.length; i += 8, at += 7) {
    let high = 0; // 28 bits
    let low = 0;
    for (let j = i; j < i + 4; j++) {
      high = (high << 7) | (text.charCodeAt(j) & 127);
      low = (low << 7) | (text.charCodeAt(j + 4) & 127);
    }
    out[at] = high >> 20;
    out[at + 1] = high >> 12;
    out[at + 2] = high >> 4;
    out[at + 3] = (high << 4) | (low >> 24);
    out[at + 4] = low >> 16;
    out[at + 5] = low >> 8;
    out[at + 6] = low;
  }
  for (let bits = 0, count = 0; i < text.length; i++) {
    bits = ((bits & 127) << 7) | (text.charCodeAt(i) & 127);
    count += 7;
    if (count < 8) continue;
    count -= 8;
    out[at++] = bits >> count;
  }
  return out;
}

export function sameBytes(a, b) {
  if (a.length !== b?.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

// A message without what is predicted, which is to be guessed: rows are then named by the token read alone.
export function withoutNext(message) {
  const { model } = message;
  const kinds = Object.entries(message.kinds).map(([kind, info]) => [kind, { ...info, makes: undefined }]);
  return {
    ...message,
    kinds: Object.fromEntries(kinds),
    ...(model?.effectOf !== undefined && { model: { ...model, effectOf: "?", logit: undefined } }),
  };
}
