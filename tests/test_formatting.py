"""A value's repr in a notebook is one short line, whatever it holds."""

import importlib
import pkgutil
import re
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import is_dataclass

import numpy as np
import pytest
import torch

import transformer
from tests.rows import each_row
from transformer import attend, beam_tree, scale, start, steps
from transformer.analysis.ablation import Head, compare_paths, measure, switch_heads
from transformer.analysis.attribution import attribute
from transformer.analysis.direct import direct_effect
from transformer.analysis.lens import read_layers
from transformer.analysis.masks import batch_masks, read_forced
from transformer.analysis.query import last_query
from transformer.analysis.roles import measure_roles
from transformer.analysis.sample import read_texts
from transformer.analysis.token_inputs import inputs_of_step
from transformer.analysis.trial import try_sentences
from transformer.basics.formatting import amount, brief, duration, how_many, in_percent, quote, shorten, size

TEXT, LONGEST = "I am cold.", 200  # characters


@pytest.fixture(scope="module")
def values(translator):
    """One value of each type that a user of the library meets."""
    *_, step = steps(translator, TEXT, forced=dict.fromkeys(range(12), 5), max_steps=12)
    reading, tree = attend(translator, TEXT, "Go on."), beam_tree(translator, TEXT, width=3, max_steps=8)
    src, tgt = (torch.tensor([translator.tokenizer.encode(text)]) for text in (TEXT, "Go on."))
    sentences, read = read_texts(translator, [TEXT, "Go on."], ["Go on.", "He is tall."]), inputs_of_step(step)
    encoded = translator.model.encode(src, readable=True)
    heads = switch_heads(translator.config, Head("cross", 0, 0))
    return [step, reading, tree, *tree.nodes[:5], translator, translator.description, read, encoded,
            encoded.attention[0], encoded.attention[0].memory, batch_masks(src, tgt, translator.config),
            read_forced(translator.model, src, tgt, tgt), *sentences, *try_sentences(translator, sentences),
            measure(translator, sentences), compare_paths(translator, TEXT, heads, max_steps=5),
            measure_roles(translator, sentences), read_layers(read), direct_effect(read), attribute(read, steps=2),
            last_query(read)]


def test_everything_is_one_short_line(values):
    for value in values:
        assert "\n" not in repr(value)
        assert 5 < len(repr(value)) <= LONGEST, (type(value), len(repr(value)))


def test_lines_say_what_one_asks_first_in_one_short_line(translator, make_checkpoint, writer):
    step = start(translator, TEXT)
    [likeliest] = step.top(1)
    assert repr(step) == f"Step 0 of 'I am cold.': {likeliest.piece!r} {in_percent(likeliest.probability)}"
    off = start(translator, TEXT, change=scale("cross.*.z", 0))
    assert repr(off).endswith("%, under 1 change, 2 places so far")
    assert repr(translator) == (
        f"Checkpoint {translator.id}: 2 encoder, 2 decoder layers of 2 heads, d_model 16, step 7")
    assert repr(attend(translator, TEXT, "Go")) == (
        f"Reading of 'I am cold.' by {translator.id}: encoder, decoder, cross; 11 src and 3 tgt tokens")
    assert repr(translator.model.encode(torch.tensor([[5, 6]]))) == (
        "StackOutput(x=(1, 2, 16), inputs=3 of Tensor, attention=2 of AttentionOutput, cross=none)")
    assert "\\n" in repr(start(writer, "I am\ncold."))
    assert quote("a\nb") == "'a\\nb'"
    assert quote("a" * 10_000) == repr("a" * 20 + "…" + "a" * 19)


def modules() -> Iterator[type]:
    for found in pkgutil.walk_packages(transformer.__path__, "transformer."):
        if not found.name.endswith("__main__") and ".training" not in found.name:
            module = importlib.import_module(found.name)
            yield from (one for one in vars(module).values()
                        if isinstance(one, type) and one.__module__ == found.name and not one.__name__.startswith("_"))


def test_nothing_that_holds_tensors_shows_them_all():
    held = re.compile(r"\b(Tensor|NDArray|ndarray|Checkpoint|Step|AttentionOutput)\b")
    checked, loud = 0, []
    for kind in modules():
        named = issubclass(kind, tuple) and hasattr(kind, "_fields")
        if (named or is_dataclass(kind)) and any(
                held.search(str(hint)) for hint in kind.__annotations__.values()):
            generated = kind.__repr__.__module__ == "collections" or hasattr(kind.__repr__, "__wrapped__")
            checked += 1
            if generated:
                loud.append(f"{kind.__module__}.{kind.__name__}")
    assert not loud, f"the repr of {', '.join(loud)} prints everything; write __repr__ = brief"
    assert checked > 25


def test_values_of_every_kind_have_a_short_form():
    Like = namedtuple("Like", ("array", "mapping", "many", "none", "number", "nothing", "text"))
    found = brief(Like(np.zeros((2, 3)), {"a": 1, "b": 2, "c": 3, "d": 4}, ["x"] * 50, (), 0.5, None, "t" * 99))
    assert found.startswith("Like(array=(2, 3), mapping={'a', 'b', 'c', …}, many=50 of str, none=none, number=0.5, ")
    assert len(found) < LONGEST


@each_row(("say", "number", "text"), [
    (duration, 0.31, "0.3 s"), (duration, 42, "42 s"), (duration, 90, "1.5 min"), (duration, 2_184, "36 min"),
    (duration, 9_000, "2.5 h"), (duration, 200_000, "2.3 days"),
    (size, 512, "0.51 kB"), (size, 1_234_567, "1.23 MB"), (size, 12e9, "12.0 GB"), (size, 2e12, "2.00 TB"),
    (amount, 99_999, "99,999"), (amount, 250_000, "0.2 million"), (amount, 134_515_008, "135 million"),
    (amount, 17_930_000, "17.9 million"), (amount, 3.2e9, "3.2 billion")])
def test_a_number_is_said_in_a_unit_that_fits(say, number, text):
    assert say(number) == text


def test_how_many_says_one_and_many_and_a_text_is_cut_where_it_is_too_long():
    assert [how_many(number, "run") for number in (0, 1, 1_200)] == ["0 runs", "1 run", "1,200 runs"]
    assert how_many(2, "class", "classes") == "2 classes"
    assert (shorten("abcd", 4), shorten("abcde", 4)) == ("abcd", "abc…")
