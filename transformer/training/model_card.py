"""The model card: the training of a checkpoint, its quality, and the command that measures it."""

import re
from pathlib import Path
from typing import Any

from transformer.basics.formatting import amount, duration
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.jobs.run_files import is_number
from transformer.settings.task import LEARNED
from transformer.text.corpora import corpus
from transformer.text.corpus_catalogue import find_source

FIGURES = {  # key of evaluate -> its name, and its significant digits
    "bleu": ("BLEU, greedy, first reference", 2), "bleu_all_references": ("BLEU, all references", 2),
    "bleu_unseen": ("BLEU without sources that differ from a training source in case or punctuation alone, or whose "
                    "references are all training targets", 2),
    "bleu_no_neighbours": ("BLEU without sources that differ from a training source by one word", 2),
    "bleu_human": ("BLEU of people: the second reference against the first, where there are two", 2),
    "bleu_beside_human": ("BLEU of this model on the same sentences", 2),
    "bleu_as_typed": ("BLEU in lower case and without the last mark, sources and references alike", 2),
    "bleu_joined": ("BLEU of three sentences at a time", 2),
    "chrf": ("chrF", 2),
    "bleu_standardised": ("BLEU in lower case without punctuation", 2),
    "loss": ("cross-entropy, nats per token", 4), "bits_per_char": ("bits per character", 4),
    "accuracy": ("accuracy: share of texts whose class is the likeliest", 3),
    "majority": ("accuracy of always saying the class most frequent in training", 3),
    "baseline": ("accuracy of logistic regression on word counts (scikit-learn)", 3), "n": ("texts", 0)}
USED = ("weight_decay", "hold", "ema", "word_dropout", "subword_sampling", "as_typed", "joined", "other_names",
        "r_drop")  # if not 0


def _with(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    """The rows that have all these numbers."""
    return [row for row in rows if all(is_number(row.get(name)) for name in names)]


def _as_text(name: str) -> str:
    """A name with Markdown and HTML escaped."""
    return re.sub(r"([\\`*_{}\[\]()<>#!|~&:$])", r"\\\1", " ".join(name.split()))


def model_card(name: str, ckpt: Checkpoint, quality: dict[str, object], rows: list[dict[str, object]], *,
               processor: str) -> str:
    """Markdown for README.md. `quality` is the result of `evaluate`, `rows` the metrics, `processor` the device of the
    training. Raises ValueError for a checkpoint that does not say how it was trained."""
    config, train, meta = ckpt.config, ckpt.description.train, ckpt.meta
    if train is None:
        raise ValueError(f"{ckpt.id} does not say how it was trained, so there is no card to write")
    text = corpus(train.corpus)
    source = find_source(train.corpus)
    how_said = f" {source.manner}" if source and source.manner else (
        f" {' to '.join(map(_as_text, named))}" if (named := ckpt.description.languages) else "")
    layers = " and ".join(f"{count} {stack} layers" for stack, count in config.stacks.items())
    measured = "\n".join(f"| {what} | {quality[key]:.{digits}f} |" for key, (what, digits) in FIGURES.items()
                         if quality.get(key) is not None and (key != "n" or "accuracy" in quality))
    seen = _with(rows, "step", "validation_loss")
    learned = [row for row in _with(rows, "step", "loss", "seconds", "tokens_per_sec") if row["step"] <= meta["step"]]
    tokens = sum(row["tokens_per_sec"] * (row["seconds"] - before) for row, before in zip(
        learned, [0.0, *(row["seconds"] for row in learned)], strict=False))
    task = LEARNED[train.task]
    unit, counted = task.unit, "texts read" if task.unit == "text" else "target tokens"
    learned_from = "validation_from" in meta
    how = (f"On the {quality.get('split', 'validation')} split{', which it learned from,' * learned_from} with the "
           "weights as they are in this folder:")
    evaluated = meta.get("validation_loss") is not None
    if not quality:
        how = f"Measured while it trained, at step {meta['step']:,}, before the weights were rounded to float16:"
        what = "loss on texts it learned from" if learned_from else "loss on the validation split"
        measured = f"| {what}, nats per {unit} | {meta['validation_loss']:.4f} |" if evaluated else ""
    if not quality and not evaluated:
        how = f"Not measured yet: these are the weights after step {meta['step']:,}, before the first evaluation."
    held = ("Trained on all of it: so small a text leaves nothing\nto hold out, and what is measured here is what was "
            "learned." if learned_from else
            "Trained on its train split; selected and tested on\nunseen data." if quality or evaluated else
            "Trained on its train split.")
    measured_on = "Loss on what it learned from" if learned_from else "Held-out loss"
    where, more = (f"checkpoints/{name}", "it again") if quality else ("THIS_FOLDER", "more")
    table = f"| measure | value |\n| --- | --- |\n{measured}\n\n" if measured else ""
    curve = (f"```mermaid\nxychart-beta\n  title \"{measured_on}, nats per {unit}\"\n"
             f"  x-axis \"step\" [{', '.join(str(row['step']) for row in seen)}]\n  y-axis \"loss\"\n"
             f"  line [{', '.join(format(row['validation_loss'], '.3f') for row in seen)}]\n```\n\n") if seen else ""
    newest = max((row["step"] for row in _with(rows, "step")), default=0)
    best = f" (the best of {newest:,} by held-out loss)" if evaluated and newest > meta["step"] else ""
    first = "/".join(Path(train.start_from or "").parts[-2:])  # such as a/best of a run
    begun = f"From the weights of {_as_text(first)}" if first else "From scratch"
    used = [f"`{name}` {getattr(train, name):g}" for name in USED if getattr(train, name)]
    used += [f"`distill` of {len(train.distill)} checkpoints"] if train.distill else []
    also = f" Also: {', '.join(used)}." if used else ""
    classes = f"\n\nThe classes: {', '.join(ckpt.classes)}." if ckpt.classes else ""
    signature = f"\n\nsacrebleu's signature: `{quality['signature']}`" if "signature" in quality else ""
    return f"""# {name}

{task.model}{how_said}. It was made with Heads Up, which shows what every attention head
of it does.{classes}

## What it is

{layers}, {config.n_heads} heads, d_model {config.d_model}, d_ff {config.d_ff}, {config.norm_position}-norm,
{config.positions} positions, {config.vocab_size:,} {train.tokenizer} pieces, at most {config.max_len} tokens:
{meta["parameters"]:,} parameters, kept as float16 and run as float32.

## Data

{text.name}: {text.attribution}. Licence: {text.licence}. sha256 of the text:
`{text.sha256}`. {held}

## How it was trained

{begun}, on {processor}: {meta["step"]:,} steps{best}, {amount(tokens)} {counted},
{duration(meta["seconds"])}. Optimizer {train.optimizer}, learning rate {train.lr:g} with {train.warmup} steps of
warm-up, then {train.schedule}; label smoothing {train.label_smoothing:g}, dropout {config.dropout:g},
batches of {train.batch_tokens:,} tokens, seed {train.seed}.{also} `config.json` holds every setting,
`metrics.jsonl` the whole curve, and `attention/` what all heads did with a few pinned sentences at steps along the way.

{curve}## How good it is

{how}

{table}`headsup evaluate {where} --device cpu` measures {more}.{signature}

## What it is not

A small model made for exploring. It knows only what its corpus, {text.name}, shows. It repeats what that text says
of people, and it is wrong often. Do not rely on what it
{"says" if ckpt.classes else "writes"}.
"""
