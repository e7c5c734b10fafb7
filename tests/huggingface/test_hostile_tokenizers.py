"""Ids that a tokenizer.json puts around a text are bounded, and inside the vocabulary, before any text is read."""

import json
import resource

import pytest

from transformer.huggingface.chat import QUESTION, turn
from transformer.huggingface.folder import Refused
from transformer.huggingface.sentencepiece_export import merges
from transformer.huggingface.tokenizer_choice import of_content
from transformer.settings.config import ModelConfig
from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer, read_object
from transformer.text.split_patterns import KNOWN, _is_quick
from transformer.text.tokenizer_files import tokenizers_of

SPELLINGS = pytest.mark.rare("each takes a process of its own a second or more; one of each kind is in make test")
A, B = ({"Sequence": {"id": id, "type_id": 0}} for id in "AB")
Z = {"SpecialToken": {"id": "z", "type_id": 0}}
SPECIAL = {"pad_id": None, "unk_id": None, "bos_id": None, "eos_id": None}
MODEL = ModelConfig(encoder_layers=0, decoder_layers=1, d_model=8, n_heads=2, vocab_size=4, max_len=8, start_id=0,
                    pad_id=None, bos_id=None, eos_id=None)


def template(single, pair=(A, B), ids=(2,)):
    return {"type": "TemplateProcessing", "single": list(single), "pair": list(pair),
            "special_tokens": {"z": {"id": "z", "ids": list(ids), "tokens": ["z"] * len(ids)}}}


def file(step, **more):
    return json.dumps({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
                       "decoder": None, "post_processor": step, "model": {
                           "type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}, **more}).encode()


@pytest.mark.parametrize("step", [
    template([Z, A], ids=[1] * 101), template([Z] * 101 + [A]), template([A] * 101), template([A], [A, *[B] * 100]),
    template([{"SpecialToken": ["z", 0]}] * 101 + [A]),
    {"type": "Sequence", "processors": [{"type": "Sequence", "processors": [template([Z] * 101 + [A])]}]},
], ids=["ids", "tokens", "texts", "pair", "as a list", "inside another"])
def test_a_tokenizer_puts_in_at_most_a_hundred_tokens(step):
    with pytest.raises(ValueError, match="puts more than 100 tokens around a text; do not use it"):
        HuggingFaceTokenizer(file(step), **SPECIAL)


@pytest.mark.parametrize("step", [
    template([A, Z, A], ids=[9999]), template([A], [A, Z, B], ids=[9999]),
    {"type": "BertProcessing", "cls": ["c", 2], "sep": ["z", 9999]},
    {"type": "RobertaProcessing", "cls": ["z", 9999], "sep": ["c", 2], "trim_offsets": True, "add_prefix_space": True},
    {"type": "Sequence", "processors": [template([A, Z, A], ids=[9999])]},
], ids=["in the middle", "of two", "sep", "cls", "inside another"])
def test_what_is_put_around_a_text_has_a_row_in_the_model(step, tmp_path):
    with pytest.raises(Refused, match="has 10,000 pieces and the model 4; they do not belong together"):
        of_content(file(step), MODEL, name="theirs")
    (tmp_path / "tokenizer.json").write_bytes(file(step))
    with pytest.raises(ValueError, match="has 10,000 pieces and the model's vocabulary 4"):
        tokenizers_of(tmp_path, MODEL, kind="huggingface", standardise=False, shared=True)


@pytest.mark.parametrize(("step", "pattern"), [
    ("normalizer", "z+z+(?!.)"), ("pre_tokenizer", "z+z+(?!.)"), ("decoder", "z+z+(?!.)"),
    pytest.param("pre_tokenizer", "x*x*x*y", marks=pytest.mark.rare("five seconds; two loops stand above")),
    *(("pre_tokenizer", one) for one in (
        r"\p{Greek}+\p{Greek}+(?!.)", "x" * 9_000, "(", r"(a)\1+", "(?~a)", "(*FAIL)", "[a")),
    *(pytest.param("pre_tokenizer", one, marks=SPELLINGS) for one in (
        "[a-c]*[a-c]*[a-c]*[xy]", r"\s*\s*\s*\d", "(qw|wq)+(qwwq)+(?!.)", r"(\d+)+$x", r"\x{71}+\x{71}+(?!.)",
        f"{''.join(map(chr, range(0x4e00, 0x4e46)))}|q+q+(?!.)", r"[\x{3b1}-\x{3b3}]+[\x{3b1}-\x{3b3}]+(?!.)",
        r"\u03b1+\u03b1+(?!.)", r"[[:alpha:]&&[a-c]]+[[:alpha:]&&[b]]+(?!.)", r"(?i:q)+(?i:Q)+(?!.)"))])
def test_a_pattern_that_holds_everybody_up_is_refused_before_any_text_is_read(step, pattern):
    """The package holds the interpreter all the while: 36 s for 1,600 characters of the first."""
    cuts = {"type": "Replace", "pattern": {"Regex": pattern}, "content": ""}
    if step == "pre_tokenizer":
        cuts = {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}]}
    with pytest.raises(ValueError, match="do not use it"):
        HuggingFaceTokenizer(file(None, **{step: cuts}), **SPECIAL)


SQUARE = " +▁"  # known and borne: of 20,000 spaces it takes a second or more, by the square of their number


@pytest.mark.parametrize("pattern", ["[^ ]+ ?", *(pytest.param(one, marks=SPELLINGS) for one in (
    r"\p{Han}+|[a-z']+|\d{1,3}(?!\d)|\s+", *sorted(KNOWN - {SQUARE})))])
def test_a_pattern_that_is_quick_is_used_whether_or_not_it_is_known(pattern):
    assert _is_quick(pattern)
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    assert HuggingFaceTokenizer(file(None, pre_tokenizer=split), **SPECIAL).encode("ab") == [0, 1]


def test_what_is_put_around_a_text_is_still_read():
    assert HuggingFaceTokenizer(file(template([Z, A, Z])), **SPECIAL).encode("ab") == [2, 0, 1, 2]


def test_json_nested_too_deeply_is_refused():
    deep = {"a": 1}
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="the tokenizer tokenizer.json is nested too deeply; do not use it"):
        HuggingFaceTokenizer(file(None, normalizer=deep), **SPECIAL)
    assert read_object(file(template([A])), "tokenizer.json")


def test_pieces_that_make_each_other_in_too_many_ways_are_refused():
    with pytest.raises(ValueError, match="more than 20,000,000 characters"):
        merges({"a" * length: -float(length) for length in range(1, 500)})
    assert len(merges({"a" * length: -float(length) for length in range(1, 100)})) == 99 * 98 // 2


def test_of_what_a_chat_template_prints_no_more_is_read_than_is_used():
    question = "{{ messages[0].content }}"
    assert turn(f"<|user|>{question}") == f"<|user|>{QUESTION}"
    with pytest.raises(Refused, match="ends in an error .MemoryError"):
        turn(question + "{{ ('x' * 400_000_000) | length }}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Refused):
        turn(question + "{% for i in range(99999) %}{{ 'x' * 3000 }}{% endfor %}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes, of 300 MB
