"""Many sentences at once: batched, cached greedy and beam search, to translate and to measure with.

B batch, S source length.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Changes, Given
from transformer.inference.forward import Batch
from transformer.inference.prompts import check_length, check_padding
from transformer.inference.sampling import choosable
from transformer.inference.validation import check_checkpoint, check_number, check_texts, check_whole
from transformer.model.cache import Cache, KeysValues
from transformer.model.masks import padding_mask
from transformer.model.packed import pack
from transformer.model.rotary import rotation_state
from transformer.model.sites import NO_TAPS

WIDEST, STRONGEST, ALPHA = 64, 10, 0.6  # beams, and the penalty: its most, and where none is said
SEVERAL = 8  # sentences, from which on packing the weights pays


def check_translates(ckpt: Checkpoint) -> None:
    """Raises ValueError for what is no checkpoint of an encoder-decoder."""
    check_checkpoint(ckpt)
    if ckpt.config.task != "translation":
        raise ValueError(f"{ckpt.id} does not translate: it is not an encoder-decoder")


def translate(ckpt: Checkpoint, texts: list[str], *, beam: int = 1, max_steps: int = 200,
              length_penalty: float | None = None, batch_tokens: int = 2_048, change: Given = None, cut: bool = False,
              watch: Callable[[int], None] = lambda done: None) -> list[str]:
    """Translate many sentences, batched by length and cached; beam 1 is greedy.

    length_penalty is alpha of Wu et al. 2016, equation 14, by which the outputs of a beam are ordered; None: 0.6.
    change: as for `decoding.start`. watch is called at every step with the number of sentences done, and may raise to
    end it. A text that is empty translates to ""; of one that
    is too long as much as fits is read where `cut` says so, else it raises ValueError.

    >>> transformer.translate(ckpt, ["I am cold.", "Go home."])
    ["J'ai froid.", 'Rentre chez toi.']
    """
    check_translates(ckpt)
    check_whole("beam", beam, 1, WIDEST)
    check_whole("max_steps", max_steps, 1)
    check_whole("batch_tokens", batch_tokens, 1)
    if length_penalty is not None and beam == 1:
        raise ValueError("length_penalty orders the outputs of a beam, and beam is 1; widen the beam, or leave it out")
    length_penalty = ALPHA if length_penalty is None else length_penalty
    check_number("length_penalty", length_penalty, 0, STRONGEST)
    texts, config, changes = check_texts(texts), ckpt.config, Changes.of(ckpt, change)
    rows = [[*ids, ckpt.end_id] if ids else [] for ids in ckpt.source_tokenizer.encode_batch(texts)]
    for row in rows:
        check_padding(row, config.pad_id)
        if cut and len(row) > config.max_len:
            row[config.max_len - 1:] = [ckpt.end_id]
        check_length(len(row), config.max_len)
    changes.check_hits([(len(row), 1) for row in rows if row], ahead=True)
    order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
    if len(order) >= SEVERAL and not changes.by_head:  # packed weights cannot be taken apart
        ckpt = replace(ckpt, model=pack(ckpt.model))
    out, done = [""] * len(texts), 0
    while done < len(order):
        chosen, longest = [], 0
        for i in order[done:]:
            longest = max(longest, len(rows[i]))
            alike = rotation_state(config, longest) == rotation_state(config, len(rows[order[done]]))
            if chosen and (longest * beam * (len(chosen) + 1) > batch_tokens or not alike):
                break
            chosen.append(i)
        src = torch.full((len(chosen), len(rows[chosen[-1]])), config.pad_id or 0)
        for row, i in enumerate(chosen):
            src[row, : len(rows[i])] = torch.tensor(rows[i])
        found = search(ckpt, src.to(ckpt.device), beam=beam, max_steps=max_steps, length_penalty=length_penalty,
                       changes=changes, watch=partial(watch, done))
        for i, ids in zip(chosen, found, strict=True):
            out[i] = ckpt.tokenizer.decode(ids)
        done += len(chosen)
        watch(done)
    return out


class Considered(NamedTuple):
    """One of the 2 * beam likeliest ways on at a step, likeliest first."""

    beam: int  # which of those kept at the step before it goes on from
    id: int
    log_probability: float
    total: float  # -inf where it goes on from a beam that was never begun
    state: str  # "kept", "ended" or "pruned"


def penalised(total: float, length: int, alpha: float) -> float:
    """A total of log-probabilities, made comparable between lengths: Wu et al. 2016, equation 14, without coverage."""
    return total / ((5 + length) / 6) ** alpha


class _Sentence:
    """One sentence of a batch: its hypotheses that go on, likeliest first, and those that have ended."""

    def __init__(self, place: int):
        self.place = place
        self.kept: list[Considered] = []
        self.ended: list[tuple[float, list[int]]] = []  # penalised total, ids

    def choose(self, ways: list[Considered], read: Tensor, *, length: int, ends: Callable[[int], bool], last: bool,
               alpha: float) -> list[Considered]:
        """Judge the ways on after `length` tokens, likeliest first: of as many as there are beams those that end have
        ended, and of the others as many go on. read (beam, length - 1): their ids."""
        beam, judged = len(read), []
        self.kept = []
        for rank, way in enumerate(ways):
            if last or ends(way.id):
                if rank < beam and way.total > float("-inf"):  # -inf: a beam that was never begun
                    way = way._replace(state="ended")
                    ids = read[way.beam].tolist() + [way.id] * (not ends(way.id))
                    self.ended.append((penalised(way.total, length, alpha), ids))
            elif len(self.kept) < beam:
                way = way._replace(state="kept")
                self.kept.append(way)
            judged.append(way)
        return judged

    def done(self, *, beam: int, last: bool, max_steps: int, alpha: float) -> bool:
        """Whether as many as there are beams have ended, or none that goes on can beat the best of them: its total can
        only fall, and the longest sentence has the most to gain from the penalty."""
        if last or len(self.ended) >= beam:
            return True
        return bool(self.ended) and max(self.ended)[0] >= penalised(self.kept[0].total, max_steps, alpha)


@torch.no_grad()
def search(ckpt: Checkpoint, src: Tensor, *, beam: int = 1, max_steps: int = 200, length_penalty: float = 0.6,
           changes: Changes | None = None, trace: Callable[[int, list[Considered]], None] | None = None,
           watch: Callable[[], None] = lambda: None) -> list[list[int]]:
    """Beam search over a batch of sources (B, S), keys and values cached -> B lists of ids, without the end token.

    A hypothesis ends with the end token; a sentence is done when `beam` of its hypotheses have ended, or when no open
    one can still beat the best of them. trace is called with a sentence's place in the batch and what was considered,
    step by step; watch before every step.
    """
    config, model, device = ckpt.config, ckpt.model, src.device
    max_steps = min(max_steps, config.max_len)
    sentences = [_Sentence(place) for place in range(len(src))]
    # What one step hands to the next has its type written out: to infer them of each other takes Pyright a minute.
    live: list[_Sentence] = sentences
    memory_mask: Tensor = padding_mask(src, config.pad_id).repeat_interleave(beam, dim=0)  # (B * beam, 1, 1, S)
    lengths = tuple((src != config.pad_id).sum(1).tolist())
    begun = torch.full((len(src), 1), config.start_id, device=device)
    taps = changes.of_batch(Batch(src, begun, lengths, (1,) * len(src))) if changes else NO_TAPS
    memory: list[KeysValues] = [KeysValues(*(x.repeat_interleave(beam, dim=0) for x in kv))
                                for kv in model.project_memory(model.encode(src, taps=taps).x, taps=taps)]
    tokens: Tensor = begun.repeat_interleave(beam, dim=0)  # a block of `beam` rows a live sentence
    totals: Tensor = torch.full((len(src), beam), float("-inf"), device=device)
    totals[:, 0] = 0.0  # all beams start the same; only one may go on
    past: list[Cache] | None = None
    for length in range(1, max_steps + 1):
        watch()
        if rotation_state(config, length) != rotation_state(config, length - 1):
            past = None
        if changes and changes.grows:  # each text as it is is read beside it
            rows_read = [sentence.place for sentence in live for _ in range(beam)]
            taps = changes.of_batch(Batch(src[rows_read], tokens, tuple(lengths[at] for at in rows_read),
                                          (length,) * len(tokens)))
        decoded = model.decode(tokens[:, -1:] if past else tokens, memory, memory_mask=memory_mask, causal=True,
                               past=past, taps=taps)
        log_probabilities = model.project(decoded.x[:, -1]).log_softmax(dim=-1).unflatten(0, (len(live), beam))
        log_probabilities = choosable(log_probabilities, config, read=length)
        last = length == max_steps
        going: list[_Sentence] = []
        rows: list[int] = []
        for block, (sentence, ways) in enumerate(zip(live, _likeliest(totals, log_probabilities), strict=True)):
            read = tokens[block * beam:(block + 1) * beam, 1:]
            judged = sentence.choose(ways, read, length=length, ends=config.ends, last=last, alpha=length_penalty)
            if trace:
                trace(sentence.place, judged)
            if not sentence.done(beam=beam, last=last, max_steps=max_steps, alpha=length_penalty):
                going.append(sentence)
                rows += [block * beam + way.beam for way in sentence.kept]
        if not going:
            break
        index = torch.tensor(rows, device=device)
        kept: list[Considered] = [way for sentence in going for way in sentence.kept]
        if len(going) < len(live):
            memory, memory_mask = [KeysValues(*(x[index] for x in kv)) for kv in memory], memory_mask[index]
        past = past or [Cache(layer.memory) for layer in decoded.attention]
        if rows != list(range(len(tokens))):  # else every row goes on from itself, as all do in greedy search
            for layer in past:
                layer.choose(index)
            tokens = tokens[index]
        tokens = torch.cat([tokens, torch.tensor([[way.id] for way in kept], device=device)], dim=1)
        totals, live = torch.tensor([way.total for way in kept], device=device).view(len(going), beam), going
    return [max(sentence.ended)[1] if sentence.ended else [] for sentence in sentences]


def _likeliest(totals: Tensor, log_probabilities: Tensor) -> list[list[Considered]]:
    """The ways on from beams with these totals (sentences, beam) and next tokens (sentences, beam, V), likeliest first:
    twice as many as there are beams, so that enough stay open even if all of those end."""
    beam, vocab = log_probabilities.shape[1:]
    best, flat = (totals[:, :, None] + log_probabilities).flatten(1).topk(min(2 * beam, beam * vocab), dim=1)
    each = log_probabilities.flatten(1).gather(1, flat)
    return [[Considered(place // vocab, place % vocab, one, total, "pruned") for place, one, total in zip(
        *numbers, strict=True)] for numbers in zip(flat.tolist(), each.tolist(), best.tolist(), strict=True)]
