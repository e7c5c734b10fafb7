// Pieces put together as words, and the labels of pieces that are bytes of a character: what transformer/text/
// word_pieces.py does, rule by rule.
const BYTES = /^(?:<(?:0x)?[0-9A-F]{2}>)+$/; // as tokenizers spell bytes that are no whole character
const UNSPACED = new RegExp(
  "[\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff" +
    "\\u{20000}-\\u{3ffff}]",
  "u",
);
const [GOES_ON, ENDS, NONE] = ["##", "</w>", ""];
const RAISED = [..."⁰¹²³⁴⁵⁶⁷⁸⁹"];
const INSIDE = "·";
const LOWERED = [..."₀₁₂₃₄₅₆₇₈₉"];
const BLANK = 32;
const encoder = new TextEncoder();
const bytesOf = (piece) => piece.match(/[0-9A-F]{2}(?=>)/g).map((byte) => parseInt(byte, 16));
const digits = (number, signs) => [...String(number)].map((digit) => signs[digit]).join("");

// Bytes as characters {char, from, to}; char is null for a byte that belongs to none.
function charactersOf(bytes) {
  const out = [];
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at];
    const size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    /** @type {string | null} */
    let char = null;
    try {
      char = decoder.decode(Uint8Array.from(bytes.slice(at, at + size)));
    } catch {
      /* no character begins here */
    }
    out.push({ char, from: at, to: at + (char === null ? 1 : size) });
    at = out.at(-1).to;
  }
  return out;
}

// Labels of consecutive pieces without the mark of words of their tokenizer, and with a dot before what goes on inside
// one. Without a mark they are exact.
export function pieceLabels(pieces, mark = NONE) {
  const labels = ofBytes(pieces);
  if (mark === NONE) return labels;
  for (const word of wordsOf(pieces, mark, new Set())) {
    let begun = false;
    for (const at of word) {
      const whole = labels[at] !== pieces[at] || BYTES.test(pieces[at]);
      const label = whole ? labels[at] : unmarked(labels[at], mark);
      const inside = begun && !whole && /^[\p{L}\p{N}]/u.test(label);
      begun ||= partOf(pieces[at], mark).core.length > 0;
      labels[at] = (inside ? INSIDE : "") + label;
    }
  }
  return labels;
}

// Labels of pieces of which each may come next; exact where two would look the same.
export function alternatives(before, pieces, mark) {
  const labels = pieces.map((piece) => pieceLabels([...before, piece], mark).at(-1));
  const isAlone = (label) => labels.indexOf(label) === labels.lastIndexOf(label);
  return labels.map((label, at) => (isAlone(label) ? label : pieceLabels([...before, pieces[at]]).at(-1)));
}

// A piece without its mark, if anything else is in it.
function unmarked(piece, mark) {
  if (mark === GOES_ON) return (piece.startsWith(mark) && piece.slice(mark.length)) || piece;
  if (mark === ENDS) return (piece.endsWith(mark) && piece.slice(0, -mark.length)) || piece;
  return piece.replace(/^[▁ ](?=[^▁ ]$|[^▁ ].*[^▁ ]$)/su, "");
}

// Bytes as the characters that they are part of, an emoji cut in two as 😀¹⁄₂ and 😀²⁄₂.
function ofBytes(pieces) {
  const out = [...pieces];
  for (let at = 0; at < out.length; at++) {
    let end = at;
    while (end < out.length && BYTES.test(out[end])) end++;
    if (end > at) out.splice(at, end - at, ...byteLabels(out.slice(at, end)));
    at = end;
  }
  return out;
}

function byteLabels(pieces) {
  const parts = pieces.map(bytesOf);
  const characters = charactersOf(parts.flat());
  let end = 0;
  const ends = parts.map((part) => (end += part.length));
  return pieces.map((piece, nth) => {
    const [from, to] = [ends[nth] - parts[nth].length, ends[nth]];
    const own = characters.filter((one) => one.to > from && one.from < to);
    if (own.some(({ char }) => char === null)) return piece; // of an incomplete or invalid character
    return own.map((one) => share(one, from, ends)).join("");
  });
}

// A character as one piece has it, which begins at a byte: with the number of its part, if it is cut.
function share({ char, from, to }, begin, ends) {
  const after = (byte) => ends.filter((end) => end <= byte).length; // the piece that has this byte
  const first = after(from);
  const count = after(to - 1) - first + 1;
  if (count === 1) return char.replaceAll(" ", "▁");
  return `${char}${digits(after(Math.max(from, begin)) - first + 1, RAISED)}⁄${digits(count, LOWERED)}`;
}

// A piece without the mark of a word: {begins, ends, core}.
function partOf(piece, mark) {
  if (BYTES.test(piece)) {
    const bytes = bytesOf(piece);
    let [from, to] = [0, bytes.length];
    while (from < to && bytes[from] === BLANK) from++;
    while (to > from && bytes[to - 1] === BLANK) to--;
    return { begins: bytes[0] === BLANK, ends: bytes.at(-1) === BLANK, core: bytes.slice(from, to) };
  }
  if (mark === GOES_ON) {
    const core = piece.startsWith(mark) ? piece.slice(mark.length) : piece;
    return { begins: core === piece, ends: false, core: [...encoder.encode(core)] };
  }
  if (mark === ENDS) {
    const core = piece.endsWith(mark) ? piece.slice(0, -mark.length) : piece;
    return { begins: false, ends: core !== piece, core: [...encoder.encode(core)] };
  }
  const core = piece.replace(/^[▁ ]+|[▁ ]+$/g, "");
  const ends = Boolean(core) && /[▁ ]$/.test(piece);
  return { begins: /^[▁ ]/.test(piece), ends, core: [...encoder.encode(core.replaceAll("▁", " "))] };
}

// The places of the pieces of each word, in order. special: the places of special tokens, words of their own.
export function wordsOf(pieces, mark, special) {
  const parts = pieces.map((piece, at) => partOf(special.has(at) ? "" : piece, mark));
  const characters = charactersOf(parts.flatMap(({ core }) => core));
  const words = [];
  let offset = 0;
  parts.forEach((part, at) => {
    const apart = mark === NONE || at === 0 || special.has(at) || special.has(at - 1);
    if (apart || !joined(parts[at - 1], part, mark, characters, offset)) words.push([]);
    words.at(-1).push(at);
    offset += part.core.length;
  });
  return words;
}

// A word as text, without the marks of a word; a space alone stays visible.
export function wordText(pieces, mark) {
  if (mark === NONE) return pieces.join("");
  const bytes = pieces.flatMap((piece) => partOf(piece, mark).core);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes)) || pieces.join("");
}

function joined(before, after, mark, characters, offset) {
  if (mark === GOES_ON) return !after.begins;
  if (after.begins || before.ends) return false;
  const at = characters.findIndex(({ from }) => from >= offset);
  if (at < 0) return characters.length > 0 && characters.at(-1).to !== offset;
  if (characters[at].from !== offset) return true; // inside a character
  if (!before.core.length) return !/^\s/u.test(characters[at].char ?? ""); // a space belongs to what follows it
  return at > 0 && after.core.length > 0 && oneWord(characters, at);
}

function oneWord(characters, at) {
  const [before, after] = [characters[at - 1].char ?? "", characters[at].char ?? ""];
  if (extending(after) || before === "\u200d" || (isFlag(before) && isFlag(after))) return true;
  const near = characters.slice(Math.max(0, at - 8), at).map(({ char }) => char ?? "");
  const base = near.findLast((char) => !extending(char)) ?? before;
  return ofAWord(base) && ofAWord(after) && !UNSPACED.test(base) && !UNSPACED.test(after);
}

// Whether a character belongs to the one before it: accents, vowel signs, parts of emoji.
const extending = (char) => /^\p{M}/u.test(char) || "\u200c\u200d".includes(char || "-") || isPart(char.codePointAt(0));
const isPart = (code) => (code >= 0x1f3fb && code <= 0x1f3ff) || (code >= 0xe0020 && code <= 0xe007f);
const isFlag = (char) => /^[\u{1f1e6}-\u{1f1ff}]/u.test(char);
const ofAWord = (char) => /^[_\p{L}\p{N}\p{M}]/u.test(char);
