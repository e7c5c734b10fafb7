// Holds the tokenizers of js/tokenizers to what Python has made of the same texts; answers {texts, cases}.
import assert from "node:assert/strict";
import { openTokenizer } from "../../transformer/publishing/js/text/tokenizers/index.js";
import { answering } from "./answering.js";

await answering(({ texts, cases }) => cases.forEach((one) => check(texts, one)));

function check(texts, { name, description, scores, count, fields, pieces, decoded, labels }) {
  const tokenizer = openTokenizer(description, new Uint8Array(Buffer.from(scores, "base64")));
  const own = Object.fromEntries(Object.keys(fields).map((field) => [field, tokenizer[field]]));
  assert.deepEqual({ ...own, special: [...own.special].sort((a, b) => a - b) }, fields, name);
  for (const [i, text] of texts.slice(0, count).entries()) {
    const found = tokenizer.pieces(text);
    const rows = found.map((piece) => [piece.text, piece.id, piece.start, piece.end, piece.unknown]);
    if (JSON.stringify(rows) !== JSON.stringify(pieces[i]))
      assert.deepEqual(rows, pieces[i], `${name} reads ${JSON.stringify(text)}`);
    assert.equal(`${tokenizer.encode(text)}`, `${found.map(({ id }) => id)}`);
  }
  for (const [ids, text] of decoded) assert.equal(tokenizer.decode(ids), text, `${name} decodes ${ids}`);
  for (const [id, label] of labels) assert.equal(tokenizer.piece(id), label, `${name} names ${id}`);
}
