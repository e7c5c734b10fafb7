// A sentencepiece model: text -> one form -> pieces -> ids.
import { Described } from "./description.js";
import { bpeCutter } from "./bpe.js";
import { Normaliser } from "./normaliser.js";
import { PrefixTree } from "./prefixes.js";
import { rulesOf } from "./rules.js";
import { unigramCutter } from "./unigram.js";

const CUTTERS = { unigram: unigramCutter, bpe: bpeCutter, char: characterCutter, word: wordCutter };
const LONE_SURROGATE = /^[\ud800-\udfff]$/; // Python has U+FFFD in its place

export class SentencePieceTokenizer extends Described {
  #pieces;
  #control;
  #standard;
  #normaliser;
  #cut;
  #decoding;

  constructor(description, scores) {
    super(description);
    this.#pieces = description.pieces;
    this.#control = new Set(description.control);
    this.#standard = new Map(rulesOf(description.standard));
    const symbols = new PrefixTree();
    for (const id of description.userDefined) symbols.add(this.#pieces[id], id);
    this.#normaliser = new Normaliser(description, symbols);
    const ordinary = this.#pieces
      .map((text, id) => [text, id])
      .filter(([, id]) => !this.#control.has(id) && id !== this.unkId);
    this.#cut = CUTTERS[description.algorithm](new Map(ordinary), {
      scores,
      unkId: this.unkId,
      symbols,
      userDefined: new Set(description.userDefined),
    });
    this.#decoding = description;
  }

  // Ids of a text, without BOS or EOS; text that spells a special token is ordinary text.
  encode(text) {
    return this.#read(text).cuts.map(([, , id]) => id);
  }

  // The pieces of a text with their places in it, counted in code points; their ids are those of `encode`.
  pieces(text) {
    const { typed, form, cuts } = this.#read(text);
    return cuts.map(([start, end, id]) => {
      const [first, last] = [form.from[start], form.from[end]];
      // a piece that was read from nothing has one place: the space that is put before the first word
      const place = first < last ? [typed[first], typed[last - 1] + 1] : [typed[first], typed[first]];
      const text = form.characters.slice(start, end).join("");
      return { text, id, start: place[0], end: place[1], unknown: id === this.unkId };
    });
  }

  // Text of ids; padding, BOS, EOS and ids outside the vocabulary leave no trace.
  decode(ids) {
    const { dummyPrefix, collapseSpaces, unknownSurface } = this.#decoding;
    let text = "";
    let begins = dummyPrefix || collapseSpaces;
    for (const id of ids) {
      if (!(id >= 0 && id < this.vocabSize) || this.special.has(id) || this.#control.has(id)) continue;
      const piece = id === this.unkId ? unknownSurface : this.#pieces[id];
      const stripped = begins && id !== this.unkId && piece.startsWith("▁");
      text += id === this.unkId ? piece : piece.slice(stripped ? 1 : 0).replaceAll("▁", " ");
      if (text || (stripped && !collapseSpaces)) begins = false;
    }
    return text;
  }

  // Label of an id: the piece with its "▁", "<s>" and the like for specials, "<id>" outside the vocabulary.
  piece(id) {
    return this.#pieces[id] ?? `<${id}>`;
  }

  // The one form of a text, where it is cut, and for each character of it after standardising the one that was typed.
  #read(text) {
    const characters = [];
    const typed = [];
    let at = 0;
    for (const character of text) {
      for (const standard of this.#standard.get(character) ?? character) {
        characters.push(LONE_SURROGATE.test(standard) ? "\ufffd" : standard);
        typed.push(at);
      }
      at++;
    }
    typed.push(at);
    const form = this.#normaliser.apply(characters);
    return { typed, form, cuts: unknownJoined(this.#cut(form.characters), this.unkId) };
  }
}

// Neighbours that the vocabulary lacks are one piece.
function unknownJoined(cuts, unkId) {
  const joined = [];
  for (const cut of cuts) {
    const last = joined.at(-1);
    if (last && last[2] === unkId && cut[2] === unkId) last[1] = cut[1];
    else joined.push(cut);
  }
  return joined;
}

// A piece for each character or symbol.
function characterCutter(pieces, { unkId, symbols }) {
  return (characters) => {
    const cuts = [];
    for (let start = 0; start < characters.length;) {
      const end = start + (symbols.longest(characters, start) || 1);
      cuts.push([start, end, pieces.get(characters.slice(start, end).join("")) ?? unkId]);
      start = end;
    }
    return cuts;
  };
}

// A piece for each word with the space before it.
function wordCutter(pieces, { unkId }) {
  return (characters) => {
    const cuts = [];
    for (let start = 0; start < characters.length;) {
      let end = start + 1;
      while (end < characters.length && characters[end] !== "▁") end++;
      cuts.push([start, end, pieces.get(characters.slice(start, end).join("")) ?? unkId]);
      start = end;
    }
    return cuts;
  };
}
