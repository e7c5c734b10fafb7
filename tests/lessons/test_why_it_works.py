"""What the lesson "Why it works" says of the models that come with the app, computed again.

The arrows of its third, fifth and sixth stop are in tests/app/test_by_hand_vectors.py.
"""

import re

import pytest
import torch

import transformer
from tests.rows import each_row
from transformer.analysis.masks import read_forced
from transformer.analysis.positions import without_positions
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import Step
from transformer.lessons.parsing import read_file
from transformer.model.sites import label

HOUSE, BAT = "The house is white.", "He hit the ball with a bat."
ARTICLE = "D1H1"  # the head that fetches it
EST, LA, MAISON, BLANCHE = 3, 1, 2, 4  # positions of what was read
STOPS = read_file(ROOT / "lessons" / "why-it-works.md").stops
NOTES = {stop.title: f"{stop.question.ask} {stop.text} {stop.note}" for stop in STOPS}
FIGURE = re.compile(r"\d+(?:[.,]\d+)*%?")


@pytest.fixture(scope="module")
def ckpt(shipped) -> Checkpoint:
    return shipped("translate")


def last(ckpt, text: str, **options) -> Step:
    return list(transformer.steps(ckpt, text, max_steps=40, **options))[-1]


def next_words(ckpt, *changes: transformer.Change) -> dict[str, float]:
    """The probabilities of what may come after “La maison est”."""
    read = {step.index: step.id for step in last(ckpt, HOUSE).path()[:EST]}
    step = next(step for step in transformer.steps(ckpt, HOUSE, forced=read, change=[*changes] or None)
                if step.index == EST)
    return {one.piece.strip("▁"): one.probability for one in step.top(4)}


def heads(config) -> list[str]:
    return [label(kind, layer, head) for kind in config.kinds for layer in range(config.layers(kind))
            for head in range(config.n_heads)]


@each_row("stop", STOPS)
def test_the_recap_of_a_stop_gives_figures_of_its_note_which_are_computed_again(stop):
    assert stop.recap
    assert {*FIGURE.findall(stop.recap)} <= {*FIGURE.findall(NOTES[stop.title])}


def test_the_bat_is_an_animal(ckpt):
    output = last(ckpt, BAT).output
    assert output == "Il frappa la balle avec une chauve-souris."
    assert f"“{BAT}” became “{output}”" in STOPS[0].recap


@pytest.mark.slow
def test_how_often_a_bat_is_one_or_the_other_in_the_training_pairs():
    pairs = transformer.corpus("eng-fra").split("train")
    found = [" ".join(french) if isinstance(french, list | tuple) else french
             for english, french in pairs if re.search(r"\bbats?\b", english.lower())]
    animals, sticks = (sum(bool(re.search(word, french.lower())) for french in found)
                       for word in (r"chauve", r"\bbattes?\b"))
    assert (f"Of {len(pairs):,} training pairs, {len(found)} have a bat in them: {animals} say “chauve-souris” and "
            f"{sticks} say “batte”.") in NOTES["After: why did it write nonsense?"]


def test_one_word_decides_the_form_of_another(ckpt):
    words, note = next_words(ckpt), NOTES["A word needs its neighbours"]
    assert f"“blanche”, with {words['blanche']:.1%}" in note
    wall = last(ckpt, HOUSE.replace("house", "wall")).output
    assert wall == "Le mur est blanc." and f"“{wall}”" in note


def test_each_row_looks_elsewhere(ckpt):
    rows = last(ckpt, HOUSE).attentions["decoder"][1, 1]
    note = NOTES["Many questions at once"]
    assert int(rows[BLANCHE].argmax()) == MAISON and f"“maison”, with {rows[BLANCHE, MAISON]:.2f}" in note
    assert int(rows[EST].argmax()) == LA and f"“La”, with {rows[EST, LA]:.2f}" in note


@pytest.mark.slow
def test_of_all_heads_one_alone_changes_the_adjective(ckpt):
    note, every = NOTES["Several heads, several questions"], heads(ckpt.config)
    without = {head: next_words(ckpt, transformer.scale(head, 0)) for head in every}
    assert [head for head, words in without.items() if max(words, key=words.get) != "blanche"] == [ARTICLE]
    words = without[ARTICLE]
    assert f"“blanc”, with {words['blanc']:.1%} against {words['blanche']:.1%}" in note
    assert f"the other {len(every) - 1} heads" in note


def test_without_positions_who_sees_whom_is_lost(ckpt):
    bare, note = without_positions(ckpt), NOTES["Where is each word?"]
    one, other = (last(bare, text).output for text in ("The woman sees the man.", "The man sees the woman."))
    assert one == other and f"“{one}” both times" in note
    assert last(ckpt, "The woman sees the man.").output != last(ckpt, "The man sees the woman.").output


def test_without_the_mask_the_head_looks_ahead(ckpt):
    source = torch.tensor([[*ckpt.tokenizer.encode(HOUSE), ckpt.config.eos_id]])
    target = ckpt.tokenizer.encode("La maison est blanche.")
    read = read_forced(ckpt.model, source, torch.tensor([[ckpt.config.start_id, *target]]),
                       torch.tensor([[*target, ckpt.config.eos_id]]), causal=False, padding=True)
    ahead = read.attentions["decoder"][1, 0, 1].triu(1).sum() / (len(target) + 1)
    assert f"{ahead:.1%}." in NOTES["No looking ahead"]


def test_the_layer_below_looks_at_the_noun_and_both_layers_carry_the_gender(ckpt):
    note = NOTES["Layer upon layer"]
    row = last(ckpt, HOUSE).attentions["decoder"][0, 1, EST]
    assert int(row.argmax()) == MAISON and f"“maison”, with {row[MAISON]:.2f}" in note
    edges = [(EST, LA), (EST, MAISON)]
    one, both = (next_words(ckpt, transformer.cut(site, edges=edges))["blanc"] for site in (ARTICLE, "decoder.*"))
    assert f"“blanc” has {one:.1%}" in note and f"in both layers, and it has {both:.1%}" in note
