// How the next token is chosen from logits; the twin of transformer/inference/sampling.py, draws included: the same
// seed and step choose the same token in the browser as in Python.
//
// A sampling has the names of transformer/inference/sampling_settings.py.

/**
 * @typedef {object} Sampling
 * @property {number} temperature
 * @property {number | null} top_k
 * @property {number | null} top_p
 * @property {number | null} min_p
 * @property {number} seed
 */

/** @type {Sampling} */
export const GREEDY = { temperature: 0, top_k: null, top_p: null, min_p: null, seed: 0 };

const COLDEST = 1e-6; // below this, logits divided by the temperature could overflow
const FEW = 64; // ids that are found without sorting all

// Logits after `read` tokens, -Infinity for tokens that the configuration bans or does not force.
export function choosable(logits, config, read) {
  const { forced_bos_id: forced, banned_ids: banned } = config;
  if (read === 1 && forced !== null) {
    const only = new Float32Array(logits.length).fill(-Infinity);
    only[forced] = 0;
    return only;
  }
  if (!banned.length) return logits;
  const allowed = logits.slice();
  for (const id of banned) allowed[id] = -Infinity;
  return allowed;
}

// Probabilities (V,) of logits (V,), 0 for tokens that are left out by top_k, then by top_p, then by min_p. Greedy
// decoding shows the model's own distribution, as temperature 1 does.
export function probabilitiesOf(logits, { temperature, top_k: most, top_p: mass, min_p: share }) {
  let scaled = temperature ? logits.map((logit) => logit / Math.max(temperature, COLDEST)) : logits;
  if (most !== null && most < scaled.length) {
    const kept = likeliest(scaled, most);
    const only = new Float32Array(scaled.length).fill(-Infinity);
    for (const id of kept) only[id] = scaled[id];
    scaled = only;
  }
  const top = greatest(scaled);
  const exponents = scaled.map((logit) => Math.exp(logit - top));
  const probabilities = divided(exponents, total(exponents));
  if (mass !== null) leaveOut(probabilities, mass);
  if (share !== null) {
    const least = Math.fround(Math.fround(share) * greatest(probabilities));
    probabilities.forEach((one, id) => {
      if (one < least) probabilities[id] = 0;
    });
  }
  return mass === null && share === null ? probabilities : divided(probabilities, total(probabilities));
}

// Puts 0 for tokens that are not among the likeliest that together have this probability; of equal ones the first stay.
function leaveOut(probabilities, mass) {
  const ascending = probabilities.slice().sort();
  let place = ascending.length;
  let sum = 0; // in double precision, and compared in single, as PyTorch does
  do sum += ascending[--place];
  while (place >= 0 && Math.fround(Math.fround(sum) - ascending[place]) < Math.fround(mass));
  if (place < 0) return;
  const least = ascending[place];
  let stay = ascending.lastIndexOf(least) - place;
  probabilities.forEach((one, id) => {
    if (one < least || (one === least && stay-- <= 0)) probabilities[id] = 0;
  });
}

// Ids of the greatest numbers, the greatest first; of equal ones the first.
export function likeliest(numbers, count) {
  const before = (one, other) => numbers[other] - numbers[one] || one - other;
  if (count > FEW) return Array.from(numbers.keys()).sort(before).slice(0, count);
  const best = []; // sorting all would take longer than the model's step
  for (let id = 0; id < numbers.length; id++) {
    if (best.length === count && !(numbers[id] > numbers[best.at(-1)])) continue;
    let place = best.length;
    while (place > 0 && numbers[id] > numbers[best[place - 1]]) place--;
    best.splice(place, 0, id);
    best.length = Math.min(best.length, count);
  }
  return best;
}

// The id of the greatest number, the first of equal ones.
export function argmax(numbers) {
  let best = 0;
  for (let id = 1; id < numbers.length; id++) if (numbers[id] > numbers[best]) best = id;
  return best;
}

function greatest(numbers) {
  return numbers[argmax(numbers)];
}

function total(numbers) {
  return numbers.reduce((sum, one) => sum + one, 0);
}

function divided(numbers, by) {
  return numbers.map((one) => one / by);
}

// The id that a step predicts. A draw depends on the seed and the step's index alone.
//
// PyTorch draws one of several by dividing each probability by an exponential random number and taking the greatest.
export function choiceOf(step, sampling = GREEDY) {
  if (!sampling.temperature) return argmax(step.allowed);
  const { seed, ...filters } = { ...GREEDY, ...sampling };
  const random = twister(seed * 1_000_003 + step.index);
  const probabilities = probabilitiesOf(step.allowed, filters);
  return argmax(probabilities.map((one) => one / Math.fround(exponential(random))));
}

// An exponential random number, of 53 random bits, as PyTorch makes it on a processor.
function exponential(random) {
  const high = random() & 0x1fffff;
  return -Math.log1p(-(high * 2 ** 32 + random()) / 2 ** 53);
}

// Whole random numbers of 32 bits: Matsumoto and Nishimura 1998, "Mersenne Twister".
export function twister(seed) {
  const state = new Uint32Array(624);
  state[0] = seed % 2 ** 32;
  for (let i = 1; i < 624; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  let next = 624;
  return () => {
    if (next === 624) {
      for (let i = 0; i < 624; i++) {
        const joined = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
        state[i] = state[(i + 397) % 624] ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
      }
      next = 0;
    }
    let bits = state[next++];
    bits ^= bits >>> 11;
    bits ^= (bits << 7) & 0x9d2c5680;
    bits ^= (bits << 15) & 0xefc60000;
    return (bits ^ (bits >>> 18)) >>> 0;
  };
}

// The likeliest next tokens of a step, each {id, piece, probability, excluded}. One that sampling excludes has the
// probability that it would have if no token were.
export function candidates(step, count, sampling = GREEDY) {
  const { before, after } = shares(step, sampling);
  return likeliest(before, count).map((id) => {
    return { id, piece: step.label(id), probability: after[id] || before[id], excluded: !after[id] };
  });
}

// The probability of an id after a step, counted as in `candidates`.
export function probabilityOf(step, id, sampling = GREEDY) {
  const { before, after } = shares(step, sampling);
  return after[id] || before[id];
}

function shares(step, sampling) {
  const { temperature } = sampling;
  const before = probabilitiesOf(step.allowed, { ...GREEDY, temperature });
  return { before, after: probabilitiesOf(step.allowed, { ...GREEDY, ...sampling }) };
}
