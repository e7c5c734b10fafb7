"""From texts to the ids that a model reads.

S source length, T target length.
"""

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.sampling import begun
from transformer.inference.validation import check_checkpoint, check_text

if TYPE_CHECKING:
    from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer


def prompt(ckpt: Checkpoint, text: str, target: str | None = None) -> tuple[Tensor | None, Tensor | None]:
    """What the encoder (1, S) and the decoder (1, T) read of one text, and of a target that is forced; None for a side
    that the model has not. Raises ValueError for what is too long, empty, or cannot be read."""
    check_checkpoint(ckpt)
    check_text(text)
    config, src, tgt = ckpt.config, None, None
    if target is not None:
        check_text(target, name="the target")
        if config.task != "translation":
            raise ValueError(f"{ckpt.id} reads one text and has no place for a target; " + (
                "put it at the end of the text" if config.decoder_layers else "leave it out"))
    ids = ckpt.source_tokenizer.encode(text)
    if config.encoder_layers:
        if not ids:
            raise ValueError("there is nothing to read; type a sentence")
        check_padding(ids, config.pad_id)
        src = [*ids, ckpt.end_id] if config.decoder_layers else ids
    if config.decoder_layers:
        tgt = ids or [config.start_id]
        if src is not None:
            tgt = [config.start_id, *(begun(ckpt.tokenizer.encode(target), config) if target else [])]
    for row in (src, tgt):
        check_length(len(row or ()), config.max_len)
    src, tgt = (None if row is None else torch.tensor([row], device=ckpt.device) for row in (src, tgt))
    return src, tgt


def check_length(tokens: int, limit: int) -> None:
    if tokens > limit:
        raise ValueError(f"this text has {tokens:,} tokens; the model reads at most {limit:,}. Please shorten it")


def check_padding(ids: list[int], pad_id: int | None) -> None:
    """Raises ValueError for padding inside a source, which would be read in one place and left out in another."""
    if pad_id in ids:
        raise ValueError(f"token {pad_id} of the text is this model's padding, which is never read; leave it out")


def prompt_pair(ckpt: Checkpoint, pair: tuple[str, str]) -> tuple[Tensor, Tensor | None]:
    """What an encoder reads of two texts: ids (1, S), framed as its tokenizer does it, and the segment of each (1, S),
    None for a model without segments. Raises ValueError as `prompt` does, and for a model that reads no pairs."""
    check_checkpoint(ckpt)
    if len(pair) != 2:
        raise ValueError(f"a tuple of {len(pair)} is given; give one str, or two in a tuple")
    for name, text in zip(("the first text", "the second text"), pair, strict=True):
        check_text(text, name=name)
        if not text.strip():
            raise ValueError(f"{name} of the pair is empty; type it, or give one text alone")
    if not ckpt.reads_pairs:
        raise ValueError(f"{ckpt.id} reads one text at a time; give one str, or choose an encoder such as BERT")
    pieces, types = cast("HuggingFaceTokenizer", ckpt.source_tokenizer).pair(*pair)
    ids, known = [piece.id for piece in pieces], ckpt.config.type_vocab
    check_padding(ids, ckpt.config.pad_id)
    check_length(len(ids), ckpt.config.max_len)
    if max(types) >= known:  # a RoBERTa has one segment, a DistilBERT none
        return torch.tensor([ids], device=ckpt.device), None
    return torch.tensor([ids], device=ckpt.device), torch.tensor([types], device=ckpt.device)
