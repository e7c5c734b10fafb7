"""A trial of a checkpoint on a few held-out sentences, with the result of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from sacrebleu.metrics.chrf import CHRF

from transformer.analysis.ablation import measure
from transformer.analysis.sample import Sentence
from transformer.analysis.token_inputs import check_classes
from transformer.basics.formatting import quote
from transformer.checkpoints.checkpoint import Checkpoint

Watch = Callable[[int, int], None]  # done, of


@dataclass(frozen=True)
class Trial:
    """One sentence, and the model's result."""

    text: str
    loss: float | None  # nats per token, or per text of a classifier; None if the model does not know the class
    output: str | None  # the greedy translation, or the likeliest class
    references: tuple[str, ...]  # every translation that counts as right, or the class
    chrf: float | None  # of the output with all references, 0 to 100
    probability: float | None  # of the right class

    def __repr__(self) -> str:
        parts = ((None if self.output is None else quote(self.output), str), (self.chrf, "chrF {:.0f}".format),
                 (self.probability, "right class {:.0%}".format), (self.loss, "{:.2f} nats".format))
        results = ", ".join(say(value) for value, say in parts if value is not None)
        return f"Tried {quote(self.text)}: {results}"


@torch.no_grad()
def try_sentences(ckpt: Checkpoint, sentences: Sequence[Sentence], *,
                  watch: Watch = lambda done, of: None) -> list[Trial]:
    """Reads each sentence, in order. For a model that classifies, the right class is the sentence's label.

    chrF is of a single sentence with all its references (Popović 2015, by sacrebleu): it shows which ones went wrong,
    and is a rough measure of one. watch is called after each batch, and may raise to end it.
    """
    if not ckpt.config.decoder_layers:
        check_classes(ckpt)
        out = []
        for sentence in sentences:
            out.append(_classified(ckpt, sentence))
            watch(len(out), len(sentences))
        return out
    measurement, score, out = measure(ckpt, sentences, watch=watch), CHRF(), []
    for at, sentence in enumerate(sentences):
        output = measurement.outputs[at] if measurement.outputs else None
        chrf = score.sentence_score(output, list(sentence.references)).score if output is not None else None
        out.append(Trial(sentence.text, float(measurement.nats[at] / measurement.tokens[at]), output,
                         sentence.references, chrf,
                         None))
    return out


def _classified(ckpt: Checkpoint, sentence: Sentence) -> Trial:
    src = torch.tensor([sentence.src], device=ckpt.device)
    logs = ckpt.model.classify(ckpt.model.encode(src).x, src)[0]
    output = ckpt.classes[int(logs.argmax())]
    if not sentence.labels:
        return Trial(sentence.text, None, output, (), None, None)
    right = sentence.labels[0]
    return Trial(sentence.text, float(-logs[right]), output, (ckpt.classes[right],), None, float(logs[right].exp()))
