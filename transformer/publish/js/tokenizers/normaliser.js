// One form for characters that mean the same, and for the spaces of a text, as sentencepiece makes it.
import { PrefixTree, rulesOf } from "./characters.js";

const SPACE = 0x20;
export const SPACE_MARK = 0x2581; // "▁"

export class Normaliser {
  #symbols;
  #characters = new Map();
  #classes = new Map(); // characters of several that sequences do not tell apart
  #sequences = new PrefixTree();
  #dummyPrefix;
  #collapseSpaces;

  // `symbols` are taken as they are, before any rule.
  constructor({ characters, classes, sequences, dummyPrefix, collapseSpaces }, symbols) {
    for (const [[code], form] of rulesOf(characters)) {
      this.#characters.set(code, form);
      if (classes && form.length === 1) this.#classes.set(code, form[0]);
    }
    for (const [codes, form] of rulesOf(sequences)) this.#sequences.add(codes, form);
    this.#symbols = symbols;
    this.#dummyPrefix = dummyPrefix;
    this.#collapseSpaces = collapseSpaces;
  }

  // The codes of the form, with "▁" for spaces, and from which place of the text each was made; one place more says
  // where the last ends.
  apply(codes) {
    const out = { codes: [], from: [] };
    let at = this.#collapseSpaces ? this.#firstOther(codes) : 0;
    if (at === codes.length) return out;
    if (this.#dummyPrefix) append(out, SPACE, at);
    let afterSpace = this.#collapseSpaces;
    while (at < codes.length) {
      const { form, length } = this.#prefix(codes, at);
      let first = 0;
      while (afterSpace && form[first] === SPACE) first++;
      for (let i = first; i < form.length; i++) append(out, form[i], at);
      if (first < form.length) afterSpace = this.#collapseSpaces && form.at(-1) === SPACE;
      at += length;
    }
    while (this.#collapseSpaces && out.codes.at(-1) === SPACE_MARK) {
      out.codes.pop();
      at = out.from.pop();
    }
    out.from.push(at);
    return out;
  }

  #firstOther(codes) {
    let at = 0;
    while (at < codes.length) {
      const { form, length } = this.#prefix(codes, at);
      if (form.length !== 1 || form[0] !== SPACE) break;
      at += length;
    }
    return at;
  }

  // What the text becomes from here on, and of how many characters.
  #prefix(codes, at) {
    const symbol = this.#symbols.longest(codes, at).length;
    if (symbol) return { form: codes.slice(at, at + symbol), length: symbol };
    const { length, value } = this.#sequences.longest(codes, at, (code) => this.#classes.get(code) ?? code);
    return length ? { form: value, length } : { form: this.#characters.get(codes[at]) ?? [codes[at]], length: 1 };
  }
}

function append({ codes, from }, code, at) {
  codes.push(code === SPACE ? SPACE_MARK : code);
  from.push(at);
}
