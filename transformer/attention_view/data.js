// What the message holds, and the numbers of every stage made from it. Matrices are row-major: queries down, keys across.
const ARRAYS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array };
const STAGES = {
  scores: "scores q·k / √d",
  masked: "masked scores",
  weights: "weights (softmax)",
  moved: "what it moves: weight × ‖value·W_O‖",
};
const numbered = (info, name, at) => info.numbers?.[name][at] ?? at; // of a layer or head, where some are left out
const rollsOut = (kind, info) => ["encoder", "decoder"].includes(kind) && !info.numbers; // tokens looking at themselves, all layers there
const OF = {
  head: () => "this head",
  mean_heads: (info, look) => `mean over the ${info.heads} heads of layer ${numbered(info, "layers", look.layer)}`,
  mean_all: (info) => `mean over all ${info.layers * info.heads} heads of all layers${info.numbers ? " shown" : ""}`,
  rollout: (info, look) => `attention rollout, layers 0 to ${look.layer}`,
};

function unpack(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let start = bytes.byteOffset + 4 + length, buffer = bytes.buffer;
  if (start % 4) {  // numbers must lie on multiples of their size
    buffer = bytes.slice(4 + length).buffer;
    start = 0;
  }
  const arrays = {};
  for (const [name, { type, shape, at, lower }] of Object.entries(header.arrays)) {
    const size = shape.reduce((a, b) => a * b, 1), n = shape.at(-1), half = n * (n + 1) / 2;
    arrays[name] = lower ? squared(new ARRAYS[type](buffer, start + at, size / (n * n) * half), n, new ARRAYS[type](size))
      : new ARRAYS[type](buffer, start + at, size);
  }
  return { ...header, arrays, shapes: Object.fromEntries(Object.entries(header.arrays).map(([k, v]) => [k, v.shape])), made: new Map() };
}

// Matrices of n rows that came without what is above the diagonal.
function squared(found, n, out) {
  for (let row = 0, from = 0; from < found.length; from += row % n + 1, row++) out.set(found.subarray(from, from + row % n + 1), row * n);
  return out;
}

// Text of seven bits a character as bytes; see `written` in html.py.
function readBytes(text) {
  const out = new Uint8Array(Math.floor(text.length * 7 / 8));
  for (let i = 0, at = 0, bits = 0, count = 0; i < text.length; i++) {
    bits = (bits & 127) << 7 | text.charCodeAt(i) & 127;
    count += 7;
    if (count >= 8) { count -= 8; out[at++] = bits >> count; }
  }
  return out;
}

// All heads small, out of a file's cells: as Pooled makes them in Python.
function pooled({ arrays, shapes, block, kinds }) {
  for (const kind in kinds) {
    if (arrays[`grid/${kind}`] || !arrays[`cells/${kind}`]) continue;
    const cells = arrays[`cells/${kind}`], [, L, H, Q, K] = shapes[`cells/${kind}`], [down, across] = block[kind];
    const R = Math.ceil(Q / down), C = Math.ceil(K / across), out = new Uint8Array(L * H * R * C), size = L * H * Q * K;
    for (let head = 0, from = 0; head < L * H; head++) for (let q = 0; q < Q; q++) for (let k = 0; k < K; k++, from++) {
      const to = (head * R + Math.floor(q / down)) * C + Math.floor(k / across);
      out[to] = Math.max(out[to], Math.round((cells[from] * 256 + cells[size + from]) / 257));
    }
    arrays[`grid/${kind}`] = out;
    shapes[`grid/${kind}`] = [L, H, R, C];
  }
}

function sameBytes(a, b) {
  if (a.length !== b?.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

const sameHead = (a, b) => a.kind === b.kind && a.of === b.of && (a.layer === b.layer || a.of === "mean_all")
  && (a.head === b.head || a.of !== "head");

// One head's cells out of those of all heads, as weights.
function unquantised(message, kind, layer, head) {
  const cells = message.arrays[`cells/${kind}`], [, layers, heads, queries, keys] = message.shapes[`cells/${kind}`];
  const size = queries * keys, start = (layer * heads + head) * size, low = start + layers * heads * size, out = new Float32Array(size);
  for (let i = 0; i < size; i++) out[i] = ((cells[start + i] * 256 + cells[low + i]) / 65535) ** 2;
  return out;
}

function mean(matrices) {
  const out = new Float32Array(matrices[0].length);
  for (const matrix of matrices) for (let i = 0; i < out.length; i++) out[i] += matrix[i] / matrices.length;
  return out;
}

// Abnar and Zuidema 2020, section 3: heads averaged, half residual, layers multiplied.
function rolledOut(layers, n) {
  let through = null;
  for (const layer of layers) {
    const mixed = layer.map((w, i) => (w + (i % (n + 1) === 0 ? 1 : 0)) / 2);
    if (through === null) { through = mixed; continue; }
    const next = new Float32Array(n * n);
    for (let q = 0; q < n; q++) for (let j = 0; j < n; j++) {
      const w = mixed[q * n + j];
      if (w) for (let k = 0; k < n; k++) next[q * n + k] += w * through[j * n + k];
    }
    through = next;
  }
  return through;
}

// The weights looked at, or null where only Python has them.
function weightsOf(message, look) {
  if (message.arrays.weights && sameHead(look, message.look)) return message.arrays.weights;
  if (!message.arrays[`cells/${look.kind}`]) return null;
  const { layers, heads, queries } = message.kinds[look.kind];
  const layer = (at) => mean(Array.from({ length: heads }, (_, head) => unquantised(message, look.kind, at, head)));
  if (look.of === "head") return unquantised(message, look.kind, look.layer, look.head);
  if (look.of === "mean_heads") return layer(look.layer);
  if (look.of === "mean_all") return mean(Array.from({ length: layers }, (_, at) => layer(at)));
  return rolledOut(Array.from({ length: look.layer + 1 }, (_, at) => layer(at)), queries.length);
}

// Queries, keys and moved norms of one head, where they were captured: {q, k, moved, width}, or null.
function rowsOf(message, look) {
  if (look.of !== "head") return null;
  const info = message.kinds[look.kind], { arrays, shapes } = message;
  if (arrays.q && sameHead(look, message.look)) return { q: arrays.q, k: arrays.k, moved: arrays.moved, width: shapes.q[1] };
  if (!arrays[`q/${look.kind}`]) return null;
  const at = look.layer * info.heads + look.head, width = shapes[`q/${look.kind}`][3];
  const cut = (name, size) => arrays[`${name}/${look.kind}`]?.subarray(at * size, (at + 1) * size);
  return { q: cut("q", info.queries.length * width), k: cut("k", info.keys.length * width), moved: cut("moved", info.keys.length), width };
}

const mayLook = (info, query, key) => !info.causal || key <= query + info.keys.length - info.queries.length;

function dot(rows, query, key) {
  let sum = 0;
  for (let i = 0; i < rows.width; i++) sum += rows.q[query * rows.width + i] * rows.k[key * rows.width + i];
  return sum;
}

// The matrix of a stage: {values, low, high, signed, why}; values is null, and why says it, where it was not captured.
function stageOf(message, look) {
  const id = [look.kind, look.layer, look.head, look.of, look.stage].join();
  if (!message.made.has(id)) message.made.set(id, computed(message, look));
  return message.made.get(id);
}

function computed(message, look) {
  const info = message.kinds[look.kind], weights = weightsOf(message, look), rows = rowsOf(message, look);
  const Q = info.queries.length, K = info.keys.length;
  if (weights === null) return { values: null, why: message.standalone ? "This file holds this head pooled only; the picture of all heads shows it." : "…" };
  if (look.stage === "weights") return { values: weights, weights, rows, low: 0, high: 1 };
  if (look.of !== "head") return { values: null, why: `A mean has no ${look.stage === "moved" ? "values" : "scores"} of its own: choose weights, or a single head.` };
  if (!rows || (look.stage === "moved" && !rows.moved)) return { values: null, why: "Queries, keys and values were not captured here, only weights." };
  const values = new Float32Array(Q * K);
  let high = 0;
  for (let q = 0; q < Q; q++) for (let k = 0; k < K; k++) {
    const open = mayLook(info, q, k), at = q * K + k;
    if (look.stage === "moved") values[at] = weights[at] * rows.moved[k];
    else values[at] = look.stage === "masked" && !open ? -Infinity : dot(rows, q, k) / Math.sqrt(rows.width);
    if (Number.isFinite(values[at])) high = Math.max(high, Math.abs(values[at]));
  }
  const signed = look.stage !== "moved";
  return { values, weights, rows, low: signed ? -high : 0, high: high || 1, signed };
}

// Every character of a token made visible, none of them acting on the text around it.
const SIGNS = { " ": "␣", "▁": "␣", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u202f": "⍽", "\u00ad": "‧" };
const SEGMENTS = new Intl.Segmenter(), seen = new Map();  // asked for every token at every draw
function visible(piece, longest = 16) {
  const id = `${longest} ${piece}`;
  if (!seen.has(id)) seen.set(id, spelled(piece, longest));
  return seen.get(id);
}
function spelled(piece, longest) {
  let text = [...(piece || "∅")].map((c) => SIGNS[c]
    ?? (c < " " ? String.fromCharCode(0x2400 + c.charCodeAt(0))
      : /\p{Zs}/u.test(c) ? "␣"
      : !"\u200c\u200d".includes(c) && /[\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Cf}]/u.test(c) ? `⟨${c.codePointAt(0).toString(16).toUpperCase()}⟩` : c)).join("");
  if (/^\p{M}/u.test(text)) text = "◌" + text;
  const parts = [...SEGMENTS.segment(text)].map((s) => s.segment);
  if (parts.length > longest) text = parts.slice(0, longest - 1).join("") + "…";
  return `\u2068${text}\u2069`;
}

const plain = (value) => value === -Infinity ? "−∞" : Math.abs(value) >= 1e4 || (value && Math.abs(value) < 1e-4)
  ? value.toExponential(3) : String(Number(value.toFixed(6)));
const short = (value) => Math.abs(value) >= 0.995 ? value.toFixed(Math.abs(value) < 10 ? 1 : 0).replace(/\.0$/, "")
  : value.toFixed(2).replace("0.", ".");
