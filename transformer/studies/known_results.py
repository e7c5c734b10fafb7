"""Published results on attention, each computed again on this machine: what was published, what comes out here, and
whether they agree. A row that does not agree says so; none is chosen for how it ends.

L layers, H heads, T tokens, V vocabulary (or classes).
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.ablation import Head, Measurement, loss_change, measure, switch_heads
from transformer.analysis.alignment_error import READ, attention_between_words, error_rate, only, read_aligned
from transformer.analysis.lens import read_layers
from transformer.analysis.patching import estimate, patch_heads, patch_positions, read_pair
from transformer.analysis.token_inputs import inputs_of_text
from transformer.analysis.tuned_lens import read_tuned_lens
from transformer.basics.formatting import how_many
from transformer.basics.paths import home, places
from transformer.checkpoints.checkpoint import Checkpoint, describe, find, load
from transformer.checkpoints.openings import pairs_of
from transformer.evaluation.held_out import held_out_sentences
from transformer.inference.beam_search import translate
from transformer.inference.run import Run, run_ids
from transformer.model.attention import repeat_for_queries
from transformer.settings.presets import preset
from transformer.training.events import head_measures
from transformer.training.trainer import train

if TYPE_CHECKING:
    from pandas import DataFrame

Watch = Callable[[int, int], None]  # done, of; called several times a second, and may raise to end the work
REPEATED, ROWS = 25, 16  # random tokens in a row, twice, and how many such rows
INDUCTION = 0.5  # of a head's weight, from which it is called an induction head
SINK = 0.5  # of a layer's weight on the first token
TOO_EARLY = 2  # layers at the bottom, of which no sink is claimed
LOST, PRUNED = 0.15, 38 / 48  # BLEU; the share of encoder heads
CLOSE = 0.9  # correlation
DRAWS = 200  # of pairs, for a standard error
TEXTS = {"left_out": 300, "sink": 32, "attention": 200, "lens": 40, "uniform": 1_000}  # of held-out text, at most
CLASSIFIERS = ("classify", "punctuate")
WAIT = 0.2  # seconds between two looks whether a training has ended
_training = Lock()  # held by who trains
_repeat: TemporaryDirectory | None = None  # of the run, once it has been trained
IOI = (  # Wang et al. 2023's task as in TransformerLens' demonstration: a template and two names, each once the subject
    ("When {} and {} went to the shops, {} gave the bag to", "Mary", "John"),
    ("When {} and {} went to the park, {} gave the ball to", "Tom", "James"),
    ("When {} and {} went to the shops, {} gave an apple to", "Dan", "Sid"),
    ("After {} and {} went to the park, {} gave a drink to", "Martin", "Amy"))
IOI_PUBLISHED, IOI_TOLERANCE = 3.552, 0.05  # of the difference of two logits
Verdict = Literal["agrees", "does not agree", "undecided", "not computed"]
COLOURS: dict[Verdict, str] = {  # undecided: within what chance would do
    "agrees": "green", "does not agree": "red", "undecided": "yellow", "not computed": "blue"}


class NotHere(ValueError):
    """A result that cannot be computed here, and what to do about it."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A result as it came out here, or why it could not be computed. link: the page on which it is seen, and the
    parameters of its address."""

    here: str
    verdict: Verdict
    numbers: Mapping[str, float] = field(default_factory=dict)
    link: tuple[str, Mapping[str, str]] | None = None


@dataclass(frozen=True, kw_only=True)
class KnownResult:
    """A published result and how it is computed again."""

    name: str
    title: str
    source: str
    url: str
    published: str
    agrees_if: str
    models: tuple[str, ...]  # the checkpoints that it is computed of; none where it trains its own
    seconds: int  # that it takes, on two idle cores
    compute: Callable[["Models", Watch], Outcome]

    def outcome(self, models: "Models", watch: Watch = lambda done, of: None) -> Outcome:
        """What comes out here."""
        try:
            return self.compute(models, watch)
        except NotHere as error:
            return Outcome(here=str(error), verdict="not computed")

    def row(self, outcome: Outcome) -> dict[str, object]:
        """Both as plain values for JSON."""
        return {"name": self.name, "title": self.title, "source": self.source, "url": self.url,
                "published": self.published, "agrees_if": self.agrees_if, "here": outcome.here,
                "verdict": outcome.verdict, "numbers": dict(outcome.numbers)}

    def model_ids(self) -> tuple[str | None, ...]:
        """The ids of the models that are here; None for one that is not."""
        folders = map(Models.find, self.models)
        return tuple(None if folder is None else describe(folder).id for folder in folders)

    def recorded(self, path: Path | None = None) -> "Recorded | None":
        """What came out before, as it was recorded: None where that was of other models, or by another rule."""
        found = _recorded(path or RECORDED).get(self.name)
        return found if found and found.of == (self.agrees_if, *self.model_ids()) else None


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An outcome with its day and machine. of: the rule that it was judged by, and the ids of the models."""

    outcome: Outcome
    day: str
    machine: str
    of: tuple[str | None, ...]


RECORDED = Path(__file__).with_name("known_results.json")


@cache
def _recorded(path: Path) -> dict[str, Recorded]:
    if not path.exists():
        return {}
    rows = json.loads(path.read_text("utf-8"))
    return {row["name"]: Recorded(
        outcome=Outcome(here=row["here"], verdict=row["verdict"], numbers=row["numbers"],
                        link=(row["link"][0], row["link"][1]) if row["link"] else None),
        day=row["day"], machine=row["machine"], of=tuple(row["of"])) for row in rows}


def record(outcomes: Mapping[str, Outcome], path: Path | None = None) -> None:
    """Write down what was computed, by the names of the results, beside what is recorded of others."""
    now = time.localtime()
    day = f"{now.tm_mday} {time.strftime('%B %Y', now)}"
    machine = f"{how_many(os.cpu_count() or 1, 'core')}, PyTorch {torch.__version__.partition('+')[0]}"
    known = dict(_recorded(path or RECORDED))
    for name, outcome in outcomes.items():
        if outcome.verdict != "not computed":
            one = BY_NAME[name]
            known[name] = Recorded(outcome=outcome, day=day, machine=machine, of=(one.agrees_if, *one.model_ids()))
    rows = [{"name": name, **asdict(known[name].outcome), "day": known[name].day, "machine": known[name].machine,
             "of": known[name].of} for name in BY_NAME if name in known]
    (path or RECORDED).write_text(f"{json.dumps(rows, ensure_ascii=False, indent=1)}\n", "utf-8")
    _recorded.cache_clear()


class Models:
    """The checkpoints of known results: where they are, and how they are opened."""

    def __init__(self, open_: Callable[[Path], Checkpoint] = load):
        self._open = open_

    def __getitem__(self, name: str) -> Checkpoint:
        """Raises NotHere for one that is not on this disk."""
        folder = self.find(name)
        if folder is None:
            raise NotHere(NEEDED[name])
        return self._open(folder)

    @staticmethod
    def find(name: str) -> Path | None:
        """The folder of a model: shipped ones by their names; others where imports are, by their shape and by what they
        say that they were imported from."""
        shipped = places()[0] / name
        if (shipped / "config.json").is_file():
            return shipped
        for folder in find(home() / "imports") if name in SHAPES else ():
            with suppress(ValueError, OSError):
                about = describe(folder)
                config = about.config
                if (config.d_model, config.decoder_layers, config.n_heads, config.vocab_size) == SHAPES[name] and str(
                        about.meta.get("imported_from", "")).partition("@")[0].endswith(name):
                    return folder
        return None


SHAPES = {"smollm2": (576, 30, 9, 49_152), "gpt2": (768, 12, 12, 50_257)}  # width, layers, heads, vocabulary
NEEDED = {
    "smollm2": "SmolLM2 is not here. `headsup import smollm2` brings it, as does Checkpoints: 93 MB.",
    "gpt2": "GPT-2 small is not on this disk. `headsup import openai-community/gpt2` brings it in, out of the hub's "
            "cache or with a network: 550 MB.",
    "translate": "translate, which comes with Heads Up, is missing.",
    "write": "write, which comes with Heads Up, is missing.",
    "classify": "classify, which comes with Heads Up, is missing.",
    "punctuate": "punctuate, which comes with Heads Up, is missing.",
}


def _roles(ckpt: Checkpoint, measure: str, kind: str, layer: int, head: int) -> tuple[str, dict[str, str]]:
    return "heads", {"checkpoint": ckpt.id, "view": "roles", "role": measure, "role_kind": kind,
                     "role_layer": str(layer), "role_head": str(head)}


def _agrees(holds: bool) -> Verdict:
    return "agrees" if holds else "does not agree"


def beyond_chance(differences: Sequence[tuple[float, float]]) -> Verdict:
    """Whether all of these, each with its standard error, are above 0 by more than two of them; or one is below."""
    if any(value < -2 * error for value, error in differences):
        return "does not agree"
    return "agrees" if all(value > 2 * error for value, error in differences) else "undecided"


def _percent(share: float) -> str:
    return f"{share:.0%}"


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, a minus as it is printed."""
    return f"{value:+.{digits}f}".replace("-", "−")


@torch.no_grad()
def induction_of(ckpt: Checkpoint, *, rows: int = ROWS, count: int = REPEATED, seed: int = 0,
                 watch: Watch = lambda done, of: None) -> NDArray:
    """The weight (L, H) that each head of a decoder puts on the token after the earlier occurrence of its query, on
    rows of different random tokens, twice. Prefix matching: Olsson et al. 2022, "Definition of induction heads"."""
    config, generator, total = ckpt.config, torch.Generator().manual_seed(seed), None
    special = {config.pad_id, config.unk_id, config.bos_id, config.eos_id}
    pool = torch.tensor([id for id in range(config.vocab_size) if id not in special])
    count = min(count, len(pool), config.max_len // 2)
    for row in range(rows):
        watch(row, rows)
        ids = pool[torch.randperm(len(pool), generator=generator)[:count]]
        found = _read_ids(ckpt, torch.cat([ids, ids]), "decoder.*.pattern")
        pattern = torch.stack([found[name] for name in found.names])  # (L, H, 2 count, 2 count)
        queries = torch.arange(count, 2 * count - 1, device=pattern.device)
        part = pattern[..., queries, queries - count + 1].mean(-1).double()
        total = part if total is None else total + part
    assert total is not None, "rows is at least 1"
    return (total / rows).cpu().numpy()


def _read_ids(ckpt: Checkpoint, ids: Tensor, capture: str | Sequence[str] = ()) -> Run:
    """A pass of a decoder over ids (T,)."""
    return run_ids(ckpt, [(None, ids[None].to(ckpt.device), None)], texts=[""], targets=[None], capture=capture)


def _induction(models: Models, watch: Watch) -> Outcome:
    ckpt = models["smollm2"]
    found = induction_of(ckpt, watch=watch)
    layer, head = (int(at) for at in np.unravel_index(found.argmax(), found.shape))
    many = int((found >= INDUCTION).sum())
    return Outcome(
        here=f"{many} of {found.size} heads put at least half of their weight on what came next the last time; most: "
             f"layer {layer}, head {head}, {_percent(found[layer, head])}.",
        verdict=_agrees(many > 0), numbers={"heads": many, "of": found.size, "most": float(found.max())},
        link=_roles(ckpt, "induction", "decoder", layer, head))


def _sink(models: Models, watch: Watch) -> Outcome:
    """The published figure is of sentences of 16 tokens; a sink is weaker in a long text, which has more to look at."""
    ckpt, found, read = models["smollm2"], {}, {}
    texts = held_out_sentences(ckpt, limit=TEXTS["sink"], name="tiny-shakespeare")
    for length in (16, 128):
        rows = [one.tgt[:length] for one in texts if one.tgt and len(one.tgt) >= length]
        total = np.zeros(ckpt.config.decoder_layers)
        for done, row in enumerate(rows):
            watch(done, len(rows))
            one = _read_ids(ckpt, torch.tensor(row), "decoder.*.pattern")
            total += torch.stack([one[name][:, 1:, 0].mean() for name in one.names]).double().cpu().numpy()
        found[length], read[length] = total / len(rows), len(rows)
    above = found[16][TOO_EARLY:]
    return Outcome(
        here=f"From layer {TOO_EARLY} on {_percent(float(above.mean()))} of the weight lies on the first token of "
             f"{read[16]} texts of 16 tokens, at least half in {int((above >= SINK).sum())} of {len(above)} layers; "
             f"of 128 tokens {_percent(float(found[128][TOO_EARLY:].mean()))}.",
        verdict=_agrees(bool(above.mean() >= SINK)),
        numbers={"16 tokens": float(above.mean()), "128 tokens": float(found[128][TOO_EARLY:].mean())},
        link=_roles(ckpt, "first", "decoder", int(found[16].argmax()), 0))


def _strongest(frame: "DataFrame", name: str) -> tuple[int, int, float, NDArray, NDArray]:
    """The decoder head that has most of a measure in the end: its layer and number, the value of uniform attention, the
    steps, and the head's value at each."""
    some = frame[(frame["measure"] == name) & (frame["kind"] == "decoder")]
    table = some.pivot_table(index="step", columns=["layer", "head"], values="value")  # a row for each step
    layer, head = table.iloc[-1].idxmax()
    even, at, values = map(np.asarray, (some["even"], table.index, table[(layer, head)]))
    return int(layer), int(head), float(even[0]), at, values


def _sink_forms(models: Models, watch: Watch) -> Outcome:
    """The share of the training after which a decoder's strongest sink has taken half of its way."""
    parts, numbers, early = [], {}, []
    for name in ("translate", "write"):
        ckpt = models[name]
        layer, head, even, at, values = _strongest(head_measures(ckpt.description.folder), "first")
        strongest, grown = float(values[-1]), values - even
        numbers[name] = strongest
        if strongest < max(0.4, 2 * even):
            parts.append(f"{name}: no sink in the end; its strongest head gives the first token {_percent(strongest)}, "
                         f"where {_percent(even)} is even")
            continue
        begun = int(at[grown >= grown[-1] / 2][0])
        share = begun / int(at[-1])
        numbers[f"{name} formed"] = share
        parts.append(f"{name}: {_percent(strongest)} in layer {layer}, head {head} ({_percent(even)} is even), half of "
                     f"it by step {begun:,}, {_percent(share)} of the training")
        early.append(share <= 0.25)
    ckpt = models["write"]
    return Outcome(here="; ".join(parts) + ".", verdict=_agrees(all(early)) if early else "undecided", numbers=numbers,
                   link=("checkpoints", {"checkpoint": ckpt.id}))


def _left_out(models: Models, watch: Watch) -> Outcome:
    """As large a share of the encoder heads of `translate` as was published, those that the loss misses least."""
    ckpt = models["translate"]
    config, sentences = ckpt.config, held_out_sentences(ckpt, limit=TEXTS["left_out"])
    heads = [Head("encoder", layer, head) for layer in range(config.encoder_layers) for head in range(config.n_heads)]
    most = round(PRUNED * len(heads))
    counts, done = sorted({1, 2, most}), 0

    def without(off: Sequence[Head]) -> Measurement:
        nonlocal done
        found = measure(ckpt, sentences, switch_heads(config, *off),
                        watch=lambda part, of: watch(done, 1 + len(heads) + len(counts)))
        done += 1
        return found

    whole = without([])
    cost = {head: loss_change(without([head]).nats, whole.nats, whole.tokens)[0] for head in heads}
    order = sorted(heads, key=cost.__getitem__)
    scores = {count: without(order[:count]).bleu or 0.0 for count in counts}
    before = whole.bleu or 0.0
    off = ",".join(f"{kind}:{layer}:{head}" for kind, layer, head in order[:most])
    few = " and ".join(f"{scores[count]:.1f} with {count}" for count in counts[:-1])
    return Outcome(
        here=f"{before:.1f} BLEU on {len(sentences)} sentences with all {len(heads)} encoder heads of translate, {few} "
             f"off (within chance), {scores[most]:.1f} with {most} off, without training it again.",
        verdict=_agrees(scores[most] >= before - LOST),
        numbers={"all": before, **{f"{count} off": score for count, score in scores.items()}},
        link=("heads", {"checkpoint": ckpt.id, "view": "switch", "heads": off}))


def _alignment(models: Models, watch: Watch) -> Outcome:
    ckpt, pairs = models["translate"], read_aligned()
    attention = attention_between_words(ckpt, pairs, watch=watch)
    best = {}
    for read in READ:
        errors = attention.errors(read)
        layer, head = (int(at) for at in np.unravel_index(errors.argmin(), errors.shape))
        best[read] = float(errors[layer, head]), layer, head
    said = {read: f"{error:.3f} (layer {layer}, head {head})" for read, (error, layer, head) in best.items()}
    _, layer, head = min(best.values())
    shape = ckpt.config.decoder_layers, ckpt.config.n_heads
    links = {read: attention.links(read, only(found[1:], shape)) for read, found in best.items()}
    draws, generator = [], np.random.default_rng(0)
    for _ in range(DRAWS):
        some = generator.integers(0, len(pairs), len(pairs))
        output, read = (error_rate([pairs[at] for at in some], [links[name][at] for at in some]) for name in (
            "output", "input"))
        draws.append(output - read)
    return Outcome(
        here=f"Alignment error of the best cross-attention head on {len(pairs)} pairs aligned by hand: "
             f"{said['input']} where the word is read, {said['output']} where it is written; a difference of "
             f"{signed(best['input'][0] - best['output'][0], 3)} ± {np.std(draws):.3f} (bootstrap over pairs).",
        verdict=beyond_chance([(best["output"][0] - best["input"][0], float(np.std(draws)))]),
        numbers={read: found[0] for read, found in best.items()}, link=_roles(ckpt, "alignment", "cross", layer, head))


def trained_repeat(watch: Watch) -> Path:
    """The run folder of a two-layer model of attention alone that has learned to repeat: trained when it is first asked
    for, once for all who ask, and deleted when the process ends."""
    global _repeat
    while not _training.acquire(timeout=WAIT):  # somebody else trains it, and may leave
        watch(0, 0)
    try:
        if _repeat is None:
            place = TemporaryDirectory(prefix="headsup-repeat-")
            try:
                train(Path(place.name) / "run", "repeat", device="cpu", watch=lambda row: watch(
                    int(row["step"]), preset("repeat").train.steps))
            except BaseException:
                place.cleanup()
                raise
            _repeat = place
        return Path(_repeat.name) / "run"
    finally:
        _training.release()


def _previous_first(models: Models, watch: Watch) -> Outcome:
    frame = head_measures(trained_repeat(watch))
    formed: dict[str, tuple[int, int, int]] = {}
    for name in ("previous", "induction"):
        layer, head, even, steps, values = _strongest(frame, name)
        half = even + (values[-1] - even) / 2
        formed[name] = int(steps[values >= half][0]), layer, head
    (before, at, one), (after, above, other) = formed["previous"], formed["induction"]
    return Outcome(
        here=f"In a model trained for this, the previous-token head (layer {at}, head {one}) is half formed at step "
             f"{before:,}, the induction head (layer {above}, head {other}) at step {after:,}.",
        verdict=_agrees(before <= after and at < above), numbers={"previous": before, "induction": after},
        link=("train", {}))


@torch.no_grad()
def copying_of(ckpt: Checkpoint) -> NDArray:
    """How far each head (L, H) of a decoder copies the token it looks at, from -1 to 1: the sum of the eigenvalues of
    what it makes of every token's embedding in the logits, over the sum of their magnitudes. Elhage et al. 2021,
    "Detecting copying behavior". Norms, biases and positions are left out."""
    model, config = ckpt.model, ckpt.config
    embedded, written = model.tgt_embedding.tokens.weight.double(), model.output.weight.double()  # (V, d_model) each
    if embedded.shape[1] != config.d_model or written.shape[1] != config.d_model:
        raise ValueError(f"{ckpt.id} has embeddings of another width than its layers; choose another model")
    between = written.T @ embedded  # (d_model, d_model)
    out = np.empty((config.decoder_layers, config.n_heads))
    for layer in range(config.decoder_layers):
        part = model.attention("decoder", layer)
        v = repeat_for_queries(part.v_proj.weight.double().unflatten(0, (part.groups, -1)), part.n_heads)  # (H, D, d)
        o = part.out_proj.weight.double().unflatten(1, (part.n_heads, -1)).transpose(0, 1)  # (H, d, D)
        values = torch.linalg.eigvals(v @ between.T @ o)  # (H, D): those of the (V, V) map that are not 0
        out[layer] = (values.real.sum(-1) / values.abs().sum(-1)).cpu().numpy()
    return out


def _copying(models: Models, watch: Watch) -> Outcome:
    ckpt = load(trained_repeat(watch) / "best")
    induction, copying = induction_of(ckpt, count=10), copying_of(ckpt)
    heads = [tuple(map(int, at)) for at in np.argwhere(induction >= INDUCTION)]
    said = ", ".join(f"layer {layer}, head {head}: {signed(copying[layer, head])}" for layer, head in heads)
    return Outcome(
        here=f"In a model trained for this: {how_many(len(heads), 'induction head')}, with {said} (1 copies, −1 does "
             "the opposite)." if heads else "In a model trained for this, no head puts half of its weight on what came "
                                            "next the last time.",
        verdict=_agrees(all(copying[at] > 0.5 for at in heads)) if heads else "undecided",
        numbers={f"layer {layer} head {head}": float(copying[layer, head]) for layer, head in heads},
        link=("train", {}))


def kendall(one: NDArray, other: NDArray) -> float:
    """Kendall's τ-b, the rank correlation with ties left out of both; NaN where either is flat. Kendall 1945."""
    first, second = (np.sign(values[:, None] - values[None]) for values in (one, other))
    size = np.sqrt(np.abs(first).sum() * np.abs(second).sum())
    return float((first * second).sum() / size) if size else float("nan")


def importance(ckpt: Checkpoint, ids: Sequence[int]) -> dict[str, NDArray]:
    """How much each token (T,) of a text matters to the class that an encoder gives it, three times: "attention", what
    all heads of the last layer give to it on average; "gradient" of the class' probability times its embedding;
    "left out", how much less probable the class is without it. Jain and Wallace 2019, section 4.1."""
    rows = [(torch.tensor([[*ids]], device=ckpt.device), None, None)]
    rows += [(torch.tensor([[*ids[:at], *ids[at + 1:]]], device=ckpt.device), None, None) for at in range(len(ids))]
    last = ckpt.config.encoder_layers - 1
    read = run_ids(ckpt, rows[:1], texts=[""], targets=[None], capture=["encoder.embed", f"encoder.{last}.pattern"])
    assert read.logits is not None, "a classifier was asked for"
    chosen = int(read.logits.argmax())

    def probability(of: Run) -> Tensor:
        assert of.logits is not None
        return of.logits[chosen].exp()

    slope = read.grad(probability)["encoder.embed"]
    without = run_ids(ckpt, rows[1:], texts=[""] * len(ids), targets=[None] * len(ids), alone=False)
    assert without.all_logits is not None
    return {"attention": read[f"encoder.{last}.pattern"].mean((0, 1)).double().cpu().numpy(),
            "gradient": (slope * read["encoder.embed"]).sum(-1).abs().double().cpu().numpy(),
            "left out": (read.logits[chosen].exp() - without.all_logits[:, chosen].exp()).abs().double().cpu().numpy()}


def _gradients(models: Models, watch: Watch) -> Outcome:
    pairs = (("attention", "gradient"), ("attention", "left out"), ("gradient", "left out"))
    parts, numbers, differences = [], {}, []
    for at, name in enumerate(CLASSIFIERS):
        ckpt, found = models[name], {pair: [] for pair in pairs}
        texts = [one.src for one in held_out_sentences(ckpt, limit=TEXTS["attention"]) if one.src and len(one.src) > 2]
        for done, ids in enumerate(texts):
            watch(at * len(texts) + done, len(CLASSIFIERS) * len(texts))
            values = importance(ckpt, ids)
            for one, other in pairs:
                found[one, other].append(kendall(values[one], values[other]))
        means = [float(np.nanmean(found[pair])) for pair in pairs]
        numbers |= {f"{name}, {' with '.join(pair)}": mean for pair, mean in zip(pairs, means, strict=True)}
        own = np.array(found[pairs[2]])
        for pair in pairs[:2]:
            apart = own - np.array(found[pair])
            apart = apart[~np.isnan(apart)]
            differences.append((float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))))
        parts.append(f"{name}: attention with gradients {signed(means[0])}, with leaving a token out "
                     f"{signed(means[1])}; "
                     f"these two with each other {signed(means[2])}")
    return Outcome(here=f"Kendall's τ, the mean over {TEXTS['attention']} texts at most. {'; '.join(parts)}.",
                   verdict=beyond_chance(differences), numbers=numbers,
                   link=("heads", {"checkpoint": models[CLASSIFIERS[-1]].id, "view": "attribution"}))


def _uniform(models: Models, watch: Watch) -> Outcome:
    ckpt = models["punctuate"]
    sentences, config = held_out_sentences(ckpt, limit=TEXTS["uniform"]), ckpt.config
    heads = [Head("encoder", layer, head) for layer in range(config.encoder_layers) for head in range(config.n_heads)]
    before, after = (measure(ckpt, sentences, switch_heads(config, *some, what="uniform"), watch=watch)
                     for some in ((), heads))
    assert before.right is not None and after.right is not None, "it classifies"
    change = float(after.right.mean() - before.right.mean())
    error = float(np.sqrt((before.right != after.right).sum()) / len(sentences))  # McNemar 1947
    return Outcome(
        here=f"punctuate is right on {before.right.mean():.1%} of {len(sentences):,} texts, and with every head "
             f"uniform on {after.right.mean():.1%} ({signed(100 * change, 1)} ± {100 * error:.1f} points). It was not "
             "trained again, which makes the loss larger.",
        verdict=beyond_chance([(-change, error)]),
        numbers={"as trained": float(before.right.mean()), "uniform": float(after.right.mean())},
        link=("heads", {"checkpoint": ckpt.id, "view": "switch", "what": "uniform"}))


def _tuned(models: Models, watch: Watch) -> Outcome:
    parts, better, numbers = [], [], {}
    for at, name in enumerate(("translate", "write")):
        ckpt = models[name]
        lens = read_tuned_lens(ckpt)
        if lens is None:
            raise NotHere(f"{name} has no tuned lens in its folder; `headsup lens {name} --write` fits one.")
        sentences, sums = held_out_sentences(ckpt, limit=TEXTS["lens"]), []
        for done, one in enumerate(sentences):
            watch(at * len(sentences) + done, 2 * len(sentences))
            text = inputs_of_text(ckpt, one.text, one.target)
            positions = [*range(len(text.ids))]
            sums.append([read_layers(text, positions=positions, through=tuned).divergence.mean(-1).numpy()
                         for tuned in (None, lens)])
        plain, tuned = np.mean(sums, 0)[:, :-1]  # the last depth is the output itself
        better.append(bool((tuned < plain).all()))
        numbers |= {f"{name}, logit lens": float(plain.mean()), f"{name}, tuned lens": float(tuned.mean())}
        parts.append(f"{name}: {plain.mean():.2f} nats through the logit lens, {tuned.mean():.2f} through the tuned "
                     f"one, closer at {int((tuned < plain).sum())} of {len(plain)} depths")
    return Outcome(here="; ".join(parts) + ".", verdict=_agrees(all(better)), numbers=numbers,
                   link=("heads", {"checkpoint": models["translate"].id, "view": "lens", "lens": "tuned"}))


def _estimates(models: Models, watch: Watch) -> Outcome:
    """Of pairs of sentences, at the first token in which their translations differ."""
    ckpt = models["translate"]
    found: dict[str, list[NDArray]] = {"heads": [], "residual stream": []}
    texts = pairs_of(ckpt)
    for done, (clean, other) in enumerate(texts):
        watch(done, len(texts))
        target, another = (ckpt.tokenizer.encode(text) for text in translate(ckpt, [clean, other]))
        differs = (place for place, ids in enumerate(zip(target, another, strict=False)) if ids[0] != ids[1])
        if (at := next(differs, None)) is None:  # one translation is how the other begins
            continue
        target = ckpt.tokenizer.decode(target)
        pair = read_pair(inputs_of_text(ckpt, clean, target), inputs_of_text(ckpt, other, target), position=at)
        quick = estimate(pair)
        for name, exact, estimated in (
                ("heads", torch.cat([patch_heads(pair, kind).flatten() for kind in ckpt.config.kinds]),
                 torch.cat([quick.heads[kind].flatten() for kind in ckpt.config.kinds])),
                ("residual stream", patch_positions(pair, "encoder", "resid_pre").flatten(),
                 quick.positions["encoder", "resid_pre"].flatten())):
            found[name].append(np.stack([exact.cpu().numpy(), estimated.cpu().numpy()]))
    if not (read := len(found["heads"])):
        raise ValueError(f"{ckpt.id} translates no two sentences of a pair differently")
    likeness = {name: float(np.corrcoef(np.concatenate(values, 1))[0, 1]) for name, values in found.items()}
    return Outcome(
        here=f"Correlation of the estimate with the exact map, over {how_many(read, 'pair')} of sentences: "
             f"{likeness['heads']:.3f} for heads, {likeness['residual stream']:.3f} for the encoder's residual stream.",
        verdict=_agrees(min(likeness.values()) >= CLOSE), numbers=likeness,
        link=("heads", {"checkpoint": ckpt.id, "view": "patching"}))


@torch.no_grad()
def name_difference(ckpt: Checkpoint) -> float:
    """The logit of the right name less that of the other after each prompt of `IOI`, on average. The begin token stands
    before each. Raises ValueError for a tokenizer in which a name is more than one token."""
    config, tokenizer, differences = ckpt.config, ckpt.source_tokenizer, []
    begin = config.bos_id if config.bos_id is not None else config.eos_id
    for template, one, other in IOI:
        right = {}
        for name in (one, other):
            ids = tokenizer.encode(f" {name}")
            if len(ids) != 1:
                raise ValueError(f"{name} is {len(ids)} tokens for {ckpt.id}; this result is of GPT-2's tokenizer")
            right[name] = ids[0]
        for names, subject in (((one, other), other), ((one, other), one)):
            ids = torch.tensor([begin, *tokenizer.encode(template.format(*names, subject))])
            logits = _read_ids(ckpt, ids).logits
            assert logits is not None
            indirect = one if subject == other else other
            differences.append(float(logits[-1, right[indirect]] - logits[-1, right[subject]]))
    return float(np.mean(differences))


def _ioi(models: Models, watch: Watch) -> Outcome:
    ckpt = models["gpt2"]
    found = name_difference(ckpt)
    text = IOI[0][0].format("Mary", "John", "John")
    return Outcome(
        here=f"A difference of {found:.3f} on average over {2 * len(IOI)} prompts.",
        verdict=_agrees(abs(found - IOI_PUBLISHED) < IOI_TOLERANCE), numbers={"difference": found},
        link=("heads", {"checkpoint": ckpt.id, "view": "patching", "text": text}))


KNOWN = (
    KnownResult(
        name="induction", title="Induction heads", source="Olsson et al. 2022",
        url="https://transformer-circuits.pub/2022/in-context-learning-and-induction-heads/index.html",
        published="Language models with two or more layers have heads that look at what came after the last occurrence "
                  "of a token, random tokens included.",
        agrees_if="a head of SmolLM2 puts at least half of its weight there, on 16 rows of 25 random tokens, twice",
        models=("smollm2",), seconds=15, compute=_induction),
    KnownResult(
        name="sink", title="Attention sinks", source="Xiao et al. 2024", url="https://arxiv.org/abs/2309.17453",
        published="Above the bottom two layers, language models give most of their weight to the first token (of "
                  "sentences of 16 tokens).",
        agrees_if="from layer 2 on, heads of SmolLM2 give it half of their weight or more, on average over texts of 16 "
                  "tokens",
        models=("smollm2",), seconds=30, compute=_sink),
    KnownResult(
        name="sink_forms", title="When sinks form", source="Gu et al. 2025", url="https://arxiv.org/abs/2410.10781",
        published="The sink on the first token forms early in the training of a language model.",
        agrees_if="a shipped decoder's head that has a sink in the end (40% and twice the even share) has half of it "
                  "within the first quarter of its recorded training; undecided if none has one",
        models=("translate", "write"), seconds=3, compute=_sink_forms),
    KnownResult(
        name="left_out", title="Heads that can be left out", source="Voita et al. 2019",
        url="https://arxiv.org/abs/1905.09418",
        published="38 of 48 encoder heads can be left out for 0.15 BLEU (English to Russian), after training with "
                  "gates.",
        agrees_if="with as large a share of translate's encoder heads off, 13 of 16, it loses at most 0.15 BLEU; ours "
                  "is not trained again, which asks more of it",
        models=("translate",), seconds=130, compute=_left_out),
    KnownResult(
        name="alignment", title="Alignment where a word is read", source="Chen et al. 2020",
        url="https://arxiv.org/abs/2004.14837",
        published="Cross-attention aligns words better at the step that reads the word than at the one that writes it.",
        agrees_if="the best head's alignment error is lower where the word is read, by more than two standard errors",
        models=("translate",), seconds=3, compute=_alignment),
    KnownResult(
        name="previous_first", title="Previous-token heads come first", source="Olsson et al. 2022",
        url="https://transformer-circuits.pub/2022/in-context-learning-and-induction-heads/index.html",
        published="An induction head is made of two: it needs a previous-token head in a layer below.",
        agrees_if="in a model trained now on repeated letters, the previous-token head is half formed no later than "
                  "the induction head, in a layer below",
        models=(), seconds=30, compute=_previous_first),
    KnownResult(
        name="copying", title="Induction heads copy", source="Elhage et al. 2021",
        url="https://transformer-circuits.pub/2021/framework/index.html",
        published="In a two-layer model of attention alone, what an induction head makes of a token has positive "
                  "eigenvalues: it writes the token that it looks at.",
        agrees_if="in the model trained on repeated letters, the eigenvalues of every induction head add up to more "
                  "than half of their magnitudes",
        models=(), seconds=30, compute=_copying),
    KnownResult(
        name="gradients", title="Attention is not explanation", source="Jain and Wallace 2019",
        url="https://arxiv.org/abs/1902.10186",
        published="Attention agrees with gradients and with leaving tokens out less than these two agree with each "
                  "other.",
        agrees_if="in classify and in punctuate, rank correlations of attention with the two are lower than theirs "
                  "with each other, by more than two standard errors",
        models=CLASSIFIERS, seconds=10, compute=_gradients),
    KnownResult(
        name="uniform", title="Attention is not not explanation", source="Wiegreffe and Pinter 2019",
        url="https://arxiv.org/abs/1908.04626",
        published="Where uniform weights in place of attention cost accuracy, attention is needed and may explain "
                  "something.",
        agrees_if="punctuate, for which the order of words matters, loses accuracy by more than two standard errors "
                  "when every head is uniform",
        models=("punctuate",), seconds=3, compute=_uniform),
    KnownResult(
        name="tuned_lens", title="The tuned lens reads more", source="Belrose et al. 2023",
        url="https://arxiv.org/abs/2303.08112",
        published="At every depth the tuned lens is closer to what the model says in the end than the logit lens.",
        agrees_if="it is at every depth of translate and of write, on held-out text",
        models=("translate", "write"), seconds=10, compute=_tuned),
    KnownResult(
        name="estimates", title="Attribution patching", source="Nanda 2023; Kramár et al. 2024",
        url="https://arxiv.org/abs/2403.00745",
        published="The estimate by gradients, two passes in all, comes close to activation patching.",
        agrees_if="at the first token in which two translations differ, it correlates with the exact map by 0.9 or "
                  "more, for heads and for the residual stream",
        models=("translate",), seconds=10, compute=_estimates),
    KnownResult(
        name="ioi", title="Indirect objects", source="Wang et al. 2023; TransformerLens",
        url="https://arxiv.org/abs/2211.00593",
        published="GPT-2 small prefers the right name by 3.552 logits on average over eight prompts.",
        agrees_if="the difference is within 0.05 of it", models=("gpt2",), seconds=5, compute=_ioi),
)
BY_NAME = {one.name: one for one in KNOWN}


def named(names: Sequence[str]) -> list[KnownResult]:
    """The results of these names, all if there are none. Raises ValueError for a name that is none."""
    if unknown := [name for name in names if name not in BY_NAME]:
        raise ValueError(f"there is no known result {unknown[0]!r}; there are {', '.join(BY_NAME)}")
    return [BY_NAME[name] for name in names] or [*KNOWN]
