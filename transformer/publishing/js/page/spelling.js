// Spellings and signs that a model has not learned, read as those that it has: what transformer/text/spelling.py does,
// and what transformer/evaluation/unfamiliar_text.py says of it.
import { enumerated } from "./asked.js";

const LETTERS = /[\p{L}\p{N}]+/gu;
const WORD = /^[\p{L}\p{N}]/u;
const ASCII = /^[a-z0-9]+$/i;
const SYNTAX = /[\\^$.*+?()[\]{}|/]/g;
const MOST_WORDS = 3;
const SAID = {
  '"': "straight quotes",
  "'": "straight quotes",
  "-": "plain hyphens",
  "--": "double hyphens",
  ", ": "commas for dashes",
  "...": "three dots",
};

// A text as the model learned to spell it, and what was read as what: signs, then words, each once.
export function respell(text, spellings) {
  const found = new Map();
  const read = (typed, like) => {
    if (like !== typed) found.set(typed, like);
    return like;
  };
  const signs = Object.keys(spellings).filter((one) => !WORD.test(one));
  signs.sort((one, other) => other.length - one.length);
  const anySign = new RegExp(signs.map((sign) => sign.replace(SYNTAX, "\\$&")).join("|"), "gu");
  const plain = signs.length ? text.replace(anySign, (sign) => read(sign, spellings[sign])) : text;
  return { text: plain.replace(LETTERS, (word) => read(word, cased(word, spellings))), found };
}

function cased(word, spellings) {
  const lower = word.toLowerCase();
  if (!ASCII.test(word) || !Object.hasOwn(spellings, lower)) return word;
  const like = spellings[lower];
  if (word.length > 1 && word === word.toUpperCase()) return like.toUpperCase();
  return word[0] === lower[0] ? like : like[0].toUpperCase() + like.slice(1);
}

// What was read as what, in a sentence; "" where that is nothing worth a word.
export function readAs(found) {
  const ofWords = [...found].filter(([typed]) => WORD.test(typed)).map(([, like]) => like);
  const ofSigns = [...found].filter(([typed, like]) => !WORD.test(typed) && like in SAID).map(([, like]) => SAID[like]);
  const words = [...new Set(ofWords)];
  const signs = enumerated([...new Set(ofSigns)]);
  if (!words.length) return signs && `Read with ${signs}.`;
  const more = words.length > MOST_WORDS ? [`${words.length - MOST_WORDS} more`] : [];
  const named = enumerated([...words.slice(0, MOST_WORDS).map((word) => `“${word}”`), ...more]);
  return `Read as ${named}${signs && `, with ${signs}`}.`;
}
