"""What `generate` of transformers returns is shown as one picture, with the weights of one forward pass."""

import pytest
import torch

from tests.attention_view.test_captured import GPT2, HYBRIDS, SIZES, T5, WRITERS, made
from tests.messages import held, unpacked
from tests.rows import each_row
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.notebook import show

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # slow: importing transformers takes seconds
IDS = torch.tensor([[5, 6, 7, 8]])
WINDOW = {**WRITERS["Gemma2ForCausalLM"], "sliding_window": 3}


def generated(name, settings, ids=IDS, count=3, **more):
    """A model, and what it returned."""
    model = made(name, settings, attn_implementation="eager").eval()
    return model, model.generate(ids, **{"max_new_tokens": count, "min_new_tokens": count, "output_attentions": True,
                                         "return_dict_in_generate": True, "do_sample": False, **more})


def spelled(ids):
    return [f"t{id}" for id in ids.tolist()]


def once(model, ids, sequences):
    """What the model returns of what was read before the last token was written."""
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            return model(ids, decoder_input_ids=sequences, output_attentions=True)
        return model(sequences, output_attentions=True)


@each_row(("name", "settings", "more"), [
    *((name, settings, {}) for name, settings in WRITERS.items() if "Gemma" not in name),
    ("JambaForCausalLM", HYBRIDS["JambaForCausalLM"][0], {}), ("GPT2LMHeadModel", GPT2, {"use_cache": False}),
    ("GPT2LMHeadModel", GPT2, {"count": 1}), ("GPT2LMHeadModel", GPT2, {"prompt_lookup_num_tokens": 2}),
    ("GPT2LMHeadModel", GPT2, {"do_sample": True})])
def test_what_a_decoder_generated_is_one_picture_with_the_last_token_as_what_comes_next(name, settings, more):
    model, out = generated(name, settings, **more)
    tokens = spelled(out.sequences[0])
    theirs = torch.cat([one for one in once(model, IDS, out.sequences[:, :-1]).attentions if one is not None])
    for given in (tokens, tokens[:-1]):
        for source in (out, out.attentions):
            found = ExternalWeights(source, given).tensors()
            assert found.kinds == ("decoder",) and found.axes("decoder") == (tokens[:-1], tokens[:-1])
            assert found.predicted("decoder") == (tokens[1:] if given is tokens else None)
            torch.testing.assert_close(found.attentions["decoder"], theirs, atol=1e-5, rtol=0)


@each_row("more", [{}, {"use_cache": False}, {"decoder_input_ids": torch.tensor([[0, 5, 6]])}, {"count": 1}])
def test_what_an_encoder_decoder_generated_has_three_kinds(more):
    model, out = generated("T5ForConditionalGeneration", T5, **more)
    source, tokens = spelled(IDS[0]), spelled(out.sequences[0])
    theirs = once(model, IDS, out.sequences[:, :-1])
    parts = {f"{kind}_attention": getattr(out, f"{kind}_attentions") for kind in ("encoder", "decoder", "cross")}
    for given in ({"attention": out}, parts):
        found = ExternalWeights(**given, encoder_tokens=source, decoder_tokens=tokens).tensors()
        assert {kind: found.axes(kind) for kind in found.kinds} == {
            "encoder": (source, source), "decoder": (tokens[:-1],) * 2, "cross": (tokens[:-1], source)}
        assert [found.predicted(kind) for kind in found.kinds] == [None, tokens[1:], tokens[1:]]
        for kind in found.kinds:
            layers = torch.cat(getattr(theirs, f"{kind}_attentions"))
            torch.testing.assert_close(found.attentions[kind], layers, atol=1e-5, rtol=0)
    found = ExternalWeights(out, encoder_tokens=source, decoder_tokens=tokens[:-1]).tensors()
    assert found.axes("cross") == (tokens[:-1], source) and found.predicted("cross") is None


def test_it_is_drawn_live_and_as_a_page():
    _, out = generated("GPT2LMHeadModel", GPT2)
    tokens = spelled(out.sequences[0])
    header, _ = held(show(out, tokens, live=False).page)
    assert header["kinds"]["decoder"]["queries"] == tokens[:-1] and header["kinds"]["decoder"]["causal"]
    pytest.importorskip("anywidget", reason="pip install anywidget")
    assert unpacked(show(out, tokens, live=True).message)[0]["kinds"]["decoder"]["queries"] == tokens[:-1]


TWO = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]])


@each_row(("name", "settings", "more", "why"), [
    ("GPT2LMHeadModel", GPT2, {"num_beams": 2}, "2 sequences"),
    ("GPT2LMHeadModel", GPT2, {"num_beams": 3, "num_return_sequences": 2}, "3 sequences"),
    ("GPT2LMHeadModel", GPT2, {"do_sample": True, "num_return_sequences": 2}, "2 sequences"),
    ("GPT2LMHeadModel", GPT2, {"ids": TWO}, "2 sequences"),
    ("GPT2LMHeadModel", GPT2, {"cache_implementation": "static"}, r"step 0 is \(1, 2, 4, 6\), and not between all 4"),
    ("GPT2LMHeadModel", GPT2, {"prefill_chunk_size": 2}, r"step 0 is \(1, 2, 2, 4\), and not between all 2"),
    ("Gemma2ForCausalLM", WINDOW, {}, r"step 1 is \(1, 2, 1, 3\), and not between all 5"),
    ("T5ForConditionalGeneration", T5, {"num_beams": 2}, "2 sequences"),
    ("T5ForConditionalGeneration", T5, {"ids": TWO}, "2 sequences"),
    ("T5ForConditionalGeneration", T5, {"cache_implementation": "static"}, "step 0 .* not between all 1")])
def test_what_does_not_join_is_refused_and_what_is_advised_in_its_place_is_shown(name, settings, more, why):
    model, out = generated(name, settings, **more)
    source, tokens = spelled(IDS[0]), spelled(out.sequences[0])
    names = ({"encoder_tokens": source, "decoder_tokens": tokens} if model.config.is_encoder_decoder
             else {"tokens": tokens})
    with pytest.raises(ValueError, match=why) as refused:
        show(out, **names)
    assert "call the model once on out.sequences[:1] with output_attentions=True" in str(refused.value)
    assert ("decoder_input_ids" in str(refused.value)) == model.config.is_encoder_decoder
    assert show(once(model, IDS, out.sequences[:1]), **names)


@each_row(("given", "why"), [
    (lambda model, out: out, "6 tokens were read, and the last one that was written was not; give these 6, or all 7, "
                             "as tokens, which has 4"),
    (lambda model, out: model(out.sequences, output_attentions=True, return_dict=False), "return_dict=False"),
    (lambda model, out: model(out.sequences, return_dict=False), "return_dict=False"),
    (lambda model, out: made("GPT2LMHeadModel", GPT2).generate(
        IDS, max_new_tokens=3, output_attentions=True, return_dict_in_generate=True), 'attn_implementation="eager"'),
    (lambda model, out: model.generate(IDS, max_new_tokens=3, return_dict_in_generate=True), "output_attentions=True")])
def test_what_is_not_all_there_is_refused_in_words(given, why):
    model, out = generated("GPT2LMHeadModel", GPT2)
    with pytest.raises(ValueError, match=why):
        show(given(model, out), spelled(IDS[0]))


def test_the_tuple_of_an_encoder_is_refused_in_words():
    model = made("BertModel", SIZES, attn_implementation="eager")
    with pytest.raises(ValueError, match="return_dict=False"):
        show(model(IDS, output_attentions=True, return_dict=False), spelled(IDS[0]))
