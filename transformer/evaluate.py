"""How good a checkpoint is on held-out text, as one dictionary of figures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log

import torch
from sacrebleu.metrics import BLEU, CHRF
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.checkpoint import Checkpoint
from transformer.data.batches import Batch, WindowBatches
from transformer.data.corpora import Pair, TextCorpus, corpus, unseen
from transformer.model.models import Transformer
from transformer.search import translate

Watch = Callable[[int, int], None]  # done, of


def evaluate(ckpt: Checkpoint, *, split: str | None = None, beam: int = 1, limit: int | None = None,
             watch: Watch = lambda done, of: None) -> dict[str, object]:
    """Measure a checkpoint on the corpus it was trained for.

    Translation, on the test split unless told: `bleu` (first reference), `bleu_all_references`, `bleu_unseen` (without
    near-duplicates of training sentences), `chrf`, sacrebleu's `signature`, `n`. Text, on the validation split: `loss`
    in nats a token and `bits_per_char`. limit takes only the first so many sentences. Raises ValueError where the
    checkpoint does not say what it was trained on.
    """
    if ckpt.description.train is None:
        raise ValueError(f"{ckpt.id} does not say which corpus it was trained on, so there is nothing to measure it by")
    found = corpus(ckpt.description.train.corpus)
    about = {"checkpoint": ckpt.id, "step": ckpt.meta.get("step"), "corpus": found.name, "corpus_sha256": found.sha256}
    if isinstance(found, TextCorpus):
        split = split or "validation"
        return about | {"split": split} | text_quality(ckpt, found.split(split), watch=watch)
    split = split or "test"
    pairs = found.split(split)[:limit]
    quality = translation_quality(ckpt, pairs, train=found.split("train"), beam=beam, watch=watch)
    return about | {"split": split} | quality


def translation_quality(ckpt: Checkpoint, pairs: list[Pair], *, train: list[Pair], beam: int = 1,
                        watch: Watch = lambda done, of: None) -> dict[str, object]:
    """BLEU (Papineni et al. 2002) and chrF (Popovic 2015) of translated (source, references) pairs, 0 to 100."""
    outputs = translate(ckpt, [source for source, _ in pairs], beam=beam, watch=lambda done: watch(done, len(pairs)))
    first = [references[0] for _, references in pairs]
    most = max(len(references) for _, references in pairs)
    # sacrebleu wants one list for each place in the line of references; None where a sentence has no more
    everyone = [[references[i] if i < len(references) else None for _, references in pairs] for i in range(most)]
    keep = unseen(pairs, train)
    bleu = BLEU()
    kept = [(output, reference) for output, reference, new in zip(outputs, first, keep, strict=True) if new]
    return {
        "bleu": bleu.corpus_score(outputs, [first]).score,
        "bleu_all_references": BLEU().corpus_score(outputs, everyone).score,
        "bleu_unseen": BLEU().corpus_score([o for o, _ in kept], [[r for _, r in kept]]).score if kept else None,
        "chrf": CHRF().corpus_score(outputs, [first]).score,
        "signature": str(bleu.get_signature()), "n": len(pairs), "n_unseen": len(kept), "beam": beam,
    }


def text_quality(ckpt: Checkpoint, text: str, *, watch: Watch = lambda done, of: None) -> dict[str, object]:
    """Cross-entropy over windows of max_len that do not overlap, every position but the text's first counted."""
    ids = ckpt.tokenizer.encode(text)
    batches = WindowBatches(ids, batch_tokens=4_096, max_len=ckpt.config.max_len, seed=0).in_order()
    total = 0.0
    for done, batch in enumerate(batches):
        total += held_out_loss(ckpt.model, [batch]) * batch.tokens
        watch(done + 1, len(batches))
    tokens = sum(batch.tokens for batch in batches)
    return {"loss": total / tokens, "bits_per_char": total / len(text[1:]) / log(2), "n": tokens}


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Dropout off inside, and back to what it was after."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def loss_sum(model: Transformer, batch: Batch, *, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy in nats, summed over the labels that count."""
    counts = batch.labels != model.config.pad_id
    logits = model.project(model.hidden(batch.src, batch.tgt)[counts])  # (labels that count, V)
    return F.cross_entropy(logits.float(), batch.labels[counts], label_smoothing=label_smoothing, reduction="sum")


@torch.no_grad()
def held_out_loss(model: Transformer, batches: list[Batch]) -> float:
    """Nats a token over all of them, without label smoothing and dropout."""
    with evaluating(model):
        device = next(model.parameters()).device
        total = sum(loss_sum(model, batch.to(device)).item() for batch in batches)
    return total / sum(batch.tokens for batch in batches)
