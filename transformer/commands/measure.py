"""What a checkpoint is worth, what its heads do, and what is lost without each."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import orjson
import typer

from transformer.commands.context_lines import context_lines
from transformer.commands.options import AsJson, Corpus, Device, Folder, opened
from transformer.commands.output import console, counting, report, table
from transformer.commands.role_lines import role_lines

if TYPE_CHECKING:
    from transformer.analysis.alignment import WordAligner
    from transformer.analysis.sample import Sentence
    from transformer.checkpoints.checkpoint import Checkpoint

Cache = Annotated[Path | None, typer.Option(help="Where the word alignment is kept once learned; by default analysis "
                                                 "in HEADSUP_HOME.")]
HeldOut = Annotated[int, typer.Option(help="Held-out sentences, or windows of text, to measure on.")]
HELD_OUT = 100  # texts on which a Jacobian lens is measured


def evaluate(
    folder: Folder,
    split: Annotated[str | None, typer.Option(help="test, validation or train; by default the held-out one.")] = None,
    beam: Annotated[int, typer.Option(help="Beam width; 1 is greedy.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Only the first N sentences.")] = None,
    human: Annotated[bool, typer.Option("--human", help="Measure people in the place of a translator: the second "
                                                        "translation of each source against the first.")] = False,
    as_typed: Annotated[bool, typer.Option("--as-typed", help="Also translate the sources in lower case without their "
                                                              "last mark, and three at a time.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Also count what its training texts hold, as "
                                                        "familiar.json in the checkpoint's folder, so that pages say "
                                                        "how a text is unlike them.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Measure a checkpoint: BLEU and chrF of a translation, nats and bits a character of text, accuracy of classes."""
    from transformer.evaluation.quality import evaluate as measure
    from transformer.evaluation.unfamiliar_text import count_familiar, write_familiar

    ckpt = opened(folder, device)
    if write:
        with counting("count") as watch:
            path = write_familiar(ckpt, count_familiar(ckpt, watch=watch))
        console.print(f"written to {path}", markup=False, highlight=False, soft_wrap=True)
    with counting("evaluate") as watch:
        quality = measure(ckpt, split=split, beam=beam, limit=limit, human=human, as_typed=as_typed, watch=watch)
    report(quality, as_json)


def roles(
    folder: Folder,
    limit: HeldOut = 200,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of the untrained weights.")] = 0,
    corpus: Corpus = None,
    cache: Cache = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain what each measure shows.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Keep it as roles.json in the checkpoint's folder, so that the "
                                                        "Heads page opens on it.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Say what each head does over held-out sentences, beside the same architecture untrained."""
    from transformer.analysis.roles import measure_roles
    from transformer.evaluation.held_out import piece_counts
    from transformer.studies.roles_file import write_roles

    ckpt, sentences = _sample(folder, device, limit=limit, seed=seed, corpus=corpus)
    aligner = _aligner(ckpt, cache, corpus)
    with counting("measure") as watch:
        heads = measure_roles(ckpt, sentences, aligner=aligner, counts=piece_counts(ckpt), seed=seed, watch=watch)
    if write:
        train = ckpt.description.train
        path = write_roles(ckpt, heads, corpus=corpus or (train.corpus if train else ""), limit=limit)
        console.print(f"written to {path}", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        report(heads.summary(), True)
    else:
        print("\n".join(role_lines(heads, explain=explain)))


def contexts(
    folder: Folder,
    head: Annotated[str, typer.Option(help="E0H1, D0H1 or X0H1: head 1 in layer 0 of the encoder, the decoder or "
                                           "cross-attention.")],
    measure: Annotated[str, typer.Option(help="What its queries are sorted by: peak, the largest weight, or a measure "
                                              "of `headsup roles`.")] = "peak",
    limit: HeldOut = 200,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    corpus: Corpus = None,
    cache: Cache = None,
    out: Annotated[Path | None, typer.Option(help="Also write the head's file of HeadVis here: whole texts, sorted by "
                                                  "their largest weight.")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Say at which queries of held-out text a head does a thing most, and at which less, out of five equal bands."""
    from transformer.analysis.head_contexts import PEAK, head_contexts, headvis_file, score_heads
    from transformer.basics.resource_errors import os_errors
    from transformer.evaluation.held_out import piece_counts
    from transformer.measures.catalogue import measures_of
    from transformer.model.sites import find_place

    ckpt, sentences = _sample(folder, device, limit=limit, seed=seed, corpus=corpus)
    place = find_place(ckpt.config, head)
    if place.kind is None or place.layer is None or place.head is None:
        raise ValueError(f"{head} names no head; give one such as D0H1")
    one = place.kind, place.layer, place.head
    if measure not in (names := [PEAK.name, *(known.name for known in measures_of(place.kind))]):
        raise ValueError(f"there is no measure {measure!r} of {place.kind} attention; choose one of {', '.join(names)}")
    aligner = _aligner(ckpt, cache, corpus) if measure in ("alignment", "alignment_read") else None
    counts = piece_counts(ckpt) if measure == "rare" else None
    with counting("measure") as watch:
        scores = score_heads(ckpt, sentences, aligner=aligner, counts=counts, seed=seed, watch=watch)
    found = head_contexts(ckpt, scores, *one, measure, seed=seed)
    if out is not None:
        with os_errors():
            out.write_bytes(orjson.dumps(headvis_file(ckpt, scores, *one, seed=seed)))
        console.print(f"written to {out}", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        report(found.summary(), True)
    else:
        print("\n".join(context_lines(found)))


def lens(
    folder: Folder,
    kind: Annotated[Literal["tuned", "jacobian"], typer.Option(
        help="tuned: a map for each layer, trained to say what the model says in the end. jacobian: what each layer's "
             "states do to the last ones on average, the encoder's too.")] = "tuned",
    limit: Annotated[int, typer.Option(help="Training sentences, or windows of text, to fit it on; a Jacobian lens "
                                            "stops at 500 predictions.")] = 2_000,
    steps: Annotated[int, typer.Option(help="Steps of Adam for each layer of a tuned lens.")] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    corpus: Corpus = None,
    write: Annotated[bool, typer.Option("--write", help="Keep it, so that Heads has it: a tuned lens as "
                                                        "tuned_lens.safetensors in the checkpoint's folder, a Jacobian "
                                                        "lens under analysis in HEADSUP_HOME.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Fit a tuned or a Jacobian lens, and say how well each layer is read through it and without it."""
    from transformer.analysis.tuned_lens import fit_tuned_lens, write_tuned_lens
    from transformer.evaluation.held_out import held_out_sentences

    ckpt, sentences = _sample(folder, device, limit=limit, seed=seed, corpus=corpus, split="train")
    if kind == "jacobian":
        _jacobian_lens(ckpt, sentences, held_out_sentences(ckpt, limit=HELD_OUT, seed=seed, name=corpus),
                       corpus=corpus, write=write, as_json=as_json)
        return
    with counting("step", numbers=True) as watch:
        found = fit_tuned_lens(ckpt, sentences, steps=steps, seed=seed, watch=watch)
    if write:
        console.print(f"written to {write_tuned_lens(ckpt, found)}", markup=False, highlight=False, soft_wrap=True)
    rows = [{"depth": depth, "logit lens, nats": plain, "tuned lens, nats": tuned}
            for depth, (plain, tuned) in enumerate(found.divergence)]
    if as_json:
        report({"rows": rows}, True)
    else:
        print("\n".join(table(rows)))


def _jacobian_lens(ckpt: "Checkpoint", sentences: "Sequence[Sentence]", others: "Sequence[Sentence]", *,
                   corpus: str | None, write: bool, as_json: bool) -> None:
    from transformer.analysis.jacobian_lens import fit_jacobian_lens, measure_jacobian_lens, write_jacobian_lens
    from transformer.basics.paths import home

    train = ckpt.description.train
    with counting("step", numbers=True) as watch:
        found = fit_jacobian_lens(ckpt, sentences, corpus=corpus or (train.corpus if train else ""), watch=watch)
    if write:
        path = write_jacobian_lens(ckpt, found, home() / "analysis")
        console.print(f"written to {path}", markup=False, highlight=False, soft_wrap=True)
    with counting("measure") as watch:
        figures = measure_jacobian_lens(ckpt, found, others, watch=watch)
    rows = {"encoder": [{
        "encoder depth": one.depth, "translation has one of its top 5, logit lens": one.share[0],
        "Jacobian lens": one.share[1], "another text's has, Jacobian lens": one.chance}
        for one in figures if one.stack == "encoder"], "decoder": [{
            "decoder depth": one.depth, "top token is the output's, logit lens": one.share[0],
            "Jacobian lens": one.share[1], "KL, logit lens, nats": one.divergence[0],
            "KL, Jacobian lens, nats": one.divergence[1]} for one in figures if one.divergence is not None]}
    if as_json:
        report({"predictions": found.predictions, "measured_on": len(others), **rows}, True)
    else:
        print("\n\n".join("\n".join(table(part)) for part in rows.values() if part))


def ablate(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="The folder for results, one inside it for each checkpoint.")],
    what: Annotated[str, typer.Option(help="off, or uniform attention.")] = "off",
    limit: Annotated[int, typer.Option(help="The first N held-out sentences; 0 for all.")] = 200,
    corpus: Corpus = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Switch each head off in turn and measure what it changes; the same command goes on where it was stopped."""
    from transformer.jobs import run_files
    from transformer.jobs.process import go_first
    from transformer.studies.ablation_job import read, run

    go_first()
    with counting("head", numbers=True) as watch:
        done = run(opened(folder, device), out, what=what, limit=limit or None, corpus=corpus,
                   watch=lambda done, of, row: watch(done, of))
    effects = read(done)
    about = {"folder": str(done), "state": run_files.read_json(done / "status.json").get("state"), "what": what}
    if effects is not None:
        about |= {"done": effects.done, "of": effects.of, "n": effects.n, **effects.baseline}
        about |= {"heads": run_files.read(done / "heads.jsonl")} if as_json else {}
    report(about, as_json)


def known(
    names: Annotated[list[str] | None, typer.Argument(help="Some of the results, such as alignment; by default "
                                                           "all.")] = None,
    as_json: AsJson = False,
    keep: Annotated[bool, typer.Option("--record", help="Write down what comes out, with the day and this machine: the "
                                                        "page Known results opens with that.")] = False,
) -> None:
    """Compute published results on attention again, and say which agree here."""
    from rich.console import Console

    from transformer.studies.known_results import COLOURS, Models, named, record

    models, rows, out = Models(), [], Console(highlight=False)
    for one in named(names or []):
        with counting(one.name) as watch:
            outcome = one.outcome(models, watch)
        if keep:
            record({one.name: outcome})
        rows.append(one.row(outcome))
        if not as_json:
            out.print(f"{one.title} ({one.source}): ", style="bold", markup=False, end="", soft_wrap=True)
            out.print(outcome.verdict, style=f"bold {COLOURS[outcome.verdict]}")
            for name, text in (("published", one.published), ("agrees if", one.agrees_if), ("here", outcome.here)):
                out.print(f"  {name:<9}  {text}", markup=False, soft_wrap=True)
            out.print()
    if as_json:
        report({"rows": rows}, True)


def _sample(folder: Path, device: str, *, limit: int, seed: int, corpus: str | None,
            split: str | None = None) -> "tuple[Checkpoint, list[Sentence]]":
    """A checkpoint, and the sentences that it is measured on; split: the held-out one by default."""
    from transformer.evaluation.held_out import held_out_sentences

    ckpt = opened(folder, device)
    return ckpt, held_out_sentences(ckpt, limit=limit, seed=seed, split=split, name=corpus)


def _aligner(ckpt: "Checkpoint", cache: Path | None, corpus: str | None) -> "WordAligner | None":
    """The word alignment of a corpus, for a model that translates."""
    from transformer.basics.paths import home
    from transformer.evaluation.held_out import word_aligner

    return word_aligner(ckpt, cache or home() / "analysis", name=corpus) if ckpt.config.task == "translation" else None
