"""“What if this head is off?”: the key is a plain pass without that head, on pages that step and that read."""

import pytest
import torch

import transformer
from tests.rooms.plain import first_asked, opened, passes
from transformer.model.changes import scale
from transformer.model.sites import label
from transformer.rooms.questions import make

TEXT = "We can go home."
MODELS = ({}, {"encoder_layers": 0, "positions": "rotary"})  # a translator and a writer


def test_the_key_is_a_plain_pass_without_the_head(ckpt):
    kind = ckpt.config.kinds[-1]
    step, _, question = first_asked("without a head", ckpt, layer="1", head="1")
    after, _ = passes(ckpt, TEXT, step, change=(scale(f"{kind}.1.z", 0, heads=[1]),))
    before, _ = passes(ckpt, TEXT, step)
    assert question.spec["choices"][question.key["right"]] == ckpt.tokenizer.piece(int(after.argmax()))
    assert ckpt.tokenizer.piece(int(before.argmax())) in question.spec["choices"]
    for piece, value in zip(question.spec["choices"], question.key["values"], strict=True):
        assert any(value == pytest.approx(float(after[id]), abs=1e-5) for id in range(len(after))
                   if ckpt.tokenizer.piece(id) == piece)
    assert question.spec["ask"] == f"What does the model say next if head {label(kind, 1, 1)} is switched off?"
    assert "Without the head" in question.key["said"] and question.key["margin"] > 0


def test_what_the_link_has_changed_already_stays_changed(ckpt):
    kind = ckpt.config.kinds[-1]
    change = scale(f"{kind}.0.z", 0)
    step, _, question = first_asked("without a head", ckpt, layer="1", head="0", change=[change.to_json()])
    after, _ = passes(ckpt, TEXT, step, change=(change, scale(f"{kind}.1.z", 0, heads=[0])))
    # the tokens before the step are those of the changed model, so the plain passes may have gone another way
    *_, last = transformer.steps(ckpt, TEXT, max_steps=step + 1, change=change)
    if list(last.tokens) == list(list(transformer.steps(ckpt, TEXT, max_steps=step + 1))[-1].tokens):
        assert question.spec["choices"][question.key["right"]] == ckpt.tokenizer.piece(int(after.argmax()))
    *_, plain = first_asked("without a head", ckpt, layer="1", head="0")
    assert question.key["proof"]["params"]["change"] == [change.to_json()]
    assert question.key["values"] != plain.key["values"]


def test_next_tokens_and_cells_are_those_of_the_changed_model(translator):
    change = transformer.uniform("cross.1")
    for step in range(12):
        *_, last = transformer.steps(translator, TEXT, max_steps=step + 1, change=change)
        try:
            question = make("next token", opened(translator, step=step, change=[change.to_json()]))
        except ValueError:
            continue
        assert question.spec["choices"][question.key["right"]] == translator.tokenizer.piece(last.likeliest)
    with pytest.raises(ValueError, match="the head hesitates"):
        make("cell", opened(translator, step=0, kind="cross", layer="1", head="0", change=[change.to_json()]))


def test_of_a_class_it_is_the_class_without_the_head(make_checkpoint):
    ckpt = make_checkpoint(decoder_layers=0, n_classes=3, pooling="mean")
    question = make("without a head", opened(ckpt, "reading", kind="encoder", layer="0", head="1"))
    after = transformer.attend(ckpt, TEXT, change=scale("E0H1", 0)).logits.exp()
    assert question.spec["choices"][question.key["right"]] == ckpt.classes[int(torch.as_tensor(after).argmax())]
    assert question.key["values"][question.key["right"]] == pytest.approx(float(after.max()))
    with pytest.raises(ValueError, match="head is '9'; choose one from 0 to 1"):
        make("without a head", opened(ckpt, "reading", kind="encoder", layer="0", head="9"))
