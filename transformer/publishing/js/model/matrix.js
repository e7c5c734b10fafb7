// What a transformer does to rows of numbers, apart from attention: linear maps, norms and activations.
//
// Rows are a Float32Array (T, width), one row after the other; sums are in double precision, as JavaScript's numbers.

const BLOCK = 8; // outputs that are computed together

// Every number in half precision, by its 16 bits.
const HALVES = Float32Array.from({ length: 2 ** 16 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const part = (bits & 1023) / 1024;
  if (exponent === 31) return part ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + part) * 2 ** (exponent - 15) : part * 2 ** -14);
});

// Numbers in single precision: themselves, or made of those in half precision, which come as their bits.
export function widened(numbers) {
  if (!(numbers instanceof Uint16Array)) return numbers;
  const wide = new Float32Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) wide[i] = HALVES[numbers[i]];
  return wide;
}

// A matrix (outputs, inputs), as PyTorch keeps it and in either precision, laid out so that rows are multiplied by it
// fast.
export class Matrix {
  // The numbers of `BLOCK` outputs lie beside each other, input by input: a loop then reads memory in one go.
  constructor(numbers, outputs) {
    this.outputs = outputs;
    this.inputs = numbers.length / outputs;
    this.blocks = new Float32Array(Math.ceil(outputs / BLOCK) * BLOCK * this.inputs);
    for (let output = 0; output < outputs; output++) {
      const row = widened(numbers.subarray(output * this.inputs, (output + 1) * this.inputs));
      for (let i = 0, to = this.#place(output); i < row.length; i++, to += BLOCK) this.blocks[to] = row[i];
    }
  }

  #place(o) {
    return (o - (o % BLOCK)) * this.inputs + (o % BLOCK);
  }

  // The numbers of one output: the vector of a token, where this is a table of them.
  row(o) {
    const start = this.#place(o);
    return Float32Array.from({ length: this.inputs }, (_, i) => this.blocks[start + i * BLOCK]);
  }

  // All numbers (outputs, inputs), row after row.
  numbers() {
    const { inputs } = this;
    return Float32Array.from({ length: this.outputs * inputs }, (_, at) => {
      return this.blocks[this.#place(Math.floor(at / inputs)) + (at % inputs) * BLOCK];
    });
  }

  // Rows x (T, inputs) times this matrix, transposed: (T, outputs).
  times(x, count) {
    const { inputs, outputs, blocks } = this;
    const y = new Float32Array(count * outputs + BLOCK);
    const paired = count - (count % 2);
    // From the last block to the first, since the last may be wider than a row: its spare outputs, which are zeros, lie
    // where the next row begins, and are written over.
    for (let o = this.blocks.length / inputs - BLOCK; o >= 0; o -= BLOCK) {
      for (let half = BLOCK / 2; half >= 0; half -= BLOCK / 2) {
        for (let row = 0; row < paired; row += 2) {
          twoRows(x, row * inputs, inputs, blocks, o * inputs + half, y, row * outputs + o + half, outputs);
        }
      }
      if (paired < count) oneRow(x, paired * inputs, inputs, blocks, o * inputs, y, paired * outputs + o);
    }
    return y.subarray(0, count * outputs);
  }
}

// Eight outputs of one row. Each sum is a variable of its own, so that none waits for another.
function oneRow(x, at, inputs, blocks, from, y, to) {
  let [a, b, c, d, e, f, g, h] = [0, 0, 0, 0, 0, 0, 0, 0];
  for (let i = 0, w = from; i < inputs; i++, w += BLOCK) {
    const number = x[at + i];
    a += number * blocks[w];
    b += number * blocks[w + 1];
    c += number * blocks[w + 2];
    d += number * blocks[w + 3];
    e += number * blocks[w + 4];
    f += number * blocks[w + 5];
    g += number * blocks[w + 6];
    h += number * blocks[w + 7];
  }
  y[to] = a;
  y[to + 1] = b;
  y[to + 2] = c;
  y[to + 3] = d;
  y[to + 4] = e;
  y[to + 5] = f;
  y[to + 6] = g;
  y[to + 7] = h;
}

// Four outputs of two rows: a number of the matrix that was read is used twice.
function twoRows(x, at, inputs, blocks, from, y, to, outputs) {
  let [a, b, c, d, e, f, g, h] = [0, 0, 0, 0, 0, 0, 0, 0];
  for (let i = at, w = from; i < at + inputs; i++, w += BLOCK) {
    const one = x[i];
    const two = x[i + inputs];
    a += one * blocks[w];
    b += one * blocks[w + 1];
    c += one * blocks[w + 2];
    d += one * blocks[w + 3];
    e += two * blocks[w];
    f += two * blocks[w + 1];
    g += two * blocks[w + 2];
    h += two * blocks[w + 3];
  }
  y[to] = a;
  y[to + 1] = b;
  y[to + 2] = c;
  y[to + 3] = d;
  y[to + outputs] = e;
  y[to + outputs + 1] = f;
  y[to + outputs + 2] = g;
  y[to + outputs + 3] = h;
}

// A linear map of rows x (T, inputs): x W^T + bias -> (T, outputs).
export function linear(x, count, { matrix, bias }) {
  const y = matrix.times(x, count);
  if (bias) {
    for (let row = 0; row < y.length; row += bias.length) {
      for (let i = 0; i < bias.length; i++) y[row + i] += bias[i];
    }
  }
  return y;
}

// The product of two vectors of a length, each from a place in an array.
export function product(a, aAt, b, bAt, length) {
  let sum = 0;
  for (let i = 0; i < length; i++) sum += a[aAt + i] * b[bAt + i];
  return sum;
}

// Divides each run of `size` numbers by the root of its mean square, around its mean if `centred`; weight and bias
// repeat where they are shorter than the rows. Ba et al. 2016; Zhang and Sennrich 2019.
export function normalised(x, size, { weight, bias }, { centred, eps }) {
  const y = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += size) {
    let mean = 0;
    if (centred) {
      for (let i = start; i < start + size; i++) mean += x[i];
      mean /= size;
    }
    let square = 0;
    for (let i = start; i < start + size; i++) square += (x[i] - mean) ** 2;
    const factor = 1 / Math.sqrt(square / size + eps);
    for (let i = start; i < start + size; i++) {
      const one = i % weight.length;
      y[i] = (x[i] - mean) * factor * weight[one] + (bias ? bias[one] : 0);
    }
  }
  return y;
}

// Gives all rows the length that was learned. Nguyen and Salazar 2019, equation 5.
function lengthened(x, size, { weight }, { eps }) {
  const y = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += size) {
    const factor = weight[0] / Math.max(Math.sqrt(product(x, start, x, start, size)), eps);
    for (let i = start; i < start + size; i++) y[i] = x[i] * factor;
  }
  return y;
}

// By the name in `config.norm_kind`: rows of a size, the weights of the norm, and eps.
export const NORMS = {
  layer: (x, size, weights, eps) => normalised(x, size, weights, { centred: true, eps }),
  rms: (x, size, weights, eps) => normalised(x, size, weights, { centred: false, eps }),
  scale: (x, size, weights, eps) => lengthened(x, size, weights, { eps }),
};

// By the name in `config.activation` or `config.pooler`.
export const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: (x) => Math.tanh(x),
};

// The error function, to 1.5e-7. Abramowitz and Stegun 1964, formula 7.1.26.
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - tail * Math.exp(-x * x));
}

// Weights of scores from `first` up to `end`, which add up to 1.
export function softmax(scores, first, end, weights) {
  let most = -Infinity;
  for (let i = first; i < end; i++) most = Math.max(most, scores[i]);
  let sum = 0;
  for (let i = first; i < end; i++) {
    weights[i] = Math.exp(scores[i] - most);
    sum += weights[i];
  }
  for (let i = first; i < end; i++) weights[i] /= sum;
}
