"""Arguments are valid, or refused in one sentence before anything is computed."""

import re
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from functools import partial
from math import inf

import numpy as np
import pytest
import torch

from tests.rows import each_row
from transformer import (
    Checkpoint,
    Sampling,
    attend,
    beam_tree,
    cut,
    next_step,
    replace,
    run,
    scale,
    start,
    steps,
    translate,
)
from transformer.analysis.ablation import compare_paths, measure
from transformer.analysis.lens import read_layers
from transformer.analysis.sample import read_texts
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text
from transformer.inference.sampling_settings import SETTINGS
from transformer.model.changes import HOWS, OF_ATTENTION, Change
from transformer.text.tokenizer import IdsTokenizer

TEXT = "I am cold."
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def first(*args, **options):
    return next(steps(*args, **options))


READS = [attend, start, first, inputs_of_text, lambda ckpt, text: beam_tree(ckpt, text, width=1, max_steps=2)]
CHANGED = [attend, start, first, inputs_of_text, run,
           lambda ckpt, text, change: translate(ckpt, [text], max_steps=2, change=change),
           lambda ckpt, text, change: compare_paths(ckpt, text, change, max_steps=2),
           lambda ckpt, text, change: measure(ckpt, read_texts(ckpt, [text], ["Go."]), change)]


@each_row(("change", "message"), [
    ({"how": "scale", "site": "decodr.0.z"}, "no site 'decodr.0.z'; the nearest are decoder.0.z"),
    ({"how": "scale", "site": "cross.2.z"}, "no site 'cross.2.z'; the nearest are cross.1.z"),
    ({"how": "scale", "site": "X0H2"}, "no site 'X0H2'; the nearest are X0H1"),
    ({"how": "scale", "site": "*.nothing"}, r"no site '\*.nothing'; "),
    ({"how": "scale", "site": "cross.1.z", "heads": [2]}, "no head 2 in cross.1.z; its heads are 0 to 1"),
    ({"how": "scale", "site": "cross.1.z", "heads": [-1]}, "heads is .*; give whole numbers from 0 up"),
    ({"how": "scale", "site": "cross.1.z", "heads": "off"}, "heads is 'off'; give whole numbers"),
    ({"how": "scale", "site": "X1H0", "heads": [1]}, "names its head itself; leave heads out"),
    ({"how": "scale", "site": "cross.1.z", "factor": float("nan")}, "factor is nan; give a number"),
    ({"how": "scale", "site": "cross.1.z", "factor": "off"}, "factor is 'off'; give a number"),
    ({"how": "scale", "site": "decoder.0.resid_pre", "heads": [0]}, "has no heads; leave heads out, or choose z"),
    ({"how": "scale", "site": "cross.1.z", "rows": [10 ** 6]}, "no position 1,000,000; this model reads"),
    ({"how": "scale", "site": "cross.1.z", "keys": [0]}, "scale takes no keys; leave it out"),
    ({"how": "scale", "site": "logits"}, "a change there would change nothing; change final"),
    ({"how": "melt", "site": "cross.1.z"}, "a change is 'melt'; choose replace, add"),
    ({"how": "scale"}, "a change has no 'site'; how and site are needed"),
    ({"how": "scale", "site": 3}, "the site of a change is 3; give its name"),
    ({"how": "scale", "site": "cross.1.z", "by": 2}, "a change has no 'by'; it has how, site"),
    ({"how": "cut", "site": "cross.1"}, "cut takes either keys .* or edges"),
    ({"how": "cut", "site": "cross.1", "edges": [1]}, "edges is .*; give pairs of positions"),
    ({"how": "cut", "site": "cross.1.z", "keys": [0]}, "cut is for a pattern, and cross.1.z is none"),
    ({"how": "cut", "site": "cross.1", "rows": [0], "edges": [[0, 0]]}, "edges name their queries themselves"),
    ({"how": "force", "site": "cross.1"}, "force needs keys"),
    ({"how": "replace", "site": "cross.1.z"}, "the source is None; give a run, a tensor, 'zero'"),
    ({"how": "replace", "site": "cross.1.z", "source": "one"}, "the source is 'one'; give a run"),
    ({"how": "replace", "site": "cross.1.z", "source": {"words": 1}}, "the source has 'words'; give text"),
    ({"how": "replace", "site": "cross.1.z", "source": {"text": ""}}, "nothing to read; type a sentence"),
    ({"how": "replace", "site": "cross.1.z", "source": {"text": ["a"]}}, "the text of a source is of type list"),
    ({"how": "replace", "site": "cross.1.z", "source": {"seed": 3}}, "the source has 'seed'; give text"),
    ({"how": "replace", "site": "cross.1.z", "source": {"rows": 5}}, "the rows of a source are 5; give a list"),
    ({"how": "replace", "site": "cross.1.z", "source": {"texts": [["a"]]}}, "texts of a source are a list of 1 to 200"),
    ({"how": "replace", "site": "cross.1.z", "source": {"texts": []}}, "texts of a source are a list of 1 to 200"),
    ({"how": "replace", "site": "cross.1.z", "source": {"texts": ["Go."], "seed": [1]}}, "the seed of a source is"),
    ({"how": "replace", "site": "cross.1.z", "source": {"text": "Go.", "rows": [99]}}, "the source has no row 99"),
    ({"how": "replace", "site": "cross.1.z", "source": {"rows": [2]}, "rows": [1]}, "name rows from 2 on"),
    ({"how": "replace", "site": "cross.1.z", "source": [[1, 2], [3]]}, "no table of numbers; give rows of equal"),
    ({"how": "replace", "site": "cross.1.z", "source": [[[[[1]]]]]}, r"of shape \(1, 1, 1, 1, 1\); give \(text, head"),
    ({"how": "replace", "site": "cross.1.pattern", "source": "mean"}, "so it has no mean; give a text"),
    ({"how": "replace", "site": "cross.1.z", "source": "mean"}, "so there is no held-out text; give texts"),
    ("off", "the changes are no JSON"), (3, "changes are given as int; give a list"), ([3], "a change is int; give"),
])
@each_row("read", CHANGED)
def test_changes_that_make_no_sense_are_refused(translator, read, change, message):
    with pytest.raises(ValueError, match=message):
        read(translator, TEXT, change=change)


@each_row("read", [attend, start, first, run])
def test_a_cut_that_leaves_a_query_nothing_is_refused(translator, read):
    target = {"target": "Go."} if read in (attend, run) else {}
    with pytest.raises(ValueError, match="leaves a query nothing to attend to; leave it at least one key"):
        read(translator, TEXT, **target, change=cut("decoder.0", edges=(0, 0)))
    read(translator, TEXT, **target, change=cut("decoder.0", keys=0))  # of all rows: the first has no other, and stays
    read(translator, TEXT, **target, change=cut("decoder.0", edges=(0, 0), renormalise=False))


@each_row("read", [attend, start, first, inputs_of_text, run])
def test_changes_of_a_kind_that_the_model_has_not_are_refused(writer, read):
    with pytest.raises(ValueError, match="no site 'cross.0.z'; the nearest"):
        read(writer, TEXT, change=scale("cross.0.z", 0))


UNUSABLE = [
    ({"how": "replace", "source": [[]]}, "has no numbers, its shape is (1, 0); give those that are put there"),
    ({"how": "add", "source": [[], []]}, "has no numbers, its shape is (2, 0)"),
    ({"how": "replace", "source": []}, "has no numbers, its shape is (0,)"),
    ({"how": "replace", "source": [10 ** 400]}, "the source of a change is no table of numbers; give rows of equal"),
    ({"how": "replace", "source": np.zeros(16)}, "the source is array([0., 0., 0."),
    ({"how": "scale", "factor": 10 ** 400}, "factor is 1000"),
    ({"how": "scale", "factor": -10 ** 5000}, "factor is of type int; give a number"),
    ({"how": "scale", "factor": 10 ** 30}, "the numbers grow beyond what can be computed; take smaller factors"),
    ({"how": "cut", "edges": [[1.9, 0]]}, "edges is [[1.9, 0]]; give pairs of positions"),
    ({"how": "cut", "edges": [[True, 0]]}, "edges is [[True, 0]]; give pairs of positions"),
    ({"how": "force", "keys": torch.tensor(1.5)}, "keys is tensor(1.5000); give whole numbers from 0 up")]


@each_row("read", [run, attend, first])
@each_row(("plain", "says"), UNUSABLE)
def test_a_value_that_nothing_can_be_computed_with_is_refused_in_a_sentence(translator, read, plain, says):
    target = {} if read is first else {"target": "Go."}
    site = "decoder.0.scores" if "source" in plain else "*.mlp_out" if "factor" in plain else "decoder.0"
    with pytest.raises(ValueError, match=re.escape(says)) as raised:
        read(translator, TEXT, **target, change={**plain, "site": site})
    assert len(str(raised.value)) < 250 and "\n" not in str(raised.value)


HOSTILE = [
    None, True, 5, -1, 1.5, float("nan"), float("inf"), 10 ** 30, 10 ** 400, -10 ** 5000, "x", "", b"x", "zero", "mean",
    [], [[]], [[[]]], [[], []], [1.9], [[1.9, 0]], [[1, 0]], [[1, 2, 3]], [[0, 0], [1]], [[5, 1e30]], ["a"], [None],
    [[None, None]], [[True, False]], [[10 ** 400, 0]], (1,), {1}, {}, {"a": 1}, {5: 1}, {"rows": []}, {"rows": [1.5]},
    {"rows": 5}, {"rows": [0, 1]}, {"text": ""}, {"text": 5}, {"text": "I am", "rows": [99]}, {"text": "x" * 500},
    {"text": "I", "target": 5}, {"texts": [""]}, {"texts": "abc"}, {"texts": ["a"], "seed": 10 ** 400}, object(), int,
    range(0), torch.tensor([]), torch.zeros(16, 0), torch.tensor(5.0), torch.tensor([1, 0]), torch.zeros(17),
    torch.zeros(3, 16), torch.zeros(16, dtype=torch.complex64), torch.zeros(16, dtype=torch.bool), np.int64(3),
    torch.zeros(16).to_sparse(), torch.zeros(16, device="meta"), torch.zeros(1, 1, 1, 1, 1, 1), np.zeros(16), 1 + 2j,
    Fraction(1, 2)]
NEEDED = {"replace": {"source": "zero"}, "add": {"source": "zero"}, "scale": {"factor": 2}, "cut": {"keys": [0]},
          "force": {"keys": [0]}}
PLACES = {"source": ["decoder.0.scores", "decoder.0.pattern", "decoder.0.z", "decoder.0.resid_pre", "D0H0", "*.z",
                     "cross.0.k", "decoder.embed"]}


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_whatever_a_change_is_given_it_is_computed_or_refused(translator, how):
    """Nothing but a ValueError, in whatever field, and as whatever argument."""
    def refused_or_computed(call, said):
        try:
            call()
        except ValueError:
            return
        except Exception as error:
            raise AssertionError(f"{said}: {type(error).__name__}: {error}") from error

    for field in (one.name for one in fields(Change)):
        for site in PLACES.get(field, ["decoder.0" if how in OF_ATTENTION else "decoder.0.z"]):
            for at, value in enumerate(HOSTILE):
                plain = {"how": how, "site": site, **NEEDED.get(how, {}), field: value}
                if field == "edges":
                    plain.pop("keys", None)
                said = f"{field} at {site}, HOSTILE[{at}]"
                refused_or_computed(lambda plain=plain: run(translator, "I am.", "Go.", change=plain), said)
                if site in ("decoder.0", "decoder.0.z"):
                    refused_or_computed(lambda plain=plain: start(translator, "I am.", change=plain), said)


@pytest.mark.slow
def test_whatever_run_and_attend_are_given_it_is_computed_or_refused(translator, writer, classifier):
    for ckpt in (translator, writer, classifier):
        for value in HOSTILE:
            for given in (value, [value], [value, value]):
                for read in (partial(run, change=given), partial(run, capture=given), partial(run, target=given),
                             partial(attend, change=given), partial(attend, target=given)):
                    for text in (TEXT, [TEXT, "Go."])[:1 if read.func is attend else 2]:
                        with suppress(ValueError):
                            read(ckpt, text)
            for read in (run, attend):
                with suppress(ValueError):
                    read(ckpt, value)
                with suppress(ValueError):
                    read(ckpt, [value])


@pytest.mark.slow
@each_row("value", [0, 0.5, 2, -3])
def test_every_number_scales_on_every_way(translator, value):
    change = [scale("cross.0.z", value, heads=1), scale("encoder.1.z", value, heads=0)]
    whole = attend(translator, TEXT, "Go.", change=change).logits  # the readable path
    forced = dict(enumerate(translator.tokenizer.encode("Go.")))
    *_, step = steps(translator, TEXT, forced=forced, max_steps=len(forced) + 1, change=change)  # the fast one
    torch.testing.assert_close(step.logits, whole[-1], **CLOSE)
    assert (whole - attend(translator, TEXT, "Go.").logits).abs().max() > 1e-3
    [written] = translate(translator, [TEXT], max_steps=5, change=change)
    *_, last = steps(translator, TEXT, max_steps=5, change=change)
    assert written == last.output


def test_a_source_is_copied_from_nothing_that_changes_later(translator):
    source = torch.ones(16)
    step = start(translator, TEXT, change=replace("decoder.0.resid_mid", source))
    before = step.attentions["cross"].clone()
    source[:] = 0
    assert torch.equal(step.attentions["cross"], before)


@each_row("text", [["I am cold."], ("Go.",), None, 5, b"Go."])
@each_row("read", READS)
def test_what_is_no_text_is_refused(translator, read, text):
    says = rf"the text is of type {type(text).__name__}; give one str, and call once"
    if read is attend and isinstance(text, tuple):  # which reads two in a tuple
        says = "a tuple of 1 is given; give one str, or two in a tuple"
    with pytest.raises(ValueError, match=says):
        read(translator, text)


@each_row("ckpt", ["checkpoints/write", None])
@each_row("read", [*READS, lambda ckpt, text: translate(ckpt, [text])])
def test_what_is_no_checkpoint_is_refused(read, ckpt):
    with pytest.raises(ValueError, match=rf"the checkpoint is of type {type(ckpt).__name__}; open it with transformer"):
        read(ckpt, TEXT)


def test_one_text_is_not_taken_for_a_list_of_its_characters(translator):
    for texts in ("I am cold.", b"Go.", {"a": 1}, None, 5):
        says = f"the texts are of type {type(texts).__name__}; give a list of str, also for"
        with pytest.raises(ValueError, match=says):
            translate(translator, texts)
    with pytest.raises(ValueError, match="text 1 of the list is of type int; give one str"):
        translate(translator, ["Go.", 5])
    assert translate(translator, (text for text in ["Go."]), max_steps=3) == translate(translator, ["Go."], max_steps=3)
    with pytest.raises(ValueError, match="the target is of type list; give one str"):
        attend(translator, "Go.", ["Va."])


@each_row("read", [attend, inputs_of_text])
def test_a_target_that_a_model_has_no_place_for_is_refused(writer, classifier, read):
    with pytest.raises(ValueError, match="reads one text and has no place for a target; put it at the end of the text"):
        read(writer, "a", target="bcd")
    with pytest.raises(ValueError, match="has no place for a target; leave it out"):
        read(classifier, "a", target="bcd")


def test_sampling_is_given_as_one_thing_or_in_parts(writer):
    parts = [step.id for step in steps(writer, TEXT, temperature=1.5, top_k=5, seed=4, max_steps=8)]
    sampling = Sampling(temperature=1.5, top_k=5, seed=4)
    assert [step.id for step in steps(writer, TEXT, sampling=sampling, max_steps=8)] == parts
    with pytest.raises(ValueError, match="both sampling and temperature are given"):
        first(writer, TEXT, sampling=sampling, temperature=0.3)
    with pytest.raises(TypeError, match="positional"):
        Sampling(0.8, 5)  # which is which cannot be seen


@pytest.mark.parametrize("setting", [one for one in SETTINGS if one.name != "temperature"], ids=lambda one: one.name)
def test_what_has_no_effect_without_a_temperature_is_refused(writer, headsup, setting):
    value = setting.most if setting.off == setting.least else setting.least
    value, says = 3 if value == inf else value, f"{setting.name} has no effect at temperature 0, which always chooses"
    for wrong in ({setting.name: value}, {setting.name: value, "temperature": 0}):
        for read in (lambda wrong=wrong: Sampling(**wrong), lambda wrong=wrong: first(writer, TEXT, **wrong)):
            with pytest.raises(ValueError, match=f"{says}.*; give a temperature above 0, or leave it out"):
                read()
    option = f"--{setting.name.replace('_', '-')}"
    code, out, err = headsup("write", writer.description.folder, TEXT, "--temperature", 0, option, value)
    assert (code, out) == (2, "") and err.startswith(f"error: {says}")
    assert getattr(Sampling(temperature=0.5, **{setting.name: value}), setting.name) == value
    assert Sampling.of({"temperature": 0.0, setting.name: value}) == Sampling()  # as pages and links are read
    if setting.off >= setting.least:
        assert Sampling(**{setting.name: setting.off}).temperature == 0  # which changes nothing at any temperature
    with pytest.raises(ValueError, match="^top_k, min_p and seed have no effect at temp.*, or leave them out$"):
        Sampling(seed=1, min_p=0.5, top_k=3)


@each_row("read", [start, first, lambda *args, **options: next_step(args[0], start(*args), **options)])
def test_what_is_no_sampling_is_refused(writer, read):
    with pytest.raises(ValueError, match="sampling is of type float; give transformer.Sampling"):
        read(writer, TEXT, sampling=0.8)


@each_row(("wrong", "message"), [
    ({"temperature": "hot"}, "temperature is 'hot'; choose a number"), ({"top_k": 2.5}, "top_k is 2.5; choose a whole"),
    ({"seed": 1.0}, "seed is 1.0; choose a whole number"), ({"max_steps": -1}, "max_steps is -1; choose a whole"),
    ({"max_steps": 2.0}, "max_steps is 2.0"), ({"forced": [5, 6]}, "forced is of type list; give {step index: id}"),
    ({"forced": {-1: 5}}, "a step of forced is -1; choose"), ({"forced": {0: 10_000}}, "token 10000 is not in the voc"),
    ({"forced": {9: 10_000}}, "token 10000 is not"), ({"forced": {0: "a"}}, "the token is of type str; give its id"),
    ({"forced": {0: 5.5}}, "the token is of type float"), ({"temperature": -1.0}, "temperature is -1.0; choose"),
    ({"temperature": 101.0}, "from 0 to 100"), ({"temperature": float("nan")}, "temperature is nan"),
    ({"top_k": 0}, "top_k is 0"), ({"top_p": 0.0}, "top_p is 0.0"), ({"top_p": 1.5}, "top_p is 1.5"),
    ({"min_p": 1.1}, "min_p is 1.1"), ({"seed": -1}, "seed is -1"), ({"seed": 10**30}, "seed is 10"),
])
def test_steps_refuse_what_cannot_be_meant(writer, wrong, message):
    with pytest.raises(ValueError, match=message):
        first(writer, TEXT, **wrong)


def test_next_step_takes_an_id_in_any_whole_number_and_nothing_else(writer):
    step = start(writer, TEXT)
    for id in (5, np.int64(5), torch.tensor(5)):
        assert next_step(writer, step, id).parent.id == 5
    for id in (-1, 10_000):
        with pytest.raises(ValueError, match=f"token {id} is not in the vocabulary"):
            next_step(writer, step, id)
    for id in ("a", 5.0, [5], torch.tensor([5, 6])):
        with pytest.raises(ValueError, match=f"the token is of type {type(id).__name__}; give its id"):
            next_step(writer, step, id)
    with pytest.raises(ValueError, match="the step is of type int; give one that start or next_step made"):
        next_step(writer, 5)


@each_row(("wrong", "message"), [
    *(({"beam": wrong}, f"beam is {wrong}; choose a whole number from 1 to 64") for wrong in (0, 65, 1.5, True)),
    ({"max_steps": 0}, "max_steps is 0; choose a whole number from 1"), ({"batch_tokens": 0}, "batch_tokens is 0"),
    ({"beam": 2, "length_penalty": float("nan")}, "length_penalty is nan; choose a number from 0 to 10"),
    ({"beam": 2, "length_penalty": "a"}, "length_penalty is 'a'"),
])
def test_translate_refuses_what_cannot_be_meant(translator, wrong, message):
    with pytest.raises(ValueError, match=message):
        translate(translator, ["Go."], **wrong)


def test_a_token_of_padding_that_was_chosen_is_read_like_any_other(translator, writer):
    for ckpt in translator, writer:
        *_, step = steps(ckpt, TEXT, forced={0: 5, 1: ckpt.config.pad_id, 2: 6}, max_steps=4)
        found = read_layers(inputs_of_step(step))
        torch.testing.assert_close(found.probabilities[-1, 0], step.logits.softmax(-1).topk(5).values, **CLOSE)


@each_row("read", [attend, start, inputs_of_text, lambda ckpt, text: translate(ckpt, [text])])
def test_padding_in_a_source_is_refused(translator, read):
    ids = IdsTokenizer(40, pad_id=0, unk_id=1, bos_id=2, eos_id=3)  # where there is no tokenizer, a text is ids
    ckpt = Checkpoint(translator.description, translator.model, ids, ids)
    with pytest.raises(ValueError, match="token 0 of the text is this model's padding, which is never read; leave it"):
        read(ckpt, "5 0 6")
