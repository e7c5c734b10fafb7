"""Many sentences at once: batched, cached greedy and beam search, to translate and to measure with.

B batch, S source length.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.checkpoint import Checkpoint
from transformer.inference.arguments import check_checkpoint, check_number, check_texts, check_whole
from transformer.inference.decoding import check_length, check_padding, reader
from transformer.model.attention import KeysValues
from transformer.model.masks import padding_mask
from transformer.model.switches import Heads, Switches

WIDEST, STRONGEST = 64, 10  # beams, and the penalty


def check_translates(ckpt: object) -> None:
    """Raises ValueError for what is no checkpoint of an encoder-decoder."""
    check_checkpoint(ckpt)
    if ckpt.config.task != "translation":
        raise ValueError(f"{ckpt.id} does not translate: it is not an encoder-decoder")


def translate(ckpt: Checkpoint, texts: list[str], *, beam: int = 1, max_steps: int = 200, length_penalty: float = 0.6,
              batch_tokens: int = 2_048, heads: Heads | None = None, cut: bool = False,
              watch: Callable[[int], None] = lambda done: None) -> list[str]:
    """Translate many sentences, batched by length and cached; beam 1 is greedy.

    length_penalty is alpha of Wu et al. 2016, equation 14. heads: as for `decoding.start`. watch is called at every
    step with the number of sentences done, and may raise to end it. A text that is empty translates to ""; of one that
    is too long as much as fits is read where `cut` says so, else it raises ValueError.
    """
    check_translates(ckpt)
    check_whole("beam", beam, 1, WIDEST)
    check_whole("max_steps", max_steps, 1)
    check_whole("batch_tokens", batch_tokens, 1)
    check_number("length_penalty", length_penalty, 0, STRONGEST)
    texts, config, heads = check_texts(texts), ckpt.config, Switches.of(heads, ckpt.config, ckpt.device)
    rows = [[*ids, config.eos_id] if ids else [] for ids in reader(ckpt).encode_batch(texts)]
    for row in rows:
        check_padding(row, config.pad_id)
        if cut and len(row) > config.max_len:
            row[config.max_len - 1:] = [config.eos_id]
        check_length(len(row), config.max_len)
    order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
    out, done = [""] * len(texts), 0
    while done < len(order):
        chosen, longest = [], 0
        for i in order[done:]:
            longest = max(longest, len(rows[i]))
            if chosen and longest * beam * (len(chosen) + 1) > batch_tokens:
                break
            chosen.append(i)
        src = torch.full((len(chosen), len(rows[chosen[-1]])), config.pad_id)
        for row, i in enumerate(chosen):
            src[row, : len(rows[i])] = torch.tensor(rows[i])
        found = search(ckpt, src.to(ckpt.device), beam=beam, max_steps=max_steps, length_penalty=length_penalty,
                       heads=heads, watch=partial(watch, done))
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


@torch.no_grad()
def search(ckpt: Checkpoint, src: Tensor, *, beam: int = 1, max_steps: int = 200, length_penalty: float = 0.6,
           heads: Heads | None = None, trace: Callable[[int, list[Considered]], None] | None = None,
           watch: Callable[[], None] = lambda: None) -> list[list[int]]:
    """Beam search over a batch of sources (B, S), keys and values cached -> B lists of ids, without the end token.

    A hypothesis ends with the end token; a sentence is done when `beam` of its hypotheses have ended, or when no open
    one can still beat the best of them. trace is called with a sentence's place in the batch and what was considered,
    step by step; watch before every step.
    """
    config, model, device = ckpt.config, ckpt.model, src.device
    max_steps = min(max_steps, config.max_len)
    sentences = src.shape[0]
    memory_mask = padding_mask(src, config.pad_id).repeat_interleave(beam, dim=0)  # (B * beam, 1, 1, S)
    memory = [KeysValues(*(x.repeat_interleave(beam, dim=0) for x in kv))
              for kv in model.project_memory(model.encode(src, heads=heads).x)]
    tokens = torch.full((sentences * beam, 1), config.start_id, device=device)
    totals = torch.full((sentences, beam), float("-inf"), device=device)
    totals[:, 0] = 0.0  # all beams start the same; only one may go on
    past: list[KeysValues] | None = None
    live = list(range(sentences))  # which sentence each block of `beam` rows belongs to
    ended: list[list[tuple[float, list[int]]]] = [[] for _ in range(sentences)]

    for length in range(1, max_steps + 1):
        watch()
        decoded = model.decode(tokens[:, -1:], memory, memory_mask=memory_mask, past=past, heads=heads)
        past = [a.memory for a in decoded.attention]
        log_probabilities = model.project(decoded.x[:, -1]).log_softmax(dim=-1).unflatten(0, (len(live), beam))
        if config.banned_ids:
            log_probabilities[..., list(config.banned_ids)] = float("-inf")
        vocab = log_probabilities.shape[-1]
        # as many again as there are beams, so that enough stay open even if `beam` of them end
        best, flat = (totals[:, :, None] + log_probabilities).flatten(1).topk(min(2 * beam, beam * vocab), dim=1)
        rows, new, keep, kept_totals = [], [], [], []
        steps = log_probabilities.flatten(1).gather(1, flat).tolist() if trace else None
        for block, sentence in enumerate(live):
            opened, considered = 0, []
            for rank, (total, place) in enumerate(zip(best[block].tolist(), flat[block].tolist(), strict=True)):
                row, id, state = block * beam + place // vocab, place % vocab, "pruned"
                if id == config.eos_id or length == max_steps:
                    if rank < beam and total > float("-inf"):  # -inf: a beam that was never begun
                        ids = tokens[row, 1:].tolist() + ([] if id == config.eos_id else [id])
                        ended[sentence].append((penalised(total, length, length_penalty), ids))
                        state = "ended"
                elif opened < beam:
                    rows.append(row)
                    new.append(id)
                    kept_totals.append(total)
                    opened += 1
                    state = "kept"
                if trace:
                    considered.append(Considered(place // vocab, id, steps[block][rank], total, state))
            if trace:
                trace(sentence, considered)
            finished = len(ended[sentence]) >= beam or length == max_steps
            if not finished and ended[sentence]:
                # its total can only fall, and the longest sentence has the most to gain from the penalty
                finished = max(ended[sentence])[0] >= penalised(kept_totals[-opened], max_steps, length_penalty)
            if finished:
                del rows[len(rows) - opened:], new[len(new) - opened:], kept_totals[len(kept_totals) - opened:]
            else:
                keep.append(sentence)
        if not keep:
            break
        index = torch.tensor(rows, device=device)
        if len(keep) < len(live):
            memory, memory_mask = [KeysValues(*(x[index] for x in kv)) for kv in memory], memory_mask[index]
        past = [KeysValues(*(x[index] for x in kv)) for kv in past]
        tokens = torch.cat([tokens[index], torch.tensor(new, device=device)[:, None]], dim=1)
        totals, live = torch.tensor(kept_totals, device=device).view(len(keep), beam), keep
    return [max(found)[1] if found else [] for found in ended]
