// The fields of every tokenizer, as transformer/publishing/tokenizers.py describes them.
const COMMON = ["kind", "vocabSize", "padId", "unkId", "bosId", "eosId", "wordMark", "labelMark"];

export const commonOf = (description) => ({
  ...Object.fromEntries(COMMON.map((name) => [name, description[name]])),
  special: new Set(description.special),
});
