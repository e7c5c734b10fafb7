"""Questions for a room: every key is what a plain forward pass says, and no question gives its own away."""

import re
from collections import Counter
from functools import cache
from types import SimpleNamespace

import orjson
import pytest
import torch

import transformer
from tests.rooms.plain import agrees, opened, passes
from tests.rows import each_row
from transformer.by_hand.stages import SCALES, ByHand, Settings
from transformer.inference.reading import attend
from transformer.inference.sampling import Candidate
from transformer.lessons.opened_link import Row
from transformer.rooms.questions import KINDS, head, make, offers
from transformer.rooms.questions.kind import Moment, Options, QuestionRecord
from transformer.rooms.questions.wording import apart, mixed, most_is, percent

TEXT = "We can go home."
MODELS = ({}, {"encoder_layers": 0, "positions": "rotary"})  # a translator and a writer
STEPS = range(10)
HAND = {"text": "I like red wine", "seed": 3, "d": 4, "d_k": 4, "d_v": 4, "heads": 1, "scale": "sqrt(d_k)",
        "mask": "none", "positions": False, "numbers": "ours", "query": 3, "key": 1}


@cache
def made(about: str, ckpt, **options) -> list[tuple[dict, QuestionRecord]]:
    """The question at every step and head where the model has a clear answer, beside the values of the link."""
    found = []
    for step in STEPS:
        for layer in ("0", "1"):
            values = {"step": step, "kind": ckpt.config.kinds[-1], "layer": layer, "head": "1",
                      "text": "Go" if options.get("of") == "whose row" else TEXT}  # short enough to be drawn
            try:
                found.append((values, make(about, opened(ckpt, **values), **options)))
            except ValueError as error:
                if not re.search("hesitates|clearly more|look alike|the text ends|room to draw", str(error)):
                    raise
    assert len(found) > 3
    return found


def row(ckpt, values) -> torch.Tensor:
    return passes(ckpt, values["text"], values["step"])[1][values["kind"]][int(values["layer"])][1, -1]


def test_the_next_token_is_what_a_plain_pass_finds_likeliest(ckpt):
    for values, asked in made("next token", ckpt):
        probabilities, _ = passes(ckpt, TEXT, values["step"])
        top, ids = probabilities.topk(4)
        spec, key = asked.spec, asked.key
        assert spec["choices"][key["right"]] == ckpt.tokenizer.piece(int(ids[0]))
        assert Counter(spec["choices"]) == Counter(map(ckpt.tokenizer.piece, ids.tolist()))
        assert sorted(key["values"], reverse=True) == pytest.approx(top.tolist(), abs=1e-5)
        assert key["margin"] == pytest.approx(float((top[0] / top[1]).log()), abs=1e-3)
        assert key["margin"] >= 0.1 and top[0] - top[1] >= 0.0499


def test_the_cell_is_where_a_plain_pass_has_most_weight(ckpt):
    for values, asked in made("cell", ckpt):
        weights = row(ckpt, values)
        assert asked.key["values"][asked.key["right"]] == pytest.approx(float(weights.max()), abs=1e-5)
        assert asked.key["values"] == pytest.approx([float(weight) for weight in weights if float(weight) in
                                                     weights.topk(len(asked.key["values"])).values], abs=1e-5)
        assert asked.key["margin"] >= 0.1


@pytest.mark.parametrize("of", ["most on a token", "whose row"])
def test_the_head_is_the_one_of_a_plain_pass_whichever_is_on_the_page(ckpt, of):
    """Beside each stands what it does elsewhere, and not in the row that is asked about."""
    for values, asked in made("head", ckpt, of=of):
        weights = passes(ckpt, values["text"], values["step"])[1][values["kind"]][int(values["layer"])]  # (H, Tq, Tk)
        rows, right = weights[:, -1], asked.spec["heads"][asked.key["right"]]
        if of == "whose row":
            assert asked.spec["picture"]["values"] == pytest.approx(rows[right].tolist(), abs=1e-5)
            for other in {0, 1} - {right}:
                assert float((rows[other] - rows[right]).abs().sum()) / 2 >= 0.1499
        else:
            column = rows[:, asked.spec["on"]["at"]]
            assert int(column.argmax()) == right
            assert asked.key["values"] == pytest.approx(column.tolist(), abs=1e-5)
            keys = weights.shape[-1] if values["kind"] == "cross" else asked.spec["row"]["query"] + 1
            before = weights[asked.spec["heads"], max(0, weights.shape[1] - 9):-1, max(0, keys - 16):keys]
            assert asked.spec["other_rows"] == (99 * before).round().int().tolist()
        assert asked.spec["row"]["head"] is None
    for values, asked in made("head", ckpt, of=of)[:4]:
        other = make("head", opened(ckpt, **{**values, "head": "0"}), of=of)
        assert (other.spec, other.key["right"]) == (asked.spec, asked.key["right"])


def test_a_row_and_a_distribution_are_those_of_a_plain_pass(ckpt):
    for values, asked in made("distribution", ckpt)[:6]:
        probabilities, _ = passes(ckpt, TEXT, values["step"])
        by_piece = {ckpt.tokenizer.piece(id): float(p) for id, p in enumerate(probabilities)}
        *named, others = zip(asked.spec["labels"], asked.key["values"], strict=True)
        assert all(value == pytest.approx(by_piece[label], abs=1e-5) for label, value in named)
        assert others == ("all others", pytest.approx(1 - sum(value for _, value in named)))
    place = {"step": 3, "kind": ckpt.config.kinds[-1], "layer": "1", "head": "1"}
    text = "Go on." if ckpt.config.encoder_layers else "Go"
    asked = make("row", opened(ckpt, **place, text=text))
    weights = passes(ckpt, text, 3)[1][place["kind"]][1, 1, -1]
    assert asked.key["values"] == pytest.approx(weights.tolist(), abs=1e-5)
    assert len(asked.spec["labels"]) == len(weights)


def test_a_row_of_a_decoder_has_nothing_for_what_it_cannot_see(writer):
    at = opened(writer, step=2, text="Go on.", kind="decoder", layer="0", head="0")
    asked = make("row", at, query="3")
    assert len(asked.spec["labels"]) == 4 and sum(asked.key["values"]) == pytest.approx(1, abs=1e-5)
    with pytest.raises(ValueError, match="looks at one token"):
        make("cell", at, query="0")  # whatever comes after it


@pytest.mark.parametrize("of", ["probability", "weight"])
def test_a_number_is_that_of_a_plain_pass(ckpt, of):
    for values, asked in made("number", ckpt, of=of)[:6]:
        right = passes(ckpt, TEXT, values["step"])[0].max() if of == "probability" else row(ckpt, values).max()
        assert asked.key["right"] == pytest.approx(100 * float(right), abs=1e-3)
        assert (asked.spec["least"], asked.spec["most"]) == (0, 100) and asked.key["tolerance"] > 0


@pytest.mark.parametrize("of", ["weight", "product", "scaled", "divisor"])
def test_a_number_of_by_hand_is_the_one_on_its_page(of):
    head = ByHand(Settings("I like red wine", seed=3, d=4, d_k=4, d_v=4, heads=1)).heads[0]
    right = {"weight": head.weights, "product": head.products, "scaled": head.scaled}.get(of)
    asked = make("number", opened(None, "hand", **HAND), of=of)
    assert asked.key["right"] == pytest.approx(2.0 if right is None else float(right[3, 1]))
    assert asked.spec["least"] is None and asked.spec["most"] is None  # whoever is far off is wrong, and not refused


@pytest.mark.parametrize("scale", SCALES)
def test_what_a_number_is_computed_from_gives_it_however_wide_and_scaled(scale):
    def numbers(asked):
        return [[float(number.replace("−", "-")) for number in row[1]] for row in asked.spec["given"]["rows"]]

    wide = HAND | {"scale": scale, "d_k": 512, "first": 16}
    for of in ("product", "scaled"):
        asked = make("number", opened(None, "hand", **wide), of=of)
        if of == "scaled" and scale != "split":
            (product,), (divisor,) = numbers(asked)
            result = product / divisor
        else:
            q, k, (rest,) = numbers(asked)
            assert len(q) == len(k) == 8
            result = sum(a * b for a, b in zip(q, k, strict=True)) + rest
        assert result == pytest.approx(asked.key["right"], abs=asked.key["tolerance"])
    asked = make("number", opened(None, "hand", **wide), of="divisor")
    assert asked.spec["given"]["rows"] == {"1": [], "sqrt(d_model)": [["d", ["4"]]]}.get(scale, [["d_k", ["512"]]])
    assert ("each divided by ⁴√d_k" in asked.spec["ask"]) == (scale == "split")


def test_a_text_has_what_the_model_writes_beside_it(ckpt):
    asked = make("text", opened(ckpt, step=2))
    *_, last = transformer.steps(ckpt, TEXT, max_steps=43)
    assert asked.key["output"] == last.output and asked.key["right"] is None
    assert last.output not in asked.spec["ask"]


def test_every_sentence_has_the_key_of_its_own_pass(ckpt):
    texts, told = ["I am cold.", "Go on.", "He is tall.", "Who is it?", "Go on."], []
    asked = make("own sentence", opened(ckpt, step=0), sentences=texts, watch=lambda *done: told.append(done))
    assert len(asked.spec["each"]) + asked.spec["left_out"] == 4 and told[-1] == (4, 4)
    for one, key in zip(asked.spec["each"], asked.key["each"], strict=True):
        probabilities, _ = passes(ckpt, one["text"], 0)
        assert one["choices"][key["right"]] == ckpt.tokenizer.piece(int(probabilities.argmax()))
        assert key["margin"] >= 0.1


def test_sentences_are_refused_where_there_is_nothing_to_give_out(translator):
    at = opened(translator, step=0)
    for sentences, said in ((["x" * 201], "room for 200"), ([" "], "give 2 to 200"), (1, "choose 2 to 200"),
                            (201, "choose 2 to 200"), ([f"I am {at}." for at in range(201)], "give 2 to 200"),
                            ("one", "give a list"), (None, "training corpus")):
        with pytest.raises(ValueError, match=said):
            make("own sentence", at, sentences=sentences)


MOMENTS = [
    ("translate", "step", {"step": 3, "kind": "cross", "layer": "1", "head": "3"}),
    ("translate", "step", {"text": "She is not as tall as her brother.", "step": 5, "kind": "cross", "layer": "1"}),
    ("write", "step", {"text": "KING ", "step": 4, "kind": "decoder", "layer": "2", "head": "1", "temperature": 0.8}),
    ("classify", "reading", {"text": "To be, or not to be, that is the question", "kind": "encoder", "layer": "1"})]


@pytest.mark.parametrize(("name", "what", "values"), MOMENTS)
def test_what_is_offered_is_so_on_the_weights_that_come_with_the_app(shipped, name, what, values):
    ckpt = shipped(name)
    at = opened(ckpt, what, **values)
    found = {offer.kind.name: offer for offer in offers(at)}
    assert [*found] == [*KINDS] and len({kind.title for kind in KINDS.values()}) == len(KINDS)
    assert all((offer.question is None) or (offer.why is None) for offer in found.values())
    assert sum(offer.question is not None for offer in found.values()) >= 4 and found["own sentence"].why is None
    for offer in found.values():
        if offer.question:
            assert agrees(offer.question, at), offer.kind.name
            assert offer.question.key["proof"]["checkpoint"] == ckpt.id
    if what == "reading":
        values = attend(ckpt, at.values["text"]).logits.exp()
        assert found["distribution"].question.key["values"] == pytest.approx(values.tolist(), abs=1e-6)
        asked = found["next token"].question
        assert asked.spec["choices"][asked.key["right"]] == ckpt.classes[int(values.argmax())]
        return
    temperate = passes(ckpt, at.values["text"], 0)[0] if values.get("temperature") else None
    if temperate is None:
        probabilities = passes(ckpt, at.values["text"], values["step"])[0]
        asked = found["next token"].question
        assert asked.spec["choices"][asked.key["right"]] == ckpt.tokenizer.piece(int(probabilities.argmax()))


def test_a_link_that_leads_nowhere_offers_nothing_and_says_why(translator):
    found = offers(opened(translator, step=1_000_000))
    assert [offer.kind.name for offer in found] == [*KINDS]
    assert all(offer.question is None and "choose an earlier one" in offer.why for offer in found)
    hand = {offer.kind.name for offer in offers(opened(None, "hand", **HAND)) if offer.question}
    assert hand == {"number", "text"}


def test_a_question_kept_as_json_is_the_same_and_a_key_that_is_not_the_models_is_noticed(translator):
    at = opened(translator, step=2, choices={0: transformer.start(translator, TEXT).top(5)[4].id})
    questions = [offer.question for offer in offers(at) if offer.question]
    assert len(questions) > 3
    for question in questions:
        kept = QuestionRecord(**orjson.loads(orjson.dumps({"spec": question.spec, "key": question.key})))
        assert kept == question and agrees(kept, at)
        if (right := question.key["right"]) is not None:
            assert not agrees(QuestionRecord(question.spec, question.key | {"right": right + 1}), at)
    assert not agrees(make("number", at), opened(translator, step=4))


@pytest.mark.slow
def test_held_out_sentences_are_given_out(shipped):
    at = opened(shipped("translate"), step=0)
    asked, again, other = (make("own sentence", at, sentences=20, seed=seed) for seed in (2, 2, 3))
    texts = [one["text"] for one in asked.spec["each"]]
    assert len({*texts}) == len(texts) and len(texts) + asked.spec["left_out"] == 20
    assert asked.spec == again.spec != other.spec
    assert agrees(asked, at)


PUBLIC = {"about", "form", "ask", "choices", "labels", "row", "unit", "least", "most", "longest", "each", "pieces",
          "given", "text", "written", "heads", "on", "picture", "left_out", "of",
          "other_rows", "worth"}


@pytest.mark.slow
def test_no_question_gives_its_key_away(ckpt):
    for about, options in (("next token", {}), ("cell", {}), ("head", {}), ("head", {"of": "whose row"}),
                           ("number", {}), ("distribution", {}), ("text", {})):
        for _, asked in made(about, ckpt, **options):
            spec = orjson.loads(orjson.dumps(asked.spec))
            orjson.dumps(asked.key)
            assert spec.keys() <= PUBLIC
            shown = {**spec, "picture": None, "least": None, "most": None}
            assert not [value for value in _leaves(shown) if isinstance(value, float)]
            assert asked.key["said"] not in orjson.dumps(spec).decode()


def test_the_order_says_nothing(ckpt):
    places, sorted_ones, count = Counter(), 0, 0
    for about in ("next token", "distribution"):
        for _, asked in made(about, ckpt):
            values = asked.key["values"][:6 if about == "distribution" else 4]
            places[max(range(len(values)), key=values.__getitem__)] += 1
            sorted_ones += values in (sorted(values), sorted(values, reverse=True))
            count += 1
    assert len(places) > 2 and sorted_ones < count / 3
    tokens = [Candidate(id, str(id), 0.1 * id) for id in range(6)]
    others = [Candidate(one.id, one.piece, 0.6 - one.probability) for one in reversed(tokens)]
    orders = [[one.id for one in mixed(few, "text", 3, by=lambda one: one.id)] for few in (tokens, others)]
    assert orders[0] == orders[1] and mixed(range(6), "a") != mixed(range(6), "b")


def test_a_head_is_asked_for_where_it_leads_clearly(translator, monkeypatch):
    """Though another token, at which two heads look hard, parts them by more."""
    weights = torch.tensor([[0.95, 0.04, 0.01], [0.85, 0.01, 0.14]])  # leads: 0.10 and 0.11 nats, 0.03, 0.13 and 2.6
    row = Row("cross", 0, 0, 0, ("q",), ("a", "b", "c"), (), (0, 1, 2))
    monkeypatch.setattr(head, "row_of", lambda *_: row)
    moment = SimpleNamespace(opened=None, context=dict, proof=dict, source=SimpleNamespace(
        ckpt=translator, attended=lambda *_: (None, weights[None, :, None])))
    assert KINDS["head"].make(moment, Options()).spec["on"]["token"] == "c"
    weights[:] = torch.tensor([[0.99, 0.01, 0], [0.93, 0.07, 0]])  # 0.06 apart, and 0.06 nats; 0.06, and 1.9
    assert KINDS["head"].make(moment, Options()).spec["on"]["token"] == "b"


def test_where_most_is_claims_no_more_than_there_is():
    assert most_is(["a", "b", "c"], [0.2, 0.7, 0.1]) == "Most is on b, 70.0%."
    assert most_is(["a", "b", "c"], [0.46, 0.08, 0.46]) == "Most is on a and c, 46.0% and 46.0%."
    assert most_is(["a", "b", "c"], [0.33, 0.34, 0.33]) == "It is nearly uniform: from 33.0% to 34.0% each."
    assert most_is(["a", "b"], [0.5, 0.5]) == "It is nearly uniform: from 50.0% to 50.0% each."
    assert [percent(share) for share in (0, 1e-9, 0.123, 0.9999, 1)] == [
        "0%", "less than 0.01%", "12.3%", "99.99%", "100%"]
    assert apart(["e", "n", "e", "▁"]) == ["e₁", "n", "e₂", "▁"]  # so that what stands there twice is told apart


@pytest.mark.parametrize(("logits", "said"), [
    ([9.0, 0.0, 0.0], "99.98%"), ([2.0, 1.0, 0.0], "66.5%"), ([1.0, 1.02, 0.0], None)])
def test_a_probability_is_never_said_to_be_all_and_no_likeliest_one_named_where_there_is_none(make_checkpoint, logits,
                                                                                              said):
    moment = Moment(opened(make_checkpoint(decoder_layers=0, n_classes=3, pooling="mean"), "reading"))
    object.__setattr__(moment.source, "logits", torch.tensor(logits).log_softmax(0))
    if said:
        assert KINDS["number"].make(moment, Options()).key["said"] == f"The model gives it {said}."
    else:
        with pytest.raises(ValueError, match="the model hesitates"):
            KINDS["number"].make(moment, Options())


@each_row(("about", "what", "options", "said"), [
    ("colour", "step", {}, "choose one of next token"), ("cell", "step", {"of": "x"}, "leave 'x' out"),
    ("head", "step", {"of": "x"}, "choose one of most on a token"), ("cell", "hand", {}, "open Translate"),
    ("next token", "other", {}, "open Translate or Write"), ("row", "step", {"query": "99"}, "choose one from 0"),
    ("head", "step", {"heads": [0]}, "one head to choose from"), ("head", "step", {"heads": [0, 9]}, "no head 9"),
    ("number", "step", {"of": "divisor"}, "open By hand"),
    ("number", "hand", {"of": "probability"}, "no probability"),
    ("own sentence", "other", {}, "open Translate, Write or Classify"),
    ("own sentence", "step", {"of": "class"}, "open Classify")])
def test_a_question_that_cannot_be_asked_says_what_to_do(translator, about, what, options, said):
    with pytest.raises(ValueError, match=said):
        make(about, opened(translator, what, **(HAND if what == "hand" else {})), **options)


def test_ones_own_words_are_asked(translator):
    assert make("number", opened(translator), ask="  How sure is it? ").spec["ask"] == "How sure is it?"
    assert make("number", opened(translator), ask=" ").spec["ask"].startswith("What probability")


def _leaves(value):
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)
    else:
        yield value
