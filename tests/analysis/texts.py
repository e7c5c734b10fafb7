"""Six short texts, as a model of any task reads them."""

from tests.conftest import SENTENCES as TEXTS
from transformer.analysis.sample import Sentence, read_texts
from transformer.checkpoints.checkpoint import Checkpoint


def sentences(ckpt: Checkpoint, texts: list[str] = TEXTS) -> list[Sentence]:
    """A translator's targets are the texts too, the last one first."""
    return read_texts(ckpt, texts, texts[::-1] if ckpt.config.task == "translation" else None)
