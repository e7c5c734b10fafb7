"""Tokenizers of GGUF files cut as their originals do, and as `transformers` reads them."""

import io
import json

import gguf
import pytest
import sentencepiece
import tokenizers

from transformer.checkpoints.weights import Refused
from transformer.huggingface.gguf import GgufFile
from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer

READ = ["The capital of France is Paris, and don't we've I'LL they'd know it.", "12345 + 678 = 13023 numbers 2024",
        "  many   spaces\n\n\nand lines\r\n\tand tabs", "שלום עולם مرحبا بالعالم", "日本語のテキスト 한국어",
        "héllo wörld ﬁ ½ Ⅷ", "def f(x):\n    return x ** 2  # square\n", "😀 👩‍👧 🏳️‍🌈"] * 3
HOSTILE = ["", "hello", "The capital of France is", "don't I'LL WE'VE 'tis", "\n", "\n\n a\r\n\tb\r\rc", "x\ny\n\nz\n",
           "👩‍👧 🙂🏳️‍🌈", "שלום עולם مرحبا بالعالم", "\u200f\u202eabc\u202c", "a\0\x01\x7f\x1b[31mb", "e\u0301 é ﬁ Ⅷa",
           "<|im_start|>user\nhi<|im_end|>\n", "<|im_start|", "<|im_end|><|im_end|> a", "12345+678=9012", "x 1 2 34",
           "def f(x):\n    return x\n\n\n", "日本語のテキスト", "ꙮꙮ", "a\u00a0\u202f\u3000b", "_a__b", "a" * 99,
           "𝕳𝖊𝖑𝖑𝖔", "<s></s><unk><pad>", "<0x0A>", "http://a.b/c?d=e&f", "a   b    c",
           "trailing   ", "CamelCaseWORDSmixed's"]
SPACED = [" hi", "  hi", "     ", " \n ", "    x   "]
BEGINS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
ENDS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLITS = {
    "gpt-2": None,
    "smollm": [tokenizers.pre_tokenizers.Digits(individual_digits=True)],
    "qwen2": f"{BEGINS}\\p{{N}}{ENDS}",
    "bloom": " ?[^(\\s|[.,!?…。，、।۔،])]+",
    "llama-bpe": f"{BEGINS}\\p{{N}}{{1,3}}{ENDS}",
}


def trained(pre):
    """A byte-level tokenizer with that way of splitting."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    split = SPLITS.get(pre)
    if isinstance(split, str):
        split = [tokenizers.pre_tokenizers.Split(tokenizers.Regex(split), "isolated")]
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not isinstance(SPLITS.get(pre), str))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([*(split or []), level])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    if pre == "qwen2":
        tokenizer.normalizer = tokenizers.normalizers.NFC()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(READ, trainer)
    return tokenizer


def written(path, notes, architecture="llama"):
    writer = gguf.GGUFWriter(path, architecture)
    notes(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return GgufFile(path)


def byte_level(tokenizer, pre, *, bos=False):
    about = json.loads(tokenizer.to_str())["model"]

    def notes(writer):
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(sorted(about["vocab"], key=about["vocab"].get))
        writer.add_token_types([3] * 3 + [1] * (len(about["vocab"]) - 3))
        writer.add_token_merges([" ".join(pair) for pair in about["merges"]])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)
        writer.add_add_bos_token(bos)
    return notes


def theirs(path):
    from transformers.integrations.gguf import convert_gguf_tokenizer, get_gguf_tokenizer

    architecture, about, _ = get_gguf_tokenizer(str(path))
    return convert_gguf_tokenizer(architecture, about)[0]


def ids(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("pre", SPLITS)
def test_byte_level_tokenizers_cut_as_they_were_trained(pre, tmp_path):
    original = trained(pre)
    content = written(tmp_path / "a.gguf", byte_level(original, pre)).tokenizer_json()
    ours, read = tokenizers.Tokenizer.from_str(content.decode()), theirs(tmp_path / "a.gguf")
    kept = HuggingFaceTokenizer(content, pad_id=None, unk_id=None, bos_id=1, eos_id=2)
    for text in HOSTILE + SPACED:
        assert ids(ours, text) == ids(original, text) == kept.encode(text), text
        if pre != "qwen2" or "\u0301" not in text:  # Qwen's composes accents first, which transformers leaves out
            assert ours.decode(ids(ours, text), skip_special_tokens=False) == text
            assert pre == "bloom" or ids(ours, text) == ids(read, text), text


def test_a_split_that_is_not_known_is_not_guessed(tmp_path):
    file = written(tmp_path / "a.gguf", byte_level(trained("gpt-2"), "of tomorrow"))
    assert file.tokenizer_json() is None and file.tokenizer_kind == "gpt2 of tomorrow"


def test_smollm_takes_digits_one_by_one_before_all_else(tmp_path):
    content = written(tmp_path / "a.gguf", byte_level(trained("smollm"), "smollm")).tokenizer_json()
    ours = tokenizers.Tokenizer.from_str(content.decode())
    assert ours.encode("a   12").tokens[-2:] == ["1", "2"]
    assert ids(ours, "a  1") == ids(trained("smollm"), "a  1") != ids(theirs(tmp_path / "a.gguf"), "a  1")


@pytest.mark.parametrize("bos", [False, True])
def test_a_token_before_the_text_is_added_where_the_file_says_so(bos, tmp_path):
    content = written(tmp_path / "a.gguf", byte_level(trained("gpt-2"), "gpt-2", bos=bos)).tokenizer_json()
    ours = tokenizers.Tokenizer.from_str(content.decode())
    assert (ours.encode("hello").ids[0] == 1) is bos


def sentencepieces(tmp_path, **settings):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(READ), model_writer=model, vocab_size=480, model_type="bpe", byte_fallback=True,
        character_coverage=0.98, remove_extra_whitespaces=False, normalization_rule_name="identity",
        allow_whitespace_only_pieces=True, minloglevel=2, **settings)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())

    def notes(writer):
        every = range(processor.vocab_size())
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_list([processor.id_to_piece(id) for id in every])
        writer.add_token_scores([processor.get_score(id) for id in every])
        writer.add_token_types([2 if processor.is_unknown(id) else 3 if processor.is_control(id) else
                                6 if processor.is_byte(id) else 1 for id in every])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)
    return processor, notes


def test_sentencepiece_tokenizers_cut_as_they_were_trained(tmp_path):
    processor, notes = sentencepieces(tmp_path)
    content = written(tmp_path / "a.gguf", notes).tokenizer_json()
    ours, read = tokenizers.Tokenizer.from_str(content.decode()), theirs(tmp_path / "a.gguf")
    for text in HOSTILE + SPACED:
        if any(spelled in text for spelled in ("<s>", "<0x")):  # special tokens are read as such, and bytes are not
            continue
        assert ids(ours, text) == processor.encode(text), text
        assert ours.decode(ids(ours, text), skip_special_tokens=False) == text
        if not text.startswith(" ") and text:
            assert ids(ours, text) == ids(read, text), text
    assert ids(ours, "<s></s>")[0] == 1 and ours.encode("hello").ids[0] == 1


def test_gemma_s_pieces_follow_the_order_of_its_vocabulary(tmp_path):
    _, notes = sentencepieces(tmp_path, add_dummy_prefix=False)

    def gemma(writer):
        notes(writer)
        writer.add_add_space_prefix(False)

    content = written(tmp_path / "a.gguf", gemma, "gemma2").tokenizer_json()
    ours, read = tokenizers.Tokenizer.from_str(content.decode()), theirs(tmp_path / "a.gguf")
    for text in [text for text in HOSTILE + SPACED if "<s>" not in text]:
        assert ids(ours, text) == ids(read, text), text


def test_pieces_that_make_each_other_in_too_many_ways_are_refused(tmp_path):
    def notes(writer):
        writer.add_tokenizer_model("llama")
        writer.add_token_list(["a" * length for length in range(1, 500)])

    with pytest.raises(Refused, match="damaged .its pieces combine in too many ways, .*or import without it"):
        written(tmp_path / "a.gguf", notes).tokenizer_json()


@pytest.mark.parametrize(("change", "message"), [
    ({"tokens": ["a", "a"]}, "a piece twice"), ({"tokens": ["a" * 3000]}, "more than 2,000 characters"),
    ({"tokens": ["a", "b"], "merges": ["a b"]}, "it merges 'a b', which are not two of its pieces"),
    ({"tokens": ["a", "b"], "merges": ["ab"]}, "it merges 'ab'"), ({"tokens": ["a"]}, "it has no merges"),
    ({"tokens": ["a"], "merges": [1]}, "its merges do not add up"), ({"tokens": [2]}, "its tokens do not add up"),
    ({"merges": ["a b"]}, "it has no pieces"), ({"tokens": ["a"], "token_type": [1, 2]}, "its token_type do not add")])
def test_damaged_tokenizers_are_refused(change, message, tmp_path):
    def notes(writer):
        writer.add_tokenizer_model("gpt2")
        for key, value in change.items():
            writer.add_array(f"tokenizer.ggml.{key}", value)

    with pytest.raises(Refused, match=message):
        written(tmp_path / "a.gguf", notes).tokenizer_json()
