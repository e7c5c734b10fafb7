// Texts as code points, which is what Python counts, and what is looked up by them.

// Sequences of code points with a value each, to be found one code point at a time from node 0.
export class PrefixTree {
  #next = new Map();
  #values = [undefined];

  add(codes, value) {
    let node = 0;
    for (const code of codes) {
      const key = node * 0x110000 + code;
      if (!this.#next.has(key)) this.#next.set(key, this.#values.push(undefined) - 1);
      node = this.#next.get(key);
    }
    this.#values[node] = value;
  }

  child(node, code) {
    return this.#next.get(node * 0x110000 + code);
  }

  value(node) {
    return this.#values[node];
  }

  // The longest sequence that begins at a place of the codes, each read as `of` has it; of no length if there is none.
  longest(codes, at, of = (code) => code) {
    const found = { length: 0, value: undefined };
    for (let end = at, node = 0; end < codes.length;) {
      node = this.child(node, of(codes[end++]));
      if (node === undefined) break;
      if (this.value(node) !== undefined) Object.assign(found, { length: end - at, value: this.value(node) });
    }
    return found;
  }
}

export const codesOf = (text) => Array.from(text, (character) => character.codePointAt(0));

export function textOfCodes(codes, start = 0, end = codes.length) {
  let text = "";
  for (let at = start; at < end; at++) text += String.fromCodePoint(codes[at]);
  return text;
}

// Rules as `runs` in transformer/publish/tokenizers.py writes them: pairs of the codes of a text and of its form.
export function* rulesOf(runs) {
  for (const [text, form, count = 1, step = 0, formStep = 0] of runs) {
    for (let i = 0; i < count; i++) yield [movedBy(codesOf(text), i * step), movedBy(codesOf(form), i * formStep)];
  }
}

function movedBy(codes, distance) {
  if (codes.length) codes[codes.length - 1] += distance;
  return codes;
}
