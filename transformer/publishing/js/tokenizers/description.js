// The fields of every tokenizer, as transformer/publishing/tokenizers.py describes them.
const FIELDS_OF_ALL = ["kind", "vocabSize", "padId", "unkId", "bosId", "eosId", "wordMark", "labelMark"];

export const fieldsOf = (description) => ({
  ...Object.fromEntries(FIELDS_OF_ALL.map((name) => [name, description[name]])),
  special: new Set(description.special),
});
