// Tokens, every character of them visible and none acting on the text around it.
import SHARED from "#view/message/shared.json";

const { signs: SIGNS, joiners: JOINERS } = SHARED;
const SPOKEN = new Map(Object.entries(SHARED.spoken));
const FLAGS = 0xe0000; // from here on, parts of flags
const SEGMENTS = Intl.Segmenter ? new Intl.Segmenter() : null; // Firefox has it since 125
const spellings = new Map(); // they are needed for every token at every draw

export function visible(piece, longest = 16) {
  const id = `${longest} ${piece}`;
  if (!spellings.has(id)) spellings.set(id, spelled(piece, longest));
  return spellings.get(id);
}

// A piece without the space that begins a word, as plain_label in ui/figures/labels.py.
export const plainly = (piece, longest = 16) => visible(piece.replace(/^[ ▁](?=[^ ▁]+$)/u, ""), longest);

// A token and where it stands; first: the place of the first of these.
export const placed = (tokens, at, first = 0) => `${visible(tokens[at], 40)} (${first + at})`;

// A token as it is read out, as spoken_label in ui/figures/labels.py: marks by their names, and no sign for a space
// before a word nor for going on inside one.
export function spoken(piece) {
  const text = piece.replaceAll("▁", " ");
  const word = text.length > 1 ? text.replace(/^ |^·(?=[\p{L}\p{N}])/u, "") : text;
  return SPOKEN.get(word) ?? visible(word, Infinity).slice(1, -1).replaceAll("␣", " ");
}

// As _visible in ui/figures/labels.py.
function sign(c) {
  const code = c.codePointAt(0);
  if (SIGNS[c]) return SIGNS[c];
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  const unseen = /\p{Cf}/u.test(c) && !JOINERS.includes(c) && code < FLAGS;
  if (unseen || /[\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/u.test(c))
    return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  return /\p{Zs}/u.test(c) ? "␣" : c;
}

function spelled(piece, longest) {
  let text = [...(piece || "∅")].map(sign).join("");
  if (/^\p{M}/u.test(text)) text = "◌" + text;
  const parts = SEGMENTS ? Array.from(SEGMENTS.segment(text), ({ segment }) => segment) : [...text];
  if (parts.length > longest) text = parts.slice(0, longest - 1).join("") + "…";
  return `\u2068${text}\u2069`;
}
