"""Arguments are valid, or refused in one sentence before anything is computed."""

import numpy as np
import pytest
import torch

from transformer import Checkpoint, Sampling, Switches, attend, beam_tree, next_step, start, steps, translate
from transformer.analysis.ablation import compare_paths, measure
from transformer.analysis.lens import read_layers
from transformer.analysis.sample import read_texts
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text
from transformer.text.tokenizer import IdsTokenizer

TEXT = "I am cold."
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def first(*args, **options):
    return next(steps(*args, **options))


READS = [attend, start, first, inputs_of_text, lambda ckpt, text: beam_tree(ckpt, text, width=1, max_steps=2)]
NAMES = ["attend", "start", "steps", "inputs_of_text", "beam_tree"]
HEADS = [attend, start, first, inputs_of_text, lambda ckpt, text,
         heads: translate(ckpt, [text], max_steps=2, heads=heads),
         lambda ckpt, text, heads: compare_paths(ckpt, text, heads, max_steps=2),
         lambda ckpt, text, heads: measure(ckpt, read_texts(ckpt, [text], ["Go."]), heads),
         lambda ckpt, text, heads: ckpt.model.encode(torch.tensor([ckpt.tokenizer.encode(text)]), heads=heads)]
TAKE_HEADS = ["attend", "start", "steps", "inputs_of_text", "translate", "compare_paths", "measure", "model"]


# Head switches


@pytest.mark.parametrize(("heads", "message"), [
    ({"decodr": torch.ones(2, 2)}, "heads of 'decodr' attention are switched; choose encoder, decoder, cross"),
    ({"cross": torch.ones(2)}, r"cross attention are of shape \(2,\); give \(layers, heads\)"),
    ({"cross": torch.ones(3, 2)}, r"cross attention are of shape \(3, 2\); give \(2, 2\), 2 layers of 2 heads"),
    ({"cross": torch.ones(2, 4)}, r"of shape \(2, 4\); give \(2, 2\)"),
    ({"cross": torch.tensor([[1, 1], [1, float("nan")]])}, "cross head 1 of layer 1 is scaled by nan; give a number"),
    ({"cross": torch.tensor([[1, 1], [float("inf"), 1]])}, "cross head 0 of layer 1 is scaled by inf"),
    ({"cross": [[1, -0.5], [1, 1]]}, "cross head 1 of layer 0 is scaled by -0.5; give a number from 0"),
    ({"cross": "off"}, "switches of cross are not numbers; give a tensor, an array or a list"),
    ({"cross": None}, "switches of cross are not numbers"), ({"cross": [[1, 2], [3]]}, "are not numbers"),
    ({"cross": torch.ones(2, 2, dtype=torch.complex64)}, "are not numbers"),
    (torch.ones(2, 2), r"heads are given as Tensor; give \{kind: numbers"), ("off", "heads are given as str"),
    ([("cross", 0, 1)], "heads are given as list"),
], ids=lambda value: "" if isinstance(value, str) else type(value).__name__)
@pytest.mark.parametrize("read", HEADS, ids=TAKE_HEADS)
def test_switches_that_fit_nothing_are_refused(translator, read, heads, message):
    with pytest.raises(ValueError, match=message):
        read(translator, TEXT, heads=heads)


@pytest.mark.parametrize("read", [attend, start, first, inputs_of_text], ids=NAMES[:4])
def test_switches_of_a_kind_that_the_model_has_not_are_refused(writer, read):
    with pytest.raises(ValueError, match="heads of cross attention are switched, and this model has only decoder"):
        read(writer, TEXT, heads={"cross": torch.ones(2, 2)})


def test_a_classifiers_switches_are_looked_at_too(classifier):
    with pytest.raises(ValueError, match="this model has only encoder"):
        attend(classifier, TEXT, heads={"decoder": torch.ones(2, 2)})
    half = attend(classifier, TEXT, heads={"encoder": np.array([[0.5, 1], [1, 1]])})
    assert (half.logits - attend(classifier, TEXT).logits).abs().max() > 1e-5


@pytest.mark.parametrize("uniform", [{"cross": [[0, 1], [1, 0]]}, {"cross": torch.ones(2, 2)}], ids=str)
def test_uniform_is_yes_or_no(uniform):
    with pytest.raises(ValueError, match="give booleans, True for a head with uniform attention"):
        Switches(uniform=uniform)


def test_scale_and_uniform_of_a_kind_have_one_shape():
    with pytest.raises(ValueError, match=r"scale of cross is \(2, 2\) and uniform \(1, 2\); give both"):
        Switches(scale={"cross": torch.ones(2, 2)}, uniform={"cross": [[True, False]]})


@pytest.mark.parametrize("made", [torch.tensor, np.array, list], ids=["tensor", "array", "list"])
def test_tensors_arrays_and_lists_switch_alike(translator, made):
    plain, rows = attend(translator, TEXT, "Go."), [[0, 1], [1, 0.5]]
    found = attend(translator, TEXT, "Go.", heads={"cross": made(rows)})
    assert torch.equal(found.logits, attend(translator, TEXT, "Go.", heads={"cross": torch.tensor(rows)}).logits)
    assert (found.logits - plain.logits).abs().max() > 1e-3


@pytest.mark.parametrize("value", [0, 0.5, 2, 3])
def test_every_number_scales_on_every_way(translator, value):
    heads = {"cross": [[1, value], [1, 1]], "encoder": [[1, 1], [value, 1]]}
    whole = attend(translator, TEXT, "Go.", heads=heads).logits  # the readable path
    forced = dict(enumerate(translator.tokenizer.encode("Go.")))
    *_, step = steps(translator, TEXT, forced=forced, max_steps=len(forced) + 1, heads=heads)  # the fast one
    torch.testing.assert_close(step.logits, whole[-1], **CLOSE)
    assert (whole - attend(translator, TEXT, "Go.").logits).abs().max() > 1e-3
    [written] = translate(translator, [TEXT], max_steps=5, heads=heads)
    *_, last = steps(translator, TEXT, max_steps=5, heads=heads)
    assert written == last.output


def test_switches_say_what_they_switch_and_are_copied(translator):
    heads = torch.ones(2, 2)
    step = start(translator, TEXT, heads={"encoder": heads})
    before = step.attentions["encoder"].clone()
    heads[:] = 0
    assert torch.equal(step.heads.scale["encoder"], torch.ones(2, 2))
    assert torch.equal(step.attentions["encoder"], before)
    switches = Switches(scale={"cross": [[0, 1], [1, 3]]}, uniform={"decoder": [[True, False]]})
    assert repr(switches) == "Switches(cross 2 scaled, 0 uniform of 4; decoder 0 scaled, 1 uniform of 2)"
    assert switches and not Switches()


def test_a_scale_can_be_learned(translator):
    scale = torch.ones(2, 2, requires_grad=True)  # Michel et al. 2019, equation 4: how much a head matters
    src = torch.tensor([[*translator.tokenizer.encode(TEXT), 3]])
    translator.model.encode(src, heads={"encoder": scale}).x.sum().backward()
    assert (scale.grad != 0).all()


# Texts, targets and checkpoints


@pytest.mark.parametrize("text", [["I am cold."], ("Go.",), None, 5, b"Go."], ids=str)
@pytest.mark.parametrize("read", READS, ids=NAMES)
def test_what_is_no_text_is_refused(translator, read, text):
    says = rf"the text is of type {type(text).__name__}; give one str, and call once"
    if read is attend and isinstance(text, tuple):  # which reads two in a tuple
        says = "a tuple of 1 is given; give one str, or two in a tuple"
    with pytest.raises(ValueError, match=says):
        read(translator, text)


@pytest.mark.parametrize("ckpt", ["checkpoints/write", None], ids=str)
@pytest.mark.parametrize("read", [*READS, lambda ckpt, text: translate(ckpt, [text])], ids=[*NAMES, "translate"])
def test_what_is_no_checkpoint_is_refused(read, ckpt):
    with pytest.raises(ValueError, match=rf"the checkpoint is of type {type(ckpt).__name__}; open it with transformer"):
        read(ckpt, TEXT)


@pytest.mark.parametrize("texts", ["I am cold.", b"Go.", {"a": 1}, None, 5], ids=str)
def test_one_text_is_not_taken_for_a_list_of_its_characters(translator, texts):
    with pytest.raises(ValueError, match=f"the texts are of type {type(texts).__name__}; give a list of str, also for"):
        translate(translator, texts)


def test_a_list_with_something_else_in_it_and_a_target_that_is_no_text_are_refused(translator):
    with pytest.raises(ValueError, match="text 1 of the list is of type int; give one str"):
        translate(translator, ["Go.", 5])
    assert translate(translator, (text for text in ["Go."]), max_steps=3) == translate(translator, ["Go."], max_steps=3)
    with pytest.raises(ValueError, match="the target is of type list; give one str"):
        attend(translator, "Go.", ["Va."])


@pytest.mark.parametrize("read", [attend, inputs_of_text])
def test_a_target_that_a_model_has_no_place_for_is_refused(writer, classifier, read):
    with pytest.raises(ValueError, match="reads one text and has no place for a target; put it at the end of the text"):
        read(writer, "a", target="bcd")
    with pytest.raises(ValueError, match="has no place for a target; leave it out"):
        read(classifier, "a", target="bcd")


# Steps


def test_sampling_is_given_as_one_thing_or_in_parts(writer):
    parts = [step.id for step in steps(writer, TEXT, temperature=1.5, top_k=5, seed=4, max_steps=8)]
    sampling = Sampling(temperature=1.5, top_k=5, seed=4)
    assert [step.id for step in steps(writer, TEXT, sampling=sampling, max_steps=8)] == parts
    with pytest.raises(ValueError, match="both sampling and temperature are given"):
        first(writer, TEXT, sampling=sampling, temperature=0.3)
    with pytest.raises(TypeError, match="positional"):
        Sampling(0.8, 5)  # which is which cannot be seen


@pytest.mark.parametrize("read", [start, first, lambda *args, **options: next_step(args[0], start(*args), **options)],
                         ids=["start", "steps", "next_step"])
def test_what_is_no_sampling_is_refused(writer, read):
    with pytest.raises(ValueError, match="sampling is of type float; give transformer.Sampling"):
        read(writer, TEXT, sampling=0.8)


@pytest.mark.parametrize(("wrong", "message"), [
    ({"temperature": "hot"}, "temperature is 'hot'; choose a number"), ({"top_k": 2.5}, "top_k is 2.5; choose a whole"),
    ({"seed": 1.0}, "seed is 1.0; choose a whole number"), ({"max_steps": -1}, "max_steps is -1; choose a whole"),
    ({"max_steps": 2.0}, "max_steps is 2.0"), ({"forced": [5, 6]}, "forced is of type list; give {step index: id}"),
    ({"forced": {-1: 5}}, "a step of forced is -1; choose"), ({"forced": {0: 10_000}}, "token 10000 is not in the voc"),
    ({"forced": {9: 10_000}}, "token 10000 is not"), ({"forced": {0: "a"}}, "the token is of type str; give its id"),
    ({"forced": {0: 5.5}}, "the token is of type float"),
], ids=str)
def test_steps_refuse_what_cannot_be_meant(writer, wrong, message):
    with pytest.raises(ValueError, match=message):
        first(writer, TEXT, **wrong)


def test_next_step_takes_an_id_in_any_whole_number_and_nothing_else(writer):
    step = start(writer, TEXT)
    for id in (5, np.int64(5), torch.tensor(5)):
        assert next_step(writer, step, id).parent.id == 5
    for id in ("a", 5.0, [5], torch.tensor([5, 6])):
        with pytest.raises(ValueError, match=f"the token is of type {type(id).__name__}; give its id"):
            next_step(writer, step, id)
    with pytest.raises(ValueError, match="the step is of type int; give one that start or next_step made"):
        next_step(writer, 5)


@pytest.mark.parametrize(("wrong", "message"), [
    ({"beam": 1.5}, "beam is 1.5; choose a whole number from 1 to 64"), ({"beam": True}, "beam is True"),
    ({"max_steps": 0}, "max_steps is 0; choose a whole number from 1"), ({"batch_tokens": 0}, "batch_tokens is 0"),
    ({"length_penalty": float("nan")}, "length_penalty is nan; choose a number from 0 to 10"),
    ({"length_penalty": "a"}, "length_penalty is 'a'"),
], ids=str)
def test_translate_refuses_what_cannot_be_meant(translator, wrong, message):
    with pytest.raises(ValueError, match=message):
        translate(translator, ["Go."], **wrong)


def test_a_token_of_padding_that_was_chosen_is_read_like_any_other(translator, writer):
    for ckpt in translator, writer:
        *_, step = steps(ckpt, TEXT, forced={0: 5, 1: ckpt.config.pad_id, 2: 6}, max_steps=4)
        found = read_layers(inputs_of_step(step))
        torch.testing.assert_close(found.probabilities[-1, 0], step.logits.softmax(-1).topk(5).values, **CLOSE)


@pytest.mark.parametrize("read", [attend, start, inputs_of_text, lambda ckpt, text: translate(ckpt, [text])])
def test_padding_in_a_source_is_refused(translator, read):
    ids = IdsTokenizer(40, pad_id=0, unk_id=1, bos_id=2, eos_id=3)  # where there is no tokenizer, a text is ids
    ckpt = Checkpoint(translator.description, translator.model, ids, ids)
    with pytest.raises(ValueError, match="token 0 of the text is this model's padding, which is never read; leave it"):
        read(ckpt, "5 0 6")
