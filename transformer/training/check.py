"""A check before a run: its corpus, the model's size, the memory it takes, and the time by a short trial.

All results are plain values that go to JSON as they are.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from transformer.basics.formatting import amount, duration, size
from transformer.basics.resource_errors import memory_is_full
from transformer.evaluation.quality import held_out_loss
from transformer.settings.config import RunConfig
from transformer.settings.task import LEARNED
from transformer.text.batches import PairBatches, WindowBatches
from transformer.text.corpora import LabelledCorpus, PairCorpus, TextCorpus
from transformer.text.tokenizer import Tokenizer
from transformer.training.memory_size import (
    Peak,
    TooLarge,
    device_memory,
    kept_memory,
    parameters_by_part,
    step_activations,
)
from transformer.training.tasks import Prepared, prepare
from transformer.training.trainer import Trainer

TIMED = 10  # optimizer steps, after a first one that is left out
LONGEST_TRIAL = 30.0  # seconds; a step that has begun is finished
LEFT_OUT, UNKNOWN, PASSES, FULL = 0.05, 0.02, 200, 0.9  # shares, and passes over the corpus, that are warned of
LONGEST_SAMPLE = 300  # characters
BINS = 60
MOST_CLASSES = 20  # counted one by one
Item = TypeVar("Item")
Watch = Callable[[str], None]  # called with what is being done
Problem = dict[str, str]  # level: "error" or "warning"; text: what is wrong, and what to do


def check(config: RunConfig, *, device: torch.device, watch: Watch = lambda text: None) -> dict[str, Any]:
    """Prepare a run and take ten of its optimizer steps on the device, in a folder that is removed again.

    The result has `preview` (see `preview`), `parameters`, `memory`, `tokens` and `time`, None if a problem stands in
    its way. `problems` says what does not fit and what to do; nothing that a user can cause is raised.
    """
    result: dict[str, Any] = {"config": config.model_dump(mode="json"), "device": _device(device), "preview": None,
                              "tokens": None, "time": None}
    problems: list[Problem] = []
    available = device_memory(device)
    result |= _size(config, device, available, length=config.model.max_len, positions=config.train.batch_tokens)
    with tempfile.TemporaryDirectory(prefix="headsup-check-") as folder:
        trainer = task = None
        try:
            watch("Reading the corpus and training its tokenizer")
            trainer = Trainer(Path(folder) / "run", config, device=device)
            task = trainer.task
        except TooLarge as error:
            problems.append(_error(str(error)))
            task = prepare(config)  # the corpus can be previewed all the same
        except (ValueError, RuntimeError, MemoryError) as error:
            problems.append(_problem(error, config, device))
        if task is not None:
            watch("Examining the data")
            piece = (trainer and trainer.config.train.micro_tokens) or task.batches.longest
            result |= {"config": task.config.model_dump(mode="json"), "preview": preview(task), "tokens": _tokens(task)}
            result |= _size(task.config, device, available, length=task.batches.longest, positions=piece)
            problems += _warnings(config, task, result)
        if trainer is not None:
            try:
                result |= _trial(trainer, result["memory"], watch)
            except (ValueError, RuntimeError, MemoryError) as error:
                problems.append(_problem(error, config, device))
    memory = result["memory"]
    if trainer is not None and available is not None and memory["total"] > FULL * available:
        problems.append({"level": "warning", "text": (
            f"training takes {size(memory['total'])} of the {size(available)} that {device} has left; set micro_tokens "
            f"below {memory['micro_tokens']:,}, or take a smaller model")})
    return result | {"problems": problems}


def summary(result: dict[str, Any]) -> list[str]:
    """The result of `check` in a few lines to print."""
    lines = []
    if preview := result["preview"]:
        sizes = ", ".join(f"{name} {count:,}" for name, count in preview["splits"].items())
        left, max_len = preview["left_out"], preview["max_len"]
        lines += [f"{preview['corpus']['name']}: {sizes} {preview['unit']}",
                  f"read in windows of {max_len:,} pieces" if left["how"] == "read in windows" else
                  f"{left['share']:.1%} of the training part is {left['how']} at max_len {max_len:,}"]
    parts = ", ".join(f"{part} {count:,}" for part, count in result["parameters"]["parts"].items())
    lines.append(f"{result['parameters']['total']:,} parameters: {parts}")
    memory = result["memory"]
    how = f"measured in {memory['measured_steps']} steps" if memory["measured_steps"] else "estimated"
    lines.append(f"memory {size(memory['total'])} ({how})" + (
        f" of {size(memory['available'])}" if memory["available"] is not None else ""))
    if cut := pieces(result):
        lines.append(f"batches are processed in pieces of {cut:,} positions")
    if tokens := result["tokens"]:
        lines.append(f"{tokens['a_step']:,.0f} {tokens['counted']} a step, {amount(tokens['total'])} in all, "
                     f"{tokens['epochs']:,.1f} times the corpus")
    if times := result["time"]:
        lines.append(f"about {duration(times['total'])} on {result['device']['device']}: {times['steps']:,} steps "
                     f"of {times['seconds_a_step']:.3f} s, by {times['steps_timed']} steps timed, and "
                     f"{times['evaluations']:,} evaluations")
    return lines + [f"{problem['level']}: {problem['text']}" for problem in result["problems"]]


def pieces(result: dict[str, Any]) -> int | None:
    """How many positions are read at once if batches are cut; None if they are not, or the trial did not run."""
    memory = result["memory"]
    cut = memory["measured_steps"] and memory["micro_tokens"] < result["config"]["train"]["batch_tokens"]
    return memory["micro_tokens"] if cut else None


def _trial(trainer: Trainer, memory: dict[str, Any], watch: Watch) -> dict[str, Any]:
    """Take steps, and measure by them how long a run takes and how much memory."""
    device, train = trainer.device, trainer.config.train
    peak, seconds, until = Peak(device), [], time.monotonic() + LONGEST_TRIAL
    while len(seconds) <= TIMED and (not seconds or time.monotonic() < until):
        watch(f"Timing: step {len(seconds) + 1} of {TIMED + 1}")
        began = time.perf_counter()
        trainer.train_step()
        _wait(device)
        seconds.append(time.perf_counter() - began)
    above, weights = peak.read(), memory["weights"]
    if above is not None:
        rest = max(0, above - memory["gradients"] - memory["optimizer"])
        memory = memory | {"activations": rest, "total": weights + memory["gradients"] + memory["optimizer"] + rest,
                           "measured_steps": len(seconds)}
    watch("Timing: the held-out part")
    timed = seconds[1:] or seconds
    a_step, evaluations = float(np.mean(timed)), -(-train.steps // train.eval_every)
    evaluation = evaluations * _evaluation_time(trainer)
    return {"memory": memory, "time": {
        "steps_timed": len(seconds) - 1, "first": seconds[0], "seconds_a_step": a_step, "fastest": min(timed),
        "slowest": max(timed), "steps": train.steps, "training": a_step * train.steps, "evaluations": evaluations,
        "evaluation": evaluation, "total": a_step * train.steps + evaluation}}


def _evaluation_time(trainer: Trainer) -> float:
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


def _device(device: torch.device) -> dict[str, Any]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {"device": str(device), "name": name, "threads": torch.get_num_threads() if device.type == "cpu" else None}


def _size(config: RunConfig, device: torch.device, available: int | None, *, length: int,
          positions: int) -> dict[str, Any]:
    """Parameters, and the memory of processing batches in pieces of so many positions, or of one row."""
    parts, kept = parameters_by_part(config.model), kept_memory(config)
    activations = step_activations(config, positions=max(positions, length), length=length, device=device)
    return {"parameters": {"total": sum(parts.values()), "parts": parts}, "memory": kept | {
        "activations": activations, "total": sum(kept.values()) + activations, "measured_steps": 0,
        "available": available, "micro_tokens": positions}}


def _tokens(task: Prepared) -> dict[str, Any]:
    """Labels that count, or texts, a step and in all; and how often the whole training part is read."""
    batches, train = task.batches, task.config.train
    if isinstance(batches, WindowBatches):
        an_epoch = len(batches) * batches.rows * batches.window
    elif isinstance(batches, PairBatches):
        an_epoch = int(batches.drawn(0)[1][:, 0].sum())  # targets, EOS included
    else:
        an_epoch = len(batches.items)
    a_step = an_epoch / len(batches) * train.accumulate
    return {"counted": f"{LEARNED[train.task].unit}s", "a_step": a_step,
            "total": a_step * train.steps, "an_epoch": an_epoch, "steps": train.steps,
            "epochs": train.steps * train.accumulate / len(batches)}


def _warnings(wanted: RunConfig, task: Prepared, result: dict[str, Any]) -> list[Problem]:
    """Problems with what works but is probably not meant."""
    preview, texts = result["preview"], []
    left, how = preview["left_out"], preview["left_out"]["how"]
    if left["share"] >= LEFT_OUT:
        texts.append(f"max_len {preview['max_len']:,} leaves {left['share']:.0%} of the training part "
                     f"{'out' if how == 'left out' else 'cut'}; {left['takes_in_99']:,} takes in 99 of 100")
    for side, coverage in preview["coverage"].items():
        if coverage["unknown_share"] is not None and coverage["unknown_share"] >= UNKNOWN:
            where = "" if side in ("text", "both sides") else f" on the {side} side"
            texts.append(f"{coverage['unknown_share']:.1%} of the held-out pieces{where} are not in the vocabulary; "
                         f"raise vocab_size, use another tokenizer (unigram, bpe), or train on more text")
    for name in ("vocab_size", "src_vocab_size"):
        limit, actual = getattr(wanted.model, name), getattr(task.config.model, name)
        if limit and actual < limit and wanted.train.tokenizer in ("unigram", "bpe"):
            texts.append(f"{name} is {actual:,} and not {limit:,}: the corpus yields no more pieces")
    if preview["validation_from"] == "train":
        texts.append("nothing is held out, so the best weights are chosen by the training loss; use a larger corpus to "
                     "see how well the model generalises")
    if (epochs := result["tokens"]["epochs"]) > PASSES:
        texts.append(f"{wanted.train.steps:,} steps read the corpus {epochs:,.0f} times, so the model will memorise "
                     f"it; use fewer steps or a larger corpus")
    texts += _without_effect(wanted)
    return [{"level": "warning", "text": text} for text in texts]


def _without_effect(config: RunConfig) -> list[str]:
    """Settings that change nothing beside the others."""
    model, train, texts = config.model, config.train, []
    if train.hold and train.schedule not in ("cosine", "linear"):
        texts.append(f"hold has no effect on the schedule {train.schedule}; choose cosine or linear, or leave it out")
    if train.r_drop and not (model.dropout or model.attention_dropout or model.output_dropout):
        texts.append("r_drop compares two passes with their own dropout, and there is none; raise dropout, or leave "
                     "r_drop out, which doubles the time of a step")
    if train.distill and not train.distill_share:
        texts.append("distill_share is 0, so nothing is learned from the teachers; raise it, or leave distill out")
    return texts


def _problem(error: Exception, config: RunConfig, device: torch.device) -> Problem:
    """The problem for an error that a user can mend; any other is raised again."""
    if memory_is_full(error):
        return _error(f"{device} ran out of memory; set micro_tokens below {config.train.batch_tokens:,}, or take a "
                      "smaller model")
    if isinstance(error, ValueError):
        return _error(str(error))
    raise error


def _error(text: str) -> Problem:
    return {"level": "error", "text": text}


def preview(task: Prepared, *, samples: int = 6, seed: int = 0) -> dict[str, Any]:
    """Describe what a task learns from.

    The result has `corpus` with its `splits` (in `unit`), `samples` drawn at random from the training part, `lengths`
    as histograms in pieces, what is `left_out` or cut at max_len, and for each vocabulary the `coverage`: how many of
    its pieces the training part uses, and how many held-out pieces are unknown.
    """
    corpus, config = task.corpus, task.config
    return {
        "task": config.train.task,
        "corpus": {"name": corpus.name, "sha256": corpus.sha256, "licence": corpus.licence,
                   "attribution": corpus.attribution},
        **_sizes(task),
        "samples": [_sample(task, item) for item in _random_items(corpus, samples, np.random.default_rng(seed))],
        "max_len": config.model.max_len,
        "lengths": {side: _histogram(lengths) for side, lengths in task.lengths.items()},
        "left_out": _left_out(task),
        "coverage": _coverage(task),
    }


def _sizes(task: Prepared) -> dict[str, Any]:
    corpus = task.corpus
    sizes = {"validation_from": task.about.get("validation_from", "validation")}
    if isinstance(corpus, TextCorpus):
        return sizes | {"unit": "characters", "splits": {name: len(corpus.split(name))
                                                         for name in ("train", "validation")}}
    sizes["splits"] = {name: len(items) for name, items in corpus.splits.items()}
    if isinstance(corpus, PairCorpus):
        return sizes | {"unit": "different sources", "train_pairs": len(task.lengths["source"])}
    labels = [label for _, label in corpus.split("train")]
    counts = sorted(((labels.count(name), name) for name in corpus.classes[:MOST_CLASSES]), reverse=True)
    return sizes | {"unit": "texts", "n_classes": len(corpus.classes),
                    "classes": [{"name": name, "texts": count} for count, name in counts]}


def _random_items(corpus: TextCorpus | PairCorpus | LabelledCorpus, count: int,
                  random: np.random.Generator) -> list[dict[str, str]]:
    """Different items of the training part, in the order of the corpus: their texts and label by name."""
    if isinstance(corpus, TextCorpus):
        text = corpus.split("train")
        starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
        starts = [start for start in starts if text[start:start + 1].strip()]
        return [{"text": text[start:start + LONGEST_SAMPLE // 2]} for start in _drawn(starts, count, random)]
    if isinstance(corpus, LabelledCorpus):
        return [{"text": text, "label": label} for text, label in _drawn(corpus.split("train"), count, random)]
    return [{"source": source, "target": references[random.integers(len(references))]}
            for source, references in _drawn(corpus.split("train"), count, random)]


def _drawn(items: Sequence[Item], count: int, random: np.random.Generator) -> list[Item]:
    return [items[at] for at in sorted(random.choice(len(items), min(count, len(items)), replace=False).tolist())]


def _sample(task: Prepared, item: dict[str, str]) -> dict[str, Any]:
    """{"parts": {"source": ..., "target": ...} or {"text": ...}, "label": where it has one}."""
    tokenizers = {"source": task.source_tokenizer, "target": task.tokenizer, "text": task.tokenizer}
    parts = {name: _tokenized(text, tokenizers[name]) for name, text in item.items() if name in tokenizers}
    return {"parts": parts} | ({"label": item["label"]} if "label" in item else {})


def _tokenized(text: str, tokenizer: Tokenizer) -> dict[str, Any]:
    """A text, its pieces, their ids, and the text decoded from those: `same` if that is the text again."""
    cut, text = len(text) > LONGEST_SAMPLE, text[:LONGEST_SAMPLE]
    pieces = tokenizer.pieces(text)
    back = tokenizer.decode([piece.id for piece in pieces])
    unknown = [at for at, piece in enumerate(pieces) if piece.unknown]
    if back == text:
        why = None
    elif unknown:
        why = "unknown pieces"
    elif getattr(tokenizer, "standardise", False):
        why = "lower case, no punctuation"
    else:
        why = "spaces and characters in their usual form (NFKC)"
    return {"text": text, "cut": cut, "pieces": [piece.text for piece in pieces], "ids": [piece.id for piece in pieces],
            "unknown": unknown, "back": back, "same": back == text, "why": why}


def _histogram(lengths: np.ndarray) -> dict[str, Any]:
    """Counts by length, in bins of whole numbers: bin i starts at first + i * width."""
    if not len(lengths):
        return {"first": 0, "width": 1, "counts": [], "median": 0, "longest": 0}
    longest, first = int(lengths.max()), int(lengths.min())
    width = -(-(longest - first + 1) // BINS)
    counts = np.bincount((lengths - first) // width)
    return {"first": first, "width": width, "counts": counts.tolist(), "median": float(np.median(lengths)),
            "longest": longest}


def _left_out(task: Prepared) -> dict[str, Any]:
    """How many training items max_len leaves out (pairs) or cuts (texts); running text is read in windows."""
    max_len, lengths = task.config.model.max_len, task.lengths
    if "line" in lengths:
        return {"how": "read in windows", "count": 0, "of": len(lengths["line"]), "share": 0.0, "takes_in_99": None}
    # a translation needs a place for EOS beside its pieces
    tokens = np.maximum(lengths["source"], lengths["target"]) + 1 if "source" in lengths else lengths["text"]
    count = int((tokens > max_len).sum())
    return {"how": "left out" if "source" in lengths else "cut", "count": count, "of": len(tokens),
            "share": count / len(tokens), "takes_in_99": int(np.quantile(tokens, 0.99, method="higher"))}


def _coverage(task: Prepared) -> dict[str, dict[str, Any]]:
    """The use of each vocabulary by the text that its tokenizer reads."""
    corpus, batches = task.corpus, task.batches
    if isinstance(batches, WindowBatches):
        assert isinstance(corpus, TextCorpus)
        return {"text": _vocabulary_use(task.tokenizer, [batches.ids], [corpus.split("validation")])}
    if isinstance(corpus, LabelledCorpus):
        return {"text": _vocabulary_use(task.tokenizer, [ids for ids, _ in batches.items],
                                        [text for text, _ in corpus.splits.get("validation", [])])}
    assert isinstance(corpus, PairCorpus)
    held_out = corpus.splits.get("validation", {})
    rows = {"source": [source for source, _ in batches.items], "target": [target for _, target in batches.items]}
    texts = {"source": list(held_out), "target": [references[0] for references in held_out.values()]}
    if task.source_tokenizer is task.tokenizer:
        return {"both sides": _vocabulary_use(task.tokenizer, chain(*rows.values()),
                                              [*texts["source"], *texts["target"]])}
    tokenizers = {"source": task.source_tokenizer, "target": task.tokenizer}
    return {side: _vocabulary_use(tokenizers[side], rows[side], texts[side]) for side in rows}


def _vocabulary_use(tokenizer: Tokenizer, training: Iterable[Iterable[int]],
                    held_out: list[str]) -> dict[str, Any]:
    """How many pieces, except the special ones, training uses, and how many held-out pieces are unknown."""
    ids = tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id
    special = {id for id in ids if id is not None and id >= 0}
    used = np.bincount(np.fromiter(chain.from_iterable(training), np.int64), minlength=tokenizer.vocab_size) > 0
    read = list(chain.from_iterable(tokenizer.encode_batch(held_out)))
    unknown = sum(id == tokenizer.unk_id for id in read)
    return {"vocab_size": tokenizer.vocab_size, "pieces": tokenizer.vocab_size - len(special),
            "used": int(used.sum()) - sum(bool(used[id]) for id in special),
            "held_out": len(read), "unknown": unknown, "unknown_share": unknown / len(read) if read else None}
