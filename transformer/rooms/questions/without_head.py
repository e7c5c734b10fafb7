"""What the model says next if a head is off: the one that the room looks at."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from transformer.analysis.token_inputs import inputs_of_step
from transformer.inference.changed import Changes
from transformer.inference.decoding import Step
from transformer.inference.reading import attend
from transformer.inference.sampling import choosable
from transformer.lessons.opened_link import head_of
from transformer.model.changes import scale
from transformer.model.sites import label
from transformer.rooms.questions.choice import Choice
from transformer.rooms.questions.kind import Moment, Options, QuestionRecord, make_key
from transformer.rooms.questions.wording import bare, clear_lead, mixed, percent

CHOICES = 4


class WithoutHead(Choice):
    """The likeliest token, or class, without the link's head, among those that are likeliest with and without it."""

    name = "without a head"
    title = "What if this head is off?"

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        source = moment.source
        place = head_of(moment.opened, source)
        before, after, names = _both(moment, label(*place))
        order, usual = after.argsort(descending=True).tolist(), int(before.argmax())
        first, second = order[:2]
        offered = [first, *dict.fromkeys(one for one in (usual, *order[1:]) if one != first)][:CHOICES]
        offered = mixed(offered, "without", *place, source.text)
        called = [names(at) for at in offered]
        word = bare if isinstance(source, Step) else str
        said = f"Without the head the model gives {word(names(first))} {percent(float(after[first]))}"
        said += (f", with it {percent(float(before[first]))}: nothing changes." if first == usual else
                 f"; with it {word(names(usual))} {percent(float(before[usual]))}.")
        key = make_key([float(after[at]) for at in offered], right=offered.index(first), said=said,
                       proof=moment.proof(),
                       margin=clear_lead(float(after[first]), float(after[second]), who="the model"))
        kind, layer, head = place
        asks = "What does the model say next" if isinstance(source, Step) else "Which class does the model choose"
        return self.record(moment, key, choices=called, pieces=isinstance(source, Step),
                           ask=f"{asks} if head {label(kind, layer, head)} is switched off?")


@torch.no_grad()
def _both(moment: Moment, head: str) -> tuple[Tensor, Tensor, Callable[[int], str]]:
    """The probabilities of what is predicted as the link has it, and with a head off besides, and what they are of."""
    source, ckpt = moment.source, moment.source.ckpt
    off = [*source.change, scale(head, 0)]
    if not isinstance(source, Step):
        names, values = moment.classes
        logits = attend(ckpt, source.text, change=off).logits
        assert logits is not None
        return torch.tensor(values), logits.exp(), names.__getitem__
    read = replace(inputs_of_step(source), changes=Changes.of(ckpt, off))
    logits = ckpt.model.project(read.decode(read.encode()).x[0, -1])
    return (source.allowed.softmax(-1), choosable(logits, ckpt.config, read=len(source.tokens)).softmax(-1),
            source.label)
