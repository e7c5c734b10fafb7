// Every character of a token spellings visible, none of them acting on the text around it.
const SIGNS = {
  " ": "␣",
  "▁": "␣",
  "\n": "↵",
  "\t": "⇥",
  "\r": "␍",
  "\u00a0": "⍽",
  "\u202f": "⍽",
  "\u00ad": "‧",
};
const JOINERS = "\u200c\u200d";
const SEGMENTS = new Intl.Segmenter();
const spellings = new Map(); // asked for every token at every draw

export function visible(piece, longest = 16) {
  const id = `${longest} ${piece}`;
  if (!spellings.has(id)) spellings.set(id, spelled(piece, longest));
  return spellings.get(id);
}

// A token and where it stands.
export const placed = (tokens, at) => `${visible(tokens[at], 40)} (${at})`;

function sign(c) {
  if (SIGNS[c]) return SIGNS[c];
  if (c < " ") return String.fromCharCode(0x2400 + c.charCodeAt(0));
  if (/\p{Zs}/u.test(c)) return "␣";
  if (JOINERS.includes(c) || !/[\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Cf}]/u.test(c)) return c;
  return `⟨${c.codePointAt(0).toString(16).toUpperCase()}⟩`;
}

function spelled(piece, longest) {
  let text = [...(piece || "∅")].map(sign).join("");
  if (/^\p{M}/u.test(text)) text = "◌" + text;
  const parts = [...SEGMENTS.segment(text)].map((part) => part.segment);
  if (parts.length > longest) text = parts.slice(0, longest - 1).join("") + "…";
  return `\u2068${text}\u2069`;
}
