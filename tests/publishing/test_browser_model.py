"""A published model, run by node, computes what PyTorch computes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args, get_origin

import numpy as np
import pytest
import torch

from tests.node import answering, needs_node
from tests.publishing.drawn_models import COUNT, checkpoint, configs, every
from tests.switched import switched
from transformer.analysis.pooling import pool
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import Step, start, steps
from transformer.inference.reading import Reading, attend
from transformer.inference.sampling import Sampling
from transformer.inference.sampling_settings import SETTINGS, SamplingSetting
from transformer.publishing.weights import COMPUTED, pack
from transformer.settings.config import ModelConfig, Rotary
from transformer.text.corpora import corpus
from transformer.text.word_pieces import BEGINS, ENDS, GOES_ON, NONE, alternatives, piece_labels

pytestmark = needs_node
CLOSE = 1e-4
TEXT = "I am cold. We "


@pytest.fixture(scope="module")
def computed(tmp_path_factory) -> Iterator[Callable[[Sequence[dict]], list[dict]]]:
    """computed([{"ckpt": a checkpoint, "text": ...}, ...]): what the scripts make of each."""
    folder, files = tmp_path_factory.mktemp("packed"), {}

    def file_of(ckpt: Checkpoint) -> str:
        if ckpt not in files:
            files[ckpt] = folder / f"{len(files)}.bin"
            files[ckpt].write_bytes(pack(ckpt))
        return str(files[ckpt])

    with answering("published_model.js") as ask:
        yield lambda asked: ask([{**one, "ckpt": None, "file": file_of(one["ckpt"]) if "ckpt" in one else None}
                                 for one in asked])


def assert_close(ours: np.ndarray | None, expected: torch.Tensor | None, where: object) -> None:
    """Equal to 1e-4, and hidden scores equal."""
    if expected is None or ours is None:
        assert ours is None and expected is None, where
        return
    theirs = expected.detach().float().numpy().ravel()
    assert ours.shape == theirs.shape, where
    assert (np.isneginf(ours) == np.isneginf(theirs)).all(), where
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(np.abs(ours - theirs), nan=0.0, posinf=0.0)
    assert not np.isnan(ours).any() and apart.max() <= CLOSE, (where, float(apart.max()))


def assert_same_attention(found: dict, expected: Step | Reading, where: object) -> None:
    assert [one["kind"] for one in found["attended"]] == list(expected.kinds)
    for one in found["attended"]:
        kind = one["kind"]
        rows = expected.projections(kind)
        for layer, seen in enumerate(one["layers"]):
            at = f"{where} {kind} {layer}"
            theirs = {"scores": expected.scores[kind][layer], "weights": expected.attentions[kind][layer],
                      **dict(zip("qkv", (part[layer] for part in rows), strict=True)),
                      "bias": expected.bias(kind, layer=layer)}
            for name, values in theirs.items():
                assert_close(seen[name], values, f"{at} {name}")


Heads = dict[str, dict[str, list]]  # scale and uniform: kind -> (layers, heads)


def asked(ckpt: Checkpoint, text: str, *, steps: int = 9, heads: Heads | None = None, **options: object) -> dict:
    return {"ckpt": ckpt, "text": text, "steps": steps, "heads": heads, **options}


def assert_as_python(one: dict, found: dict, heads: Heads | None = None) -> None:
    """All that was computed of one text is what Python computes."""
    ckpt, text = one["ckpt"], one["text"]
    where, change = f"{ckpt.id} {ckpt.config!r} {heads}", heads and switched(heads["scale"], heads["uniform"])
    if ckpt.config.decoder_layers:
        path = list(steps(ckpt, text, max_steps=one["steps"], forced=one.get("choices"), change=change))
        assert found["tokens"] == list(path[-1].tokens), where
        for step, logits in zip(path, found["logits"], strict=True):
            assert_close(logits, step.logits, f"{where} step {step.index}")
        assert_same_attention(found, path[-1], where)
    else:
        reading = attend(ckpt, text, change=change)
        assert found["src"] == reading.ids["src"], where
        assert_close(found["logits"], reading.logits, where)
        assert_same_attention(found, reading, where)


def some_heads(ckpt: Checkpoint, seed: int) -> Heads:
    """Some heads off, some half, some uniform."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {kind: (ckpt.config.layers(kind), ckpt.config.n_heads) for kind in ckpt.config.kinds}
    return {"scale": {kind: (torch.randint(0, 3, one, generator=generator) / 2).tolist()
                      for kind, one in shapes.items()},
            "uniform": {kind: (torch.rand(one, generator=generator) < 0.3).tolist() for kind, one in shapes.items()}}


@pytest.mark.slow
def test_every_drawn_model_computes_what_pytorch_does(tiny_tokenizer, computed):
    wanted = [(asked(ckpt, TEXT, heads=heads, choices={2: 8, 4: 10}), heads)
              for seed, ckpt in enumerate(every(tiny_tokenizer, half=True)) for heads in (None, some_heads(ckpt, seed))]
    for (one, heads), found in zip(wanted, computed([one for one, _ in wanted]), strict=True):
        assert_as_python(one, found, heads)


LONG = {"learned_len": 8, "factor": 2.0}


READ = [
    {}, {"positions": "rotary", "rotary": Rotary(scaling="dynamic", **LONG)},
    {"encoder_layers": 0, "positions": "rotary", "rotary": Rotary(scaling="dynamic", **LONG)},
    {"encoder_layers": 0, "positions": "rotary", "rotary": Rotary(
        scaling="longrope", **LONG, short_factors=(1.0,) * 4, long_factors=(1.0, 1.5, 2.0, 3.0))}]


def test_a_script_reads_the_attention_that_every_step_had(make_checkpoint, computed):
    ckpts = [make_checkpoint(**changes) for changes in READ]
    every = computed([asked(ckpt, TEXT, steps=9, only="script") for ckpt in ckpts])
    for ckpt, found in zip(ckpts, every, strict=True):
        path = list(steps(ckpt, TEXT, max_steps=9))
        assert len(found) == len(path), ckpt.config
        for kinds, step in zip(found, path, strict=True):
            assert [one["kind"] for one in kinds] == list(step.kinds), ckpt.config
            for one in kinds:
                assert one["shape"] == list(step.attentions[one["kind"]].shape), ckpt.config
                where = f"{ckpt.config.positions} step {step.index} {one['kind']}"
                assert_close(one["weights"], step.attentions[one["kind"]], where)


def test_the_drawn_models_have_every_value_of_every_field():
    """A field that is new is drawn here once it is computed; until then, publishing refuses it."""
    every = list(configs(COUNT, (40, 30)))
    rotary = [one for config in every if config.positions == "rotary"
              for one in (config.rotary, config.window_rotary) if one]
    assert COMPUTED.keys() <= {*ModelConfig.model_fields, *Rotary.model_fields}
    for drawn, kind in ((every, ModelConfig), (rotary, Rotary)):
        for name, field in kind.model_fields.items():
            if name not in COMPUTED:
                continue
            values = [getattr(config, name) for config in drawn]
            known = COMPUTED[name]
            if name == "biases":
                assert {part for parts in values for part in parts} == {*known}
            elif known is not None:
                assert {*values} == {*known}, name
                assert {*known} <= {*literals(field.annotation)}, name
            else:
                assert len({repr(value) for value in values}) > 1, name


def literals(annotation: object) -> list[object]:
    """The values that a field of a few words may have, None included."""
    if annotation is type(None):
        return [None]
    parts = get_args(annotation)
    return list(parts) if get_origin(annotation) is Literal else [one for part in parts for one in literals(part)]


LONG = {
    "relative": {}, "disentangled": {"relative_distance": 100}, "alibi": {}, "alibi rounded": {"alibi_rounded": True},
    "sinusoidal": {}, "sinusoidal fairseq": {"sinusoid_layout": "fairseq", "d_model": 17, "n_heads": 1},
    "rotary": {"window": 9}}


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_long_texts_compute_what_pytorch_does(computed, tiny_tokenizer, stack):
    other = {"encoder": "decoder_layers", "decoder": "encoder_layers"}[stack]
    settings = {"d_model": 16, "n_heads": 2, "d_ff": 8, "max_len": 400, "vocab_size": tiny_tokenizer.vocab_size,
                other: 0, "head": "none" if stack == "encoder" else None, f"{stack}_layers": 1}
    every = [ModelConfig(**settings | {"positions": name.split()[0]} | changes) for name, changes in LONG.items()]
    wanted = [asked(checkpoint(config, [tiny_tokenizer], seed, half=False), "I am cold. " * 13, steps=2)
              for seed, config in enumerate(every)]
    for one, found in zip(wanted, computed(wanted), strict=True):
        assert_as_python(one, found)


def test_what_tokens_add_to_a_class_is_what_python_says(make_checkpoint, computed):
    for pooling in filter(None, COMPUTED["pooling"]):
        pooler = "tanh" if pooling == "first" else None
        ckpt = make_checkpoint(decoder_layers=0, pooling=pooling, n_classes=3, pooler=pooler)
        added = pool(ckpt, attend(ckpt, TEXT)).contributions
        for ours, theirs in zip(computed([asked(ckpt, TEXT)])[0]["added"], added.T, strict=True):
            assert_close(ours, theirs, pooling)


SHIPPED = {"translate": ["I am cold.", "Nobody knew what the old man had seen."], "write": ["KING:\nWhat", ""],
           "classify": ["Good morrow, my lord.", "I will not fight with thee."]}


@pytest.mark.slow
def test_shipped_models_compute_what_pytorch_does(shipped, computed):
    wanted = [(asked(shipped(name), text, heads=heads, choices={3: 20}, steps=12), heads)
              for name, texts in SHIPPED.items() for text in texts for heads in (None, some_heads(shipped(name), 1))]
    for (one, heads), found in zip(wanted, computed([one for one, _ in wanted]), strict=True):
        assert_as_python(one, found, heads)


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, pytest.param(50, marks=pytest.mark.rare("more sentences of the same corpus"))])
def test_sentences_are_translated_alike(shipped, computed, count):
    ckpt = shipped("translate")
    wanted = [asked(ckpt, source, steps=60, only="ids") for source, _ in corpus("eng-fra").split("validation")[:count]]
    for one, found in zip(wanted, computed(wanted), strict=True):
        assert found["ids"] == [step.id for step in steps(ckpt, one["text"], max_steps=60)], one["text"]


def values_of(setting: SamplingSetting, count: int = 3) -> list[int | float]:
    """Some of those that a widget offers, neither the least nor the most."""
    least, most, step = setting.offered
    return [setting.type(least + round((most - least) * at / (count + 1) / step) * step) for at in range(1, count + 1)]


# Each setting of the table by itself, all together, and the ends of what the library takes.
ALONE = [{"temperature": 1.0, setting.name: value} for setting in SETTINGS for value in values_of(setting)]
TOGETHER = {setting.name: values_of(setting, 1)[0] for setting in SETTINGS}
SAMPLINGS = [*ALONE[::3], TOGETHER, {"temperature": 1.3, "top_k": 12, "seed": 2**31 - 1}, {"temperature": 1e-8},
             {}]


def assert_drawn_alike(ckpt: Checkpoint, wanted: list[dict], every: list[dict]) -> None:
    for one, found in zip(wanted, every, strict=True):
        sampling = Sampling(**one["sampling"])
        path = list(steps(ckpt, one["text"], max_steps=one["steps"], sampling=sampling))
        assert found["ids"] == [step.id for step in path], sampling
        assert found["likeliest"] == [step.likeliest for step in path], sampling
        for step, offered in zip(path, found["candidates"], strict=True):
            kept, excluded = step.candidates(5, sampling)
            if sampling.temperature < 1e-6:  # all others have no probability, and any order
                offered, kept, excluded = offered[:1], kept[:1], []
            assert [(one["id"], one["piece"]) for one in offered] == [(one.id, one.piece) for one in kept], sampling
            assert [one["id"] for one in offered if one["excluded"]] == excluded, sampling
            for ours, theirs in zip(offered, kept, strict=True):
                # PyTorch sums a softmax in single precision, which loses some 2e-5 of 8,000 pieces; a browser does not
                assert ours["probability"] == pytest.approx(theirs.probability, abs=1e-4), sampling


@pytest.mark.slow
@pytest.mark.parametrize("name", ["translate", "write"])
def test_a_seed_draws_the_tokens_that_it_draws_in_python(shipped, computed, name):
    ckpt, text = shipped(name), SHIPPED[name][0]
    wanted = [asked(ckpt, text, steps=25, only="ids", sampling=sampling) for sampling in SAMPLINGS]
    assert_drawn_alike(ckpt, wanted, computed(wanted))


def test_every_setting_draws_something_else_and_the_same_as_in_python(make_checkpoint, computed):
    """A setting that is new in Python fails here until js/inference/sampling.js has it."""
    ckpt = make_checkpoint(encoder_layers=0, positions="rotary")
    wanted = [asked(ckpt, TEXT, steps=25, only="ids", sampling=sampling) for sampling in [{"temperature": 1.0}, *ALONE]]
    every = computed(wanted)
    assert_drawn_alike(ckpt, wanted, every)
    plain, alone = every[0], zip(ALONE, every[1:], strict=True)
    assert {name for sampling, found in alone if found != plain for name in sampling} == {one.name for one in SETTINGS}


def test_of_equal_tokens_the_first_stay_as_in_python(computed):
    logits = [[1.0, 2.0, 2.0, 0.5, 2.0, 1.0], [0.0] * 7, [5.0], [-1e9, 3.0, 3.0, -1e9]]
    filters = [*ALONE, *({"temperature": 1.0, **some} for some in (
        {"top_k": 2}, {"top_p": 0.3}, {"top_p": 0.5}, {"top_p": 0.95}, {"top_p": 1.0}, {"top_p": 0.7, "min_p": 0.9}))]
    wanted = [{"logits": one, "sampling": sampling} for sampling in filters for one in logits]
    for one, found in zip(wanted, computed(wanted), strict=True):
        expected = Sampling(**one["sampling"]).probabilities(torch.tensor(one["logits"]))
        torch.testing.assert_close(torch.tensor(found), expected, atol=1e-6, rtol=0, msg=str(one))


def test_pieces_that_are_bytes_of_a_character_are_labelled_as_in_python(computed):
    smile = [f"<0x{byte:02X}>" for byte in "😀é".encode()]
    every = [smile, smile[1:], smile[:3], ["a", *smile, "▁b"], ["<F09F>", "<9880>"], ["<0xF09F9880C3>", "<0xA9>"], [],
             [*smile[:2], "x", *smile[2:]], ["<0x0A>", "<0x80>", "<0x41>"]]
    assert computed([{"pieces": one} for one in every]) == [piece_labels(one) for one in every]
    words = [*every, ["<s>", "▁un", "believ", "able", "'", "s", "▁", "▁?", "9"], ["un", "##able", "##"], ["", "▁a▁b"],
             ["un", "able</w>", "!</w>", "</w>"], ["▁私", "は", "a", "b"], ["▁▁", "▁ cold", "é", "e", "\u0301"]]
    asked = [{"pieces": one, "mark": mark} for one in words for mark in (BEGINS, GOES_ON, ENDS, NONE)]
    assert computed(asked) == [piece_labels(one["pieces"], one["mark"]) for one in asked]
    nexts = ["▁aime", "aime", "##aime", "aime</w>", "x"]
    asked = [{"pieces": nexts, "mark": mark, "before": before} for before in (["▁J", "'"], ["▁un"], [])
             for mark in (BEGINS, GOES_ON, ENDS, NONE)]
    assert computed(asked) == [alternatives(one["before"], nexts, one["mark"]) for one in asked]


def test_a_branch_leaves_the_step_that_it_left_as_it_was(writer, computed):
    found = computed([asked(writer, TEXT, branches={2: 9})])[0]
    assert found["before"] == found["after"]
    *_, other = steps(writer, TEXT, max_steps=4, forced={2: 9})
    assert_close(found["branch"], other.logits, "branch")


def test_a_text_ends_where_there_is_no_room_for_more(writer, computed):
    wanted = asked(writer, TEXT, steps=99, only="ids", choices=dict.fromkeys(range(99), 8))
    assert len(computed([wanted])[0]["ids"]) == writer.config.max_len - len(TEXT) + 1


def test_switches_of_other_heads_are_refused(writer, computed):
    for kind, reason in (("cross", "only decoder attention"), ("decoder", "2 layers of 2 heads")):
        wanted = asked(writer, TEXT, refuses=True) | {"heads": {"scale": {kind: [[1.0, 1.0, 1.0]]}}}
        assert reason in computed([wanted])[0]["error"]


def test_what_cannot_be_read_is_refused_in_the_words_of_python(translator, writer, classifier, computed):
    for ckpt, text in ((translator, ""), (translator, "a" * 100), (writer, "a" * 100), (classifier, ""),
                       (classifier, "a" * 100)):
        found = computed([asked(ckpt, text, refuses=True)])[0]
        with pytest.raises(ValueError, match="nothing to read|tokens") as error:
            start(ckpt, text) if ckpt.config.decoder_layers else attend(ckpt, text)
        assert found == {"error": str(error.value)}, ckpt.config.task
