// What can be drawn, each with the same face: a step of a decoding, the reading of an encoder, either of them between
// words, and a window of a long text. `live.js` packs any of them.
//
// kinds, text, output; shape(kind) -> [layers, heads]; axes(kind) -> [queries, keys], the tokens as text;
// mask(kind, layer) -> may(query, key), of all layers without one; predicted(kind) -> tokens or null;
// weights(kind, layer) -> Float32Array (heads, queries, keys); projections(kind, layer) -> {q, k, v} or null;
// bias(kind, layer) -> Float32Array (heads, queries, keys) or null. L layers, H heads, Tq queries, Tk keys.
import { pieceLabels, wordText, wordsOf } from "../text/words.js";

const SIDES = { encoder: ["src", "src"], decoder: ["tgt", "tgt"], cross: ["tgt", "src"] };
const SINK = 0.3; // of a head's weight: see word_attention.py
const FEWEST = 4; // keys that a query may look at, and queries that look at a key

// A step, or a reading, by what the engine gives of it.
export class Whole {
  constructor(opened, { ids, nextId = null, text, output = null, heads }, computed) {
    const { config } = opened;
    const layers = { encoder: config.encoder_layers, decoder: config.decoder_layers };
    layers.cross = layers.encoder && layers.decoder;
    const kinds = Object.keys(SIDES).filter((kind) => layers[kind]);
    this.opened = opened;
    this.ids = ids;
    this.nextId = nextId;
    this.text = text;
    this.output = output;
    this.heads = heads;
    this.computed = computed;
    this.config = config;
    this.layers = layers;
    this.kinds = kinds;
    this.made = new Map();
    const piece = (side) => (id) => tokenizerOf(opened, side).piece(id);
    this.labels = { src: (ids.src ?? []).map(piece("src")), tgt: (ids.tgt ?? []).map(piece("tgt")) };
  }

  shape(kind) {
    return [this.layers[kind], this.config.n_heads];
  }

  axes(kind) {
    return SIDES[kind].map((side) => this.labels[side]);
  }

  predicted(kind) {
    if (kind === "encoder") return null;
    return [...this.labels.tgt.slice(1), this.opened.tokenizer.piece(this.nextId)];
  }

  hasWindow(layer) {
    const { window, window_layers: only } = this.config;
    return Boolean(window) && (!only || only.includes(layer));
  }

  // Of one layer, or where none is named of any.
  mask(kind, layer = null) {
    if (kind === "cross") return () => true;
    const every = Array.from({ length: this.layers[kind] }, (_, at) => at);
    const near = (layer === null ? every : [layer]).every((at) => this.hasWindow(at)) ? this.config.window : Infinity;
    if (kind === "decoder") return (query, key) => key <= query && query - key < near;
    return (query, key) => Math.abs(query - key) < near;
  }

  // Of one query in all heads, (H, keys up to the last that it may look at).
  row(kind, layer, query) {
    return this.computed.row(kind, layer, query);
  }

  weights(kind, layer) {
    const id = `${kind} ${layer}`;
    if (!this.made.has(id)) this.made.set(id, this.computed.attention(kind, layer).weights);
    return this.made.get(id);
  }

  // What of this is as it was for `before`: so many queries.
  inCommon(kind, before) {
    const rows = (source) => source.computed.rows(kind, 0).q;
    const count = rows(before).length;
    return rows(this)[count - 1] === rows(before)[count - 1] ? count : 0;
  }

  projections(kind, layer) {
    return this.computed.projections(kind, layer);
  }

  bias(kind, layer) {
    return this.computed.bias(kind, layer);
  }
}

const tokenizerOf = (opened, side) => (side === "src" ? opened.sourceTokenizer : opened.tokenizer);

export const wholeStep = (opened, step, output) =>
  new Whole(
    opened,
    {
      ids: { src: step.src && Array.from(step.src), tgt: Array.from(step.tokens) },
      nextId: step.id,
      text: step.text,
      output,
      heads: step.heads,
    },
    step,
  );

// The same attention from word to word: the weights of a word's pieces added over keys and averaged over queries. What
// is left out is no key; it stays a query, except for special tokens of an encoder.
export class Words {
  constructor(of, { merge, hide }) {
    this.of = of;
    this.merge = merge;
    this.hide = hide;
    this.kinds = of.kinds;
    this.text = of.text;
    this.output = of.output;
    this.opened = of.opened;
    this.config = of.config;
    this.heads = of.heads;
    this.chosen = {};
    this.sides = Object.fromEntries(
      ["src", "tgt"].filter((side) => of.ids[side]?.length).map((s) => [s, this.side(s)]),
    );
    for (const kind of this.kinds) this.chosen[kind] = this.choose(kind);
  }

  side(side) {
    const { ids, nextId, opened } = this.of;
    const tokenizer = tokenizerOf(opened, side);
    const after = side === "tgt" ? nextId : null;
    const whole = after === null ? [...ids[side]] : [...ids[side], after];
    const labels = whole.map((id) => tokenizer.piece(id));
    const isSpecial = new Set(tokenizer.special);
    const special = new Set(whole.flatMap((id, at) => (isSpecial.has(id) ? [at] : [])));
    if (side === "tgt" && ids.src?.length) special.add(0); // what starts a translation is never its own
    const mark = this.merge ? tokenizer.wordMark : "";
    const count = ids[side].length;
    const words = wordsOf(labels.slice(0, count), mark, special);
    const named = (word) =>
      wordText(
        word.map((at) => labels[at]),
        special.has(word[0]) ? "" : mark,
      );
    return {
      words,
      labels: words.map(named),
      special: words.map(([first]) => special.has(first)),
      next: after === null ? null : wordText(labels.slice(-1), special.has(count) ? "" : mark),
    };
  }

  choose(kind) {
    const [rows, columns] = SIDES[kind].map((side) => this.sides[side]);
    const every = columns.words.map((_, at) => at);
    const special = new Set(every.filter((at) => columns.special[at]));
    const sunk = new Set(this.hide ? sinksOf(this.of, kind) : []);
    const sunken = new Set(every.filter((at) => !special.has(at) && columns.words[at].some((one) => sunk.has(one))));
    const out = this.hide ? new Set([...sunken, ...special]) : sunken;
    const left = every.filter((at) => !out.has(at));
    const keys = left.length ? left : every;
    const all = rows.words.map((_, at) => at);
    const asked = all.filter((at) => kind !== "encoder" || !this.hide || !rows.special[at]);
    return { queries: asked.length ? asked : all, keys, sunken: [...sunken].filter((at) => !keys.includes(at)) };
  }

  shape(kind) {
    return this.of.shape(kind);
  }

  axes(kind) {
    const { queries, keys } = this.chosen[kind];
    const [rows, columns] = SIDES[kind].map((side) => this.sides[side]);
    return [queries.map((at) => rows.labels[at]), keys.map((at) => columns.labels[at])];
  }

  pieces(kind) {
    const { queries, keys } = this.chosen[kind];
    const [rows, columns] = SIDES[kind].map((side) => this.sides[side]);
    return [queries.map((at) => rows.words[at]), keys.map((at) => columns.words[at])];
  }

  // What a picture says of all this: whether pieces are merged, and the keys left out.
  changes(kind) {
    const { keys, sunken } = this.chosen[kind];
    const { labels } = this.sides[SIDES[kind][1]];
    const special = labels.filter((_, at) => !keys.includes(at) && !sunken.includes(at));
    return { words: this.merge, special, sinks: sunken.map((at) => labels[at]) };
  }

  predicted(kind) {
    if (kind === "encoder") return null;
    const { labels, next } = this.sides.tgt;
    return [...labels.slice(1), next];
  }

  mask(kind, layer = null) {
    const [rows, columns] = this.pieces(kind);
    const may = this.of.mask(kind, layer);
    return (query, key) => rows[query].some((row) => columns[key].some((column) => may(row, column)));
  }

  weights(kind, layer) {
    const [rows, columns] = this.pieces(kind);
    const from = this.of.weights(kind, layer);
    const heads = this.shape(kind)[1];
    const [Tq, Tk] = this.of.axes(kind).map((axis) => axis.length);
    const out = new Float32Array(heads * rows.length * columns.length);
    let at = 0;
    for (let head = 0; head < heads; head++) {
      for (const row of rows) {
        for (const column of columns) {
          let sum = 0;
          for (const query of row) for (const key of column) sum += from[(head * Tq + query) * Tk + key];
          out[at++] = sum / row.length;
        }
      }
    }
    return out;
  }

  projections() {
    return null;
  }

  bias() {
    return null;
  }
}

// The keys that draw weight whatever they are: see `sinks` in word_attention.py.
function sinksOf(of, kind) {
  const [Tq, Tk] = of.axes(kind).map((axis) => axis.length);
  const may = of.mask(kind);
  const counted = new Uint8Array(Tq * Tk);
  const queries = new Array(Tk).fill(0);
  for (let query = 0; query < Tq; query++) {
    const keys = Array.from({ length: Tk }, (_, key) => key).filter((key) => may(query, key));
    if (keys.length < FEWEST) continue;
    for (const key of keys) {
      if (kind !== "cross" && key === query) continue;
      counted[query * Tk + key] = 1;
      queries[key]++;
    }
  }
  const votes = new Array(Tk).fill(0);
  const [layers, heads] = of.shape(kind);
  for (let layer = 0; layer < layers; layer++) {
    const weights = of.weights(kind, layer);
    for (let head = 0; head < heads; head++) {
      const drawn = new Float64Array(Tk);
      for (let at = 0; at < Tq * Tk; at++) if (counted[at]) drawn[at % Tk] += weights[head * Tq * Tk + at];
      for (let key = 0; key < Tk; key++) if (drawn[key] / Math.max(1, queries[key]) > SINK) votes[key]++;
    }
  }
  return votes.flatMap((count, key) => (queries[key] >= FEWEST && 2 * count >= layers * heads ? [key] : []));
}

// What is drawn of a long text: a window along each side.

const LONGEST = 400; // tokens of a side that are drawn all at once
const SIDE = 256; // of a longer text

// All of a source, or of more than `LONGEST` tokens a window of it. start: its first query and key; null: the text's
// end, or its beginning where `last` is false.
export function windowed(source, start, last) {
  const sizes = Object.fromEntries(source.kinds.map((kind) => [kind, source.axes(kind).map((axis) => axis.length)]));
  if (Math.max(...Object.values(sizes).flat()) <= LONGEST) return source;
  const places = {};
  for (const [kind, size] of Object.entries(sizes)) {
    const ends = [last, last && kind === "decoder"];
    const first = start ?? size.map((count, side) => (ends[side] ? count - SIDE : 0));
    places[kind] = size.map((count, side) => {
      const from = Math.max(0, Math.min(first[side], count - SIDE));
      return [from, Math.min(count, from + SIDE)];
    });
  }
  return new Part(source, places);
}

// What a window is of, or the source itself.
export const innermost = (source) => (source instanceof Part ? source.of : source);

export class Part {
  constructor(of, places) {
    this.of = of;
    this.places = places;
    this.kinds = of.kinds;
    this.text = of.text;
    this.output = of.output;
    this.opened = of.opened;
    this.config = of.config;
    this.heads = of.heads;
  }

  shape(kind) {
    return this.of.shape(kind);
  }

  axes(kind) {
    return this.of.axes(kind).map((axis, side) => axis.slice(...this.places[kind][side]));
  }

  // Queries and keys of the whole text.
  whole(kind) {
    return this.of.axes(kind).map((axis) => axis.length);
  }

  predicted(kind) {
    return this.of.predicted(kind)?.slice(...this.places[kind][0]) ?? null;
  }

  mask(kind, layer = null) {
    const may = this.of.mask(kind, layer);
    const [[row], [column]] = this.places[kind];
    return (query, key) => may(query + row, key + column);
  }

  weights(kind, layer) {
    return this.cut(kind, this.of.weights(kind, layer));
  }

  bias(kind, layer) {
    const bias = this.of.bias(kind, layer);
    return bias && this.cut(kind, bias);
  }

  cut(kind, from) {
    const [Tq, Tk] = this.whole(kind);
    const [rows, [left, right]] = this.places[kind];
    const heads = from.length / (Tq * Tk);
    const wide = right - left;
    const out = new Float32Array(heads * (rows[1] - rows[0]) * wide);
    let at = 0;
    for (let head = 0; head < heads; head++) {
      for (let row = rows[0]; row < rows[1]; row++, at += wide) {
        const start = (head * Tq + row) * Tk;
        out.set(from.subarray(start + left, start + right), at);
      }
    }
    return out;
  }

  projections(kind, layer) {
    const all = this.of.projections(kind, layer);
    if (!all) return null;
    const [rows, columns] = this.places[kind];
    const cut = (values, count, [from, to]) => {
      const width = this.config.head_dim ?? this.config.d_model / this.config.n_heads;
      const groups = values.length / (count * width);
      const out = new Float32Array(groups * (to - from) * width);
      for (let group = 0; group < groups; group++) {
        const start = (group * count + from) * width;
        out.set(values.subarray(start, start + (to - from) * width), group * (to - from) * width);
      }
      return out;
    };
    const [Tq, Tk] = this.whole(kind);
    return { q: cut(all.q, Tq, rows), k: cut(all.k, Tk, columns), v: cut(all.v, Tk, columns) };
  }
}

export const wordsIn = (source) => (innermost(source) instanceof Words ? innermost(source) : null);

// The mark of words that labels of the source's or the target's tokens do without.
export const markOf = (source, side) => (wordsIn(source)?.merge ? "" : tokenizerOf(source.opened, side).labelMark);

// The labels of a kind's queries, its keys and of what is predicted from each query, if anything is. exact: with the
// marks of words that their tokenizers use.
export function tokenLabels(source, kind, exact) {
  const whole = source instanceof Part ? source.of : source;
  const marks = SIDES[kind].map((side) => (exact ? "" : markOf(source, side)));
  const labels = whole.axes(kind).map((axis, side) => pieceLabels(axis, marks[side]));
  const next = whole.predicted(kind);
  labels.push(next && pieceLabels([...whole.axes(kind)[0].slice(0, 1), ...next], marks[0]).slice(1));
  if (!(source instanceof Part)) return labels;
  const [rows, columns] = source.places[kind];
  return [rows, columns, rows].map((places, at) => labels[at]?.slice(...places) ?? null);
}
