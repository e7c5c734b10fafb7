// A whole decoding in one message, stepped through without anybody to ask: each step is what there was of it then.
import { mountMessage } from "#view/stage/mount.js";

const BARS = { title: "What comes next?", label: "next tokens", keys: true, tokens: true, least: 4, most: 10 };

export function mountPath(root, message) {
  const path = { root, message, look: message.look, answered: 0, looked: 0 };
  path.index = message.path.bars.length - 1;
  showStep(path);
}

function showStep(path) {
  const { root, message, index, look } = path;
  const send = {
    move: (move) => {
      path.answered = move.number;
      path.index = move.choices.length ? afterChoice(path, move.choices.at(-1)) : Math.min(move.index, last(path));
      showStep(path);
    },
    look: ({ number, ...asked }) => Object.assign(path, { look: asked, looked: number }),
    choose: () => {},
  };
  const step = stepOf(message, index);
  const steps = { index, last: last(path), walk: 0, answered: path.answered, farthest: 0 };
  mountMessage(root, { ...step, look, answered: path.looked, stage: { ...stageOfStep(message, index), steps } }, send);
}

const last = ({ message }) => message.path.bars.length - 1;

// Only the way that was gone is here: another token chosen leads nowhere.
function afterChoice({ message, index, root }, { at, nth }) {
  const taken = message.path.bars[at]?.[nth]?.chosen;
  root.stage.controls.choices = [];
  return taken ? Math.min(at + 1, message.path.bars.length - 1) : index;
}

function stageOfStep({ path }, index) {
  const { prompt, source, target, unknown, outputs, bars } = path;
  const read = prompt + index;
  const rows = [];
  if (source) rows.push({ label: "Source", name: "source tokens", part: "source", tokens: source, unknown });
  rows.push({
    label: source ? "Target" : "Tokens",
    name: source ? "target tokens" : "tokens",
    part: "target",
    tokens: target,
    predicted: read,
    unknown: source ? [] : unknown,
  });
  const [written, whole] = [outputs[index], outputs.at(-1)];
  const coming = whole.startsWith(written) ? whole.slice(written.length) : "";
  const rest = Math.max(0, 1 - bars[index].reduce((sum, bar) => sum + bar.probability, 0));
  const hint = "In this file only the token that was chosen leads on";
  return {
    rows,
    text: { label: "The text so far", written, coming },
    bars: { ...BARS, rows: bars[index], rest, hint },
    said: `Step ${index}: ${target[read]}`,
  };
}

// What there was at a step: fewer queries, and of the decoder fewer keys.
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
  return { ...message, kinds, arrays, shapes, made: new Map() };
}

function kindUpTo(kind, info, count) {
  if (kind === "encoder") return info;
  const { queries, keys, makes } = info;
  const first = (tokens) => tokens?.slice(0, count);
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
  return {
    cells: pairs,
    bias: pairs,
    q: { [axes - 2]: count },
    k: own ? { [axes - 2]: count } : {},
    moved: own ? { [axes - 1]: count } : {},
  }[what];
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
