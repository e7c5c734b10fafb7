// The arithmetic of one row of attention, on places in the plane: products, scores, softmax, and the mixed value.

export const product = ([a, b], [x, y]) => a * x + b * y;

export const lengthOf = (numbers) => Math.hypot(...numbers);

// data: what vectors.py sends; places: by id, of the query ("q") and of every key. Each key's row, in its order:
// {id, product, score, weight, carried}, where carried is the length of weight times value.
export function weighed({ keys, divisor, cap }, places, temperature) {
  const rows = keys.map(({ id, bias, value }) => {
    const dot = product(places.get("q"), places.get(id));
    const scaled = dot / divisor + bias;
    const score = cap ? cap * Math.tanh(scaled / cap) : scaled;
    return { id, product: dot, score, value };
  });
  const most = Math.max(...rows.map(({ score }) => score));
  const powers = rows.map(({ score }) => Math.exp((score - most) / temperature));
  const sum = powers.reduce((all, one) => all + one, 0);
  return rows.map((row, at) => {
    const weight = powers[at] / sum;
    return { ...row, weight, carried: weight * lengthOf(row.value) };
  });
}

// The sum of weight times value over all rows: what this head hands on.
export const mixed = (rows) =>
  rows[0].value.map((_, at) => rows.reduce((sum, { weight, value }) => sum + weight * value[at], 0));

// How alike two directions are, from -1 to 1.
export function cosine(one, other) {
  const size = lengthOf(one) * lengthOf(other);
  return size ? one.reduce((sum, number, at) => sum + number * other[at], 0) / size : 1;
}

// "q:7.5:0,3:1.2:-4", which vectors.py reads: what is not where the model has it.
export function movedText({ query, keys }, places) {
  const far = ({ id, place }) => places.get(id).some((number, at) => number !== place[at]);
  const short = (number) => String(Number(number.toPrecision(4)));
  return [query, ...keys]
    .filter(far)
    .map(({ id }) => [id, ...places.get(id).map(short)].join(":"))
    .join(",");
}
