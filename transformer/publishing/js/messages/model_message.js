// The numbers of the picture of the whole model, as transformer/attention_view/model_message.py packs them.
//
// P positions, L layers, H heads, Tk keys.
import { carriedBy, effectsOf, featureOf } from "../model/carried.js";
import { blocksOfAll, pooledHeads } from "./pooled.js";
import { Part, innermost, tokenLabels } from "./sources.js";
import { pieceLabels } from "../text/words.js";
/** @import { Model, QueryNumber } from "#view/message/fields.js" */

const MOST_SEEN = 1_500_000; // weights of the followed query in all heads

// The field `model` of a message; its arrays are put. One token is followed: the newest of a step, of a reading the
// query of the selected pair, or the last. put: (name, values, shape); before: what was made of an earlier picture.
export function modelMessage(source, selection, { put, before }) {
  const whole = innermost(source);
  const seen = whole.computed;
  const kind = ["decoder", "cross", "encoder"].find((one) => whole.kinds.includes(one)); // whose query is followed
  const stack = kind === "encoder" ? "encoder" : "decoder";
  const pair = placedPair(source, selection);
  const isAsked = stack === "encoder" && pair && selection.kind === kind;
  const position = isAsked ? pair[0] : whole.axes(kind)[0].length - 1;
  /** @type {Partial<Model>} */
  const header = { stack, position, token: tokenLabels(whole, kind, selection.tokens === "exact")[0][position] };
  const changes = changesOf(seen.heads);
  if (changes.length) header.changes = changes;
  if (source instanceof Part) {
    const starts = (sides) => sides.map(([from]) => from);
    header.first = Object.fromEntries(Object.entries(source.places).map(([one, sides]) => [one, starts(sides)]));
  }
  putSeen(put, source, stack, position);
  header.blocks = putSmall(put, source, before);
  const found = carriedBy(seen);
  header.parts = Object.fromEntries(Object.entries(found).map(([name, { parts }]) => [name, parts]));
  for (const one of Object.values(found)) putStack(put, one, source, seen.config.n_heads);
  Object.assign(header, putEffects(put, effectsOf(seen, found), seen));
  if (selection.level === "number") {
    const last = source instanceof Part ? source.places[selection.kind][0][1] : whole.axes(selection.kind)[0].length;
    header.number = putNumber(put, seen, found, { ...selection, position: pair ? pair[0] : last - 1 });
  }
  return header;
}

// The heads that are off, as `_changes` says it of them.
function changesOf(heads) {
  const off = Object.entries(heads?.scale ?? {}).flatMap(([kind, layers]) =>
    layers.flatMap((row, layer) => row.flatMap((factor, head) => (factor ? [] : [{ kind, layer, heads: [head] }]))),
  );
  return off.map((one, number) => ({ number, words: "switched off", off: true, ...one }));
}

// The places of the selected query and key in the whole text.
function placedPair(source, { kind, pair }) {
  if (!pair || !(source instanceof Part)) return pair;
  return pair.map((at, side) => at + source.places[kind][side][0]);
}

// The weights of the followed query in every head of its stack, over all keys, "seen/<kind>" (L, H, Tk).
function putSeen(put, source, stack, position) {
  const whole = innermost(source);
  const kinds = source.kinds.filter((kind) => (kind === "encoder") === (stack === "encoder"));
  const count = (kind) => whole.axes(kind)[1].length;
  const sizes = kinds.map((kind) => whole.shape(kind).reduce((all, one) => all * one, count(kind)));
  if (sizes.reduce((all, size) => all + size, 0) > MOST_SEEN) return;
  for (const kind of kinds) {
    const [layers, heads] = whole.shape(kind);
    const keys = count(kind);
    const cells = new Uint16Array(layers * heads * keys);
    for (let layer = 0; layer < layers; layer++) {
      const weights = whole.row(kind, layer, position);
      const size = weights.length / heads; // up to the last that it may look at
      for (let head = 0; head < heads; head++) {
        for (let key = 0; key < size; key++) {
          const root = Math.sqrt(Math.min(1, weights[head * size + key]));
          cells[(layer * heads + head) * keys + key] = Math.round(root * 65535);
        }
      }
    }
    put(`seen/${kind}`, cells, [layers, heads, keys]);
  }
}

// Every head of every kind, "small/<kind>" (L, H, rows, columns); returns the queries and keys to a cell of each.
function putSmall(put, source, before) {
  const blocks = blocksOfAll(source);
  before.small ??= {};
  for (const [kind, block] of Object.entries(blocks)) {
    const small = (before.small[kind] = pooledHeads(source, kind, before.small[kind], block));
    put(`small/${kind}`, small.cells, small.shape);
  }
  return blocks;
}

// The norms of some of one stack's rows, and of what is added to them.
function putStack(put, { stack, parts, count, norms, added, position, heads }, source, H) {
  const [from, to] = source instanceof Part && count > 1 ? source.places[stack][0] : [0, count];
  const rows = (values, size) => values.slice(from * size, to * size); // a copy, since what is put goes away
  put(`norms/${stack}`, rows(norms, parts.length), [to - from, parts.length]);
  put(`added/${stack}`, rows(added, parts.length), [to - from, parts.length]);
  if (position) put(`position/${stack}`, rows(position, 1), [to - from]);
  for (const [kind, values] of Object.entries(heads)) {
    const layers = values.length / (count * H);
    const cut = new Float32Array(layers * (to - from) * H);
    for (let layer = 0; layer < layers; layer++) {
      const start = layer * count * H;
      cut.set(values.subarray(start + from * H, start + to * H), layer * (to - from) * H);
    }
    put(`headNorms/${kind}`, cut, [layers, to - from, H]);
  }
}

// What each part adds to the logit, and the name of what it is the logit of; or why that is not known.
function putEffects(put, { why, token, logit, heads, feedForward, embedding, positions, biases }, { opened, config }) {
  if (why) return { why };
  for (const [kind, values] of Object.entries(heads)) {
    put(`effects/${kind}`, values.slice(), [values.length / config.n_heads, config.n_heads]);
  }
  put("effects/feed_forward", feedForward.slice(), [feedForward.length]);
  put("effects/rest", Float32Array.of(embedding, positions, biases), [3]);
  const ofClass = () => opened.classes?.[token] ?? String(token);
  return {
    effectOf: config.n_classes
      ? ofClass()
      : pieceLabels([opened.tokenizer.piece(token)], opened.tokenizer.labelMark)[0],
    logit,
  };
}

// One number of the selected head's query taken apart: what is said of it, and its rows.
/** @returns {QueryNumber} */
function putNumber(put, seen, found, { kind, layer, head, position, feature }) {
  const number = Math.min(feature ?? 0, seen.opened.model.attention(kind, layer).width - 1);
  const { said, ...rows } = featureOf(seen, found, { kind, layer, head, position, number });
  for (const [name, row] of Object.entries(rows)) put(`number/${name}`, row, [row.length]);
  /** @type {any} */
  const known = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null));
  return { number, side: "q", position, ...known };
}
