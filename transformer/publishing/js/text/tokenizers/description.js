// The fields of every tokenizer, as transformer/publishing/tokenizers.py describes them.
export class Described {
  constructor({ kind, vocabSize, padId, unkId, bosId, eosId, wordMark, labelMark, special }) {
    this.kind = kind;
    this.vocabSize = vocabSize;
    this.padId = padId;
    this.unkId = unkId;
    this.bosId = bosId;
    this.eosId = eosId;
    this.wordMark = wordMark;
    this.labelMark = labelMark;
    this.special = new Set(special);
  }
}
