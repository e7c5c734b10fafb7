"""Models of transformers that are held in memory: captured is what they computed, and they stay as they were."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import distributed, nn

from tests.messages import held, unpacked
from tests.rows import each_row
from transformer.attention_view import captured
from transformer.attention_view.captured import CapturedStep, read
from transformer.attention_view.external_weights import Tensors
from transformer.attention_view.notebook import show
from transformer.inference.decoding import Sampling
from transformer.inference.decoding_tree import Branch, DecodingTree

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # slow: importing transformers takes seconds
TEXT = "the cat sat on a mat"
WORDS = f"<pad> <s> </s> <unk> {TEXT} I am cold".split()
SMALL = {"vocab_size": 40, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SIZES = {**SMALL, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
         "max_position_embeddings": 24}
BART = {**SMALL, "d_model": 16, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 24,
        "decoder_start_token_id": 1, "forced_eos_token_id": None}
T5 = {**SMALL, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
GPT2 = {**SMALL, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 24}
WRITERS = {
    "GPT2LMHeadModel": GPT2, "LlamaForCausalLM": {**SIZES, "num_key_value_heads": 1}, "Qwen3ForCausalLM": {
        **SIZES, "num_key_value_heads": 1, "head_dim": 8}, "OPTForCausalLM": {
            **SIZES, "ffn_dim": 24, "word_embed_proj_dim": 16}, "GPTNeoXForCausalLM": SIZES,
    "BloomForCausalLM": {**SMALL, "hidden_size": 16, "n_layer": 2, "n_head": 2},
    "Gemma2ForCausalLM": {**SIZES, "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 3},
    "MptForCausalLM": {**SMALL, "d_model": 16, "n_layers": 2, "n_heads": 2, "max_seq_len": 24}}
ALTERNATE = {**SIZES, "num_key_value_heads": 1, "num_hidden_layers": 4}
HYBRIDS = {  # with the layers that have attention
    "JambaForCausalLM": ({**ALTERNATE, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2,
                          "mamba_d_state": 4, "mamba_dt_rank": 4}, [1, 3]),
    "Lfm2ForCausalLM": ({**ALTERNATE, "layer_types": ["conv", "full_attention"] * 2, "block_multiple_of": 8}, [1, 3]),
    "Qwen3_5ForCausalLM": ({
        **ALTERNATE, "head_dim": 8, "layer_types": ["linear_attention", "full_attention"] * 2, "linear_key_head_dim": 8,
        "linear_value_head_dim": 8, "linear_num_value_heads": 2, "linear_num_key_heads": 1}, [1, 3]),
    "RecurrentGemmaForCausalLM": ({**SIZES, "num_hidden_layers": 6, "lru_width": 16, "head_dim": 8,
                                   "attention_window_size": 24}, [2, 5])}
TRANSLATORS = {"BartForConditionalGeneration": BART, "MarianMTModel": {**BART, "decoder_start_token_id": 0},
               "T5ForConditionalGeneration": T5, "MBartForConditionalGeneration": BART}
READERS = {"BertModel": SIZES, "BertForMaskedLM": SIZES, "RobertaForSequenceClassification": SIZES,
           "AlbertModel": {**SIZES, "embedding_size": 8}, "DistilBertModel": {
               **SMALL, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 24},
           "ElectraModel": SIZES, "DebertaV2Model": SIZES, "T5EncoderModel": T5, "XLMWithLMHeadModel": {
               **SMALL, "n_words": 40, "emb_dim": 16, "n_layers": 2, "n_heads": 2}}


def made(name, settings, **more):
    """A model of that class with random weights, being trained."""
    import transformers

    torch.manual_seed(3)
    model = getattr(transformers, name)
    return model(model.config_class(**settings, **more)).train()


@pytest.fixture(scope="module")
def tokenizer():
    """One token a word."""
    import transformers

    words = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", bos_token="<s>",
                                                eos_token="</s>", unk_token="<unk>")


def settings_of(model):
    return [module.training for module in model.modules()], [
        config._attn_implementation for config in captured._configs(model)]


def eager(model, **inputs):
    """What transformers gives by itself of a copy that was made with the attention that gives weights."""
    twin = type(model)._from_config(model.config, attn_implementation="eager").eval()
    twin.load_state_dict(model.state_dict())
    with torch.no_grad():
        return twin(**inputs, output_attentions=True)


@each_row("name", WRITERS)
def test_a_decoder_is_stepped_as_it_generates_and_its_weights_are_those_it_used(name, tokenizer):
    model = made(name, WRITERS[name])
    before = settings_of(model)
    step = read(model, tokenizer, TEXT)
    assert step.kinds == ("decoder",) and step.axes("decoder")[0] == TEXT.split()
    for _ in range(4):
        step = step.next()
    assert settings_of(model) == before
    ids = torch.tensor([step.tokens])
    theirs = eager(model, input_ids=ids)
    torch.testing.assert_close(step.attentions["decoder"], torch.cat(theirs.attentions), atol=1e-6, rtol=0)
    torch.testing.assert_close(step.logits, theirs.logits[0, -1], atol=1e-5, rtol=0)
    written = model.eval().generate(ids[:, :6], max_new_tokens=4, do_sample=False, eos_token_id=99)[0].tolist()
    assert [*step.tokens] == written


@pytest.mark.parametrize("name", TRANSLATORS)
def test_an_encoder_decoder_is_stepped_as_it_generates_with_three_kinds_of_attention(name, tokenizer):
    model = made(name, TRANSLATORS[name])
    model.generation_config.bad_words_ids = [[0]]
    model.generation_config.forced_bos_token_id = 7 if "MBart" in name else None
    before = settings_of(model)
    step = read(model, tokenizer, TEXT)
    while step.index < 5:
        step = step.next()
    assert settings_of(model) == before
    source, target = TEXT.split(), [step.label(id) for id in step.tokens]
    assert {kind: step.axes(kind) for kind in step.kinds} == {
        "encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    ids = torch.tensor([[WORDS.index(word) for word in source]])
    theirs = eager(model, input_ids=ids, decoder_input_ids=torch.tensor([step.tokens]))
    for kind in step.kinds:
        layers = getattr(theirs, f"{kind}_attentions")
        torch.testing.assert_close(step.attentions[kind], torch.cat(layers), atol=1e-6, rtol=0)
    written = model.eval().generate(ids, max_new_tokens=5, do_sample=False, num_beams=1, eos_token_id=99)[0].tolist()
    assert [*step.tokens] == written
    assert step.src.tolist() == ids.tolist() and [piece.text for piece in step.source] == source[:-1]


@each_row("name", READERS)
def test_what_writes_nothing_from_left_to_right_is_read_at_once(name, tokenizer):
    model = made(name, READERS[name])
    before = settings_of(model)
    found = read(model, tokenizer, TEXT)
    assert isinstance(found, Tensors) and found.kinds == ("encoder",) and found.origin.startswith(name)
    assert settings_of(model) == before
    theirs = eager(model, **tokenizer(TEXT, return_tensors="pt", return_token_type_ids=False))
    torch.testing.assert_close(found.attentions["encoder"], torch.cat(theirs.attentions), atol=1e-6, rtol=0)


class Adapter(nn.Module):
    """As a PeftModel holds and calls the model that it adapts."""

    def __init__(self, model, prompt=False):
        super().__init__()
        self.base_model = nn.ModuleDict({"model": model})
        self.active_peft_config = SimpleNamespace(is_prompt_learning=prompt)

    def get_base_model(self):
        return self.base_model["model"]

    def forward(self, *args, **kwargs):
        return self.get_base_model()(*args, **kwargs)


class Averaged(nn.Module):
    """It answers for the model in it, as those that share a model out do."""

    def __init__(self, model):
        super().__init__()
        self.kept = model

    def __getattr__(self, name):
        return super().__getattr__(name) if name == "kept" or name in vars(self) else getattr(self.kept, name)

    def forward(self, *args, **kwargs):
        return self.kept(*args, **kwargs)


def distributed_over_one(model):
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        return nn.parallel.DistributedDataParallel(model)
    finally:
        distributed.destroy_process_group()


def changed(model, change):
    change(model)
    return model


def replaced(model, *, named):
    """Its forward pass behind a function that takes anything, as accelerate puts it."""
    before = model.forward

    def forward(*args, **kwargs):
        return before(*args, **kwargs)

    model.forward = functools.wraps(before)(forward) if named else forward
    return model


def part_compiled(model):
    name = next(name for name in ("transformer", "encoder") if hasattr(model, name))
    setattr(model, name, COMPILED(getattr(model, name)))
    return model


def hooked(model):
    """With a hook on each side of it, which change nothing."""
    model.register_forward_pre_hook(lambda module, args, kwargs: (args, dict(kwargs)), with_kwargs=True)
    model.register_forward_hook(lambda module, args, output: output)
    return model


COMPILED = functools.partial(torch.compile, backend="eager")
WRAPPED = {
    "compiled": COMPILED, "to code": torch.compile, "in place": lambda model: changed(model, nn.Module.compile),
    "a part": part_compiled,
    "its forward": lambda model: changed(model, lambda one: setattr(one, "forward", COMPILED(one.forward))),
    "parallel": nn.DataParallel, "distributed": distributed_over_one, "adapted": Adapter,
    "all": lambda model: COMPILED(nn.DataParallel(Adapter(COMPILED(model)))), "averaged": Averaged,
    "named": functools.partial(replaced, named=True), "nameless": functools.partial(replaced, named=False),
    "hooks": hooked}


@each_row(("how", "name"), [(how, name) for how in WRAPPED for name in ("GPT2LMHeadModel", "T5ForConditionalGeneration",
                                                                        "BertModel")])
def test_a_wrapped_model_is_read_as_the_one_in_it(how, name, tokenizer):
    model = made(name, (WRITERS | TRANSLATORS | READERS)[name])
    expected = read(model, tokenizer, TEXT)
    wrapped = WRAPPED[how](model)
    before = settings_of(wrapped)
    found = read(wrapped, tokenizer, TEXT)
    assert settings_of(wrapped) == before and type(found) is type(expected)
    if isinstance(found, CapturedStep):
        found, expected = found.next(), expected.next()
        assert found.tokens == expected.tokens
    assert found.kinds == expected.kinds
    for kind in found.kinds:
        assert found.axes(kind) == expected.axes(kind)
        torch.testing.assert_close(found.attentions[kind], expected.attentions[kind], atol=1e-6, rtol=0)


def test_what_an_adapter_changes_in_the_model_is_seen_and_what_it_puts_before_the_text_is_refused(tokenizer):
    model = made("GPT2LMHeadModel", GPT2)
    plain = read(model, tokenizer, TEXT).attentions["decoder"]
    nn.init.constant_(model.transformer.h[0].attn.c_attn.weight, 0.0)  # as the weights of LoRA stand in its layers
    assert not torch.allclose(read(Adapter(model), tokenizer, TEXT).attentions["decoder"], plain)
    with pytest.raises(ValueError, match=r"puts vectors before the text that are no tokens; .*get_base_model\(\)"):
        read(Adapter(model, prompt=True), tokenizer, TEXT)


@each_row(("gives", "why"), [
    (["input_ids"], None), (["input_ids", "attention_mask"], None),
    (["input_ids", "token_type_ids"], "cannot be run with its attention captured: .*token_type_ids"),
    (["tokens"], "the tokenizer gives tokens and no input_ids")])
def test_where_no_signature_names_what_is_read_it_is_what_the_tokenizer_says(gives, why, tokenizer):
    class Reader(type(made("DistilBertModel", READERS["DistilBertModel"]))):
        def forward(self, *args, **kwargs):
            if "token_type_ids" in kwargs:
                raise KeyError("token_type_ids")
            return super().forward(*args, **kwargs)

    class Named:
        model_input_names, unk_token_id = gives, None
        tokenize, convert_ids_to_tokens = tokenizer.tokenize, tokenizer.convert_ids_to_tokens

        def __call__(self, text):
            ids = tokenizer(text)["input_ids"]
            return {name: ids if name == "input_ids" else [1] * len(ids) for name in gives}

    torch.manual_seed(3)
    model = Reader(Reader.config_class(**READERS["DistilBertModel"]))
    if why is None:
        assert read(model, Named(), TEXT).kinds == ("encoder",)
        return
    with pytest.raises(ValueError, match=why):
        read(model, Named(), TEXT)


def test_two_texts_are_joined_as_the_tokenizer_does_and_one_token_makes_no_decoder_of_what_looks_both_ways(tokenizer):
    found = read(made("BertModel", SIZES), tokenizer, ("the cat", "I am"))
    assert found.axes("encoder")[0] == ["the", "cat", "I", "am"] and found.text == "the cat / I am"
    assert isinstance(read(made("XLMWithLMHeadModel", READERS["XLMWithLMHeadModel"]), tokenizer, "cat"), Tensors)
    assert isinstance(read(made("GPT2LMHeadModel", GPT2), tokenizer, "cat"), CapturedStep)


def test_another_candidate_branches_and_a_step_that_was_made_stays_as_it_was(tokenizer):
    first = read(made("GPT2LMHeadModel", GPT2), tokenizer, "the cat")
    other = first.top(3)[2]
    tree = DecodingTree(Branch(first)).to(2)
    branched = tree.to(0).pick(other.id).to(2)
    assert branched.step.tokens[2] == other.id != first.id and len(branched.others) == 1
    assert branched.switch(branched.others[0]).step.tokens == tree.step.tokens
    assert branched.steps[0].label(other.id) == other.piece
    assert first.next(other.id).parent.id == other.id
    assert first.tokens == (4, 5) and first.parent is None
    hot = Sampling(temperature=2.0, seed=4)
    drawn = read(made("GPT2LMHeadModel", GPT2), tokenizer, "the cat", sampling=hot)
    assert drawn.id == hot.choose(first.logits, 0)


def test_it_ends_where_the_model_ends_a_text_or_has_no_room_and_what_its_settings_forbid_is_no_candidate(tokenizer):
    model = made("GPT2LMHeadModel", GPT2)
    step = read(model, tokenizer, " ".join([TEXT] * 4))
    assert (step.limit, step.full, step.finished, step.ended) == (24, True, False, True)
    with pytest.raises(ValueError, match="24 tokens are read and this model reads at most 24"):
        step.next()
    model.generation_config.eos_token_id = [2, step.id]
    assert read(model, tokenizer, " ".join([TEXT] * 4)).finished
    model = made("MBartForConditionalGeneration", TRANSLATORS["MBartForConditionalGeneration"])
    model.generation_config.suppress_tokens, model.generation_config.forced_bos_token_id = [5], 7
    first = read(model, tokenizer, TEXT)
    assert first.id == 7 and first.top(1)[0].probability == 1
    second = first.next()
    assert second.probability() > 0 and 5 not in [one.id for one in second.top(40) if one.probability]


def test_labels_of_byte_level_pieces_are_text(tokenizer):
    import transformers

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer, pieces.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    pieces.train_from_iterator(["the cat sat é"] * 9, trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    model = made("GPT2LMHeadModel", {**GPT2, "vocab_size": 320})
    step = read(model, transformers.PreTrainedTokenizerFast(tokenizer_object=pieces), "the cat é")
    assert step.axes("decoder")[0] == ["the", "▁cat", "▁é"]
    assert step.label(319) == "<319>"
    assert step.whole.startswith("the cat é")


@pytest.mark.parametrize("name", HYBRIDS)
def test_layers_without_attention_are_left_out_and_the_others_are_shown_under_their_numbers(name, tokenizer):
    settings, layers = HYBRIDS[name]
    model = made(name, settings)
    step = read(model, tokenizer, TEXT).next()
    assert step.seen.numbers == {"layers": layers, "heads": [0, 1]}
    theirs = [one for one in eager(model, input_ids=torch.tensor([step.tokens])).attentions if one is not None]
    torch.testing.assert_close(step.attentions["decoder"], torch.cat(theirs), atol=1e-6, rtol=0)
    header, _ = held(show(model, tokenizer, TEXT, live=False).page)
    assert header["kinds"]["decoder"]["numbers"] == step.seen.numbers
    pytest.importorskip("anywidget", reason="pip install anywidget")
    for view in (show(model, tokenizer, TEXT), show(step)):
        header, arrays = unpacked(view.message)
        assert header["kinds"]["decoder"]["numbers"] == step.seen.numbers
    np.testing.assert_allclose(arrays["weights"], step.attentions["decoder"][0, 0], atol=1e-6)
    view.selection = {"layer": 1, "head": 1}
    np.testing.assert_allclose(unpacked(view.message)[1]["weights"], step.attentions["decoder"][1, 1], atol=1e-6)


@each_row(("name", "live"), [(name, live) for name in HYBRIDS for live in (False, True)])
def test_what_a_model_with_layers_without_attention_returns_is_shown(name, live, tokenizer):
    """Some say which layers they are by None in their places, and some leave them out."""
    if live:
        pytest.importorskip("anywidget", reason="pip install anywidget")
    settings, layers = HYBRIDS[name]
    model = made(name, settings)
    out = eager(model, **tokenizer(TEXT, return_tensors="pt", return_token_type_ids=False))
    there = [one for one in out.attentions if one is not None]
    placed = [there[layers.index(at)] if at in layers else None for at in range(model.config.num_hidden_layers)]
    for given, more, expected in ((placed, {}, layers), (placed, {"include_layers": layers[1:]}, layers[1:]),
                                  (there, {"include_layers": [1]}, [1])):
        picture = show(SimpleNamespace(attentions=given), TEXT.split(), live=live, **more)
        header, _ = unpacked(picture.message) if live else held(picture.page)
        assert header["kinds"]["decoder"]["numbers"] == {"layers": expected, "heads": [0, 1]}
    why = f"include_layers is .0., and there are {', '.join(map(str, layers))}; choose one or more of them"
    with pytest.raises(ValueError, match=why):
        show(placed, TEXT.split(), live=live, include_layers=[0])
    with pytest.raises(ValueError, match="include_layers: these are for weights from elsewhere; leave them out"):
        show(model, tokenizer, TEXT, live=live, include_layers=layers)


def test_a_page_without_a_kernel_has_what_the_model_writes_next_and_rows_that_do_not_add_up_to_1_as_they_are(tokenizer):
    """A part of each row of a gpt-oss goes to a sink, which is no token."""
    model = made("GptOssForCausalLM", {**SIZES, "num_key_value_heads": 1, "head_dim": 8, "num_local_experts": 2,
                                       "num_experts_per_tok": 1})
    step = read(model, tokenizer, TEXT)
    assert step.seen.scales["decoder"].most < 1
    assert "attention-view" in show(model, tokenizer, TEXT, live=False).page
    page = show(made("GPT2LMHeadModel", GPT2), tokenizer, "the cat", live=False)
    assert page.what == "decoder attention" and 'class="step-view"' in page.page


@each_row(("name", "settings", "text", "why"), [
    ("MambaForCausalLM", {**SMALL, "hidden_size": 16, "num_hidden_layers": 1}, TEXT, "gave no attention weights"),
    ("FNetModel", SIZES, TEXT, "gave no attention weights"), ("BartModel", BART, TEXT, "no head that writes"),
    ("LongformerModel", {**SIZES, "attention_window": 8}, TEXT, "gave attention of the shape"),
    ("GPT2LMHeadModel", GPT2, " ".join([TEXT] * 5), "has 30 tokens; GPT2LMHeadModel reads at most 24"),
    ("BertModel", SIZES, "", "nothing to read"), ("GPT2LMHeadModel", GPT2, 5, "of type int"),
    ("GPT2LMHeadModel", GPT2, ("a", "b", "c"), "3 texts are given"),
    ("GPT2LMHeadModel", GPT2, None, "there is no text for the model to read"),
    ("ViTModel", {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}, TEXT,
     "not a model of transformers that reads text")])
def test_what_cannot_be_captured_is_refused_and_the_model_stays_as_it_was(name, settings, text, why, tokenizer):
    model = made(name, settings)
    before = settings_of(model)
    with pytest.raises(ValueError, match=why):
        show(model, tokenizer, text)
    assert settings_of(model) == before


def test_what_is_not_a_model_or_not_its_tokenizer_is_refused(tokenizer, monkeypatch):
    model = made("GPT2LMHeadModel", GPT2)
    for given, options, why in (((nn.Linear(2, 2), tokenizer), {}, "Linear is not a model of transformers"),
                                ((nn.Sequential(nn.Identity(), model), tokenizer), {},
                                 r'its part "1" is a GPT2LMHeadModel: show that one'),
                                ((model, ["the", "cat"]), {}, "the tokenizer is of type list"),
                                ((model, tokenizer), {"include_heads": [0]}, "these are for weights from elsewhere"),
                                (([torch.rand(1, 2, 3, 3)], list("abc")), {}, "a text is for a model that reads it")):
        with pytest.raises(ValueError, match=why):
            show(*given, TEXT, **options)
    with pytest.raises(ValueError, match="the token is 40; choose a whole number from 0 to 39"):
        read(model, tokenizer, TEXT).next(40)
    translator = made("BartForConditionalGeneration", BART)
    for place in (translator.config, translator.generation_config):
        place.decoder_start_token_id = place.bos_token_id = None
    with pytest.raises(ValueError, match="does not say with which token its decoder begins"):
        show(translator, tokenizer, TEXT)
    monkeypatch.setattr(captured, "MOST", 100)
    with pytest.raises(ValueError, match=r"over 6 tokens has 144 weights; at most 100 are kept"):
        show(model, tokenizer, TEXT)
