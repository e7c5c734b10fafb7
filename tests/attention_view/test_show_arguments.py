"""Every argument of `transformer.show` has an effect on what is shown, or is refused with the reason."""

import inspect
from dataclasses import fields
from types import SimpleNamespace

import pytest

import transformer
from tests.attention_view.test_captured import GPT2, READERS, T5, made, tokenizer  # noqa: F401
from tests.attention_view.test_html import layers
from tests.rows import each_row
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.notebook import show
from transformer.inference.decoding import Sampling

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # slow: importing transformers takes seconds
TEXT = "the cat sat"
ABCD, WX = ["a", "Ġb", "c", "d"], ["w", "Ġx"]
PARTS = {"encoder_attention": layers(4, 4), "decoder_attention": layers(2, 2, causal=True),
         "cross_attention": layers(2, 4), "encoder_tokens": ABCD, "decoder_tokens": WX}
OTHER = {  # a value of each argument that is not the usual one
    "source": layers(4, 4), "tokens": WX, "text": TEXT, "kind": "encoder", "layer": 1, "head": 1, "heads": [0, 1],
    "level": "head", "sampling": Sampling(temperature=3.0, seed=4), "exact": False, "height": 300, "live": True,
    "html_action": "view", "attention": layers(4, 4), "encoder_attention": layers(4, 4),
    "decoder_attention": layers(2, 2, causal=True), "cross_attention": layers(2, 4), "encoder_tokens": ABCD,
    "decoder_tokens": WX, "prettify_tokens": False, "include_layers": [1], "include_heads": [1], "sentence_b_start": 1}
ELSEWHERE = dict.fromkeys([field.name for field in fields(ExternalWeights) if field.name != "tokens"],
                          "for weights from elsewhere")
WEIGHTS = {"text": "a text is for a model that reads it", "level": "only weights are known",
           "sampling": "nothing writes"}
THEMSELVES = "has these parts itself"
OWN = "attention is for a model with self-attention only"
NO_EFFECT = "no effect on this attention"
MODEL = {"kind": "there is no", "level": "only weights are known", **ELSEWHERE}
REFUSED = {  # for each thing that can be shown, the arguments that it does not take
    "attention": {**WEIGHTS, "kind": "no decoder attention here", "attention": "given twice", "encoder_attention": OWN,
                  "decoder_attention": OWN, "cross_attention": OWN, "encoder_tokens": f"encoder_tokens has {NO_EFFECT}",
                  "decoder_tokens": f"decoder_tokens has {NO_EFFECT}"},
    "named": {**WEIGHTS, "source": "given twice", "kind": "no decoder attention here", "encoder_tokens": NO_EFFECT,
              "encoder_attention": OWN, "decoder_attention": OWN, "cross_attention": OWN, "decoder_tokens": NO_EFFECT},
    "parts": {**WEIGHTS, "source": OWN, "attention": OWN, "tokens": f"tokens has {NO_EFFECT}",
              "sentence_b_start": "of one text"},
    "encoder's part": {**WEIGHTS, "source": OWN, "attention": OWN, "tokens": NO_EFFECT, "decoder_tokens": NO_EFFECT,
                       "kind": "no decoder attention here", "decoder_attention": "decoder_tokens is missing",
                       "cross_attention": "decoder_tokens is missing"},
    "output": {**WEIGHTS, "tokens": NO_EFFECT, "attention": "given twice", "encoder_attention": THEMSELVES,
               "decoder_attention": THEMSELVES, "cross_attention": THEMSELVES,
               "sentence_b_start": "of one text"},
    "step": {"tokens": "tokens: .* for weights from elsewhere", "text": WEIGHTS["text"], **ELSEWHERE},
    "reading": {"tokens": "tokens: .* for weights from elsewhere", "text": WEIGHTS["text"],
                "sampling": "nothing writes", **ELSEWHERE},
    "words": {"tokens": "tokens: .* for weights from elsewhere", "text": WEIGHTS["text"], "level": "only weights",
              "sampling": "nothing writes", **ELSEWHERE},
    "translator": {"tokens": "for weights from elsewhere", **ELSEWHERE},
    "writer": {"tokens": "for weights from elsewhere", "kind": "there is no encoder", **ELSEWHERE},
    "classifier": {"tokens": "for weights from elsewhere", "kind": "there is no decoder", "sampling": "nothing writes",
                   **ELSEWHERE},
    "their writer": MODEL, "their translator": {name: why for name, why in MODEL.items() if name != "kind"},
    "their reader": {**MODEL, "kind": "there is no decoder", "sampling": "nothing writes"}}


@pytest.fixture(scope="module")
def sources(translator, writer, classifier, tokenizer):  # noqa: F811
    """What each is handed in as."""
    *_, step = transformer.steps(translator, "Go on.", max_steps=3)
    reading = transformer.attend(translator, "Go on.", "He is")
    parts = {name: PARTS[name] for name in ("encoder_attention", "decoder_attention", "cross_attention")}
    output = SimpleNamespace(**{f"{name}s": layers for name, layers in parts.items()})
    theirs = {"their writer": made("GPT2LMHeadModel", GPT2), "their translator": made("T5ForConditionalGeneration", T5),
              "their reader": made("DistilBertModel", READERS["DistilBertModel"])}
    return {"attention": {"source": layers(4, 4), "tokens": ABCD}, "named": {"attention": layers(4, 4), "tokens": ABCD},
            "parts": PARTS, "encoder's part": {name: PARTS[name] for name in ("encoder_attention", "encoder_tokens")},
            "output": {"source": output, "encoder_tokens": ABCD, "decoder_tokens": WX},
            "step": {"source": step}, "reading": {"source": reading}, "words": {"source": reading.words()},
            **{name: {"source": ckpt, "text": "Go on."} for name, ckpt in (
                ("translator", translator), ("writer", writer), ("classifier", classifier))},
            **{name: {"source": model, "tokens": tokenizer, "text": TEXT} for name, model in theirs.items()}}


@pytest.fixture(scope="module")
def plain(sources):
    """What each is drawn as without further arguments."""
    return {name: drawn(**given) for name, given in sources.items()}


def drawn(**given):
    """All that somebody sees of it."""
    picture = show(**{"live": False, **given})
    return picture and (type(picture), picture.height, picture.page)


def arguments():
    names = [name for name, one in inspect.signature(show).parameters.items() if one.kind != one.VAR_KEYWORD]
    return {*names, *(field.name for field in fields(ExternalWeights))}


def test_every_argument_has_a_row():
    assert OTHER.keys() == arguments()


@each_row(("name", "argument"), [(name, argument) for name in REFUSED for argument in sorted(arguments())])
def test_what_is_asked_for_has_an_effect_or_is_refused(name, argument, sources, plain, monkeypatch):
    given, why = sources[name], REFUSED[name].get(argument)
    if argument in given:
        return  # how it is handed in
    monkeypatch.setattr("IPython.display.display", lambda picture: None)
    value = OTHER[argument]
    if argument == "kind" and why is not None and "decoder" in why:
        value = "decoder"
    elif (name, argument) == ("translator", "layer"):
        value = 0  # it opens at the other
    if why is not None:
        with pytest.raises(ValueError, match=why):
            drawn(**given, **{argument: value})
    else:
        assert drawn(**given, **{argument: value}) != plain[name], f"{argument} has no effect on {name}"


def test_what_other_arguments_leave_without_an_effect_is_refused(sources):
    hot = Sampling(temperature=2.0)
    for given, why in ((sources["step"] | {"exact": False, "sampling": hot}, "sampling has no effect"),
                       (sources["attention"] | {"heads": []}, "heads is empty")):
        with pytest.raises(ValueError, match=why):
            drawn(**given)
    for name in sources:
        with pytest.raises(TypeError, match="show.. got an unexpected keyword argument 'colour'"):
            drawn(**sources[name], colour="red")
