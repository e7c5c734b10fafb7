"""A packed checkpoint is no larger than its weights, holds them as they are, and what a browser lacks is refused."""

from copy import deepcopy
from dataclasses import replace
from typing import Literal

import orjson
import pytest
import torch

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.publishing import weights
from transformer.publishing.weights import pack
from transformer.settings.config import ModelConfig


class LaterConfig(ModelConfig):
    """What a model may become: a field that is new, and a value that is new."""

    spin: float = 0.0
    activation: Literal["relu", "gelu", "gelu_tanh", "silu", "snake"] = "relu"


def later(ckpt: Checkpoint, **changes: object) -> Checkpoint:
    config = LaterConfig(**{**ckpt.config.model_dump(), **changes})
    return replace(ckpt, description=replace(ckpt.description, config=config))


def header(packed: bytes) -> dict:
    return orjson.loads(packed[4:4 + int.from_bytes(packed[:4], "little")])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["translate", "write", "classify"])
def test_a_packed_checkpoint_is_no_larger_than_its_weights_and_tokenizer(shipped, name):
    files = [shipped(name).description.folder / file for file in ("model.safetensors", "tokenizer.model")]
    assert len(pack(shipped(name))) <= 1.01 * sum(file.stat().st_size for file in files)


@pytest.mark.parametrize("half", [True, False])
def test_weights_are_packed_as_they_are(make_checkpoint, half):
    ckpt = make_checkpoint(encoder_layers=0)
    ckpt = replace(ckpt, model=deepcopy(ckpt.model).half().float()) if half else ckpt
    packed = pack(ckpt)
    content, about = packed[4 + int.from_bytes(packed[:4], "little"):], header(packed)
    for tensor in about["tensors"]:
        kind = getattr(torch, tensor["type"])
        weight = ckpt.model.get_parameter(tensor["name"])
        found = torch.frombuffer(bytearray(content), dtype=kind, count=weight.numel(), offset=tensor["offset"])
        assert torch.equal(found.float(), weight.flatten()), tensor["name"]
    assert {tensor["type"] for tensor in about["tensors"] if "proj" in tensor["name"]
            and tensor["name"].endswith("weight")} == {"float16" if half else "float32"}


def test_tied_and_shared_weights_come_once(make_checkpoint):
    settings = {"encoder_layers": 0, "logits_bias": False}
    one, other = (header(pack(make_checkpoint(**settings, tie_embeddings=tied, shared_layers=tied)))
                  for tied in (True, False))
    places = [{tensor["offset"] for tensor in about["tensors"]} for about in (one, other)]
    assert len(places[0]) < len(places[1]) == len(other["tensors"])
    by_name = {tensor["name"]: tensor["offset"] for tensor in one["tensors"]}
    assert by_name["output.weight"] == by_name["tgt_embedding.tokens.weight"]
    assert by_name["decoder.layers.0.feed_forward.up.weight"] == by_name["decoder.layers.1.feed_forward.up.weight"]


@pytest.mark.parametrize(("changes", "reason"), [
    ({"spin": 0.5}, "spin 0.5 is not computed there"), ({"activation": "snake"}, "activation snake is not computed")])
def test_what_a_later_model_has_is_refused_until_it_is_computed(translator, changes, reason):
    pack(later(translator))
    with pytest.raises(ValueError, match=reason):
        pack(later(translator, **changes))


class Other:
    kind = "huggingface"  # a kind of tokenizer


def test_a_refusal_has_all_reasons_and_says_what_to_do(translator, monkeypatch):
    monkeypatch.setattr(weights, "LARGEST", 1_000)
    other = replace(later(translator, spin=1.0), tokenizer=Other())
    with pytest.raises(ValueError, match="(?s)spin 1.0.*kind huggingface.*in half precision.*Publish another"):
        pack(other)
