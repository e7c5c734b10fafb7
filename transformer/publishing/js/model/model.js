// The transformer, from one head of attention to the whole: encoder-decoders, decoders and encoders. The twin of
// transformer/model, whose names it has; `config` is its ModelConfig.
//
// T tokens of a text, H heads of queries, G heads of keys and values, D width of a head, V vocabulary. Rows are a
// Float32Array (T, width); a list of rows has a Float32Array for each token.
import { ACTIVATIONS, product, linear, Matrix, normalised, NORMS, softmax, widened } from "./matrix.js";
import { distanceBias, sinusoid, turn, turnsOf, vectorBuckets } from "./positions.js";

/** @import { Config, Rows, Switches } from "../inference/decoding.js" */

/**
 * @typedef {{matrix: Matrix, bias: Float32Array | null}} LinearMap
 *
 * The switches of one layer's heads.
 * @typedef {{scale: number[], uniform: boolean[]} | null} Switched
 *
 * @typedef {object} Pass
 * @property {number} [start]
 * @property {Rows[] | null} [past]
 * @property {Pick<Rows, "k" | "v">[] | null} [memory]
 * @property {Switches} [heads]
 * @property {((part: Record<string, any>) => void) | null} [keep]
 */

// The weights of a checkpoint by name; parts that a model does not have are null.
export class Weights {
  #arrays = new Map();
  #matrices = new Map(); // by name
  #known = new Map(); // by place

  // numbers: of a tensor as PyTorch lays it out, a Float32Array, or a Uint16Array of the bits of half precision; place:
  // where they came from, which is one for what is tied.
  take(name, shape, place, numbers) {
    this.#arrays.set(name, numbers);
    if (shape.length !== 2) return;
    if (!this.#known.has(place)) this.#known.set(place, new Matrix(numbers, shape[0]));
    this.#matrices.set(name, this.#known.get(place));
  }

  numbers(name) {
    return this.#arrays.has(name) ? widened(this.#arrays.get(name)) : null;
  }

  matrix(name) {
    return this.#matrices.get(name) ?? null;
  }

  /** @param {string} name @returns {LinearMap | null} */
  map(name) {
    const matrix = this.matrix(`${name}.weight`);
    return matrix ? { matrix, bias: this.numbers(`${name}.bias`) } : null;
  }

  norm(name) {
    const weight = this.numbers(`${name}.weight`);
    return weight && { weight, bias: this.numbers(`${name}.bias`) };
  }
}

// Rows (T, width) as a list of them.
export function listed(x, count) {
  const width = x.length / count;
  return Array.from({ length: count }, (_, row) => x.subarray(row * width, (row + 1) * width));
}

// Multi-head attention of one layer. Vaswani et al. 2017, section 3.2.2.
export class Attention {
  /**
   * @param {Config} config
   * @param {Weights} weights
   * @param {string} name
   * @param {{kind: string, layer: number, buckets?: Float32Array | null}} place
   */
  constructor(config, weights, name, { kind, layer, buckets = null }) {
    this.config = config;
    this.kind = kind;
    this.heads = config.n_heads;
    this.groups = config.kv_heads ?? config.n_heads;
    this.width = config.head_dim ?? config.d_model / config.n_heads;
    this.scale = config.attention_scale ?? 1 / Math.sqrt(this.width);
    const windowed = config.window !== null && (config.window_layers?.includes(layer) ?? true);
    this.window = kind !== "cross" && windowed ? config.window : Infinity;
    this.rotary = windowed && config.window_rotary !== null ? config.window_rotary : config.rotary;
    this.maps = {};
    this.norms = {};
    for (const part of ["q", "k", "v"]) {
      this.maps[part] = weights.map(`${name}.${part}_proj`);
      this.norms[part] = weights.norm(`${name}.${part}_norm`);
    }
    this.out = /** @type {LinearMap} */ (weights.map(`${name}.out_proj`));
    this.bias = distanceBias(config, kind, buckets);
    if (config.positions === "disentangled" && kind !== "cross") this.bias = this.#vectorBias(buckets);
  }

  // Queries, keys or values ("q", "k" or "v") of rows x: a list of rows, with all heads of a token side by side.
  project(part, x, count, turns = null) {
    const y = this.normed(part, this.clipped(linear(x, count, this.maps[part])), count);
    if (turns && part !== "v") turn(y, this.width, turns);
    return listed(y, count);
  }

  // Projected rows, no number further from 0 than `qkv_clip`.
  clipped(y) {
    const { qkv_clip: most } = this.config;
    return most === null ? y : y.map((number) => Math.min(Math.max(number, -most), most));
  }

  // Projected rows y after the norm of queries or keys, if there is one.
  normed(part, y, count) {
    const { qk_norm: over, qk_norm_kind: kind, norm_eps: eps } = this.config;
    if (!this.norms[part]) return y;
    const size = over === "row" ? y.length / count : this.width;
    return normalised(y, size, this.norms[part], { centred: kind === "layer", eps });
  }

  // The keys that a query may attend to, of `count`: from the first, up to the second.
  reach(query, count) {
    const end = this.kind === "decoder" ? query + 1 : query + this.window;
    return this.kind === "cross" ? [0, count] : [Math.max(0, query - this.window + 1), Math.min(end, count)];
  }

  // Scores and weights of one head's query, written from `at` on: q.k / sqrt(D) plus the bias of positions, and the
  // softmax of that over the keys that it may attend to. Vaswani et al. 2017, equation 1.
  //
  // q: a row; query: its place; keys: a list of rows; uniform: whether the head is switched to prefer no key.
  weigh(head, q, query, keys, { scores, weights, at = 0, uniform = false }) {
    const [first, end] = this.reach(query, keys.length);
    const group = Math.floor((head * this.groups) / this.heads);
    const cap = this.config.score_cap;
    scores.fill(-Infinity, at, at + keys.length);
    weights.fill(0, at, at + keys.length);
    for (let key = first; key < end; key++) {
      let score = product(q, head * this.width, keys[key], group * this.width, this.width) * this.scale;
      if (this.bias) score += this.bias(head, query, key, q, keys[key]);
      scores[at + key] = cap === null ? score : cap * Math.tanh(score / cap);
    }
    if (uniform) weights.fill(1 / (end - first), at + first, at + end);
    else softmax(scores, at + first, at + end, weights);
  }

  // What the queries of some tokens find: {z, found}, the values added up by the weights (T, H * D), and what the
  // output projection makes of them (T, d_model).
  //
  // start: the place of the first query.
  /**
   * @param {Float32Array[]} queries
   * @param {Float32Array[]} keys
   * @param {Float32Array[]} values
   * @param {{start?: number, switched?: Switched}} options
   */
  forward(queries, keys, values, { start = 0, switched = null }) {
    const { heads, groups, width } = this;
    const context = new Float32Array(queries.length * heads * width);
    const scores = new Float32Array(keys.length);
    const weights = new Float32Array(keys.length);
    for (let row = 0; row < queries.length; row++) {
      const [first, end] = this.reach(start + row, keys.length);
      for (let head = 0; head < heads; head++) {
        const uniform = switched?.uniform[head];
        const scale = switched ? switched.scale[head] : 1;
        this.weigh(head, queries[row], start + row, keys, { scores, weights, uniform });
        const to = (row * heads + head) * width;
        const from = Math.floor((head * groups) / heads) * width;
        for (let key = first; key < end; key++) {
          const weight = weights[key] * scale;
          const value = values[key];
          for (let i = 0; i < width; i++) context[to + i] += weight * value[from + i];
        }
      }
    }
    return { z: context, found: linear(context, queries.length, this.out) };
  }

  // Learned vectors of distances meet the query and the key. He et al. 2021, equation 4.
  #vectorBias(buckets) {
    const { config, heads, groups, width } = this;
    const bucket = vectorBuckets(config);
    const count = buckets.length / config.d_model;
    const [queries, keys] = ["q", "k"].map((part) => linear(buckets, count, this.maps[part]));
    return (head, query, key, q, k) => {
      const [own, group] = [head * width, Math.floor((head * groups) / heads) * width];
      const row = bucket(query - key);
      const toKey = product(q, own, keys, row * groups * width + group, width);
      return (toKey + product(k, group, queries, row * heads * width + own, width)) * this.scale;
    };
  }
}

// One layer: self-attention, cross-attention where there is a memory, and feed-forward unless d_ff is 0, each added to
// its input.
class Layer {
  constructor(config, weights, name, { layer, kind, cross, buckets }) {
    this.config = config;
    this.attention = new Attention(config, weights, `${name}.attention`, { kind, layer, buckets });
    this.cross = cross ? new Attention(config, weights, `${name}.cross`, { kind: "cross", layer }) : null;
    this.gate = weights.map(`${name}.feed_forward.gate`);
    this.up = weights.map(`${name}.feed_forward.up`);
    this.down = weights.map(`${name}.feed_forward.down`);
    this.norms = {};
    for (const part of ["attention", "cross", "feed_forward"]) {
      const shared = part === "feed_forward" && config.parallel === "one";
      this.norms[part] = weights.norm(`${name}.${shared ? "attention" : part}_norm`);
      this.norms[`${part}_out`] = weights.norm(`${name}.${part}_out_norm`);
    }
  }

  #norm(x, part) {
    const { norm_kind: kind, norm_eps: eps, d_model: width } = this.config;
    return this.norms[part] ? NORMS[kind](x, width, this.norms[part], eps) : x;
  }

  // The rows that a part reads, of the rows x.
  input(x, part) {
    return this.config.norm_position === "post" ? x : this.#norm(x, part);
  }

  // The rows x after a part computed a change; see `forward` for what is kept. z: of an attention.
  /**
   * @param {Float32Array} x
   * @param {Float32Array} change
   * @param {string} part
   * @param {{keep: Pass["keep"], z?: Float32Array | null}} options
   */
  #add(x, change, part, { keep, z = null }) {
    const { residual_scale: scale, norm_position: place } = this.config;
    const out = this.#norm(change, `${part}_out`);
    const sum = x.map((number, i) => number + scale * out[i]);
    const after = place === "post" ? this.#norm(sum, part) : sum;
    keep?.({ part, before: x, z, change, added: scale === 1 ? out : out.map((number) => scale * number), sum, after });
    return after;
  }

  #feedForward(x, count) {
    const activation = ACTIVATIONS[this.config.activation];
    const up = linear(x, count, this.up);
    const inner = (this.gate ? linear(x, count, this.gate) : up).map(activation);
    return linear(this.gate ? inner.map((number, i) => number * up[i]) : inner, count, this.down);
  }

  // Rows x (T, d_model) of the tokens from place `start` on -> {x, rows}: what becomes of them, and the queries, keys
  // and values of all tokens so far.
  //
  // past: the `rows` of the tokens before. memory: {k, v} of the source, for cross-attention. keep: null, or is told of
  // each part {part, before, z, change, added, sum, after}: the rows before it, what it computed and what it added,
  // their sum, and the rows after it. z: of an attention, as in `Attention.forward`.
  forward(x, count, { start, turns, past, memory, switched, keep }) {
    const read = this.input(x, "attention");
    const rows = {};
    for (const part of ["q", "k", "v"]) {
      const these = this.attention.project(part, read, count, turns);
      rows[part] = past ? [...past[part], ...these] : these;
    }
    const own = this.attention.forward(rows.q.slice(start), rows.k, rows.v, { start, switched: switched.own });
    let after = this.#add(x, own.found, "attention", { keep, z: own.z });
    if (this.cross) {
      const crossing = this.cross.project("q", this.input(after, "cross"), count);
      rows.crossing = past ? [...past.crossing, ...crossing] : crossing;
      const other = this.cross.forward(crossing, memory.k, memory.v, { switched: switched.cross });
      after = this.#add(after, other.found, "cross", { keep, z: other.z });
    }
    if (!this.down) return { x: after, rows };
    const change = this.#feedForward(this.input(this.config.parallel ? x : after, "feed_forward"), count);
    return { x: this.#add(after, change, "feed_forward", { keep }), rows };
  }
}

// Layers one after the other, and a final norm unless each sum is normalised.
class Stack {
  constructor(config, weights, kind, cross) {
    this.config = config;
    this.kind = kind;
    const buckets = weights.numbers(`${kind}.buckets.weight`);
    this.layers = Array.from({ length: config[`${kind}_layers`] }, (_, layer) => {
      const name = `${kind}.layers.${layer}`;
      return new Layer(config, weights, name, { layer, kind, cross, buckets });
    });
    this.norm = weights.norm(`${kind}.norm`);
  }

  // Rows of tokens -> {x, layers}, with the `rows` of each layer; see `Layer.forward`. heads: see `Model.decode`; keep:
  // null, or is told of each layer's parts.
  /** @param {Float32Array} x @param {number} count @param {Pass} pass */
  forward(x, count, { start = 0, past = null, memory = null, heads = null, keep = null }) {
    const { positions, norm_kind: kind, norm_eps: eps, d_model: width } = this.config;
    const layers = [];
    this.layers.forEach((layer, i) => {
      const { rotary, width: headWidth } = layer.attention;
      const turns = positions === "rotary" ? turnsOf(rotary, headWidth, start, count) : null;
      const switched = { own: switchedAt(heads, this.kind, i), cross: switchedAt(heads, "cross", i) };
      const told = keep && ((/** @type {object} */ part) => keep({ layer: i, ...part }));
      const read = layer.forward(x, count, {
        start,
        turns,
        past: past?.[i],
        memory: memory?.[i],
        switched,
        keep: told,
      });
      x = read.x;
      layers.push(read.rows);
    });
    return { x: this.norm ? NORMS[kind](x, width, this.norm, eps) : x, layers };
  }
}

// The switches of one layer's heads, or null: heads is {scale: {kind: (layers, H)}, uniform: {kind: (layers, H)}}.
/** @param {Switches} heads @param {string} kind @param {number} layer @returns {Switched} */
export function switchedAt(heads, kind, layer) {
  const [scale, uniform] = [heads?.scale?.[kind]?.[layer], heads?.uniform?.[kind]?.[layer]];
  if (!scale && !uniform) return null;
  const all = scale ?? uniform ?? [];
  return { scale: scale ?? all.map(() => 1), uniform: uniform ?? all.map(() => false) };
}

// Token ids to rows, with positions added if they are of that kind. Vaswani et al. 2017, sections 3.4 and 3.5.
class Embedding {
  constructor(config, weights, name) {
    this.config = config;
    this.tokens = weights.matrix(`${name}.tokens.weight`);
    this.widen = weights.map(`${name}.widen`);
    this.types = weights.numbers(`${name}.types.weight`);
    this.positions = weights.numbers(`${name}.positions.weight`);
    this.norm = weights.norm(`${name}.norm`);
  }

  // The rows (T, d_model) of ids, the first of them at place `start`.
  rows(ids, start) {
    return this.parts(ids, start).x;
  }

  // What they are made of: {tokens, own, placed, sum, x}, the vectors of the tokens times their factor, the same as
  // they enter the sum, those of the places or null, the sum before its norm, and the rows.
  parts(ids, start) {
    const { config } = this;
    const { embedding_scale: scale, d_model: width } = config;
    const factor = scale === true ? Math.sqrt(width) : scale === false ? 1 : scale;
    const tokens = new Float32Array(ids.length * this.tokens.inputs);
    ids.forEach((id, row) => tokens.set(this.tokens.row(id), row * this.tokens.inputs));
    for (let at = 0; at < tokens.length; at++) tokens[at] *= factor;
    const own = this.widen && config.widen_first ? linear(tokens, ids.length, this.widen) : tokens;
    const size = own.length / ids.length;
    const placed = this.#placed(start, ids.length, size);
    const sum = own.slice();
    if (placed) addTo(sum, 0, placed);
    ids.forEach((_, row) => addTo(sum, row * size, this.types?.subarray(0, size))); // one text is the first segment
    const normed = this.norm ? NORMS[config.norm_kind](sum, size, this.norm, config.norm_eps) : sum;
    const x = this.widen && !config.widen_first ? linear(normed, ids.length, this.widen) : normed;
    return { tokens, own, placed, sum, x };
  }

  // The rows (T, size) that are added for places from `start` on, or null.
  #placed(start, count, size) {
    if (this.positions) return this.positions.slice(start * size, (start + count) * size);
    if (this.config.positions !== "sinusoidal") return null;
    const rows = new Float32Array(count * size);
    for (let row = 0; row < count; row++) rows.set(sinusoid(this.config, start + row), row * size);
    return rows;
  }
}

function addTo(x, at, row) {
  if (row) for (let i = 0; i < row.length; i++) x[at + i] += row[i];
}

// All shapes of the transformer; `config` says which. Vaswani et al. 2017, figure 1.
export class Model {
  /** @param {Config} config @param {Weights} weights */
  constructor(config, weights) {
    this.config = config;
    const { encoder_layers: encodes, decoder_layers: decodes } = config;
    if (decodes) {
      /** @type {Embedding} */
      this.tgtEmbedding = new Embedding(config, weights, "tgt_embedding");
      /** @type {Stack} */
      this.decoder = new Stack(config, weights, "decoder", encodes > 0);
      this.narrow = weights.map("narrow");
    }
    if (encodes) {
      /** @type {Embedding} */
      this.srcEmbedding = new Embedding(config, weights, "src_embedding");
      /** @type {Stack} */
      this.encoder = new Stack(config, weights, "encoder", false);
    }
    this.pooler = weights.map("pooler");
    this.poolerNorm = weights.norm("pooler_norm");
    this.maskedHead = weights.map("masked_head.dense");
    this.maskedNorm = weights.norm("masked_head.norm");
    this.output = /** @type {LinearMap} */ (weights.map("output"));
  }

  // The "encoder", "decoder" or "cross" attention of a layer.
  attention(kind, layer) {
    const block = this[kind === "encoder" ? "encoder" : "decoder"].layers[layer];
    return /** @type {Attention} */ (kind === "cross" ? block.cross : block.attention);
  }

  // The output projection of an attention: its weight (d_model, H * D) and how many columns that has.
  outProjection(kind, layer) {
    const { matrix } = this.attention(kind, layer).out;
    return { weight: matrix.numbers(), columns: matrix.inputs };
  }

  // How scores are made where it is not q.k / sqrt(D): their scale and cap.
  scoring() {
    const { attention_scale: scale, score_cap: cap } = this.config;
    return { ...(scale === null ? {} : { scale }), ...(cap === null ? {} : { cap }) };
  }

  // Source ids -> {x, layers}: the rows (S, d_model) that the decoder attends to, and those of each layer.
  //
  // heads and keep: see `decode`.
  encode(ids, heads = null, keep = null) {
    return this.encoder.forward(this.srcEmbedding.rows(ids, 0), ids.length, { heads, keep });
  }

  // Keys and values of cross-attention in each decoder layer, of the encoder's rows (S, d_model).
  projectMemory(x, count) {
    return this.decoder.layers.map((_, layer) => {
      const cross = this.attention("cross", layer);
      return { k: cross.project("k", x, count), v: cross.project("v", x, count) };
    });
  }

  // Target ids from place `start` on -> {x, layers}. past: the `layers` of the tokens before; memory: of
  // `projectMemory`, null without an encoder; heads: switches, as `switchedAt` reads them, or null; keep: null, or is
  // told of each part of each layer {layer, part, before, z, change, added, sum, after}; see `Layer.forward`.
  decode(ids, { start = 0, past = null, memory = null, heads = null, keep = null }) {
    return this.decoder.forward(this.tgtEmbedding.rows(ids, start), ids.length, { start, past, memory, heads, keep });
  }

  // Final rows (T, d_model) -> logits (T, V).
  project(x, count) {
    const { config } = this;
    const { norm_kind: kind, norm_eps: eps, logits_scale: scale, logits_cap: cap } = config;
    let rows = x;
    if (this.maskedHead) {
      const dense = linear(rows, count, this.maskedHead).map(ACTIVATIONS[config.head_activation ?? config.activation]);
      rows = NORMS[kind](dense, dense.length / count, this.maskedNorm, eps);
    } else if (this.narrow) rows = linear(rows, count, this.narrow);
    const logits = linear(rows, count, this.output);
    return logits.map((logit) => (cap === null ? logit * scale : cap * Math.tanh((logit * scale) / cap)));
  }

  // What an encoder alone predicts of its final rows: log-probabilities of classes, logits of pieces, or null.
  read(x, count) {
    const { head } = this.config;
    if (head === "none") return null;
    return head === "masked" ? this.project(x, count) : logSoftmax(this.classLogits(x, count));
  }

  // The logits of classes, of an encoder's final rows.
  classLogits(x, count) {
    return this.project(this.#pool(x, count), 1);
  }

  // What each token's row adds to the logit of a class, beyond the average class (T,), of an encoder's final rows: the
  // twin of transformer/analysis/pooling.py. null where a layer after pooling mixes what tokens add.
  contributions(x, count, id) {
    const { pooling, n_classes: classes } = this.config;
    if (!pooling || (this.pooler && pooling !== "first")) return null;
    const rows = listed(x, count);
    const features = pooling === "first" ? this.#pool(x, count) : rows[0];
    const byClass = listed(this.output.matrix.numbers(), classes);
    const weight = byClass[id].map((number, i) => number - byClass.reduce((sum, row) => sum + row[i], 0) / classes);
    const parts = {
      first: () => rows.map((_, place) => (place === 0 ? features : features.map(() => 0))),
      mean: () => rows.map((row) => row.map((number) => number / count)),
      max: () => wonBy(rows),
    }[pooling]();
    return Float32Array.from(parts, (part) => product(part, 0, weight, 0, weight.length));
  }

  // The pooled rows (d_model,), before the layer that may come after them.
  gather(x, count) {
    return POOLINGS[this.config.pooling](listed(x, count));
  }

  #pool(x, count) {
    const { pooler, norm_kind: kind, norm_eps: eps } = this.config;
    const pooled = this.gather(x, count);
    if (!this.pooler) return pooled;
    const after = linear(pooled, 1, this.pooler).map(ACTIVATIONS[pooler]);
    return this.poolerNorm ? NORMS[kind](after, after.length, this.poolerNorm, eps) : after;
  }
}

// By the name in `config.pooling`: one row of a list of rows.
const POOLINGS = {
  first: (rows) => rows[0],
  max: (rows) => rows[0].map((_, i) => Math.max(...rows.map((row) => row[i]))),
  mean: (rows) => rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length),
};

// Of each row the features that are larger there than in all others, the first if several are; 0 elsewhere.
function wonBy(rows) {
  const winners = Array.from(rows[0], (_, i) =>
    rows.reduce((best, row, at) => (row[i] > rows[best][i] ? at : best), 0),
  );
  return rows.map((row, at) => row.map((number, i) => (winners[i] === at ? number : 0)));
}

function logSoftmax(logits) {
  const most = Math.max(...logits);
  const sum = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
  return logits.map((logit) => logit - most - sum);
}
