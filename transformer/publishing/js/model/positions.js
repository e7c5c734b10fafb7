// What positions add to embeddings, how they turn queries and keys, and what they add to scores; the twin of
// transformer/model/positions.py and rotary.py, where the papers are named.

/** @import { Config } from "../inference/decoding.js" */

// The sines and cosines that are added to the embedding at a place.
export function sinusoid({ sinusoid_layout: layout, pad_id: padding, d_model: width }, place) {
  const row = new Float32Array(width);
  if (layout === "fairseq") {
    const half = Math.floor(width / 2);
    const counted = place + (padding === null ? 0 : padding + 1); // fairseq counts from behind the padding id
    for (let i = 0; i < half; i++) {
      const angle = counted * 10_000 ** (-i / Math.max(half - 1, 1));
      row[i] = Math.sin(angle);
      row[half + i] = Math.cos(angle);
    }
    return row;
  }
  const sines = Math.ceil(width / 2);
  for (let i = 0; i < sines; i++) {
    const angle = place * 10_000 ** ((-2 * i) / width);
    const [sine, cosine] = layout === "halves" ? [i, sines + i] : [2 * i, 2 * i + 1];
    row[sine] = Math.sin(angle);
    if (cosine < width) row[cosine] = Math.cos(angle);
  }
  return row;
}

// The angle of each pair of features from one place to the next, in a text of `length` tokens.
function ratesOf(rotary, headWidth, length) {
  const width = rotary.dim ?? headWidth;
  const plain = plainRates(rotary.base, width);
  return rotary.scaling === null ? plain : SCALINGS[rotary.scaling](plain, rotary, width, length);
}

function plainRates(base, width) {
  return Array.from({ length: Math.ceil(width / 2) }, (_, pair) => base ** ((-2 * pair) / width));
}

// By the name in `rotary.scaling`: how angles are made smaller, for longer texts than those of the training.
const SCALINGS = {
  linear: (plain, rotary) => plain.map((rate) => rate / rotary.factor),
  dynamic(plain, rotary, width, length) {
    const longer = Math.max(length, rotary.learned_len) / rotary.learned_len;
    const grown = width > 2 ? (rotary.factor * longer - (rotary.factor - 1)) ** (width / (width - 2)) : 1;
    return plainRates(rotary.base * grown, width);
  },
  llama3(plain, rotary) {
    const [low, high] = [rotary.low_freq_factor, rotary.high_freq_factor];
    return plain.map((rate) => {
      const kept = within((rotary.learned_len / ((2 * Math.PI) / rate) - low) / (high - low), 0, 1);
      return ((1 - kept) * rate) / rotary.factor + kept * rate;
    });
  },
  yarn(plain, rotary, width) {
    const pairOf = (turns) =>
      // the pair that turns so often in learned_len tokens
      (width * Math.log(rotary.learned_len / (turns * 2 * Math.PI))) / (2 * Math.log(rotary.base));
    let [first, last] = [pairOf(rotary.beta_fast), pairOf(rotary.beta_slow)];
    if (rotary.truncate) [first, last] = [Math.floor(first), Math.ceil(last)];
    [first, last] = [Math.max(first, 0), Math.min(last, width - 1)];
    return plain.map((rate, pair) => {
      const stretched = within((pair - first) / (last - first || 0.001), 0, 1);
      return (stretched * rate) / rotary.factor + (1 - stretched) * rate;
    });
  },
  longrope(plain, rotary, width, length) {
    const factors = length > rotary.learned_len ? rotary.long_factors : rotary.short_factors;
    return plain.map((rate, pair) => rate / factors[pair]);
  },
};

function within(number, least, most) {
  return Math.min(Math.max(number, least), most);
}

// Cosines and sines (T, pairs) of the places from `start` on, in a text that ends with them.
export function turnsOf(rotary, headWidth, start, count) {
  const rates = ratesOf(rotary, headWidth, start + count);
  const angles = (wave) =>
    Float32Array.from({ length: count * rates.length }, (_, i) => {
      const place = start + Math.floor(i / rates.length);
      return rotary.attention_factor * wave(Math.fround(place * rates[i % rates.length]));
    });
  return { cosines: angles(Math.cos), sines: angles(Math.sin), pairs: rates.length, layout: rotary.layout };
}

// Turns queries or keys x (T, heads * width) by pairs of features, in place.
export function turn(x, width, { cosines, sines, pairs, layout }) {
  const each = (x.length * pairs) / cosines.length; // numbers of a row
  const [step, apart] = layout === "interleaved" ? [2, 1] : [1, pairs];
  for (let at = 0; at < x.length; at += width) {
    const row = Math.floor(at / each) * pairs;
    for (let pair = 0; pair < pairs; pair++) {
      const [i, j] = [at + step * pair, at + step * pair + apart];
      const [one, two] = [x[i], x[j]];
      x[i] = one * cosines[row + pair] - two * sines[row + pair];
      x[j] = one * sines[row + pair] + two * cosines[row + pair];
    }
  }
}

// Alike for two lengths of a text if its rows are turned by the same angles; else what was kept is of no use.
export function rotationState(config, length) {
  if (config.positions !== "rotary") return "";
  const states = [config.rotary, config.window_rotary].map((rotary) => {
    if (rotary === null || rotary.learned_len === null || length <= rotary.learned_len) return 0;
    return rotary.scaling === "dynamic" ? length : Number(rotary.scaling === "longrope");
  });
  return states.join();
}

// What is added to the score of a head's query and key at two places, or null: (head, query, key) -> number.
export function distanceBias(config, kind, learned) {
  if (kind === "cross") return null;
  if (config.positions === "alibi") return alibi(config);
  if (config.positions !== "relative") return null;
  const bucket = remembered((apart) => bucketOf(apart, config, kind === "decoder"));
  return (head, query, key) => learned[bucket(query - key) * config.n_heads + head];
}

function alibi({ n_heads: heads, alibi_max: most, alibi_scale: scale, alibi_rounded: rounded }) {
  const smaller = 2 ** Math.floor(Math.log2(heads));
  const slopes = Array.from({ length: heads }, (_, head) =>
    head < smaller
      ? 2 ** ((-most * (head + 1)) / smaller)
      : 2 ** (((-most / 2) * (2 * (head - smaller) + 1)) / smaller),
  );
  if (!rounded) return (head, query, key) => -slopes[head] * scale * Math.abs(query - key);
  const gained = (head, place) => bfloat16(bfloat16(slopes[head]) * bfloat16(place)) * scale;
  return (head, query, key) => -Math.abs(gained(head, query) - gained(head, key));
}

// The nearest number in bfloat16, the upper half of a float32; of two, the even one.
function bfloat16(number) {
  const bits = new Uint32Array(Float32Array.of(number).buffer);
  bits[0] = (bits[0] + 0x7fff + ((bits[0] >>> 16) & 1)) & 0xffff0000;
  return new Float32Array(bits.buffer)[0];
}

// The bucket of a distance (query's place less key's) whose learned number is added.
function bucketOf(apart, { relative_buckets: all, relative_distance: furthest }, causal) {
  const buckets = causal ? all : Math.floor(all / 2);
  const distance = causal ? Math.max(apart, 0) : Math.abs(apart);
  const exact = Math.floor(buckets / 2);
  const share = log32(Math.max(distance, 1) / exact) / Math.fround(Math.log(furthest / exact));
  const far = Math.min(exact + Math.trunc(Math.fround(Math.fround(share) * (buckets - exact))), buckets - 1);
  return (!causal && apart < 0 ? buckets : 0) + (distance < exact ? distance : far);
}

// The bucket of a distance whose learned vector meets queries and keys: "disentangled" positions.
/** @param {Config} config */
export function vectorBuckets({ relative_buckets: span, relative_distance: furthest }) {
  const middle = Math.floor(span / 2);
  return remembered((apart) => {
    const distance = Math.abs(apart);
    let place = apart;
    if (span !== furthest && distance > middle) {
      const share = Math.fround(log32(distance / middle) / log32((furthest - 1) / middle));
      place = Math.sign(apart) * (Math.ceil(Math.fround(share * (middle - 1))) + middle);
    }
    return within(place + span, 0, 2 * span - 1);
  });
}

// A logarithm in single precision, as PyTorch takes it: on the border of two buckets the last digit decides.
function log32(number) {
  return Math.fround(Math.log(Math.fround(number)));
}

function remembered(compute) {
  const known = new Map();
  return (apart) => {
    if (!known.has(apart)) known.set(apart, compute(apart));
    return known.get(apart);
  };
}
