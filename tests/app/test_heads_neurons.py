"""Neurons: the list against the library, the one that is chosen, and models that have none."""

import pytest
import torch

import transformer
from tests.labels import labels as labelled
from transformer.analysis.neurons import contexts, strongest_contexts, writes
from transformer.evaluation.held_out import held_out_sentences
from ui.figures import plain_label, signed_number

from .page import chips, press, words

PAGE = "heads"
TEXT, TARGET, SO_FAR = "a dog is tall.", "o dog is toll.", "o dog"
pytestmark = pytest.mark.usefixtures("lasting")


@pytest.fixture
def open_neurons(visit, made):
    """The view of the token that follows `SO_FAR`."""
    return lambda **params: visit(PAGE, **{"view": "neurons", "checkpoint": made("translator").id, "text": TEXT,
                                           "target": TARGET, "position": str(len(SO_FAR))} | params)


def labels(at) -> list[str]:
    return [button.label for button in at.button if (button.key or "").startswith("heads_neuron_")]


@pytest.mark.parametrize("order", ["adds", "fires"])
def test_the_list_is_that_of_the_gradient_and_of_the_values(open_neurons, made, order):
    ckpt = made("translator")
    at = open_neurons(neurons=order)
    assert not at.error
    run = transformer.run(ckpt, TEXT, SO_FAR, capture="decoder.*.mlp_post")
    id = ckpt.tokenizer.encode(TARGET)[len(SO_FAR)]
    slopes = run.grad(lambda run: run.logits[-1, id])
    values = torch.stack([run[f"decoder.{layer}.mlp_post"] for layer in range(2)])
    adds = (values * torch.stack([slopes[f"decoder.{layer}.mlp_post"] for layer in range(2)])).sum(1)
    ranked = (adds if order == "adds" else values[:, -1]).abs()
    first = [divmod(place, ranked.shape[1]) for place in ranked.flatten().topk(12).indices.tolist()]
    for shown, (layer, number) in zip(labels(at), first, strict=True):
        fires, more = f"{float(values[layer, -1, number]):.2f}", signed_number(float(adds[layer, number]))
        assert shown == f"layer {layer} · neuron {number:,}: fires {fires}, adds {more}"
    layer, number = first[0]
    assert f"**Decoder, layer {layer} · neuron {number:,}**" in words(at)
    written = writes(ckpt, layer, number)
    for name, found in (("It makes likelier", written.promoted), ("and less likely", written.suppressed)):
        assert f"{name}: " + " · ".join(f"**{plain_label(one.piece)}**" for one in found) in words(at)
    found = strongest_contexts(ckpt, "decoder", layer, held_out_sentences(ckpt, limit=200))
    best = contexts(found, ckpt, "decoder", number)[0]
    assert chips(at, f"context at {best.value:.2f}") == labelled(best.tokens, ckpt.tokenizer)


def test_another_is_chosen_and_in_the_link(open_neurons):
    at = open_neurons()
    key = [one.key for one in at.button if (one.key or "").startswith("heads_neuron_")][3]
    _, _, layer, number = key.split("_")
    press(at, key)
    assert at.query_params["neuron"] == f"decoder-{layer}-{number}"
    for page in (at, open_neurons(neuron=f"decoder-{layer}-{number}")):
        assert f"layer {layer} · neuron {int(number):,}**" in words(page)


@pytest.mark.parametrize("neuron", ["decoder-9-1", "decoder-0-99999", "cross-0-0", "x", "encoder-0-0"])
def test_a_neuron_that_is_not_there_is_the_first_of_the_list(open_neurons, neuron):
    at = open_neurons(neuron=neuron)
    first = labels(at)[0].partition(":")[0]
    assert not at.error and f"**Decoder, {first}**" in words(at)


def test_other_models_have_neurons_too_and_those_without_held_out_text_or_neurons_say_so(open_neurons, made):
    for kind in ("writer", "classifier"):
        at = open_neurons(checkpoint=made(kind).id, target="")
        assert not at.error and len(labels(at)) == 12 and "held-out texts" in words(at), kind
    masked = made("classifier", corpus=False, head="masked", n_classes=None, pooling=None)
    at = open_neurons(checkpoint=masked.id, target="")
    assert labels(at) and "Its contexts in other texts" in words(at)
    at = open_neurons(checkpoint=made("writer", d_ff=0).id, target="")
    assert "attention alone" in at.info[0].value


def test_the_direct_effects_lead_to_the_neurons(open_neurons):
    at = open_neurons(view="direct")
    at.button(key="heads_to_neurons").click().run()
    assert at.query_params["view"] == "neurons" and at.query_params["position"] == str(len(SO_FAR)) and labels(at)
