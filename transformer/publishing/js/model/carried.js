// What a token's vector carries through the layers: how long its row is after each part, what each part and each head
// adds, what each adds to the prediction, and one number of a query taken apart. The twin of
// transformer/analysis/carried.py and direct.py.
//
// P positions that are followed, L layers, H heads, D width of a head. Rows are a Float32Array (P, width).
import { ACTIVATIONS, linear, Matrix, product } from "./matrix.js";
import { rotationState, turnsOf } from "./positions.js";

const CHANGED = 1e-4; // a share of a number by which it is another
const SMALLEST = 1e-4; // what an activation reads, where its factor is taken
const NO_HEAD = "This model has no head that predicts, so no part has an effect on a prediction.";
const MASKED = "Effects are those on one prediction, and this model makes one for every token.";
const CAPPED = "This model caps its logits, so they are not a sum of what its parts add.";

const texts = new WeakMap(); // what the encoder carries of a text, which all its steps share
const ofReadings = new WeakMap(); // the effects in a reading, which are the same whatever is looked at

// Follows the vectors of a step or a reading through every stack: {encoder, decoder}, those that there are; of a
// decoder the newest position alone.
//
// Of each {stack, first, count, parts, norms (P, parts), added (P, parts), position (P,) or null, heads: kind -> norms
// (L, P, H), kept, embedded, x}, where kept are the layers' parts as the model told of them, in the order of
// computation, embedded is what `Embedding.parts` gives, and x the final rows.
export function carriedBy(seen) {
  const found = {};
  if (seen.src) {
    const text = seen.context;
    if (!texts.has(text)) texts.set(text, ofText(carriedIn(seen, "encoder", readWhole(seen, "encoder")), seen));
    found.encoder = texts.get(text);
  }
  if (seen.tokens) found.decoder = carriedIn(seen, "decoder", readAgain(seen, seen.tokens.length - 1));
  return found;
}

// What is kept of an encoder as long as its text is: where a decoder predicts, only the rows before each part.
function ofText(found, { config }) {
  if (!config.decoder_layers) return found;
  return { ...found, kept: found.kept.map(({ layer, part, before }) => ({ layer, part, before })) };
}

// One stack's pass over a whole text: {kept, embedded, first, count, x}.
function readWhole(seen, stack) {
  const { model } = seen.opened;
  const kept = [];
  const keep = (part) => kept.push(part);
  const ids = stack === "encoder" ? seen.src : seen.tokens;
  const { memory, heads } = seen;
  const { x } = stack === "encoder" ? model.encode(ids, heads, keep) : model.decode(ids, { memory, heads, keep });
  const embedding = stack === "encoder" ? model.srcEmbedding : model.tgtEmbedding;
  return { kept, embedded: embedding.parts(ids, 0), first: 0, count: ids.length, x };
}

// The decoder's pass over one position of a step, made of the keys and values that the step has of all before it. Only
// for positions whose rows were turned as they are now.
function readAgain(seen, position) {
  const { model } = seen.opened;
  const kept = [];
  const past = seen
    .decoded()
    .map((rows) => Object.fromEntries(Object.entries(rows).map(([part, each]) => [part, each.slice(0, position)])));
  const ids = [seen.tokens[position]];
  const { memory, heads } = seen;
  const { x } = model.decode(ids, { start: position, past, memory, heads, keep: (part) => kept.push(part) });
  return { kept, embedded: model.tgtEmbedding.parts(ids, position), first: position, count: 1, x };
}

function carriedIn({ opened, config }, stack, run) {
  const { kept, embedded, count } = run;
  const rows = [kept[0].before, ...kept.map(({ after }) => after)];
  const adds = [embedded.own, ...kept.map(({ added }) => added)];
  const heads = {};
  for (const one of kept.filter(({ z }) => z)) {
    const kind = kindOf(stack, one);
    (heads[kind] ??= []).push(headNorms(opened.model, config, one, { kind, count }));
  }
  return {
    ...run,
    stack,
    parts: ["embedding", ...kept.map(({ layer, part }) => `${layer}.${part}`)],
    norms: normsOf(rows, count),
    added: normsOf(adds, count),
    position: embedded.placed && normsOf([embedded.placed], count),
    heads: Object.fromEntries(Object.entries(heads).map(([kind, layers]) => [kind, oneAfterAnother(layers)])),
  };
}

const kindOf = (stack, { part }) => (part === "cross" ? "cross" : stack);
const lengthOf = (x, at, size) => Math.sqrt(product(x, at, x, at, size));

function oneAfterAnother(arrays) {
  const all = new Float32Array(arrays.reduce((count, { length }) => count + length, 0));
  let at = 0;
  for (const one of arrays) {
    all.set(one, at);
    at += one.length;
  }
  return all;
}

// The norms of rows (P, width) of each part -> (P, parts).
function normsOf(rows, count) {
  return Float32Array.from({ length: count * rows.length }, (_, at) => {
    const x = rows[at % rows.length];
    const size = x.length / count;
    return lengthOf(x, Math.floor(at / rows.length) * size, size);
  });
}

// The norms (P, H) of what each head of an attention adds, with an output norm frozen.
function headNorms(model, config, { layer, part, z, change }, { kind, count }) {
  const attention = model.attention(kind, layer);
  const size = config.d_model;
  const out = layerAt(model, kind, layer).norms[`${part}_out`];
  const frozen = out && frozenNorms(out, change, size, config);
  const norms = new Float32Array(count * attention.heads);
  for (let head = 0; head < attention.heads; head++) {
    const result = resultOf(attention, z, count, head);
    frozen?.forEach((norm, row) => norm.apply(result.subarray(row * size, (row + 1) * size)));
    for (let row = 0; row < count; row++) {
      norms[row * attention.heads + head] = Math.abs(config.residual_scale) * lengthOf(result, row * size, size);
    }
  }
  return norms;
}

const layerAt = (model, kind, layer) => model[kind === "encoder" ? "encoder" : "decoder"].layers[layer];

const columns = new WeakMap(); // attention -> the output projection of each head, (d_model, D)

// What a head writes to the rows, of the z (P, H * D) of all heads -> (P, d_model). The sum of all heads and the bias
// are the output.
function resultOf(attention, z, count, head) {
  const { heads, width, out } = attention;
  if (!columns.has(attention)) {
    const { inputs, outputs } = out.matrix;
    const all = out.matrix.numbers();
    const cut = (from) =>
      Float32Array.from({ length: outputs * width }, (_, at) => {
        return all[Math.floor(at / width) * inputs + from + (at % width)];
      });
    columns.set(
      attention,
      Array.from({ length: heads }, (_, one) => new Matrix(cut(one * width), outputs)),
    );
  }
  const own = new Float32Array(count * width);
  for (let row = 0; row < count; row++) {
    const start = (row * heads + head) * width;
    own.set(z.subarray(start, start + width), row * width);
  }
  return columns.get(attention)[head].times(own, count);
}

// A norm of rows x (P, size) with its factors frozen, which makes it linear: of each row {apply, pullBack}, both of
// which change what they are given, a part of the row or the gradient at the norm's output. The bias belongs to no
// part.
function frozenNorms({ weight }, x, size, { norm_kind: kind, norm_eps: eps }) {
  const isCentred = kind === "layer";
  const centre = (part) => {
    if (!isCentred) return;
    const mean = part.reduce((sum, number) => sum + number, 0) / size;
    for (let i = 0; i < size; i++) part[i] -= mean;
  };
  return Array.from({ length: x.length / size }, (_, row) => {
    const own = Float64Array.from(x.subarray(row * size, (row + 1) * size));
    centre(own);
    const square = product(own, 0, own, 0, size);
    const factor = kind === "scale" ? 1 / Math.max(Math.sqrt(square), eps) : 1 / Math.sqrt(square / size + eps);
    const multiply = (part) => {
      for (let i = 0; i < size; i++) part[i] *= factor * weight[i % weight.length];
    };
    const apply = (part) => {
      centre(part);
      multiply(part);
    };
    const pullBack = (gradient) => {
      multiply(gradient);
      centre(gradient);
    };
    return { apply, pullBack };
  });
}

// The direct effects of all parts on the logit of the token chosen, or of the likeliest class: {token, logit, heads:
// kind -> (L, H), feedForward (L,), embedding, positions, biases}, or {why}, a sentence that says why there are none.
//
// Elhage et al. 2021, "logit attribution"; Wang et al. 2023, section 3.1. found: what `carriedBy` gave of the same. A
// head that is off is so in the z that is kept, so the parts add up to the logit then too.
export function effectsOf(seen, found) {
  if (found.decoder) return directEffects(seen, found);
  if (!ofReadings.has(seen)) ofReadings.set(seen, directEffects(seen, found));
  return ofReadings.get(seen);
}

function directEffects(seen, found) {
  const { opened, config } = seen;
  const { model } = opened;
  if (!config.decoder_layers && !config.n_classes) return { why: config.head === "masked" ? MASKED : NO_HEAD };
  if (config.logits_cap !== null) return { why: CAPPED };
  const run = found.decoder ?? found.encoder;
  const logits = found.decoder ? seen.logits : model.classLogits(run.x, run.count);
  const token = found.decoder ? seen.id : logits.indexOf(logits.reduce((most, one) => Math.max(most, one), -Infinity));
  const path = new Path(config, gradientOf(model, run, token));
  path.through(model[run.stack].norm, run.kept.at(-1).after);
  const heads = {};
  const layers = model[run.stack].layers.length;
  const feedForward = new Float32Array(layers);
  for (const one of [...run.kept].reverse()) {
    const kind = kindOf(run.stack, one);
    const effects = path.past(layerAt(model, run.stack, one.layer), one, model.attention(kind, one.layer));
    if (!one.z) [feedForward[one.layer]] = effects;
    else (heads[kind] ??= []).unshift(effects);
  }
  const embedding = run.stack === "decoder" ? model.tgtEmbedding : model.srcEmbedding;
  const rest = path.embedded(embedding, run.embedded);
  const joint = Object.fromEntries(Object.entries(heads).map(([kind, each]) => [kind, oneAfterAnother(each)]));
  return { token, logit: logits[token], heads: joint, feedForward, ...rest, biases: path.biases };
}

// The gradient of a logit at the final rows {g (P, d_model), biases}, and what biases on the way add to it.
function gradientOf(model, { stack, x, count }, token) {
  const { config, output, narrow, pooler } = model;
  const scale = config.logits_scale;
  let g = Float64Array.from(output.matrix.row(token), (number) => number * scale);
  const biases = (output.bias?.[token] ?? 0) * scale;
  if (stack === "decoder") {
    if (!narrow) return { g, biases };
    return { g: pulledBack(g, 1, narrow.matrix), biases: biases + sumOf(g, narrow.bias) };
  }
  const path = new Path(config, { g, biases });
  const pooled = model.gather(x, count);
  if (pooler) path.pastPooler(model, pooled);
  [g] = [path.g];
  const size = config.d_model;
  const rows = new Float64Array(count * size);
  for (let i = 0; i < size; i++) {
    const { pooling } = config;
    if (pooling === "mean") for (let row = 0; row < count; row++) rows[row * size + i] = g[i] / count;
    else rows[(pooling === "first" ? 0 : largestRow(x, i, size)) * size + i] = g[i];
  }
  return { g: rows, biases: path.biases };
}

// The first of the rows in which a feature is largest.
function largestRow(x, feature, size) {
  let best = feature;
  for (let at = feature; at < x.length; at += size) if (x[at] > x[best]) best = at;
  return (best - feature) / size;
}

// Gradients g (P, outputs) at the output of a linear map -> those at its input (P, inputs).
function pulledBack(g, count, matrix) {
  const { inputs, outputs } = matrix;
  const back = new Float64Array(count * inputs);
  for (let output = 0; output < outputs; output++) {
    const weights = matrix.row(output);
    for (let row = 0; row < count; row++) {
      const one = g[row * outputs + output];
      if (one) for (let i = 0; i < inputs; i++) back[row * inputs + i] += one * weights[i];
    }
  }
  return back;
}

// The sum of products of g (P, width) and rows that repeat where they are fewer; 0 for none.
function sumOf(g, rows) {
  let sum = 0;
  if (rows) for (let at = 0; at < g.length; at++) sum += g[at] * rows[at % rows.length];
  return sum;
}

// The way back from the logit. g (P, d_model) is the gradient of the logit at the rows.
class Path {
  constructor(config, { g, biases }) {
    this.config = config;
    this.g = g;
    this.biases = biases;
  }

  // Passes a norm, if there is one, with its factors frozen at those of its rows x.
  through(norm, x, size = this.config.d_model) {
    if (!norm) return;
    this.biases += sumOf(this.g, norm.bias);
    frozenNorms(norm, x, size, this.config).forEach(({ pullBack }, row) =>
      pullBack(this.g.subarray(row * size, (row + 1) * size)),
    );
  }

  // Passes a linear map with its bias.
  throughMap({ matrix, bias }) {
    this.biases += sumOf(this.g, bias);
    this.g = pulledBack(this.g, this.g.length / matrix.outputs, matrix);
  }

  // Passes the layer after pooling, of pooled rows. Its activation is frozen at its factor, as a norm is.
  pastPooler({ pooler, poolerNorm }, pooled) {
    const activation = ACTIVATIONS[this.config.pooler];
    const before = linear(pooled, 1, pooler).map((number) => (Math.abs(number) < SMALLEST ? SMALLEST : number));
    const after = before.map(activation);
    this.through(poolerNorm, after);
    this.g = this.g.map((number, i) => (number * after[i]) / before[i]);
    this.throughMap(pooler);
  }

  // Passes a part that was added to the rows, of which another way leads on: the effects of its heads, or of all of a
  // feed-forward part. With "post", both pass the norm of the sum.
  past(layer, { part, z, change, sum }, attention) {
    const { residual_scale: scale, norm_position: place } = this.config;
    if (place === "post") this.through(layer.norms[part], sum);
    const beside = this.g;
    this.g = beside.map((number) => number * scale);
    this.through(layer.norms[`${part}_out`], change);
    const { bias } = z ? attention.out : layer.down;
    const ofBias = sumOf(this.g, bias);
    this.biases += ofBias;
    const count = beside.length / this.config.d_model;
    const effects = z
      ? Float32Array.from({ length: attention.heads }, (_, head) => sumOf(this.g, resultOf(attention, z, count, head)))
      : [sumOf(this.g, change) - ofBias];
    this.g = beside;
    return effects;
  }

  // What tokens and positions add: {embedding, positions}. Segments go with the biases: no token decides them.
  embedded({ widen, types, norm }, { tokens, placed, sum, own }) {
    const { widen_first: isFirst } = this.config;
    const size = own.length / (this.g.length / this.config.d_model);
    if (widen && !isFirst) this.throughMap(widen);
    this.through(norm, sum, size);
    this.biases += sumOf(this.g, types?.subarray(0, size));
    const positions = sumOf(this.g, placed);
    if (widen && isFirst) this.throughMap(widen);
    return { embedding: sumOf(this.g, tokens), positions };
  }
}

// One number of a head's query at a position taken apart: {weights, row, residual}, the row of W_q, the row that it
// reads and the residual (d_model,), and {bias, projected, clipped, clip, normed, partner, partnerValue, cos, sin,
// turned, value, changed}, what is done to their product in this order; null for what is not done. found: what
// `carriedBy` gave of the same.
export function featureOf(seen, found, { kind, layer, head, position, number }) {
  const { opened, config } = seen;
  const { model } = opened;
  const attention = model.attention(kind, layer);
  const part = kind === "cross" ? "cross" : "attention";
  const { kept, first } = runAt(seen, found, kind, position);
  const { before } = kept.find((one) => one.layer === layer && one.part === part);
  const size = config.d_model;
  const residual = before.slice((position - first) * size, (position - first + 1) * size);
  const row = layerAt(model, kind, layer).input(residual, part);
  const { matrix, bias } = attention.maps.q;
  const at = head * attention.width + number;
  const projected = linear(row, 1, attention.maps.q);
  const clipped = attention.clipped(projected);
  const normed = attention.normed("q", clipped, 1);
  const own = normed[at];
  const turned = turnAt(seen, attention, kind, position, number);
  const beside = turned && normed[head * attention.width + turned.partner];
  const made = turned ? own * turned.cos + beside * turned.sin : own;
  const value = seen.rows(kind, layer).q[position][at];
  return {
    weights: matrix.row(at),
    row: row === residual ? row.slice() : row,
    residual,
    said: {
      bias: bias?.[at] ?? null,
      projected: projected[at],
      clipped: clipped[at],
      clip: config.qkv_clip,
      normed: own,
      partner: turned?.partner ?? null,
      partnerValue: beside,
      cos: turned?.cos ?? null,
      sin: turned?.sin ?? null,
      turned: made,
      value,
      changed: Math.abs(value - made) > CHANGED * (1 + Math.abs(made)),
    },
  };
}

// A pass that has a position.
function runAt(seen, found, kind, position) {
  if (kind === "encoder") return found.encoder;
  const { first, count } = found.decoder;
  if (position >= first && position < first + count) return found.decoder;
  const [then, now] = [position + 1, seen.tokens.length].map((length) => rotationState(seen.config, length));
  return then === now ? readAgain(seen, position) : readWhole(seen, "decoder");
}

// How a number is turned at a position: {partner, cos, sin}, the number it is turned with, and the factors of itself
// and of that one. null where positions do not turn it.
function turnAt(seen, { rotary, width }, kind, position, number) {
  if (kind === "cross" || seen.config.positions !== "rotary") return null;
  const length = (kind === "encoder" ? seen.src : seen.tokens).length;
  const { cosines, sines, pairs, layout } = turnsOf(rotary, width, 0, length);
  if (number >= 2 * pairs) return null;
  const isInterleaved = layout === "interleaved";
  const pair = isInterleaved ? Math.floor(number / 2) : number % pairs;
  const isFirst = isInterleaved ? number % 2 === 0 : number < pairs;
  const partner = isInterleaved ? number ^ 1 : (number + pairs) % (2 * pairs);
  const at = position * pairs + pair;
  return { partner, cos: cosines[at], sin: isFirst ? -sines[at] : sines[at] };
}
