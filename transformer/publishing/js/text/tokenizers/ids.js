// Replaces a missing tokenizer: a text is ids with spaces between.
import { Described } from "./description.js";

// White space as Python has it, or a comma.
const separatesIds = (character) =>
  ",\x1c\x1d\x1e\x1f\x85".includes(character) || (character !== "\ufeff" && /\s/.test(character));

export class IdsTokenizer extends Described {
  // The ids that a text lists. Throws for a word that is none.
  encode(text) {
    return this.pieces(text).map(({ id }) => id);
  }

  // Each id with its place in the text. Throws for a word that is none.
  pieces(text) {
    const characters = [...text];
    const pieces = [];
    for (let end = 0; end < characters.length; end++) {
      const start = end;
      while (end < characters.length && !separatesIds(characters[end])) end++;
      if (start === end) continue;
      const word = characters.slice(start, end).join("");
      pieces.push({ text: word, id: this.#id(word), start, end, unknown: false });
    }
    return pieces;
  }

  // Ids as text that `encode` reads again; those outside the vocabulary leave no trace.
  decode(ids) {
    return ids.filter((id) => this.#has(id)).join(" ");
  }

  // The id itself, or "<id>" outside the vocabulary.
  piece(id) {
    return this.#has(id) ? `${id}` : `<${id}>`;
  }

  #has(id) {
    return id >= 0 && id < this.vocabSize;
  }

  #id(word) {
    if (/^[0-9]{1,9}$/.test(word) && Number(word) < this.vocabSize) return Number(word);
    const last = (this.vocabSize - 1).toLocaleString("en-US");
    throw new Error(
      `this checkpoint has no tokenizer and reads ids, whole numbers from 0 to ${last} with spaces between; ` +
        `'${[...word].slice(0, 40).join("")}' is not one`,
    );
  }
}
