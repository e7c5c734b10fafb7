// The message for one picture, as `live` in transformer/attention_view/message.py packs it: the header, its arrays by
// name, and their shapes. What is drawn comes from `sources.js`.
//
// L layers, H heads, Tq queries, Tk keys, D width of a head.
import SHARED from "#view/message/shared.json";
import { rolledOut } from "#view/attention/weights.js";
import { modelMessage } from "./model_message.js";
import { blockOfHeads, pooledHeads } from "./pooled.js";
import { Part, Words, innermost, markOf, tokenLabels, windowed, wordsIn } from "./sources.js";
import { pieceLabels } from "../text/words.js";
/** @import { AttentionKind, Message, Near } from "#view/message/fields.js" */

const MOST_LINES = 250_000; // weights of a layer that are sent to be drawn as lines
const MOST_ROLLED = 64_000_000; // weights of a rollout

const cutHead = (values, at, size) => values.slice(at * size, (at + 1) * size);

// The head looked at, or the mean, in full: {weights, q, k, v, moved, bias}; what has no meaning there is left out.
function headOf(source, selection) {
  const { kind, of, layer } = selection;
  const [layers, heads] = source.shape(kind);
  const [Tq, Tk] = source.axes(kind).map((axis) => axis.length);
  const size = Tq * Tk;
  if (of === "head") return oneHead(source, selection, [heads, Tq, Tk]);
  const ofWhole = of === "rollout" && source instanceof Part; // what lies outside is on the way through the layers too
  const from = ofWhole ? source.of : source;
  const mean = (at) => meanOf(from.weights(kind, at), heads);
  if (of === "mean_heads") return { weights: mean(layer) };
  const count = of === "mean_all" ? layers : layer + 1;
  const means = Array.from({ length: count }, (_, at) => mean(at));
  if (of === "rollout") {
    const through = Float32Array.from(rolledOut(means, from.axes(kind)[0].length));
    return { weights: ofWhole ? source.cut(kind, through) : through };
  }
  const weights = new Float32Array(size);
  for (const one of means) for (let at = 0; at < size; at++) weights[at] += one[at] / count;
  return { weights };
}

function meanOf(weights, heads) {
  const size = weights.length / heads;
  const out = new Float32Array(size);
  for (let at = 0; at < weights.length; at++) out[at % size] += weights[at] / heads;
  return out;
}

function oneHead(source, { kind, layer, head }, [heads, Tq, Tk]) {
  const found = { weights: cutHead(source.weights(kind, layer), head, Tq * Tk) };
  const rows = source.projections(kind, layer);
  if (!rows) return found;
  const width = rows.q.length / (heads * Tq);
  const groups = rows.k.length / (Tk * width);
  const group = Math.floor(head / (heads / groups));
  found.q = cutHead(rows.q, head, Tq * width);
  found.k = cutHead(rows.k, group, Tk * width);
  found.v = cutHead(rows.v, group, Tk * width);
  found.moved = movedNorms(source, kind, layer, head, found.v, width);
  const bias = source.bias(kind, layer);
  if (bias) found.bias = cutHead(bias, head, Tq * Tk);
  return found;
}

// The norm of each value after the output projection: |vW|² = v WWᵀ vᵀ, and WWᵀ is only (D, D).
function movedNorms({ opened }, kind, layer, head, values, width) {
  const gram = gramOf(opened.model, kind, layer, head, width);
  return Float32Array.from({ length: values.length / width }, (_, token) => {
    let sum = 0;
    for (let i = 0; i < width; i++) {
      const value = values[token * width + i];
      for (let j = 0; j < width; j++) sum += value * values[token * width + j] * gram[i * width + j];
    }
    return Math.sqrt(Math.max(0, sum));
  });
}

const grams = new WeakMap(); // model -> WWᵀ of each head that was looked at, by its place

function gramOf(model, kind, layer, head, width) {
  if (!grams.has(model)) grams.set(model, new Map());
  const made = grams.get(model);
  const place = [kind, layer, head].join();
  if (made.has(place)) return made.get(place);
  const gram = new Float64Array(width * width);
  const { weight, columns } = model.outProjection(kind, layer);
  for (let start = head * width; start < weight.length; start += columns) {
    for (let i = 0; i < width; i++) {
      for (let j = 0; j < width; j++) gram[i * width + j] += weight[start + i] * weight[start + j];
    }
  }
  made.set(place, gram);
  return gram;
}

// What the header says of a kind: see `about_kind`.
function aboutKind(source, kind, { exact, kept }) {
  const [layers, heads] = source.shape(kind);
  const [queries, keys, makes] = tokenLabels(source, kind, exact);
  const near = nearOf(source, kind);
  const everywhere = near !== null && near.layers.length === layers;
  const may = source.mask(kind);
  const seen = queries.map((_, query) => keys.reduce((count, __, key) => count + may(query, key), 0));
  const causal = everywhere ? kind === "decoder" : seen.some((count) => count < keys.length);
  /** @type {AttentionKind} */
  const about = { layers, heads, queries, keys, causal };
  const exactly = kept ? tokenLabels(source, kind, true) : [queries, keys, makes];
  const pieces = { queries: exactly[0], keys: exactly[1], makes: exactly[2] };
  if (JSON.stringify(exactly) !== JSON.stringify([queries, keys, makes])) about.pieces = pieces;
  const plain = seen.every((count, query) => count === Math.min(keys.length, query + 1));
  if (causal && !everywhere && !plain) about.sees = seen;
  const { config } = source;
  const groups = config.kv_heads ?? config.n_heads;
  if (groups < config.n_heads) about.groups = groups;
  Object.assign(about, source.opened.model.scoring());
  const merged = wordsIn(source)?.changes(kind);
  if (makes) about.makes = makes;
  if (merged) about.merged = merged;
  if (near) about.near = near;
  if (rolls(source, kind)) about.rolls = true;
  if (source instanceof Part) {
    about.first = source.places[kind].map(([from]) => from);
    about.whole = source.whole(kind);
  }
  return about;
}

// The layers whose self-attention has a window, and its size; null where no window hides anything.
function nearOf(source, kind) {
  const { config } = source;
  const of = innermost(source);
  if (!config.window || kind === "cross") return null;
  const whole = of instanceof Words ? of.of : of;
  const layers = Array.from({ length: source.shape(kind)[0] }, (_, at) => at).filter((at) => whole.hasWindow(at));
  if (!layers.length) return null;
  /** @type {Near} */
  const near = { layers, size: config.window };
  if (!(of instanceof Words)) return config.window < of.axes(kind)[1].length ? near : null;
  const [queries, keys] = source.axes(kind).map((axis) => axis.length);
  const may = source.mask(kind, layers[0]);
  near.sees = Array.from({ length: queries }, (_, query) => {
    const seen = Array.from({ length: keys }, (__, key) => key).filter((key) => may(query, key));
    return [seen[0], seen[0] + seen.length];
  });
  return near;
}

function rolls(source, kind) {
  if (kind === "cross" || wordsIn(source)) return false;
  const [layers, heads] = source.shape(kind);
  const [queries, keys] = innermost(source)
    .axes(kind)
    .map((axis) => axis.length);
  return layers * heads * queries * keys <= MOST_ROLLED;
}

// The source as it is drawn: between words, or without special tokens, where that is selected.
function inWords(source, { tokens, special }) {
  if (tokens !== "words" && special === "shown") return source;
  return new Words(source, { merge: tokens === "words", hide: special === "hidden" });
}

// before: what was made of an earlier picture, by kind, in whose place this one's is put; coming: [token read, token
// predicted from it] pairs that are known to come; tree: the blocks of the model; header: fields that go as they are.
export function live(source, asked, { newest, before = {}, coming = [], tree, ...header }) {
  const { kind } = asked;
  const merged = inWords(source, asked);
  const drawn = windowed(merged, asked.start, newest);
  const sizes = drawn.axes(kind).map((axis) => axis.length);
  const fits = asked.pair?.every((at, side) => at < sizes[side]);
  const selection = { ...asked, pair: fits ? asked.pair : null };
  const head = headOf(drawn, selection);
  const inModel = selection.view === "model"; // which has all heads of every kind by itself
  const isPart = drawn instanceof Part && selection.of === "head";
  const pooled = inModel && !isPart ? null : (before[kind] = pooledHeads(merged, kind, before[kind]));
  const [arrays, shapes] = [{}, {}];
  const put = (name, values, shape) => Object.assign(arrays, { [name]: values }) && (shapes[name] = shape);
  if (pooled && !inModel) put(`grid/${kind}`, pooled.cells, pooled.shape);
  put("weights", head.weights, sizes);
  if (head.q) put("q", head.q, [sizes[0], head.q.length / sizes[0]]);
  if (head.k) put("k", head.k, [sizes[1], head.k.length / sizes[1]]);
  if (head.v && inModel) put("v", head.v, [sizes[1], head.v.length / sizes[1]]);
  if (head.moved) put("moved", head.moved, [sizes[1]]);
  if (head.bias) put("bias", head.bias, sizes);
  if (pooled && isPart) {
    const [, heads, rows, columns] = pooled.shape;
    const cells = cutHead(pooled.cells, selection.layer * heads + selection.head, rows * columns);
    put("text", cells, [rows, columns]);
  }
  const window = selection.view === "lines" ? putLines(put, drawn, selection, sizes) : null;
  const exact = asked.tokens === "exact";
  const infoFor = (one) => aboutKind(drawn, one, { exact, kept: one === kind });
  const kinds = Object.fromEntries(source.kinds.map((one) => [one, infoFor(one)]));
  if (coming.length && merged === source && drawn === source) putComing(kinds, source, coming, exact);
  const ends = newest && (!(drawn instanceof Part) || drawn.places[kind][0][1] === drawn.whole(kind)[0]);
  const about = { ...header.about, text: source.text, output: source.output };
  if (wordsIn(drawn)) about.merged = Object.fromEntries(source.kinds.map((one) => [one, wordsIn(drawn).changes(one)]));
  const block = { [kind]: inModel ? blockOfHeads(merged, kind) : pooled?.block };
  const rest = { kinds, window, block, every: 1, maps: [selection.order], modelled: true, newest: ends };
  if (inModel) rest.model = { ...modelMessage(drawn, selection, { put, before }), tree };
  /** @type {Omit<Message, "made">} */
  const message = { ...header, about, selection, ...rest, arrays, shapes };
  return { message, head };
}

// The weights of all heads of the layer looked at, as many as are drawn as lines.
function putLines(put, drawn, { kind, layer }, [queries, keys]) {
  const heads = drawn.shape(kind)[1];
  const most = Math.max(32, Math.floor(Math.sqrt(MOST_LINES / heads)));
  const first = [Math.max(0, queries - most), Math.max(0, keys - most)];
  const weights = drawn.weights(kind, layer);
  const [q, k] = [queries - first[0], keys - first[1]];
  const values = new Float32Array(heads * q * k);
  for (let head = 0; head < heads; head++) {
    for (let row = 0; row < q; row++) {
      const from = (head * queries + first[0] + row) * keys + first[1];
      values.set(weights.subarray(from, from + k), (head * q + row) * k);
    }
  }
  put("layer", values, [heads, q, k]);
  return first;
}

function putComing(kinds, source, coming, exact) {
  const [read, next] = [coming.map(([token]) => token), coming.map(([, token]) => token)];
  const mark = exact ? "" : markOf(source, "tgt");
  const makes = pieceLabels([...read.slice(0, 1), ...next], mark).slice(1);
  for (const [kind, about] of Object.entries(kinds)) {
    if (kind === "encoder") continue;
    const known = source.axes(kind)[0];
    const queries = pieceLabels([...known, ...read], mark).slice(known.length);
    about.ahead = { queries, keys: kind === "decoder" ? queries : [], makes };
  }
}

// The weights of the last query, whether it is drawn or not.
export function newestRow(source, selection, head) {
  const [queries, keys] = source.axes(selection.kind).map((axis) => axis.length);
  const drawn = head.weights.length / keys;
  if (drawn === queries) return head.weights.subarray((queries - 1) * keys);
  return headOf(source, selection).weights.slice(-keys);
}

const { choices: CHOICES, needs: NEEDS, most_lit: MOST_LIT } = SHARED;
const place = (value) => (Number.isFinite(Number(value)) ? Math.min(999_999, Math.max(0, Math.floor(value))) : 0);

// The selection in the range of what there is: see `in_range` in transformer/attention_view/selected.py.
export function selectionIn(source, asked, first) {
  const wanted = { ...first, ...asked };
  const kind = source.kinds.includes(wanted.kind) ? wanted.kind : source.kinds.at(-1);
  const [layers, heads] = source.shape(kind);
  const selection = {
    kind,
    layer: Math.min(place(wanted.layer ?? 0), layers - 1),
    head: Math.min(place(wanted.head ?? 0), heads - 1),
  };
  for (const [name, words] of Object.entries(CHOICES)) {
    selection[name] = words.includes(wanted[name]) ? wanted[name] : words[0];
  }
  if (selection.of === "rollout" && !rolls(source, kind)) [selection.of] = CHOICES.of;
  for (const [name, needs] of Object.entries(NEEDS)) {
    const unmet = Object.entries(needs[selection[name]] ?? {}).some(([other, may]) => !may.includes(selection[other]));
    if (unmet) [selection[name]] = CHOICES[name];
  }
  const sizes = source.axes(kind).map((axis) => axis.length);
  const pair = (value) => {
    const two = value?.map?.(place);
    return two?.length === 2 && two.every((at, side) => at < sizes[side]) ? two : null;
  };
  const lit = wanted.lit ? [...new Set(wanted.lit.map(place).filter((at) => at < heads))].sort((a, b) => a - b) : null;
  selection.pair = pair(wanted.pair);
  selection.start = pair(wanted.start);
  selection.feature = (wanted.feature ?? null) === null ? null : place(wanted.feature);
  selection.lit = lit && lit.length === heads && heads <= MOST_LIT ? null : lit;
  return selection;
}
