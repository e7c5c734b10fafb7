"""Comparison of an imported checkpoint with the model it came from, run by the transformers package on the same ids."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from transformer.checkpoints.checkpoint import Checkpoint, load
from transformer.huggingface.folder import Refused, read_json
from transformer.model.attention import AttentionOutput

if TYPE_CHECKING:
    from transformers.modeling_utils import PreTrainedModel  # from transformers itself it takes Pyright half a minute

CLASSES = {  # of the transformers package, by the part of a model that was imported
    "text": "AutoModelForCausalLM", "translation": "AutoModelForSeq2SeqLM", "masked": "AutoModelForMaskedLM",
    "classes": "AutoModelForSequenceClassification", "none": "AutoModel"}
TOKENS = 24
BOUND = 1e-4


def compare(folder: Path, source: str | Path) -> dict[str, object]:
    """The largest differences of logits and of attention weights, ours and theirs, on random ids, and whether all are
    within `BOUND` of the largest compared value, or of 1 if that is less.

    Raises ValueError if the transformers package is not installed or `source` is no longer there.
    """
    if not find_spec("transformers"):
        raise Refused("--check compares with the transformers package: pip install transformers")
    ckpt = load(folder)
    if Path(source).is_dir() and read_json(Path(source) / "config.json").get("model_type") != ckpt.meta["family"]:
        raise Refused(f"{folder.name} was not imported from {source}; name the folder that it came from")
    ours, theirs = both(ckpt, open_theirs(ckpt, source), seed=1)
    apart = {name: (ours[name] - theirs[name]).abs().max().item() for name in ours}
    most = {name: BOUND * max(1.0, theirs[name].abs().max().item()) for name in ours}
    differ = [name for name in ours if not apart[name] <= most[name]]
    verdict = f"agrees: all within {BOUND:g} of the largest value, or of 1"
    if differ:
        rounded = f"; its weights are kept as {ckpt.meta['precision']} here" if "precision" in ckpt.meta else ""
        verdict = "does not agree: " + ", ".join(
            f"{name} differ by {apart[name]:.1e}, and should by at most {most[name]:.1e}" for name in differ) + rounded
    return {"compared_with": "transformers", "largest_difference": apart, "agrees": not differ, "verdict": verdict}


def open_theirs(ckpt: Checkpoint, source: str | Path) -> "PreTrainedModel":
    """The same weights as a model of the transformers package: from safetensors alone, and without code that came with
    them."""
    chosen = getattr(import_module("transformers"), CLASSES[ckpt.config.head or ckpt.config.task])
    family, alibi = ckpt.meta.get("family"), ckpt.config.positions == "alibi"
    # eager Falcon adds ALiBi twice, once in the mask; the other way is right, and says nothing of weights
    way = "sdpa" if family == "falcon" and alibi else "eager"
    here = Path(source).is_dir()
    name, _, revision = (str(source), "", "") if here else str(source).partition("@")
    model = chosen.from_pretrained(name, revision=revision or "main", use_safetensors=True, trust_remote_code=False,
                                   local_files_only=here, attn_implementation=way,
                                   dtype=torch.float32)  # or tables that it makes would be rounded too
    if family == "mpt":  # transformers ignores the alibi_bias_max of its configuration
        body = model.transformer
        body.build_mpt_alibi_tensor = partial(body.build_mpt_alibi_tensor, alibi_bias_max=ckpt.config.alibi_max)
    return model.eval().requires_grad_(False)


@torch.no_grad()
def both(ckpt: Checkpoint, theirs: "PreTrainedModel", *, seed: int,
         length: int = TOKENS) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Logits (or final rows) and the weights of each kind of attention (layers, H, Tq, Tk), ours and theirs, of random
    ids; no weights if their model does not return them."""
    config, generator = ckpt.config, torch.Generator().manual_seed(seed)
    length = min(length, config.max_len)

    def some(vocab: int) -> Tensor:  # any id but padding, which only one side masks
        ids = torch.randint(0, vocab - (config.pad_id is not None), (1, length), generator=generator)
        return ids if config.pad_id is None else ids + (ids >= config.pad_id)

    src, tgt = some(config.src_vocab_size or config.vocab_size), some(config.vocab_size)
    model = ckpt.model
    if not config.decoder_layers:
        read = model.encode(src, readable=True)
        ours = {"logits": model.read(read.x, src)[0], "encoder": _weights(read.attention)}
        other = theirs(src, output_attentions=True)
        logits = other.last_hidden_state[0] if config.head == "none" else other.logits[0]
        return ours, {"logits": logits.log_softmax(-1) if config.n_classes else logits,
                       "encoder": torch.cat(other.attentions)}
    if not config.encoder_layers:
        read = model.decode(tgt, causal=True, readable=True)
        has_weights = theirs.config._attn_implementation == "eager"
        other = theirs(tgt, output_attentions=has_weights)
        ours, expected = {"logits": model.project(read.x)[0]}, {"logits": other.logits[0]}
        if has_weights:
            ours["decoder"] = _weights(read.attention)
            expected["decoder"] = torch.cat(other.attentions)
        return ours, expected
    tgt[0, 0] = config.start_id
    memory = model.encode(src, readable=True)
    read = model.decode(tgt, memory.x, causal=True, readable=True)
    other = theirs(input_ids=src, decoder_input_ids=tgt, output_attentions=True)
    return ({"logits": model.project(read.x)[0], "encoder": _weights(memory.attention),
             "decoder": _weights(read.attention), "cross": _weights(read.cross)},
            {"logits": other.logits[0], "encoder": torch.cat(other.encoder_attentions),
             "decoder": torch.cat(other.decoder_attentions), "cross": torch.cat(other.cross_attentions)})


def _weights(layers: Sequence[AttentionOutput]) -> Tensor:
    """The weights (layers, H, Tq, Tk) of a pass that is readable."""
    return torch.cat([one.weights for one in layers if one.weights is not None])
