// What there was of a message of a whole decoding at step `index`, counted from 0: fewer queries, and of the decoder
// fewer keys.
/** @import { Ahead, AttentionKind, PathMessage } from "#view/message/fields.js" */
/** @param {PathMessage} message */
export function stepOf(message, index) {
  const count = message.path.prompt + index;
  const kinds = {};
  for (const [kind, info] of Object.entries(message.kinds)) kinds[kind] = kindUpTo(kind, info, count);
  const arrays = {};
  const shapes = {};
  for (const name of Object.keys(message.arrays)) {
    const [what, kind] = name.split("/");
    const limits = limitsOf(what, kind, message.shapes[name].length, count);
    [arrays[name], shapes[name]] = cutTo(message.arrays[name], message.shapes[name], limits);
  }
  const step = { ...message, kinds, arrays, shapes, made: new Map() };
  if (message.model) followAt(step, index, count - 1);
  return step;
}

// The picture of the model follows the token that was the newest then, and has the effects on what came next.
function followAt(step, index, position) {
  const { steps, effectOf, logit, why, ...model } = step.model; // of the last step
  const { queries } = step.kinds[model.stack];
  step.model = { ...model, position, token: queries[position], ...(steps ? steps[index] : { effectOf, logit, why }) };
  for (const name of Object.keys(step.arrays).filter((one) => one.startsWith("effects/"))) {
    const [count, ...shape] = step.shapes[name];
    const size = step.arrays[name].length / count;
    if (step.model.effectOf === undefined) delete step.arrays[name];
    else step.arrays[name] = step.arrays[name].subarray(index * size, (index + 1) * size);
    step.shapes[name] = shape;
  }
}

/** @param {AttentionKind} info */
function kindUpTo(kind, info, count) {
  if (kind === "encoder") return info;
  const { queries, keys, makes } = info;
  const first = (tokens) => tokens?.slice(0, count);
  /** @type {Ahead} */
  const ahead = { queries: queries.slice(count), makes: makes?.slice(count) ?? [], keys: [] };
  if (kind === "decoder") ahead.keys = ahead.queries;
  return {
    ...info,
    queries: first(queries),
    makes: first(makes),
    keys: kind === "decoder" ? first(keys) : keys,
    ahead,
  };
}

// Along which axes, counted from the last, an array holds queries or keys of which there were fewer: {axis: count}.
function limitsOf(what, kind, axes, count) {
  if (kind === "encoder") return {};
  const own = kind === "decoder";
  const pairs = { [axes - 2]: count, ...(own && { [axes - 1]: count }) };
  return (
    {
      cells: pairs,
      bias: pairs,
      q: { [axes - 2]: count },
      k: own ? { [axes - 2]: count } : {},
      v: own ? { [axes - 2]: count } : {},
      moved: own ? { [axes - 1]: count } : {},
      map: {}, // a number of each head, which is of the whole text
    }[what] ?? {}
  ); // of the model's picture: all positions or steps, of which one is picked
}

// The first of an array along some axes, and its shape then.
export function cutTo(array, shape, limits) {
  const to = shape.map((size, axis) => Math.min(size, limits[axis] ?? size));
  if (to.every((size, axis) => size === shape[axis])) return [array, shape];
  const out = new array.constructor(to.reduce((a, b) => a * b, 1));
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
  let at = 0;
  const copy = (axis, from) => {
    if (axis === shape.length - 1) {
      out.set(array.subarray(from, from + to[axis]), at);
      at += to[axis];
    } else for (let i = 0; i < to[axis]; i++) copy(axis + 1, from + i * strides[axis]);
  };
  copy(0, 0);
  return [out, to];
}
