"""Lines about unfamiliar text: counted in the training texts, and seldom shown for held-out ones."""

import shutil
from dataclasses import replace

import pytest

import transformer
from tests.rows import each_row
from transformer.basics.folders import FAMILIAR
from transformer.checkpoints.checkpoint import load
from transformer.evaluation.unfamiliar_text import (
    count_familiar,
    describe_unfamiliar,
    read_familiar,
    sureness,
    write_familiar,
)
from transformer.settings.config import TrainConfig

NAMES = ["Ann", "Bob", "Eve", "Kim", "Lee", "Max", "Sam", "Tim", "Una", "Zoe"]


@pytest.fixture(scope="module")
def counted(make_checkpoint, tmp_path_factory):
    """A model that reads short English sentences, and the counts for it."""
    folder = tmp_path_factory.mktemp("usual")
    things = ["dog", "cat", "red hat", "cup of tea", "house"]
    rows = [f"{name} has a {one} and a {other}.\t{name} a un {one[::-1]} et un {other[::-1]}."
            for name in NAMES for one in things for other in things]
    (folder / "pairs.tsv").write_text("\n".join(rows))
    shutil.copytree(make_checkpoint().description.folder, folder / "tiny")
    ckpt = load(folder / "tiny")
    about = replace(ckpt.description, train=TrainConfig(corpus=str(folder / "pairs.tsv"),
                                                        languages=("English", "Mirror")))
    ckpt = replace(ckpt, description=about)
    return ckpt, count_familiar(ckpt, limit=5)


def test_nothing_is_said_of_what_the_model_was_trained_on_unless_it_is_less_sure_than_on_held_out_texts(counted):
    ckpt, usual = counted
    assert usual.n == 200  # of 250 sentences a fifth is held out
    assert describe_unfamiliar(usual, "Ann has a dog and a cat.") == ""
    assert describe_unfamiliar(usual, "") == describe_unfamiliar(usual, ".") == ""
    *_, last = transformer.steps(ckpt, "Ann has a dog and a cat.", max_steps=3)
    surely = sureness(last)
    assert describe_unfamiliar(replace(usual, sure=surely - 0.1), last.text, last=last) == ""
    assert "less sure" in describe_unfamiliar(replace(usual, sure=surely + 0.1), last.text, last=last)


@each_row(("text", "said"), [
    ("Ann has a zebra and quinces.", "New to this model: “zebra” and “quinces”."),
    ("Ann has a 😀 and a dog.", "New to this model: “😀”."),
    ("ann has a dog and a cat.", "None of its training sentences begins with “ann”."),
    ("Ann has a dog and a cat", "Its training sentences end with a full stop or another mark; this one does not."),
    ("un a a a a", "This looks like Mirror; this model reads English."),
    ("a b c d e f g", "New to this model: “b”, “c”, “d” and 3 more."),
    ("Eve a un god et un tac.", "This looks like Mirror; this model reads English."),
    ("Ann has a dog and a cat and a house and a red hat and a cup of tea and a dog.",
     "At 22 words this is long: nearly all of its training sentences have at most 11."),
    ("Ann has a dog — and a cat.", "New to this model: “—”."),
])
def test_how_it_is_unlike_the_training_texts_is_said_in_a_sentence(counted, text, said):
    assert describe_unfamiliar(counted[1], text) == said


def test_what_is_read_as_something_else_comes_first(counted):
    usual = replace(counted[1], spellings={"kitten": "cat", "“": '"'}, signs='."')
    assert describe_unfamiliar(usual, "Ann has a dog and a kitten.") == "Read as “cat”."
    assert describe_unfamiliar(usual, "“Ann has a dog and a zebra.") == (
        "Read with straight quotes. New to this model: “zebra”.")


def test_texts_as_people_type_them_are_usual_to_a_model_that_was_trained_on_such(counted):
    ckpt, usual = counted
    train = ckpt.description.train.replace(as_typed=0.1, joined=0.1)
    typed = count_familiar(replace(ckpt, description=replace(ckpt.description, train=train)), limit=1)
    for text in ("ann has a dog and a cat.", "Ann has a dog and a cat", "ann has a dog and a cat",
                 " ".join(["Ann has a dog and a cat."] * 3)):
        assert describe_unfamiliar(usual, text) and not describe_unfamiliar(typed, text)
    assert describe_unfamiliar(typed, "zebra has a dog and a cat.")


def test_what_was_counted_is_kept_for_these_weights_alone(counted):
    ckpt, usual = counted
    path = write_familiar(ckpt, usual)
    assert read_familiar(ckpt) == usual
    assert load(ckpt.description.folder).id == ckpt.id
    path.write_bytes(path.read_bytes()[:-20])
    assert read_familiar(ckpt) is None
    write_familiar(ckpt, replace(usual, checkpoint="another@00000000"))
    assert read_familiar(ckpt) is None


def test_without_a_corpus_nothing_is_counted(make_checkpoint):
    with pytest.raises(ValueError, match="does not name its training corpus"):
        count_familiar(make_checkpoint())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "split"), [("translate", "test"), ("classify", "test"), ("write", "validation")])
def test_ordinary_texts_are_left_alone(name, split, shipped):
    ckpt = shipped(name)
    usual = read_familiar(ckpt)
    assert usual is not None, f"headsup evaluate {name} --write"
    found = transformer.corpus(ckpt.description.train.corpus).split(split)
    texts = found.split("\n\n") if isinstance(found, str) else [text for text, _ in found]
    assert sum(bool(describe_unfamiliar(usual, text)) for text in texts) / len(texts) < 0.035
    assert describe_unfamiliar(usual, "asdf qwer")
    assert (ckpt.description.folder / FAMILIAR).stat().st_size < 500_000
