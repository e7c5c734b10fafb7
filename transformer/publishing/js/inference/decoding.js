// From a text to tokens, one step at a time, with all that every step computed at hand; the twin of
// transformer/inference/decoding.py and reading.py.
//
// H heads of queries, G heads of keys and values, D width of a head, V vocabulary.
import { softmax } from "../model/matrix.js";
import { Model, switchedAt, Weights } from "../model/model.js";
import { rotationState } from "../model/positions.js";
import { argmax, choiceOf, choosable, GREEDY } from "./sampling.js";
import { openTokenizer } from "../text/tokenizers/index.js";

/** @import { Piece, Tokenizer } from "../text/tokenizers/index.js" */
/** @import { Sampling } from "./sampling.js" */

/**
 * A transformer.ModelConfig, as the file has it.
 * @typedef {Record<string, any>} Config
 *
 * @typedef {ReturnType<Opening["checkpoint"]>} Opened
 *
 * Numbers that multiply the outputs of heads, and heads that attend equally to all that they may: by kind (layers, H).
 * @typedef {{scale?: Record<string, number[][]>, uniform?: Record<string, boolean[][]>} | null} Switches
 *
 * Queries, keys and values of a layer, and the queries of its cross-attention, if it has one.
 * @typedef {Record<"q" | "k" | "v", Float32Array[]> & {crossing: Float32Array[]}} Rows
 *
 * @typedef {object} Context
 * @property {Opened} opened
 * @property {string} text
 * @property {Piece[]} source
 * @property {Switches} heads
 * @property {number[] | null} src
 * @property {Rows[]} encoded of each layer of an encoder
 * @property {Pick<Rows, "k" | "v">[]} memory what each layer of a decoder attends to
 * @property {{tokens: number[], layers: Rows[], logits: Float32Array} | null} recent the latest text read at once
 */

// A checkpoint out of its bytes, which transformer/publishing/weights.py packed.
export function openCheckpoint(bytes) {
  const opening = new Opening(bytes);
  opening.take(bytes.length);
  return opening.checkpoint();
}

// The same of bytes that come one after the other: whatever is whole is made ready while the rest is on its way.
export class Opening {
  #bytes; // of all of it, from the beginning
  /** @type {Record<string, any> | null} */
  #header = null;
  /** @type {Tokenizer[] | null} */
  #tokenizers = null;
  /** @type {Record<string, any>[] | null} */
  #waiting = null; // tensors that are not whole
  #weights = new Weights();

  constructor(bytes) {
    this.#bytes = bytes;
  }

  // So many bytes are there.
  take(count) {
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
    const start = count < 4 ? Infinity : 4 + view.getUint32(0, true);
    if (count < start) return;
    const header = (this.#header ??= JSON.parse(new TextDecoder().decode(this.#bytes.subarray(4, start))));
    const waiting = (this.#waiting ??= [...header.tensors]);
    const content = this.#bytes.subarray(start); // offsets are from here
    const { tokenizers } = header;
    if (!this.#tokenizers && tokenizers.every(({ offset, size }) => start + offset + size <= count)) {
      this.#tokenizers = tokenizers.map(({ description, offset, size }) =>
        openTokenizer(description, content.subarray(offset, offset + size)),
      );
    }
    while (waiting.length && start + tensorEnd(waiting[0]) <= count) {
      const { name, shape, type, offset } = waiting.shift();
      const Kind = type === "float16" ? Uint16Array : Float32Array;
      this.#weights.take(name, shape, offset, new Kind(content.buffer, content.byteOffset + offset, sizeOf(shape)));
    }
  }

  checkpoint() {
    if (!this.#header || !this.#tokenizers) throw new Error("the checkpoint is not whole");
    const { id, name, task, meta, config, classes, end_id: endId } = this.#header;
    const [tokenizer, sourceTokenizer = tokenizer] = this.#tokenizers;
    const model = new Model(config, this.#weights);
    return { id, name, task, meta, config, classes, endId, model, tokenizer, sourceTokenizer };
  }
}

const sizeOf = (shape) => shape.reduce((size, side) => size * side, 1);
const tensorEnd = ({ shape, type, offset }) => offset + sizeOf(shape) * (type === "float16" ? 2 : 4);

function kindsOf({ encoder_layers: encodes, decoder_layers: decodes }) {
  return [...(encodes ? ["encoder"] : []), ...(decodes ? ["decoder"] : []), ...(encodes && decodes ? ["cross"] : [])];
}

// What was read so far: the base of a step of a decoder and of a whole reading of an encoder.
class Seen {
  /** @param {Context} context */
  constructor(context) {
    this.context = context;
  }

  get text() {
    return this.context.text;
  }

  get opened() {
    return this.context.opened;
  }

  get heads() {
    return this.context.heads;
  }

  // The pieces of the text typed; an encoder also reads an end token after them.
  get source() {
    return this.context.source;
  }

  // What the encoder read, or null.
  get src() {
    return this.context.src;
  }

  get encoded() {
    return this.context.encoded;
  }

  get memory() {
    return this.context.memory;
  }

  get config() {
    return this.opened.config;
  }

  // The attention kinds that the model has.
  get kinds() {
    return kindsOf(this.config);
  }

  // {q, k, v} of an attention: lists of rows, each with all heads of a token side by side.
  rows(kind, layer) {
    if (kind === "encoder") return this.encoded[layer];
    const { q, k, v, crossing } = this.decoded()[layer];
    return kind === "cross" ? { q: crossing, ...this.memory[layer] } : { q, k, v };
  }

  // Queries (H, Tq, D), keys and values (G, Tk, D) of an attention.
  projections(kind, layer) {
    const { width } = this.opened.model.attention(kind, layer);
    const { q, k, v } = this.rows(kind, layer);
    return { q: byHead(q, width), k: byHead(k, width), v: byHead(v, width) };
  }

  // Scores and weights (H, Tq, Tk) of an attention, made of its queries and keys as the model made them.
  attention(kind, layer) {
    const attention = this.opened.model.attention(kind, layer);
    const switched = switchedAt(this.heads, kind, layer);
    const { q, k } = this.rows(kind, layer);
    const [heads, queries, keys] = [attention.heads, q.length, k.length];
    const scores = new Float32Array(heads * queries * keys).fill(-Infinity);
    const weights = new Float32Array(heads * queries * keys);
    for (let query = 0; query < queries; query++) {
      const row = rowOf(attention, q[query], query, k, switched);
      const seen = row.scores.length / heads;
      for (let head = 0; head < heads; head++) {
        const at = (head * queries + query) * keys;
        for (let key = 0; key < seen; key++) {
          scores[at + key] = row.scores[head * seen + key];
          weights[at + key] = row.weights[head * seen + key];
        }
      }
    }
    return { weights, scores, heads, queries, keys };
  }

  // Weights (H, keys) of one query, over the keys up to the last that it may attend to.
  row(kind, layer, query) {
    const { q, k } = this.rows(kind, layer);
    const switched = switchedAt(this.heads, kind, layer);
    return rowOf(this.opened.model.attention(kind, layer), q[query], query, k, switched).weights;
  }

  // What positions add to the scores of an attention (H, Tq, Tk), or null.
  bias(kind, layer) {
    const { bias, heads } = this.opened.model.attention(kind, layer);
    if (!bias) return null;
    const { q, k } = this.rows(kind, layer);
    return Float32Array.from({ length: heads * q.length * k.length }, (_, at) => {
      const [head, query, key] = [
        Math.floor(at / (q.length * k.length)),
        Math.floor(at / k.length) % q.length,
        at % k.length,
      ];
      return bias(head, query, key, q[query], k[key]);
    });
  }

  /**
   * Of each layer of a decoder.
   * @returns {Rows[]}
   */
  decoded() {
    return [];
  }

  // An id of the output as text to show.
  label(id) {
    return this.opened.tokenizer.piece(id);
  }
}

const made = new WeakMap(); // what `rowOf` made of a query, which the steps of a path share

// Scores and weights (H, keys) of one query at its place, over the keys up to the last that it may attend to.
function rowOf(attention, q, query, k, switched) {
  if (!made.has(q)) {
    const keys = k.slice(0, attention.reach(query, k.length)[1]);
    const size = attention.heads * keys.length;
    const row = { scores: new Float32Array(size), weights: new Float32Array(size) };
    for (let head = 0; head < attention.heads; head++) {
      const uniform = switched?.uniform[head];
      attention.weigh(head, q, query, keys, { ...row, at: head * keys.length, uniform });
    }
    made.set(q, row);
  }
  return made.get(q);
}

// A list of rows (T, heads * D) as one array (heads, T, D).
function byHead(rows, width) {
  const array = new Float32Array(rows.length * rows[0].length);
  for (let head = 0; head < rows[0].length / width; head++) {
    rows.forEach((row, at) =>
      array.set(row.subarray(head * width, (head + 1) * width), (head * rows.length + at) * width),
    );
  }
  return array;
}

// The decoder after it has read some tokens, and what it predicts next. It never changes.
export class Step extends Seen {
  /**
   * @param {object} parts
   * @param {number} parts.index
   * @param {number[]} parts.tokens
   * @param {Step | null} parts.parent
   * @param {Context} parts.context
   * @param {Float32Array} parts.logits
   * @param {Rows[] | null} parts.layers
   * @param {Sampling} parts.sampling
   * @param {number} [parts.id]
   * @param {number} [parts.likeliest]
   */
  constructor({ index, tokens, parent, context, logits, layers, sampling, id = -1, likeliest = -1 }) {
    super(context);
    this.index = index;
    this.tokens = tokens;
    this.parent = parent;
    this.logits = logits;
    this.layers = layers;
    this.sampling = sampling;
    this.id = id;
    this.likeliest = likeliest;
    Object.freeze(this);
  }

  // The logits, -Infinity where the model's configuration keeps a token from being chosen.
  get allowed() {
    return choosable(this.logits, this.config, this.tokens.length);
  }

  get full() {
    return this.tokens.length >= this.config.max_len;
  }

  get finished() {
    return this.id === this.config.eos_id || this.config.end_ids.includes(this.id);
  }

  // The end of the sentence was predicted, or there is no room for another token.
  get ended() {
    return this.full || this.finished;
  }

  // The ids written so far, `id` included.
  get written() {
    return [...this.tokens, this.id].slice(this.tokens.length - this.index);
  }

  decoded() {
    return this.layers ?? wholeText(this.context, this.tokens).layers;
  }
}

// The same step with another token chosen, which the next step reads.
export function chosen(step, id) {
  if (!(Number.isInteger(id) && id >= 0 && id < step.config.vocab_size)) {
    throw new Error(`token ${id} is not in the vocabulary of ${counted(step.config.vocab_size)}`);
  }
  return id === step.id ? step : new Step({ ...step, id });
}

// Step 0: the start token, or the whole prompt, has been read.
//
// sampling: as in sampling.js. heads: {scale: {kind: (layers, H)}, uniform: {kind: (layers, H)}}, numbers that multiply
// the heads' outputs, and heads that attend equally to all that they may. Throws an Error for a text too long or empty.
export function start(opened, text, { sampling = GREEDY, heads = null } = {}) {
  const { config, model } = opened;
  if (!config.decoder_layers) {
    throw new Error(`${opened.id} is an encoder and writes no tokens; choose a checkpoint that translates or writes`);
  }
  const { ids, source } = understood(opened, text);
  checkHeads(heads, config);
  /** @type {Context} */
  const context = { opened, text, source, heads, src: null, encoded: [], memory: [], recent: null };
  let tokens = ids.length ? ids : [config.start_id];
  if (config.encoder_layers) {
    const src = [...ids, opened.endId];
    tokens = [config.start_id];
    checkLength(src.length, config);
    const { x, layers } = model.encode(src, heads);
    Object.assign(context, { src, encoded: layers, memory: model.projectMemory(x, src.length) });
  }
  checkLength(tokens.length, config);
  return decided({ index: 0, tokens, parent: null, context, ...wholeText(context, tokens) }, sampling);
}

// The step after `step`, which reads `id`, or what `step` predicted; it samples as `step` did, unless told otherwise.
// `step` stays as it was.
export function next(step, id = step.id, { sampling = step.sampling } = {}) {
  const { context, config } = step;
  const length = step.tokens.length;
  if (step.full) {
    throw new Error(`${counted(length)} tokens are read and this model reads at most ${counted(config.max_len)}`);
  }
  const parent = chosen(step, id);
  const tokens = [...step.tokens, id];
  const [was, is, willBe] = [0, 1, 2].map((more) => rotationState(config, length + more));
  const { logits, layers } = is === was ? oneMore(step, id) : wholeText(context, tokens);
  const kept = is === willBe ? layers : null; // else no other step has these rows, and they are made when they are read
  return decided({ index: step.index + 1, tokens, parent, context, logits, layers: kept }, sampling);
}

/**
 * All rows of a text, read at once, and the logits after it; those of the latest text are remembered.
 * @param {Context} context
 * @param {number[]} tokens
 */
function wholeText(context, tokens) {
  const { opened, memory, heads, recent } = context;
  const isKnown = recent?.tokens.join() === tokens.join();
  const read = isKnown ? recent : { tokens, ...readOn(opened.model, tokens, { memory, heads }) };
  context.recent = read;
  return { logits: read.logits, layers: read.layers };
}

function oneMore(step, id) {
  const { memory, heads } = step;
  return readOn(step.opened.model, [id], { start: step.tokens.length, past: step.decoded(), memory, heads });
}

function readOn(model, ids, options) {
  const { x, layers } = model.decode(ids, options);
  return { layers, logits: model.project(x.subarray(x.length - x.length / ids.length), 1) };
}

// A step with what it predicts.
function decided(parts, sampling) {
  const step = new Step({ ...parts, sampling });
  return new Step({ ...step, id: choiceOf(step, sampling), likeliest: argmax(step.allowed) });
}

// A whole text read by an encoder alone, and what the model makes of it.
class Reading extends Seen {
  /** @param {Omit<Context, "memory" | "recent"> & {hidden: Float32Array, logits: Float32Array | null}} parts */
  constructor({ hidden, logits, ...context }) {
    super({ ...context, memory: [], recent: null });
    this.hidden = hidden;
    this.logits = logits;
    Object.freeze(this);
  }

  get src() {
    return this.context.src ?? [];
  }

  // Of classes (n_classes,), or of every piece that could be at each place (S, V); null without a head.
  get probabilities() {
    const { logits, src } = this;
    if (logits === null) return null;
    const rows = this.config.head === "masked" ? src.length : 1;
    const size = logits.length / rows;
    const all = new Float32Array(logits.length);
    for (let at = 0; at < all.length; at += size) softmax(logits, at, at + size, all);
    return all;
  }

  // What each token adds to the logit of a class, or null; see `Model.contributions`.
  contributions(id) {
    return this.opened.model.contributions(this.hidden, this.src.length, id);
  }
}

// Reads a text with an encoder alone. `logits` of the reading: log-probabilities of classes, or logits (S, V), or null.
// Throws an Error for a text too long or empty.
export function read(opened, text, { heads = null } = {}) {
  const { config, model } = opened;
  if (config.decoder_layers) throw new Error(`${opened.id} writes tokens; step it with start and next`);
  const { ids: src, source } = understood(opened, text);
  checkHeads(heads, config);
  checkLength(src.length, config);
  const { x, layers: encoded } = model.encode(src, heads);
  return new Reading({ opened, text, src, source, heads, encoded, hidden: x, logits: model.read(x, src.length) });
}

// The ids that a text is read as, and its pieces.
function understood(opened, text) {
  const { config, sourceTokenizer: tokenizer } = opened;
  const ids = tokenizer.encode(text);
  if (config.encoder_layers) {
    if (!ids.length) throw new Error("there is nothing to read; type a sentence");
    if (ids.includes(config.pad_id)) {
      throw new Error(`token ${config.pad_id} of the text is this model's padding, which is never read; leave it out`);
    }
  }
  return { ids, source: tokenizer.pieces(text) };
}

function checkLength(tokens, { max_len: limit }) {
  if (tokens <= limit) return;
  const few = `this text has ${counted(tokens)} tokens; the model reads at most ${counted(limit)}`;
  throw new Error(`${few}. Please shorten it`);
}

function counted(number) {
  return number.toLocaleString("en-US");
}

// Throws an Error for switches that are not of the model's kinds, layers and heads.
function checkHeads(heads, config) {
  for (const kinds of Object.values(heads ?? {})) {
    for (const [kind, layers] of Object.entries(kinds)) {
      const known = kindsOf(config);
      if (!known.includes(kind)) {
        const has = `this model has only ${known.join(" and ")} attention`;
        throw new Error(`heads of ${kind} attention are switched, and ${has}; leave ${kind} out`);
      }
      const count = kind === "encoder" ? config.encoder_layers : config.decoder_layers;
      if (layers.length !== count || layers.some((switches) => switches.length !== config.n_heads)) {
        throw new Error(
          `the switches of ${kind} attention do not fit; give ${count} layers of ${config.n_heads} heads`,
        );
      }
    }
  }
}
