"""A text that is too long for its field is answered with a sentence, before any work is done with it."""

import ast

import pytest

from transformer.text.tokenizer import SentencePieceTokenizer
from ui.page.text_limits import PASSAGE, taken, within

from .page import ROOT, put, words

LONG = 1_000_000
FIELDS = {  # the field's key -> the page and the address that show it
    "translate_text": ("translate", {}),
    "translate_compare_text": ("translate", {"compare": "sentence"}),
    "write_text": ("write", {}),
    "classify_text": ("classify", {}),
    "classify_toy_positive": ("classify", {"show": "toy"}),
    "classify_toy_negative": ("classify", {"show": "toy"}),
    "by_hand_text": ("by_hand", {}),
    "masks_source1": ("masks", {}),
    "masks_target4": ("masks", {}),
    "masks_typed": ("masks", {}),
    "positions_text": ("positions", {"view": "Left out"}),
    "heads_text": ("heads", {"view": "lens"}),
    "heads_target": ("heads", {"view": "direct"}),
    "heads_role_texts": ("heads", {"view": "roles", "role_on": "own"}),
    "checkpoints_search": ("checkpoints", {"view": "tokenizer"}),
    "checkpoints_text": ("checkpoints", {"view": "compare"}),
    "checkpoints_target": ("checkpoints", {"view": "compare"}),
    "checkpoints_name_0": ("checkpoints", {"view": "add"}),
    "checkpoints_source_0": ("checkpoints", {"view": "add"}),
    "train_name": ("train", {"view": "new"}),
    "train_translation_pinned": ("train", {"view": "new"}),
    "train_translate_other": ("train", {"view": "new"}),
    "train_translation_corpus_path": ("train", {"view": "new"}),
    "train_sweep_values_0": ("train", {"view": "new"}),
    "train_all_text": ("train", {"view": "runs"}),
}
EACH_TIME = {"translate_compare_text", "classify_text", "masks_typed", "positions_text", "checkpoints_search",
             "train_translation_corpus_path"}


@pytest.fixture(autouse=True)
def short_texts_alone_are_read(monkeypatch):
    """No tokenizer is given more than the longest passage."""
    def checking(read):
        def checked(self, text, *args, **options):
            assert len(text) <= PASSAGE
            return read(self, text, *args, **options)
        return checked

    for name in ("encode", "pieces"):
        monkeypatch.setattr(SentencePieceTokenizer, name, checking(getattr(SentencePieceTokenizer, name)))


@pytest.mark.parametrize("key", [key if key in EACH_TIME else pytest.param(key, marks=pytest.mark.rare(
    "one more field of a page; that each is looked at is read in the sources below")) for key in FIELDS])
def test_a_million_characters_are_answered_with_a_sentence(key, visit, home):
    page, address = FIELDS[key]
    (home / "runs" / "mine").mkdir(parents=True)
    (home / "runs" / "mine" / "config.json").write_text("{}")
    at = visit(page, **address)
    if key == "train_translation_corpus_path":
        put(at, "train_translation_corpus_way", "A file on this computer")
    if key == "train_sweep_values_0":
        put(at, "train_sweep_setting_0", "n_heads")
    (field,) = [field for field in (*at.text_input, *at.text_area) if field.key == key]
    at.session_state[field.key] = "a b" * (LONG // 3) + "c"
    assert "1,000,000 characters" in words(at.run(), "error")


def test_a_million_characters_in_an_address_are_answered_too(visit):
    at = visit("classify", text="a" * 400_000)
    assert "400,000 characters" in words(at, "error")
    assert len(at.text_area(key="classify_text").value) == 400_000  # to be shortened


def test_within_gives_back_what_is_short_enough_and_names_both_numbers_of_what_is_not():
    assert within("a" * 20, 20) == "a" * 20
    with pytest.raises(ValueError, match="this sentence has 21 characters; at most 20"):
        within("a" * 21, 20, "sentence")
    assert taken(None, 20) == ""


def test_every_field_for_a_text_is_looked_at_where_it_is_drawn():
    """Names are the exception: `check_name` says what they may be, with their length."""
    fields, looked_at, cut = set(), set(), set()
    for path in [*(ROOT / "pages").glob("*.py"), *(ROOT / "ui").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", None) in ("text_input", "text_area"):
                fields.add((path.name, node.lineno, ast.unparse(node.args[0])))
                cut |= {ast.unparse(node.args[0]) for word in node.keywords if word.arg == "max_chars"}
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("taken", "within") and (
                    isinstance(node.args[0], ast.Call)):
                looked_at.add((path.name, node.args[0].lineno, ast.unparse(node.args[0].args[0])))
    names = {"'Name of the sweep' if tried else 'Name of the run'", "'Name of the checkpoint'", "'New name'"}
    assert {field for *_, field in fields - looked_at} == names
    assert len(looked_at) > 20
    assert cut <= names  # it cuts without a word
