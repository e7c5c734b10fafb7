// The tokenizers of a checkpoint, each giving what its twin in transformer/text/tokenizer.py gives.
import { IdsTokenizer } from "./ids.js";
import { SentencePieceTokenizer } from "./sentencepiece.js";

/**
 * A piece of a text and its place there, counted in code points.
 * @typedef {{text: string, id: number, start: number, end: number, unknown: boolean}} Piece
 *
 * @typedef {IdsTokenizer | SentencePieceTokenizer} Tokenizer
 */

// A tokenizer from what transformer/publishing/tokenizers.py has written: its description and its scores.
export function openTokenizer(description, bytes) {
  if (description.algorithm === "ids") return new IdsTokenizer(description);
  return new SentencePieceTokenizer(
    description,
    new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4),
  );
}
