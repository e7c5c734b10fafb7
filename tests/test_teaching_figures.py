"""What docs/teaching.md says of the models that come with the app is computed again."""

import json
import re
from collections.abc import Callable
from functools import cache

import pytest
import torch

import transformer
from transformer.analysis.ablation import Head, all_heads, switch_heads
from transformer.analysis.attribution import attribute
from transformer.analysis.direct import direct_effect, strongest
from transformer.analysis.masks import masked_softmax, read_forced
from transformer.analysis.positions import without_positions
from transformer.analysis.token_inputs import inputs_of_step
from transformer.basics.paths import ROOT
from transformer.by_hand.stages import ByHand, Settings
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import OPENINGS
from transformer.lessons.answers import answer
from transformer.lessons.parsing import read_file
from transformer.training.forming import read_forming
from ui.lessons.stop_links import open_stop

MODEL = "translate"
DOC = " ".join((ROOT / "docs" / "teaching.md").read_text("utf-8").split())
WINE, HOME, COLD, ANIMAL = ("I like red wine.", "We have to go home before it gets dark.", "I am cold.",
                            "The animal didn't cross the street because it was too tired.")
ALIGNS = OPENINGS["translation"]
IDIOM, PRONOUN = Head("cross", 1, 1), Head("cross", 1, 2)
ABOUT_PEOPLE = "In a class of 350 students about 50% were right on the first vote, and just under 70%"
Facts = Callable[[Checkpoint], list[str]]
SAID_BY_STUDENTS = "“98% means that it is right.”"


def written(ckpt, text: str, *off: Head, **options) -> str:
    *_, last = transformer.steps(ckpt, text, max_steps=60,
                                 **({"change": switch_heads(ckpt.config, *off)} if off else {}), **options)
    return last.output


def at(ckpt, text: str, index: int, *off: Head):
    """A step of the translation that the model writes with all its heads."""
    *_, whole = transformer.steps(ckpt, text)
    read = {step.index: step.id for step in whole.path()[:index]}
    change = {"change": switch_heads(ckpt.config, *off)} if off else {}
    return next(step for step in transformer.steps(ckpt, text, forced=read, **change) if step.index == index)


def chance(step, word: str) -> str:
    return next(f"{one.probability:.1%}" for one in step.top(10) if one.piece.strip("▁") == word)


def candidates(ckpt) -> list[str]:
    """What is said of next tokens."""
    first = at(ckpt, HOME, 0)
    second = first.top(2)[1]
    cold, without = at(ckpt, COLD, 0), at(ckpt, COLD, 0, IDIOM)
    *_, animal = transformer.steps(ckpt, ANIMAL)
    pronoun = next(step for step in animal.path() if step.piece == "elle")
    assert pronoun.index == 16
    assert [one.piece for one in at(ckpt, WINE, 4).top(1)] == ["▁vin"]
    assert "▁rouge" not in [one.piece for one in at(ckpt, WINE, 4).top(4)]
    return [
        f"“vin”, and is right: {chance(at(ckpt, WINE, 4), 'vin')}.",
        f"“Nous”, with {chance(first, 'Nous')}. “Il” has {chance(first, 'Il')}.",
        f"in the street: {chance(first, 'On')}.",
        f"“{written(ckpt, WINE)}”",
        f"“{written(ckpt, HOME)}” becomes “{written(ckpt, HOME, forced={0: second.id})}”",
        f"“{written(ckpt, COLD)}” becomes “{written(ckpt, COLD, IDIOM)}”",
        f"“J” falls from {chance(cold, 'J')} to {chance(without, 'J')}.",
        f"“elle” has {chance(pronoun, 'elle')}, “il” {chance(pronoun, 'il')}"]


def looks(ckpt) -> list[str]:
    """What is said of where heads look."""
    *_, step = transformer.steps(ckpt, WINE)
    queries, keys = step.axes("cross")
    row = step.attentions["cross"][ALIGNS.layer, ALIGNS.head]
    vin, le = (row[queries.index(one)] for one in ("▁vin", "▁le"))
    assert [keys[int(one.argmax())] for one in row] == ["▁I", "</s>", "▁like", "</s>", "▁wine", "▁red", ".", "</s>"]
    upper = step.attentions["cross"][1, :, queries.index("▁vin")]
    assert (upper.argmax(-1) == keys.index("▁red")).all() and len(upper) == 4
    roles = json.loads((ROOT / "checkpoints" / "translate" / "roles.json").read_text())["heads"]["cross"]["alignment"]
    trained = torch.tensor(roles["trained"])
    best = trained[ALIGNS.layer, ALIGNS.head]
    assert trained.max() == best
    return [
        f"with {vin[keys.index('▁red')]:.1%} of the row", f"{vin[keys.index('▁red')]:.1%} on “red”",
        f"From “le” it gives “wine” {le[keys.index('▁wine')]:.1%}.",
        f"Cross {ALIGNS.layer}.{ALIGNS.head} aligns best, {best:.2f} beside "
        f"{roles['untrained'][ALIGNS.layer][ALIGNS.head]:.2f} with random weights"]


def switched(ckpt) -> list[str]:
    """What is said of heads that are off."""
    heads, one = all_heads(ckpt.config), Head("cross", ALIGNS.layer, ALIGNS.head)
    changed = {text: [head for head in heads if written(ckpt, text, head) != written(ckpt, text)]
               for text in (WINE, HOME, COLD)}
    assert changed[WINE] == [IDIOM]
    assert set(changed[COLD]) == {IDIOM, Head("encoder", 2, 2)}
    assert {written(ckpt, COLD, head) for head in changed[COLD]} == {"Je suis froid."}
    assert "qu'elle était trop fatigué." in written(ckpt, ANIMAL)
    assert "qu'il était trop fatigué." in written(ckpt, ANIMAL, PRONOUN)
    none = transformer.scale("cross.*.z", 0)
    blind = {written(ckpt, text, change=none) for text in (WINE, COLD, "Hello.", "Where is the station?")}
    layer = [Head("cross", 0, head) for head in range(4)]
    assert written(ckpt, WINE, *layer) == written(ckpt, WINE)
    return [
        f"One of the {len(heads)} heads changes this sentence alone", f"One head of {len(heads)}",
        f"{len(changed[HOME])} of the {len(heads)} heads change something", f"the other {len(heads) - 1} heads",
        f"“rouge” goes from {chance(at(ckpt, WINE, 5), 'rouge')} to {chance(at(ckpt, WINE, 5, one), 'rouge')}.",
        f"it becomes “{written(ckpt, WINE, IDIOM)}”", *(f"it writes “{text}”" for text in blind)]


def by_hand(ckpt) -> list[str]:
    """What is said of the numbers of By hand, as a room is asked them."""
    product, divisor, weight, masked = (answer(stop.question, open_stop(stop)).right
                                        for stop in read_file(ROOT / "lessons" / "query-and-key.md", "").stops[6:10])
    head = ByHand(Settings("I like red wine", d=4, d_k=4, d_v=4, heads=1)).heads[0]
    assert f"{float(head.scaled[3, 2]):.2f}" == f"{weight:.2f}" and masked == 0
    row = ", ".join(f"{one:.2f}" for one in head.weights[3].tolist())
    return [f"{product:.2f}. Common mistakes", f"{product:.2f}, once by hand",
            f"Right is {divisor:.0f}, its square root", f"{weight:.2f}. The scaled score is {weight:.2f} too",
            f"The row is {row}.", f"the largest of the row has {float(head.weights[3].max()):.2f}"]


def forming(ckpt) -> list[str]:
    """What is said of a head while it is trained."""
    found = read_forming(ROOT / "checkpoints" / "translate")
    place = ALIGNS.layer, ALIGNS.head
    sharp = {step: found.weights(0, "cross", step)[place].max(-1).mean() for step in (0, 247)}
    target, source = found.sentences[0].target, found.sentences[0].source
    cold = {step: found.weights(0, "cross", step)[place][target.index("'"), source.index("▁cold")]
            for step in (171, 356, 893, found.steps[-1])}
    return [f"after 247 of the {found.steps[-1]:,} steps the largest weights of its rows average {sharp[247]:.2f}, up "
            f"from {sharp[0]:.2f}.", f"gives “cold” {cold[171]:.2f} at step 171, {cold[356]:.2f} at step 356, "
            f"{cold[893]:.2f} at step 893 and {cold[found.steps[-1]]:.2f} at the end"]


def explained(ckpt) -> list[str]:
    """What is said of why “rouge” is written."""
    read = inputs_of_step(at(ckpt, WINE, 5))
    rouge, other = (one.id for one in at(ckpt, WINE, 5).top(2))
    kind, layer, head = strongest(direct_effect(read, rouge, against=other))[0][:3]
    found = attribute(read, rouge)
    assert [found.tokens[int(abs(values).argmax())].strip("▁ ␣") for values in (
        found.integrated, found.attention, found.rollout)] == ["red", "red", "wine"]
    assert (layer, head) != (ALIGNS.layer, ALIGNS.head)
    return [f"{kind.title()} {layer}.{head} adds most to “rouge”, not the head that we looked at",
            "Two put “red” first, the rollout “wine”."]


def elsewhere(ckpt) -> list[str]:
    """What is said of tokens, positions and masks."""
    pieces = ckpt.source_tokenizer.encode("Xylophones")
    assert len(pieces) == 7
    mixed, words = "The woman sees the man.", ckpt.tokenizer
    source = torch.tensor([[*ckpt.source_tokenizer.encode(COLD), ckpt.config.eos_id]])
    target = words.encode("J'ai froid.")
    read = read_forced(ckpt.model, source, torch.tensor([[ckpt.config.start_id, *target]]),
                       torch.tensor([[*target, ckpt.config.eos_id]]), causal=False, padding=True)
    ahead = read.attentions["decoder"][0, 0, 0].triu(1).sum() / (len(target) + 1)
    scores, allowed = 10_000 * torch.tensor([2.0, 1.0, 0.5, 5.0]), torch.tensor([True, True, False, False])
    assert masked_softmax(scores, allowed, blocked=-1e4, dtype=torch.float32)[3] > 0.99
    return [f"“{written(ckpt, mixed)}” becomes “{written(without_positions(ckpt), mixed)}”",
            f"{ahead:.1%} of this head's attention goes to tokens that had not been written yet"]


FACTS = (candidates, looks, switched, by_hand, forming, explained, elsewhere)


RARE = pytest.mark.rare("translates several sentences without each of forty heads")


@pytest.fixture(scope="module")
def said(ckpt) -> Callable[[Facts], list[str]]:
    return cache(lambda facts: facts(ckpt))


@pytest.mark.parametrize("facts", [
    pytest.param(facts, id=facts.__name__, marks=RARE if facts is switched else ()) for facts in FACTS])
def test_what_it_says_of_the_model_is_computed_again(facts, said):
    assert [one for one in said(facts) if one not in DOC] == []


@RARE
def test_no_percentage_is_said_that_is_not_computed_here(said):
    rest = DOC.replace(ABOUT_PEOPLE, "").replace(SAID_BY_STUDENTS, "")
    assert len(DOC) - len(rest) == len(ABOUT_PEOPLE) + len(SAID_BY_STUDENTS)
    computed = {one for facts in FACTS for text in said(facts) for one in re.findall(r"[\d.]+%", text)}
    said_in_words = re.sub(r"\]\(http[^)]*\)", "]", rest)  # an address has percent signs of its own
    assert {*re.findall(r"[\d.]+%", said_in_words)} <= computed
