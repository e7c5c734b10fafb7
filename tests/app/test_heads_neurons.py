"""Neurons: the list against the library, the one that is chosen, and models that have none."""

import pytest
import torch

import transformer
from transformer.analysis.neurons import contexts, strongest_contexts, writes
from transformer.held_out import held_out_sentences

from .page import chips, words

PAGE, OPENING = "heads", {"view": "neurons"}
TEXT = "I like red wine."


def labels(at) -> list[str]:
    return [button.label for button in at.button if (button.key or "").startswith("heads_neuron_")]


@pytest.mark.parametrize("order", ["adds", "fires"])
def test_the_list_is_that_of_the_gradient_and_of_the_values(open_page, shipped, order):
    ckpt = shipped("translate")
    at = open_page(text=TEXT, position="5", neurons=order)
    assert not at.error
    run = transformer.run(ckpt, TEXT, "J'aime le vin", capture="decoder.*.mlp_post")
    id = int(run.logits[-1].argmax())
    slopes = run.grad(lambda run: run.logits[-1, id])
    values = torch.stack([run[f"decoder.{layer}.mlp_post"] for layer in range(2)])
    adds = (values * torch.stack([slopes[f"decoder.{layer}.mlp_post"] for layer in range(2)])).sum(1)
    ranked = (adds if order == "adds" else values[:, -1]).abs()
    layer, number = divmod(int(ranked.argmax()), ranked.shape[1])
    assert labels(at)[0].startswith(f"layer {layer} · neuron {number:,}: fires {float(values[layer, -1, number]):.2f}")
    assert len(labels(at)) == 12
    assert f"**Decoder, layer {layer} · neuron {number:,}**" in words(at)
    promoted = writes(ckpt, layer, number).promoted[0].piece.replace("▁", "␣")
    assert promoted in words(at)
    found = strongest_contexts(ckpt, "decoder", layer, held_out_sentences(ckpt, limit=200))
    best = contexts(found, ckpt, "decoder", number)[0]
    assert chips(at, f"context at {best.value:.2f}") == [token.replace("▁", "␣") for token in best.tokens]


def test_another_is_chosen_and_in_the_link(open_page):
    at = open_page(text=TEXT, position="5")
    button = [one for one in at.button if (one.key or "").startswith("heads_neuron_")][3]
    _, _, layer, number = button.key.split("_")
    button.click().run()
    assert at.query_params["neuron"] == f"decoder-{layer}-{number}"
    assert f"layer {layer} · neuron {int(number):,}**" in words(at)
    again = open_page(text=TEXT, position="5", neuron=f"decoder-{layer}-{number}")
    assert f"layer {layer} · neuron {int(number):,}**" in words(again)


@pytest.mark.parametrize("neuron", ["decoder-9-1", "decoder-0-99999", "cross-0-0", "x", "encoder-0-0"])
def test_a_neuron_that_is_not_there_is_the_first_of_the_list(open_page, neuron):
    at = open_page(text=TEXT, neuron=neuron)
    assert not at.error and not at.exception and "**Decoder, layer" in words(at)


@pytest.mark.parametrize("name", ["write", "classify", "punctuate"])
def test_other_models_have_neurons_too(open_page, shipped, name):
    at = open_page(checkpoint=shipped(name).id)
    assert not at.error and not at.exception and len(labels(at)) == 12


@pytest.mark.parametrize("settings", [{"decoder_layers": 0, "head": "masked"}, {"encoder_layers": 0, "d_ff": 0}])
def test_models_without_held_out_text_or_neurons_say_so(open_page, place, settings):
    ckpt = place(**settings)
    at = open_page(checkpoint=ckpt.id, text="I am cold.")
    assert not at.exception
    if ckpt.config.d_ff:
        assert labels(at) and "Its contexts in other texts" in words(at)
    else:
        assert "attention alone" in at.info[0].value


def test_the_direct_effects_lead_to_the_neurons(open_page):
    at = open_page(view="direct", text=TEXT, position="5")
    at.button(key="heads_to_neurons").click().run()
    assert at.query_params["view"] == "neurons" and at.query_params["position"] == "5" and labels(at)
