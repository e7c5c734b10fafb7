// A sentencepiece model: text -> one form -> pieces -> ids.
import { bpeCutter } from "./bpe.js";
import { PrefixTree, codesOf, rulesOf, textOfCodes } from "./characters.js";
import { Normaliser, SPACE_MARK } from "./normaliser.js";
import { unigramCutter } from "./unigram.js";

const CUTTERS = { unigram: unigramCutter, bpe: bpeCutter, char: characterCutter, word: wordCutter };

export class SentencePieceTokenizer {
  #pieces;
  #control;
  #standard = new Map();
  #normaliser;
  #cut;
  #decoding;

  constructor(description, scores) {
    const { kind, vocabSize, padId, unkId, bosId, eosId, wordMark, special } = description;
    Object.assign(this, { kind, vocabSize, padId, unkId, bosId, eosId, wordMark, special: new Set(special) });
    this.#pieces = description.pieces;
    this.#control = new Set(description.control);
    for (const [[code], form] of rulesOf(description.standard)) this.#standard.set(code, form);
    const symbols = new PrefixTree();
    for (const id of description.userDefined) symbols.add(codesOf(this.#pieces[id]), id);
    this.#normaliser = new Normaliser(description, symbols);
    const ordinary = this.#pieces
      .map((text, id) => [text, id])
      .filter(([, id]) => !this.#control.has(id) && id !== unkId);
    this.#cut = CUTTERS[description.algorithm](new Map(ordinary), {
      scores,
      unkId,
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
      const text = textOfCodes(form.codes, start, end);
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
    const codes = [];
    const typed = [];
    let at = 0;
    for (const character of text) {
      for (const code of this.#standard.get(character.codePointAt(0)) ?? [character.codePointAt(0)]) {
        codes.push(code >= 0xd800 && code < 0xe000 ? 0xfffd : code); // a lone surrogate, as Python replaces it
        typed.push(at);
      }
      at++;
    }
    typed.push(at);
    const form = this.#normaliser.apply(codes);
    return { typed, form, cuts: unknownJoined(this.#cut(form.codes), this.unkId) };
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
  return (codes) => {
    const cuts = [];
    for (let start = 0; start < codes.length;) {
      const end = start + (symbols.longest(codes, start).length || 1);
      cuts.push([start, end, pieces.get(textOfCodes(codes, start, end)) ?? unkId]);
      start = end;
    }
    return cuts;
  };
}

// A piece for each word with the space before it.
function wordCutter(pieces, { unkId }) {
  return (codes) => {
    const cuts = [];
    for (let start = 0; start < codes.length;) {
      let end = start + 1;
      while (end < codes.length && codes[end] !== SPACE_MARK) end++;
      cuts.push([start, end, pieces.get(textOfCodes(codes, start, end)) ?? unkId]);
      start = end;
    }
    return cuts;
  };
}
