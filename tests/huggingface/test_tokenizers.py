"""Imported tokenizers cut hostile text as their originals do, on each side of a model."""

import base64
import io
import json
import re
import shutil
from itertools import pairwise

import pytest
import sentencepiece
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

import transformer
from transformer.huggingface.folder import Refused
from transformer.huggingface.importing import import_model
from transformer.huggingface.language_codes import languages_of
from transformer.huggingface.tokenizer_choice import tokenizers_of
from transformer.settings.config import ModelConfig
from transformer.text.tokenizer_files import TOKENIZER_FILES
from transformer.text.tokenizer_files import tokenizers_of as loaded

LINES = ["I am cold. I am here, and so are you.", "Go on, go home! It's 2024: 1,000 things don't fit.",
         "Ça va ? Été à la plage, où il fait « chaud ».", "def f(x):\n    return x + 1\n", "привет мир, как дела",
         "你好，世界。", "שלום עולם", "مرحبا بالعالم"] * 4
TEXTS = ["I am cold.", " Go  on, then! ", "", " ", "   \t ", "\n", "a\r\n\tb\n\n\n  c", "Ça va ? 🙂",
         "👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈🇫🇷👍🏽", "שלום עולם مرحبا \u202eabc\u202c", "Z̷̡a̸l̷g̵o e\u0301 é ﬁ ½ Ａ ﷺ",
         "\x00\x01\x07\x1b[31m\x7f\x85", "a\x00b", "<s> </s> <pad> <unk> <mask>", "<s></s>I am</s>",
         "[CLS] I [MASK] am [SEP] [PAD][UNK]", "<|endoftext|>am<|im_end|>", "<bos>I<eos> <start_of_turn>", "<0x41>",
         "▁I▁am ▁▁", "x\ud800y \udfff", "𝔘𝔫𝔦 𐍈 \U0010ffff", "\u200b\ufeff\u00a0\u202f\u2028x", "İIıß ﬀ ＡＢＣ Straße",
         "don't I'LL we've'S", "1234567890 ٣ ⅷ 12,345.67", "__en__ __fr__ x", "en_XX fra_Latn x", ">>fra<< Go on.",
         "a" * 3000, "x " * 500, "  " * 400 + "end", "#@!$%^&*()_+-=[]{}|;':\",./<>?`~", "``quoted'' ''",
         "<extra_id_0> a <extra_id_99>", "\ufffd\ufffe", "漢字かな交じり文カタカナ한국어ไทย", "a\u0300\u0301\u0302b"]
GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+")
QWEN = GPT4.replace("{1,3}", "")
DECODER, ENCODER, BOTH = {"encoder_layers": 0}, {"decoder_layers": 0, "head": "masked"}, {}


# How the folders of each family are made


def spm(kind="unigram", *, size=150, **changes):
    """A sentencepiece model's bytes."""
    out = io.BytesIO()
    options = {"model_type": kind, "character_coverage": 1.0, "hard_vocab_limit": False, "minloglevel": 2,
               "num_threads": 1, "vocab_size": size, **changes}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=out, **options)
    return out.getvalue()


LLAMA = {"kind": "bpe", "size": 500, "byte_fallback": True, "normalization_rule_name": "identity",
         "remove_extra_whitespaces": False}
GEMMA = {**LLAMA, "add_dummy_prefix": False, "pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "pad_piece": "<pad>",
         "eos_piece": "<eos>", "bos_piece": "<bos>"}
T5 = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "size": 150}
ALBERT = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]", "[MASK]"]}
DEBERTA = {"pad_id": 0, "unk_id": 3, "bos_id": 1, "eos_id": 2, "bos_piece": "[CLS]", "eos_piece": "[SEP]",
           "pad_piece": "[PAD]", "unk_piece": "[UNK]"}


def model_file(name, options, **settings):
    """A folder with a sentencepiece model and no tokenizer.json."""
    def make(folder):
        (folder / name).write_bytes(spm(**options))
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return make


def saved(name, options, reader, **settings):
    """The same as transformers saves it."""
    def make(folder):
        import transformers as hf

        (folder / name).write_bytes(spm(**options))
        getattr(hf, reader).from_pretrained(str(folder), **settings).save_pretrained(folder)
        (folder / name).unlink(missing_ok=True)
    return make


def metaspace(folder, options=LLAMA, first="<s>"):
    """A tokenizer.json of Llama 2, Mistral and Phi 3 as on the hub: a normalizer writes the space."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm(**options))
    pieces = [processor.id_to_piece(id) for id in range(processor.get_piece_size())]
    score = {piece: processor.get_score(id) for id, piece in enumerate(pieces)}
    merges = [(one[:at], one[at:]) for one in pieces[259:] for at in range(1, len(one))
              if {one[:at], one[at:]} <= score.keys()]
    made = Tokenizer(models.BPE({piece: id for id, piece in enumerate(pieces)},
                                sorted(merges, key=lambda pair: -score["".join(pair)]), unk_token="<unk>",
                                fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    made.add_special_tokens([piece for id, piece in enumerate(pieces) if id < 4 and piece.startswith("<")])
    made.post_processor = processors.TemplateProcessing(single=f"{first} $A", pair=f"{first} $A {first} $B",
                                                        special_tokens=[(first, made.token_to_id(first))])
    made.add_special_tokens([AddedToken("<|user|>", rstrip=True, normalized=False)])
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}))


def byte_level(split=None, *, special=("<|endoftext|>",), normalizer=None, first=None, spaces=(), prefix=False,
               reader="PreTrainedTokenizerFast"):
    """A tokenizer.json of byte-level BPE, after a regular expression that cuts words."""
    def make(folder):
        import transformers as hf

        made = Tokenizer(models.BPE(ignore_merges=split == GPT4))
        made.normalizer = normalizer
        steps = [pre_tokenizers.Split(Regex(split), "isolated", invert=False)] if split else []
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [*steps, pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=not split)])
        made.decoder, made.post_processor = decoders.ByteLevel(), processors.ByteLevel(trim_offsets=False)
        made.train_from_iterator(LINES, trainers.BpeTrainer(
            vocab_size=400, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False))
        made.add_tokens([AddedToken(" " * count, normalized=False) for count in spaces])
        if first:
            made.post_processor = processors.Sequence([made.post_processor, processors.TemplateProcessing(
                single=f"{first} $A", pair=f"{first} $A {first} $B",
                special_tokens=[(first, made.token_to_id(first))])])
        kept = hf.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=special[-1], bos_token=first)
        kept.save_pretrained(folder)
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"tokenizer_class": reader}))
    return make


def two_files(reader=None, *, special=("<|endoftext|>",), **settings):
    """vocab.json and merges.txt alone, as the oldest folders have them."""
    def make(folder):
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.train_from_iterator(LINES, trainers.BpeTrainer(
            vocab_size=400, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False))
        made.model.save(str(folder))
        if reader:
            (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": reader, **settings}))
    return make


def bart(folder):
    import transformers as hf

    two_files(special=ROBERTA)(folder)
    hf.BartTokenizer.from_pretrained(str(folder)).save_pretrained(folder)
    (folder / "vocab.json").unlink(missing_ok=True)


def word_pieces(reader=None, *, fast=False, **settings):
    def make(folder):
        import transformers as hf

        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        made.train_from_iterator(LINES, trainers.WordPieceTrainer(vocab_size=200, show_progress=False, special_tokens=[
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
        made.model.save(str(folder))
        if reader:
            (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": reader, **settings}))
        if fast:
            hf.BertTokenizer.from_pretrained(str(folder)).save_pretrained(folder)
            (folder / "vocab.txt").unlink()
    return make


def modern_bert(folder):
    byte_level(special=("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "<|endoftext|>"), spaces=(2, 4),
               normalizer=normalizers.NFC())(folder)
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    made.save(str(folder / "tokenizer.json"))


def nllb(folder):
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    saved("sentencepiece.bpe.model", {"kind": "bpe"}, "NllbTokenizer", src_lang="eng_Latn", tgt_lang="fra_Latn",
          extra_special_tokens=FAIRSEQ_LANGUAGE_CODES)(folder)


def m2m100(folder):
    cut = spm("bpe", size=200)
    processor = sentencepiece.SentencePieceProcessor(model_proto=cut)
    pieces = [processor.id_to_piece(id) for id in range(3, processor.get_piece_size() - 20)]  # some have no id
    (folder / "sentencepiece.bpe.model").write_bytes(cut)
    names = ["<s>", "<pad>", "</s>", "<unk>", *pieces]
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(names)}))
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    codes = [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]]
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": codes}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"src_lang": "en", "tgt_lang": "fr"}))


def marian(folder):
    names = ["</s>", "<unk>", ">>fra<<"]
    for side in ("source.spm", "target.spm"):
        (folder / side).write_bytes(cut := spm("unigram", size=120 + 10 * (side == "target.spm")))
        processor = sentencepiece.SentencePieceProcessor(model_proto=cut)
        names += [processor.id_to_piece(id) for id in range(3, processor.get_piece_size() - 5)]
    names = [*dict.fromkeys(names), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(names)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "fr"}))


ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
NEOX = {"special": ("<|endoftext|>", "<|padding|>"), "spaces": (2, 3, 8), "normalizer": normalizers.NFC()}
CASES = {  # name: (model_type, how it is made, which stacks the model has)
    "llama 1 and 2, tokenizer.model": ("llama", model_file(
        "tokenizer.model", LLAMA, tokenizer_class="LlamaTokenizer", add_bos_token=True), DECODER),
    "llama 2, tokenizer.json": ("llama", saved("tokenizer.model", LLAMA, "LlamaTokenizer", add_bos_token=True),
                                DECODER),
    "llama 3": ("llama", byte_level(GPT4, special=("<|begin_of_text|>", "<|eot_id|>"), first="<|begin_of_text|>"),
                DECODER),
    "smollm": ("llama", byte_level(special=("<|endoftext|>", "<|im_start|>", "<|im_end|>"), reader="GPT2Tokenizer"),
               DECODER),
    "llama 2, as the hub has it": ("llama", metaspace, DECODER),
    "mistral, as the hub has it": ("mistral", metaspace, DECODER),
    "phi 3, as the hub has it": ("phi3", metaspace, DECODER),
    "mistral": ("mistral", model_file("tokenizer.model", LLAMA, tokenizer_class="LlamaTokenizer", legacy=False,
                                      add_bos_token=True), DECODER),
    "mistral, tokenizer.json": ("mistral", saved("tokenizer.model", LLAMA, "LlamaTokenizer", add_bos_token=True),
                                DECODER),
    "qwen2": ("qwen2", byte_level(QWEN, special=("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
                                  normalizer=normalizers.NFC(), reader="Qwen2Tokenizer"), DECODER),
    "qwen2, two files": ("qwen2", two_files("Qwen2Tokenizer"), DECODER),
    "qwen3": ("qwen3", byte_level(QWEN, special=("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
                                  normalizer=normalizers.NFC(), reader="Qwen2Tokenizer"), DECODER),
    "phi": ("phi", byte_level(spaces=(2, 4, 8), reader="CodeGenTokenizer"), DECODER),
    "gemma, tokenizer.model": ("gemma", model_file("tokenizer.model", GEMMA, tokenizer_class="GemmaTokenizer",
                                                   add_bos_token=True), DECODER),
    "gemma 2": ("gemma2", saved("tokenizer.model", GEMMA, "GemmaTokenizer", add_bos_token=True), DECODER),
    "gemma 3": ("gemma3_text", saved("tokenizer.model", GEMMA, "GemmaTokenizer", add_bos_token=True), DECODER),
    "olmo": ("olmo", byte_level(**NEOX, reader="GPTNeoXTokenizer"), DECODER),
    "olmo 2": ("olmo2", byte_level(GPT4, reader="GPT2Tokenizer"), DECODER),
    "stablelm": ("stablelm", byte_level(**NEOX, reader="GPTNeoXTokenizer"), DECODER),
    "granite": ("granite", byte_level(reader="GPT2Tokenizer"), DECODER),
    "falcon": ("falcon", byte_level(special=(">>TITLE<<", "<|endoftext|>")), DECODER),
    "pythia": ("gpt_neox", byte_level(**NEOX, reader="GPTNeoXTokenizer"), DECODER),
    "gpt-j, two files": ("gptj", two_files("GPT2Tokenizer"), DECODER),
    "gpt-neo, two files": ("gpt_neo", two_files(), DECODER),
    "opt, two files": ("opt", two_files("GPT2Tokenizer", special=ROBERTA[:4], add_bos_token=True, bos_token="</s>",
                                        eos_token="</s>", unk_token="</s>", pad_token="<pad>"), DECODER),
    "bloom": ("bloom", byte_level(r" ?[^(\s|[.,!?…。，、।۔،])]+", special=("<unk>", "<s>", "</s>", "<pad>"),
                                  reader="BloomTokenizerFast"), DECODER),
    "mpt": ("mpt", byte_level(**NEOX, reader="GPTNeoXTokenizer"), DECODER),
    "t5, spiece.model": ("t5", model_file("spiece.model", T5, tokenizer_class="T5Tokenizer", extra_ids=100), BOTH),
    "t5, tokenizer.json": ("t5", saved("spiece.model", T5, "T5Tokenizer"), BOTH),
    "mt5": ("mt5", model_file("spiece.model", T5, tokenizer_class="T5Tokenizer", extra_ids=0), BOTH),
    "bart, two files": ("bart", two_files(special=ROBERTA), BOTH),
    "bart, tokenizer.json": ("bart", bart, BOTH),
    "mbart": ("mbart", model_file("sentencepiece.bpe.model", {}, tokenizer_class="MBartTokenizer", src_lang="en_XX",
                                  tgt_lang="fr_XX"), BOTH),
    "mbart 50": ("mbart", saved("sentencepiece.bpe.model", {}, "MBart50Tokenizer", src_lang="en_XX", tgt_lang="fr_XX"),
                 BOTH),
    "nllb": ("m2m_100", nllb, BOTH),
    "m2m100": ("m2m_100", m2m100, BOTH),
    "marian": ("marian", marian, BOTH),
    "bert": ("bert", word_pieces(), ENCODER),
    "bert with capitals": ("bert", word_pieces("BertTokenizer", do_lower_case=False), ENCODER),
    "bert, tokenizer.json": ("bert", word_pieces(fast=True), ENCODER),
    "distilbert": ("distilbert", word_pieces("DistilBertTokenizer"), ENCODER),
    "electra": ("electra", word_pieces("ElectraTokenizer", do_lower_case=True), ENCODER),
    "roberta": ("roberta", two_files("RobertaTokenizer", special=ROBERTA), ENCODER),
    "xlm-r": ("xlm-roberta", model_file("sentencepiece.bpe.model", {}), ENCODER),
    "xlm-r, tokenizer.json": ("xlm-roberta", saved("sentencepiece.bpe.model", {}, "XLMRobertaTokenizer"), ENCODER),
    "camembert": ("camembert", model_file("sentencepiece.bpe.model", {}, tokenizer_class="CamembertTokenizer"),
                  ENCODER),
    "albert": ("albert", model_file("spiece.model", ALBERT, do_lower_case=True), ENCODER),
    "albert, tokenizer.json": ("albert", saved("spiece.model", ALBERT, "AlbertTokenizer"), ENCODER),
    "deberta-v2": ("deberta-v2", model_file("spm.model", DEBERTA, do_lower_case=False), ENCODER),
    "deberta-v2, tokenizer.json": ("deberta-v2", saved("spm.model", DEBERTA, "DebertaV2Tokenizer"), ENCODER),
    "modernbert": ("modernbert", modern_bert, ENCODER),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            kind, make, _ = CASES[name]
            folder = made[name] = tmp_path_factory.mktemp("theirs")
            (folder / "config.json").write_text(json.dumps({"model_type": kind}))
            make(folder)
        return made[name], CASES[name][2]
    return get


def read_by_theirs(folder):
    import transformers as hf

    return hf.AutoTokenizer.from_pretrained(str(folder))


def config_of(theirs, stacks, **changes):
    """Of a model with a row for each of their pieces."""
    ids = {name: getattr(theirs, f"{part}_token_id") for name, part in (
        ("pad_id", "pad"), ("bos_id", "bos"), ("eos_id", "eos"))}
    if stacks is BOTH:
        ids |= {"start_id": ids["eos_id"], "pad_id": ids["pad_id"] or 0}
    sizes = {"vocab_size": max(theirs.get_vocab().values()) + 101, "max_len": 64, "d_model": 8, "n_heads": 2}
    return ModelConfig(**{"encoder_layers": 1, "decoder_layers": 1, "start_id": 0, **sizes, **ids, **stacks, **changes})


def imported(folder, config, **options):
    """The target's tokenizer, the source's, and the settings added to the configuration."""
    about = json.loads((folder / "config.json").read_text())
    target, source, settings, why_not = tokenizers_of(folder, about, config, wanted=True, **options)
    assert why_not is None
    return target, source, settings


def opened(folder, config, target, source, settings):
    """The same, from a checkpoint's folder."""
    shared = target.digest == source.digest
    one, read, written = TOKENIZER_FILES[source.kind]
    target.save(folder / (one if shared else written))
    source.save(folder / (one if shared else read))
    return loaded(folder, config.replace(**settings), kind=source.kind, standardise=False, shared=shared)


def read_ids(source, text):
    """The ids that an encoder reads: those of a text, and the one after it (`Checkpoint`)."""
    return [*source.encode(text), source.eos_id if source.end_id is None else source.end_id]


def legal(text):
    """Text that their tokenizers can read: half a character is replaced as ours replaces it."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")


def rows():
    """The names, rare where one before is made and used in the same way."""
    seen = set()
    for name, (_, make, stacks) in CASES.items():
        way = make.__qualname__, *stacks
        yield pytest.param(name, marks=pytest.mark.rare("another is made so") if way in seen else ())
        seen.add(way)


@pytest.mark.parametrize("name", [*rows()])
def test_a_text_and_a_pair_are_cut_and_framed_as_theirs_are(folders, tmp_path, name):
    folder, stacks = folders(name)
    theirs = read_by_theirs(folder)
    config = config_of(theirs, stacks, **{"start_id": theirs.convert_tokens_to_ids("fr_XX")} if name == "mbart" else {})
    tokenizers = imported(folder, config)
    for target, source in (tokenizers[:2], opened(tmp_path, config, *tokenizers)):
        for text in TEXTS:
            expected, ids = theirs(legal(text)).input_ids, source.encode(text)
            assert [piece.id for piece in source.pieces(text)] == ids
            if stacks is not DECODER and not text.strip():
                assert ids == []
                continue
            assert (read_ids(source, text) if stacks is BOTH else ids) == expected, text
            known = [id for id in expected if id != source.unk_id]
            assert target.decode(known) == theirs.decode(known, skip_special_tokens=True,
                                                         clean_up_tokenization_spaces=False), text
            if stacks is BOTH:
                expected = theirs(text_target=legal(text)).input_ids
                after = [config.start_id] * (name == "mbart")  # behind its text, and what the decoder reads first
                assert [*target.encode(text), config.eos_id, *after] == expected, text
        for pair in pairwise(legal(text) for text in TEXTS if text.strip()) if stacks is ENCODER else ():
            expected, (pieces, segments) = theirs(*pair, return_token_type_ids=True), source.pair(*pair)
            assert ([piece.id for piece in pieces], segments) == (expected.input_ids, expected.token_type_ids), pair


@pytest.mark.parametrize("name", ["mbart", "mbart 50", "nllb", "m2m100"])
def test_languages_are_those_asked_for_else_those_it_names_else_english_and_french(folders, tmp_path, name):
    folder, stacks = folders(name)
    theirs = read_by_theirs(folder)
    codes = {"nllb": ("deu_Latn", "ron_Latn", "fra_Latn"), "m2m100": ("de", "ro", "fr")}.get(
        name, ("de_DE", "ro_RO", "fr_XX"))
    tokens = [f"__{code}__" if name == "m2m100" else code for code in codes]
    ids = theirs.convert_tokens_to_ids(tokens)
    config = config_of(theirs, stacks)
    target, source, settings = imported(folder, config, languages=codes[:2])
    theirs.src_lang = codes[0]
    assert read_ids(source, "I am") == theirs("I am").input_ids
    assert ids[0] in theirs("I am").input_ids
    assert settings["forced_bos_id"] == target.encode("I am")[0] == ids[1]
    again = opened(tmp_path, config, target, source, settings)
    assert [one.encode("I am") for one in again] == [one.encode("I am") for one in (target, source)]
    assert imported(folder, config)[2]["forced_bos_id"] == ids[2]
    with pytest.raises(Refused, match="xx to de is not of the languages of this model, which has"):
        imported(folder, config, languages=("xx", "de"))


def test_languages_are_named_in_english():
    assert languages_of({"src_lang": "eng_Latn", "tgt_lang": "fra_Latn"}) == ["English", "French"]
    assert languages_of({"src_lang": "en_XX", "tgt_lang": "ro_RO"}) == ["English", "Romanian"]


@pytest.mark.parametrize(("name", "codes", "names"), [
    ("nllb", "deu_Latn,ron_Latn", ["German", "Romanian"]), ("m2m100", "de, ro", ["German", "Romanian"])])
def test_languages_are_asked_for_on_the_command_line(folders, tmp_path, headsup, name, codes, names):
    import transformers as hf

    theirs = read_by_theirs(folders(name)[0])
    shutil.copytree(folders(name)[0], tmp_path / "theirs")
    hf.M2M100ForConditionalGeneration(hf.M2M100Config(
        vocab_size=max(theirs.get_vocab().values()) + 101, d_model=8, encoder_layers=1, decoder_layers=1,
        encoder_ffn_dim=8, decoder_ffn_dim=8, encoder_attention_heads=2, decoder_attention_heads=2,
        max_position_embeddings=64)).save_pretrained(tmp_path / "theirs")

    def run(*options):
        return headsup("import", tmp_path / "theirs", "--out", tmp_path / "ours", *options)

    assert run("--languages", codes)[0] == 0
    ckpt = transformer.load(tmp_path / "ours")
    theirs.src_lang, theirs.tgt_lang = codes.replace(" ", "").split(",")
    assert ckpt.meta["languages"] == names
    read = transformer.attend(ckpt, "I am", target="I")
    assert read.ids["src"] == theirs("I am").input_ids
    assert [*read.ids["tgt"][1:], ckpt.config.eos_id] == theirs(text_target="I").input_ids
    assert "give two codes with a comma between them" in run("--languages", "deu_Latn")[2]
    assert "xx to yy is not of the languages of this model, which has" in run("--languages", "xx,yy")[2]
    assert "leave --languages out" in run("--languages", codes, "--ids")[2]


def test_a_decoder_reads_what_stands_in_front_of_a_text(folders, tmp_path):
    import transformers as hf

    folder, _ = folders("llama 2, as the hub has it")
    theirs = read_by_theirs(folder)
    shutil.copytree(folder, tmp_path / "theirs")
    hf.LlamaForCausalLM(hf.LlamaConfig(
        vocab_size=len(theirs), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        bos_token_id=1, eos_token_id=2, max_position_embeddings=64)).save_pretrained(tmp_path / "theirs")
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    for text in ("I am", " ", ""):
        step = transformer.start(ckpt, text)
        assert [*step.tokens] == theirs(text).input_ids
        assert step.whole.startswith(text)


def test_bytes_and_spaces_are_shown_as_characters(folders):
    folder, stacks = folders("pythia")
    _, source, _ = imported(folder, config_of(read_by_theirs(folder), stacks))
    pieces = source.pieces("привет   мир")
    assert "".join(piece.text for piece in pieces).startswith("привет▁▁▁")
    assert {piece.text for piece in source.pieces("🙂")} == {"<F0>", "<9F>", "<99>", "<82>"}
    assert "▁" * 3 in [source.piece(id) for id in range(source.vocab_size)]  # one that was added


def test_added_tokens_without_a_row_in_the_model_are_ordinary_text(folders, tmp_path):
    folder, stacks = folders("llama 2, as the hub has it")
    about = json.loads((folder / "tokenizer.json").read_text())
    rows = len(about["model"]["vocab"])
    _, source, _ = imported(folder, config_of(read_by_theirs(folder), stacks, vocab_size=rows))
    assert source.vocab_size == rows
    assert max(source.encode("<|user|> I am")) < rows
    with pytest.raises(Refused, match=f"has {rows:,} pieces and the model {rows - 1:,}"):
        imported(folder, config_of(read_by_theirs(folder), stacks, vocab_size=rows - 1))


# What is hostile


def altered(folder, place, name="tokenizer_config.json", **changes):
    """A copy of a folder with other settings."""
    shutil.copytree(folder, place)
    about = json.loads((place / name).read_text()) if (place / name).is_file() else {}
    (place / name).write_text(json.dumps(about | changes))
    return place


def test_no_code_of_a_folder_and_no_file_elsewhere_is_read(folders, tmp_path):
    folder, stacks = folders("llama 1 and 2, tokenizer.model")
    config = config_of(read_by_theirs(folder), stacks)
    expected = imported(folder, config)[1].encode("I am")
    place = altered(folder, tmp_path / "theirs", auto_map={"AutoTokenizer": [None, "evil.Evil"]},
                    tokenizer_file="/dev/zero", vocab_file="/dev/zero", gguf_file="/dev/zero",
                    init_inputs=["/dev/zero"])
    (place / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    (place / "special_tokens_map.json").write_text(json.dumps({"gguf_file": "/dev/zero", "tokenizer_object": {}}))
    assert imported(place, config)[1].encode("I am") == expected
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("named", ["BertModel", "pipeline", "Trainer", "os.system", "AutoModel", "PhobertTokenizer"])
def test_a_class_that_is_no_tokenizer_of_theirs_is_not_made(folders, tmp_path, named):
    folder, stacks = folders("llama 1 and 2, tokenizer.model")
    config = config_of(read_by_theirs(folder), stacks)
    place = altered(folder, tmp_path / "theirs", tokenizer_class=named)
    assert tokenizers_of(place, {"model_type": "llama"}, config, wanted=True)[3] == (
        f"a {named} without a tokenizer.json cannot be read")


@pytest.mark.parametrize(("name", "damage", "message"), [
    ("llama 1 and 2, tokenizer.model", lambda f: (f / "tokenizer.model").write_bytes(b"\x0a\xff" * 99),
     "cannot be used"),
    ("llama 1 and 2, tokenizer.model", lambda f: (f / "tokenizer_config.json").write_text(
        json.dumps({"added_tokens_decoder": {str(10**12): {"content": "x"}}})), "gives a token the id 1000000000000"),
    ("t5, spiece.model", lambda f: (f / "tokenizer_config.json").write_text(json.dumps({"extra_ids": 2**40})),
     "asks for 1099511627776 extra_ids"),
    ("llama 3", lambda f: rewrite(f, lambda about: about["model"]["vocab"].update({"x" * 10**5: 399})),
     "has a piece of 100,000 characters, at most 2,000"),
    ("llama 3", lambda f: rewrite(f, lambda about: about.update(normalizer=bomb())), "100 times longer"),
    ("llama 1 and 2, tokenizer.model", lambda f: (f / "tokenizer.model").write_bytes(tower()), "too many ways"),
    ("bert", lambda f: (f / "vocab.txt").write_text("x" * 10**6), "piece of 1,000,000 characters"),
    ("m2m100", lambda f: (f / "vocab.json").write_text('{"<unk>": -1}'), "should give each piece a number"),
    ("m2m100", lambda f: (f / "tokenizer_config.json").write_text('{"language_codes": "x"}'), "languages x of"),
], ids=["model", "added", "extra", "piece", "charsmap", "tower", "vocab.txt", "m2m100", "languages"])
def test_a_hostile_tokenizer_is_refused_in_one_sentence(folders, tmp_path, name, damage, message):
    folder, stacks = folders(name)
    config = config_of(read_by_theirs(folder), stacks)
    shutil.copytree(folder, tmp_path / "theirs")
    damage(tmp_path / "theirs")
    with pytest.raises(ValueError, match=re.escape(message)) as message:
        imported(tmp_path / "theirs", config)
    assert "\n" not in str(message.value)
    assert len(str(message.value)) < 400


def rewrite(folder, change):
    about = json.loads((folder / "tokenizer.json").read_text())
    change(about)
    (folder / "tokenizer.json").write_text(json.dumps(about))


def tower():
    """A sentencepiece model with pieces of one ꙮ, of two, and so on."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(spm(**LLAMA))
    for length in range(1, 500):
        model.pieces.add(piece="ꙮ" * length, score=-1000.0 - length)
    return model.SerializeToString()


def bomb():
    """A table of normal forms that turns one character into a thousand."""
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(
        (4).to_bytes(4, "little") + bytes(4) + b"x" * 1000 + b"\0").decode()}
