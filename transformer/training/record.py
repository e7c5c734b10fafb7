"""Records for those who watch a run: attention on pinned sentences, and samples of what the model writes."""

from pathlib import Path

import orjson
import torch
from safetensors.torch import save

from transformer.basics.paths import home
from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.evaluation.quality import eval_mode, likeliest_class
from transformer.inference.beam_search import translate
from transformer.inference.decoding import Sampling, next_step, start
from transformer.jobs import run_files
from transformer.model.models import Transformer
from transformer.settings.config import TrainConfig
from transformer.text.batches import Batch
from transformer.text.corpora import LabelledCorpus, TextCorpus
from transformer.training.links import find_aligner, learned_links, rule_links
from transformer.training.recorded import PINNED_FILE
from transformer.training.tasks import Prepared, pinned_attention

WEIGHT_SNAPSHOTS, ATTENTION_SNAPSHOTS = 8, 80
MOST_ATTENTION = 10_000_000  # bytes of attention snapshots in all
SAMPLES, SAMPLE_CHARACTERS = 4, 120
SAMPLES_FILE = "samples.jsonl"


def log_steps(total: int, count: int) -> set[int]:
    """At most `count` steps from 1 to `total`, evenly spaced by the logarithm of the step."""
    return {round(total ** (i / max(1, count - 1))) for i in range(count)}


def attention_steps(total: int, bytes_each: int) -> set[int]:
    """The steps at which attention is recorded: fewer if many large heads would fill MOST_ATTENTION."""
    return log_steps(total, max(2, min(ATTENTION_SNAPSHOTS, MOST_ATTENTION // max(1, bytes_each))))


def record_attention(folder: Path, step: int | str, model: Transformer, task: Prepared) -> int:
    """Write attention/<step>.safetensors, the attention of every head on the pinned sentences; returns its bytes.

    Tensors "<sentence>.<kind>" (layers, H, Tq, Tk), uint8 square roots of the weights times 255. The last sentence is
    one of random tokens, twice, where the model has room for it. What is known of the tokens stands in pinned.json.
    """
    folder, pinned = folder / "attention", _pinned(task)
    folder.mkdir(exist_ok=True)
    if known := _rows(folder):
        pinned = pinned[:len(known)]  # a run from before there was one of random tokens
    tensors = {f"{i}.{kind}": weights for i, attention in enumerate(pinned_attention(model, pinned))
               for kind, weights in attention.items()}
    if known is None:
        run_files.write_json(folder / PINNED_FILE, [_pinned_row(task, batch) for batch in pinned])
    run_files.replace(folder / f"{step}.safetensors", save(tensors, metadata={"step": str(step)}))
    return sum(tensor.numel() for tensor in tensors.values())


def forget_after(folder: Path, step: int) -> None:
    """Remove the attention of later steps, which a resumed run records again, or at other steps."""
    for path in (folder / "attention").glob("*.safetensors"):
        if path.stem.isdecimal() and int(path.stem) > step:
            path.unlink()


def link_pinned(folder: Path, task: Prepared, *, seconds: float, finished: bool = False) -> bool:
    """Add learned links to the pinned pairs of a run that has trained so long, unless that would delay it
    (`find_aligner`); returns whether there are any now that there were not."""
    rows = _rows(folder / "attention") or []
    lacking = {at: batch for at, (row, batch) in enumerate(zip(rows, _pinned(task), strict=False))
               if row.get("links", 0) is None and not row.get("random")}
    aligner = find_aligner(task, home() / "analysis", seconds=seconds, finished=finished) if lacking else None
    if aligner is None:
        return False
    found = {at: links for at, batch in lacking.items() if (links := learned_links(task, batch, aligner)) is not None}
    for at, links in found.items():
        rows[at]["links"] = links
    if found:
        run_files.write_json(folder / "attention" / PINNED_FILE, rows)
    return bool(found)


def _pinned(task: Prepared) -> list[Batch]:
    return [*task.pinned, *([task.repeated] if task.repeated else [])]


def _rows(folder: Path) -> list[dict[str, object]] | None:
    """The sentences in pinned.json; None if they are not written yet, or not to be read."""
    try:
        rows = orjson.loads((folder / PINNED_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return rows if isinstance(rows, list) and all(isinstance(row, dict) for row in rows) else None


def _pinned_row(task: Prepared, batch: Batch) -> dict[str, object]:
    """A pinned sentence as pinned.json has it: by side its pieces, their ids, and the share of each of all tokens of
    the training, with one added to every count; the links of a pair; whether it is of random tokens."""
    row: dict[str, object] = {}
    for side, ids, tokenizer in (("source", batch.src, task.source_tokenizer), ("target", batch.tgt, task.tokenizer)):
        row[side] = None if ids is None else [tokenizer.piece(id) for id in ids[0].tolist()]
        if ids is not None:
            counts = 1 + task.piece_counts[side].double()
            row |= {f"{side}_ids": ids[0].tolist(), f"{side}_shares": (counts / counts.sum())[ids[0]].tolist()}
    is_random = batch is task.repeated
    return row | {"links": None if is_random else rule_links(task, batch), "random": is_random}


@torch.no_grad()
def record_samples(folder: Path, step: int, model: Transformer, task: Prepared, train: TrainConfig) -> None:
    """Append to samples.jsonl what the model makes of a few held-out texts at this step."""
    texts = _held_out(task)
    with eval_mode(model):
        tokenizer = {"kind": task.tokenizer.kind, "standardise": task.tokenizer.standardise,
                     "shared": task.tokenizer is task.source_tokenizer}
        ckpt = Checkpoint(Description(folder, folder.name, model.config, train, tokenizer,
                                      {"classes": task.about.get("classes")}),
                          model, task.tokenizer, task.source_tokenizer)
        match train.task:
            case "translation":
                outputs = translate(ckpt, [text for text, _ in texts], max_steps=40)
                name = "reference"
            case "classification":
                outputs = [likeliest_class(ckpt, text) for text, _ in texts]
                name = "class"
            case _:
                outputs = [_continue(ckpt, text, seed=SAMPLES * train.seed + i) for i, (text, _) in enumerate(texts)]
                name = "goes on"
    row = {"step": step, "samples": [{"text": text, "output": output, name: expected}
                                     for (text, expected), output in zip(texts, outputs, strict=True)]}
    run_files.append(folder / SAMPLES_FILE, row)


def _held_out(task: Prepared) -> list[tuple[str, str]]:
    """Held-out texts with their expected outputs; of a tiny corpus, training texts."""
    corpus, longest = task.corpus, task.config.model.max_len - 1
    if isinstance(corpus, TextCorpus):
        text = corpus.split("validation") or corpus.split("train")
        length = min(40, longest // 2, len(text) // 4)
        return [(text[at:at + length], text[at + length:at + 4 * length]) for at in (0, len(text) // 2)]
    if isinstance(corpus, LabelledCorpus):
        return (corpus.splits.get("validation") or corpus.splits["train"])[:SAMPLES]
    pairs = corpus.splits.get("validation") or corpus.splits["train"]
    items = [(source, references[0]) for source, references in pairs.items()][:50 * SAMPLES]
    return [pair for pair in items if len(task.source_tokenizer.encode(pair[0])) < longest][:SAMPLES]


def _continue(ckpt: Checkpoint, text: str, *, seed: int) -> str:
    """What the model writes after a text, sampled at temperature 0.8 from the same seed at every step."""
    sampling = Sampling(temperature=0.8, seed=seed % 2**31)
    step = start(ckpt, text, sampling=sampling)
    while len(step.output) < SAMPLE_CHARACTERS and not step.full and not step.ended:
        step = next_step(ckpt, step, sampling=sampling)
    return step.output
