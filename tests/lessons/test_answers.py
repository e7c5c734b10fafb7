"""Questions answered by the model, and those that it has no answer to.

That the answers are the model's is in tests/rooms/test_questions.py, whose questions are answered here.
"""

from dataclasses import fields

import pytest
import torch

from tests.rows import each_row
from transformer.by_hand.random_numbers import GENERATORS
from transformer.by_hand.stages import SCALES, ByHand, Settings
from transformer.inference.decoding import start, steps
from transformer.inference.reading import attend
from transformer.inference.sampling import GREEDY, Sampling
from transformer.inference.sampling_settings import SETTINGS
from transformer.lessons import opened_link as lessons_opened
from transformer.lessons.answers import answer, check, step_or_reading
from transformer.lessons.grading import bounds, is_number
from transformer.lessons.lesson import Question
from transformer.lessons.opened_link import Opened, step_of
from transformer.lessons.parsing import parse

TEXT = "We can go home."
HAND = {"text": "I like red wine", "seed": 3, "d": 4, "d_k": 4, "d_v": 4, "heads": 1, "scale": "sqrt(d_k)",
        "mask": "none", "positions": False, "numbers": "ours", "query": 3, "key": 1}


def shows(ckpt, what="step", /, **values) -> Opened:
    return Opened(what, {"text": TEXT, **values}, ckpt)


def ask(kind: str, **options) -> Question:
    return Question(kind=kind, ask="?", **options)


def leads(values) -> float:
    first, second = torch.as_tensor(values).topk(2).values.tolist()
    return first - second


def test_a_question_that_the_model_hesitates_at_is_refused(translator):
    unsure = [step for step in steps(translator, TEXT, max_steps=40) if leads(step.logits.softmax(-1)) < 0.05]
    assert unsure
    with pytest.raises(ValueError, match=r"the model hesitates: .* choose another step or text"):
        answer(ask("next token"), shows(translator, step=unsure[0].index))


SET = {setting.name: setting.type(setting.offered[0] + setting.offered[2]) for setting in SETTINGS}  # none of them off


def test_a_link_reaches_the_step_that_its_sampling_leads_to_whatever_it_sets(translator, monkeypatch):
    assert [*SET] == [field.name for field in fields(Sampling)]
    used = []
    monkeypatch.setattr(lessons_opened, "steps", lambda *given, **options: used.append(options["sampling"]) or steps(
        *given, **options))
    for name, value in SET.items():
        values = {"temperature": 0.5, name: value}
        step_of(shows(translator, step=1, **values))
        assert used.pop() == Sampling(**values)
    step_of(shows(translator, step=1, **SET | {"temperature": 0.0}))  # all that has no effect then is left out
    assert used.pop() == GREEDY
    step_of(shows(translator, step=1, top_k=0, top_p=1.0, temperature=None))  # as a link that sets nothing is read
    assert used.pop() == GREEDY


def test_choices_of_the_link_are_followed(translator):
    other = start(translator, TEXT).top(5)[4].id
    forced = [*steps(translator, TEXT, forced={0: other}, max_steps=3)][-1]
    assert step_or_reading(shows(translator, step=2, choices={0: other})).tokens == forced.tokens


def test_a_row_is_named_by_its_token_its_place_or_as_the_newest(translator):
    reading = attend(translator, TEXT)
    pieces = [piece.strip("▁ ") for piece in reading.axes("encoder")[0]]
    clear = {int(at) for at in torch.arange(len(pieces)) if leads(reading.attentions["encoder"][0, 0, at]) >= 0.05}
    at = next(at for at in sorted(clear) if pieces.index(pieces[at]) == at and pieces[at])
    for query in (str(at), pieces[at], f"▁{pieces[at]}"):
        assert answer(ask("cell", query=query), shows(translator, "reading", kind="encoder")).query == at
    for query, said in (("99", "choose one from 0 to"), ("Ψ", "no row is called 'Ψ'")):
        with pytest.raises(ValueError, match=said):
            answer(ask("cell", query=query), shows(translator, "reading", kind="encoder"))


def test_the_divisor_is_what_each_way_to_scale_does_to_the_products_and_the_numbers_are_those_of_the_link():
    for scale in SCALES:
        by = answer(ask("number", value="divisor"), Opened("hand", HAND | {"scale": scale, "d_k": 9})).right
        head = ByHand(Settings("I like red wine", seed=3, d=4, d_k=9, d_v=4, scale=scale)).heads[0]
        assert float(head.products[3, 1] / head.scaled[3, 1]) == pytest.approx(by, rel=1e-4), scale
    for source in GENERATORS:
        head = ByHand(Settings("I like red wine", numbers=source, seed=3, d=4, d_k=4, d_v=4, heads=1)).heads[0]
        right = answer(ask("number", value="product"), Opened("hand", HAND | {"numbers": source})).right
        assert right == pytest.approx(float(head.products[3, 1])), source


@pytest.mark.parametrize(("name", "value"), [("tokens", "words"), ("special", "hidden"), ("of", "mean_heads")])
def test_a_cell_is_asked_of_one_head_and_of_pieces(translator, name, value):
    with pytest.raises(ValueError, match=f"leave “{name}” out"):
        answer(ask("cell", query="0"), shows(translator, step=2, kind="cross", **{name: value}))


@each_row(("values", "said"), [
    ({"step": 1_000_000}, "there is no step 1,000,000; choose an earlier one"),
    ({"layer": "7"}, "layer is '7'; choose one from 0 to 1"), ({"head": "-1"}, "choose one from 0 to 1"),
    ({"kind": "sideways"}, "has no 'sideways' attention"), ({"text": "a" * 400}, "reads at most")])
def test_a_link_to_what_is_not_there_is_found(translator, values, said):
    with pytest.raises(ValueError, match=said):
        step_or_reading(shows(translator, **values))


def test_every_stop_gets_its_finding(translator):
    stops = "".join(f"## {at}\n- link: /translate?layer={at}\n" for at in (0, 9))
    lesson = parse(f"---\ntitle: a\nminutes: 1\ndescription: b\n---\n{stops}".encode(), "mine")
    seen = []
    found = check(lesson, lambda stop: shows(translator, **stop.params), watch=lambda *done: seen.append(done))
    assert [one.problem for one in found] == [None, "layer is '9'; choose one from 0 to 1"]
    assert seen == [(0, 2), (1, 2)]


@pytest.mark.parametrize(("right", "tolerance"), [(0.105, 0.01), (82.7, 5.0), (-2.0, 0.0), (0.0, 0.5)])
def test_a_number_is_right_as_far_off_as_the_tolerance_and_no_further(right, tolerance):
    least, most = bounds(right, tolerance)
    assert is_number(right - tolerance, least, most) and is_number(right + tolerance, least, most)
    assert not is_number(right - tolerance - 0.001, least, most)
    assert not is_number(right + tolerance + 0.001, least, most)
