"""Everything there is to know before a run: the data, the model's size, its memory, and the time from a short trial."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from transformer.config import RunConfig
from transformer.evaluation import held_out_loss
from transformer.formatting import amount, duration, size
from transformer.resource_errors import memory_is_full
from transformer.task import LEARNED
from transformer.text.batches import PairBatches, WindowBatches
from transformer.training.corpus_preview import look
from transformer.training.memory_size import (
    Peak,
    TooLarge,
    device_memory,
    estimated_activations,
    kept_memory,
    parameters_by_part,
)
from transformer.training.tasks import Prepared, prepare
from transformer.training.trainer import Trainer

TIMED = 10  # optimizer steps, after a first one that is left out
LONGEST_TRIAL = 30.0  # seconds; a step that has begun is finished
LEFT_OUT, UNKNOWN, PASSES, FULL = 0.05, 0.02, 200, 0.9  # from these shares on, and passes over the corpus, it is said
Watch = Callable[[str], None]  # called with what is being done
Problem = dict[str, str]  # level: "error" or "warning"; text: what is wrong, and what to do


def check(config: RunConfig, *, device: torch.device,
          watch: Watch = lambda said: None) -> dict[str, Any]:
    """Prepare a run, take ten of its optimizer steps on the device in a folder that is removed again, and say it all.

    `look` (see `corpus_preview`), `parameters`, `memory`, `tokens`, `time`; each None where a problem stands
    in its way. `problems` says what does not fit and what to do; nothing that a user can cause is raised.
    """
    result: dict[str, Any] = {"config": config.model_dump(mode="json"), "device": _described(device), "look": None,
                                 "tokens": None, "time": None}
    problems: list[Problem] = []
    there = device_memory(device)
    result |= _size(config, device, there, length=config.model.max_len, positions=config.train.batch_tokens)
    with tempfile.TemporaryDirectory(prefix="headsup-check-") as folder:
        trainer = task = None
        try:
            watch("Reading the corpus and training its tokenizer")
            trainer = Trainer(Path(folder) / "run", config, device=device)
            task = trainer.task
        except TooLarge as error:
            problems.append(_error(str(error)))
            task = prepare(config)  # which is worth to be looked at all the same
        except (ValueError, RuntimeError, MemoryError) as error:
            problems.append(_said(error, config, device))
        if task is not None:
            watch("Examining the data")
            piece = trainer.config.train.micro_tokens if trainer else task.batches.longest
            result |= {"config": task.config.model_dump(mode="json"), "look": look(task), "tokens": _tokens(task)}
            result |= _size(task.config, device, there, length=task.batches.longest, positions=piece)
            problems += _warnings(config, task, result)
        if trainer is not None:
            try:
                result |= _trial(trainer, result["memory"], watch)
            except (ValueError, RuntimeError, MemoryError) as error:
                problems.append(_said(error, config, device))
    memory = result["memory"]
    if trainer is not None and there is not None and memory["total"] > FULL * there:
        problems.append({"level": "warning", "text": (
            f"training takes {size(memory['total'])} of the {size(there)} that {device} has left; set micro_tokens "
            f"below {memory['micro_tokens']:,}, or take a smaller model")})
    return result | {"problems": problems}


def summary(found: dict[str, object]) -> list[str]:
    """What `check` found, in a few lines to print."""
    lines = []
    if looked := found["look"]:
        sizes = ", ".join(f"{name} {count:,}" for name, count in looked["splits"].items())
        left, max_len = looked["left_out"], looked["max_len"]
        lines += [f"{looked['corpus']['name']}: {sizes} {looked['unit']}",
                  f"read in windows of {max_len:,} pieces" if left["how"] == "read in windows" else
                  f"{left['share']:.1%} of the training part is {left['how']} at max_len {max_len:,}"]
    parts = ", ".join(f"{part} {count:,}" for part, count in found["parameters"]["parts"].items())
    lines.append(f"{found['parameters']['total']:,} parameters: {parts}")
    memory = found["memory"]
    how = f"measured in {memory['measured_steps']} steps" if memory["measured_steps"] else "estimated"
    lines.append(f"memory {size(memory['total'])} ({how})" + (
        f" of {size(memory['there'])}" if memory["there"] is not None else ""))
    if cut := pieces(found):
        lines.append(f"batches are processed in pieces of {cut:,} positions")
    if tokens := found["tokens"]:
        lines.append(f"{tokens['a_step']:,.0f} {tokens['counted']} a step, {amount(tokens['total'])} in all, "
                     f"{tokens['epochs']:,.1f} times the corpus")
    if took := found["time"]:
        lines.append(f"about {duration(took['total'])} on {found['device']['device']}: {took['steps']:,} steps "
                     f"of {took['seconds_a_step']:.3f} s, by {took['steps_timed']} steps timed, and "
                     f"{took['evaluations']:,} evaluations")
    return lines + [f"{problem['level']}: {problem['text']}" for problem in found["problems"]]


def pieces(found: dict[str, object]) -> int | None:
    """How many positions are read at once where batches are cut; None where they are not, or nothing was tried."""
    memory = found["memory"]
    cut = memory["measured_steps"] and memory["micro_tokens"] < found["config"]["train"]["batch_tokens"]
    return memory["micro_tokens"] if cut else None


def _trial(trainer: Trainer, memory: dict[str, object], watch: Watch) -> dict[str, object]:
    """Take steps, and say from them how long a run takes and how much memory."""
    device, train = trainer.device, trainer.config.train
    peak, seconds, until = Peak(device), [], time.monotonic() + LONGEST_TRIAL
    while len(seconds) <= TIMED and (not seconds or time.monotonic() < until):
        watch(f"Timing: step {len(seconds) + 1} of {TIMED + 1}")
        began = time.perf_counter()
        trainer.train_step()
        _wait(device)
        seconds.append(time.perf_counter() - began)
    beyond, weights = peak.read(), memory["weights"]
    if beyond is not None:
        rest = max(0, beyond - memory["gradients"] - memory["optimizer"])
        memory = memory | {"activations": rest, "total": weights + memory["gradients"] + memory["optimizer"] + rest,
                           "measured_steps": len(seconds)}
    watch("Timing: the held-out part")
    timed = seconds[1:] or seconds
    a_step, evaluations = float(np.mean(timed)), -(-train.steps // train.eval_every)
    evaluation = evaluations * _evaluation(trainer)
    return {"memory": memory, "time": {
        "steps_timed": len(seconds) - 1, "first": seconds[0], "seconds_a_step": a_step, "fastest": min(timed),
        "slowest": max(timed), "steps": train.steps, "training": a_step * train.steps, "evaluations": evaluations,
        "evaluation": evaluation, "total": a_step * train.steps + evaluation}}


def _evaluation(trainer: Trainer) -> float:
    """Seconds that the held-out loss takes, from up to three of its batches."""
    batches = trainer.task.held_out
    some = batches[::max(1, len(batches) // 3)][:3]
    began = time.perf_counter()
    held_out_loss(trainer.model, some, micro_tokens=trainer.config.train.micro_tokens)
    _wait(trainer.device)
    elapsed = time.perf_counter() - began
    return elapsed * sum(batch.tokens for batch in batches) / sum(batch.tokens for batch in some)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def _described(device: torch.device) -> dict[str, object]:
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {"device": str(device), "name": named, "threads": torch.get_num_threads() if device.type == "cpu" else None}


def _size(config: RunConfig, device: torch.device, there: int | None, *, length: int,
          positions: int) -> dict[str, object]:
    """Parameters, and memory where batches are processed in pieces of so many positions, or of one row."""
    parts, kept = parameters_by_part(config.model), kept_memory(config)
    activations = estimated_activations(config.model, positions=max(positions, length), length=length, device=device)
    return {"parameters": {"total": sum(parts.values()), "parts": parts}, "memory": kept | {
        "activations": activations, "total": sum(kept.values()) + activations, "measured_steps": 0, "there": there,
        "micro_tokens": positions}}


def _tokens(task: Prepared) -> dict[str, object]:
    """Labels that count, or texts, a step and in all; and how often the whole training part is read."""
    batches, train = task.batches, task.config.train
    if isinstance(batches, WindowBatches):
        an_epoch = len(batches) * batches.rows * batches.window
    elif isinstance(batches, PairBatches):
        an_epoch = int(batches.lengths[:, 0].sum())  # targets, EOS included
    else:
        an_epoch = len(batches.items)
    a_step = an_epoch / len(batches) * train.accumulate
    return {"counted": f"{LEARNED[train.task].unit}s", "a_step": a_step,
            "total": a_step * train.steps, "an_epoch": an_epoch, "steps": train.steps,
            "epochs": train.steps * train.accumulate / len(batches)}


def _warnings(asked: RunConfig, task: Prepared, result: dict[str, object]) -> list[Problem]:
    """What works but is probably not meant."""
    looked, said = result["look"], []
    left, how = looked["left_out"], looked["left_out"]["how"]
    if left["share"] >= LEFT_OUT:
        said.append(f"max_len {looked['max_len']:,} leaves {left['share']:.0%} of the training part "
                    f"{'out' if how == 'left out' else 'cut'}; {left['takes_in_99']:,} takes in 99 of 100")
    for side, found in looked["coverage"].items():
        if found["unknown_share"] is not None and found["unknown_share"] >= UNKNOWN:
            where = "" if side in ("text", "both sides") else f" on the {side} side"
            said.append(f"{found['unknown_share']:.1%} of the held-out pieces{where} are not in the vocabulary; raise "
                        f"vocab_size, use another tokenizer (unigram, bpe), or train on more text")
    for name in ("vocab_size", "src_vocab_size"):
        want, got = getattr(asked.model, name), getattr(task.config.model, name)
        if want and got < want and asked.train.tokenizer in ("unigram", "bpe"):
            said.append(f"{name} is {got:,} and not {want:,}: the corpus yields no more pieces")
    if looked["validation_from"] == "train":
        said.append("nothing is held out, so the best weights are chosen by the training loss; use a larger corpus to "
                    "see how well the model generalises")
    if (epochs := result["tokens"]["epochs"]) > PASSES:
        said.append(f"{asked.train.steps:,} steps read the corpus {epochs:,.0f} times, so the model will memorise it; "
                    f"use fewer steps or a larger corpus")
    return [{"level": "warning", "text": text} for text in said]


def _said(error: Exception, config: RunConfig, device: torch.device) -> Problem:
    """An error that a user can mend, as a problem; any other is raised again."""
    if memory_is_full(error):
        return _error(f"{device} ran out of memory; set micro_tokens below {config.train.batch_tokens:,}, or take a "
                      "smaller model")
    if isinstance(error, ValueError):
        return _error(str(error))
    raise error


def _error(text: str) -> Problem:
    return {"level": "error", "text": text}
