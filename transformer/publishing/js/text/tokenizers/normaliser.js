// One form for characters that mean the same, and for the spaces of a text, as sentencepiece makes it.
import { rulesOf } from "./rules.js";

export class Normaliser {
  #symbols;
  #forms = new Map(); // of characters, and of sequences
  #classes; // whether sequences are spelled with the form of each character that has a form of one character
  #goesOn = new Set(); // what comes second in a sequence
  #longest = 1;
  #dummyPrefix;
  #collapseSpaces;

  // `symbols` are taken as they are, before any rule.
  constructor({ characters, classes, sequences, dummyPrefix, collapseSpaces }, symbols) {
    for (const [text, form] of rulesOf(characters)) this.#forms.set(text, form);
    for (const [text, form] of rulesOf(sequences)) {
      const [, second, ...more] = text;
      this.#forms.set(text, form);
      this.#goesOn.add(second);
      this.#longest = Math.max(this.#longest, 2 + more.length);
    }
    this.#classes = classes;
    this.#symbols = symbols;
    this.#dummyPrefix = dummyPrefix;
    this.#collapseSpaces = collapseSpaces;
  }

  // The characters of the form, with "▁" for spaces, and from which place of the text each was made; one place more
  // says where the last ends.
  apply(characters) {
    /** @type {{characters: string[], from: number[]}} */
    const out = { characters: [], from: [] };
    let at = this.#collapseSpaces ? this.#afterSpaces(characters) : 0;
    if (at === characters.length) return out;
    if (this.#dummyPrefix) appendForm(out, " ", at);
    let space = this.#collapseSpaces;
    while (at < characters.length) {
      const { form, length } = this.#prefix(characters, at);
      const kept = space ? form.replace(/^ +/, "") : form;
      appendForm(out, kept, at);
      if (kept) space = this.#collapseSpaces && kept.endsWith(" ");
      at += length;
    }
    while (this.#collapseSpaces && out.characters.at(-1) === "▁") {
      out.characters.pop();
      at = /** @type {number} */ (out.from.pop());
    }
    out.from.push(at);
    return out;
  }

  #afterSpaces(characters) {
    let at = 0;
    while (at < characters.length) {
      const { form, length } = this.#prefix(characters, at);
      if (form !== " ") break;
      at += length;
    }
    return at;
  }

  // What the text becomes from here on, and of how many characters.
  #prefix(characters, at) {
    const symbol = this.#symbols.longest(characters, at);
    if (symbol) return { form: characters.slice(at, at + symbol).join(""), length: symbol };
    return this.#sequence(characters, at) ?? { form: this.#forms.get(characters[at]) ?? characters[at], length: 1 };
  }

  #sequence(characters, at) {
    if (at + 1 === characters.length || !this.#goesOn.has(this.#classOf(characters[at + 1]))) return undefined;
    const classes = characters.slice(at, at + this.#longest).map((character) => this.#classOf(character));
    for (; classes.length > 1; classes.pop()) {
      const form = this.#forms.get(classes.join(""));
      if (form !== undefined) return { form, length: classes.length };
    }
    return undefined;
  }

  #classOf(character) {
    const form = this.#classes && this.#forms.get(character);
    return form && [...form].length === 1 ? form : character;
  }
}

function appendForm({ characters, from }, form, at) {
  for (const character of form) {
    characters.push(character === " " ? "▁" : character);
    from.push(at);
  }
}
