"""What other people's models need and ours lack is named all at once, from config.json, before the weights."""

import json
import re
import resource

import pytest

import transformer
from tests.huggingface.cases import BLOOM, FALCON, GPTJ, MPT, NEAR, NEO, OPT
from tests.huggingface.cases import SMALL as BERT
from tests.rows import each_row
from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families import FAMILIES
from transformer.huggingface.families.llama import window_of
from transformer.huggingface.folder import Refused
from transformer.huggingface.importing import import_model, plan_of
from transformer.huggingface.unsupported import check_needs, needs
from transformer.intake.receiving import take_in

LLAMA = {"model_type": "llama", "hidden_size": 576, "num_attention_heads": 9, "num_key_value_heads": 3,
         "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 100_000}
EXPERTS, STATES, PICTURES, SOUND = ("experts to choose among", "layers that keep a state in place of attention",
                                    "pictures to read", "sound to read")
CODE = {"auto_map": {"AutoModel": "evil.Model"}}


def refused(folder, config):
    """The sentence with which a folder that has only a configuration is refused."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError) as error:  # noqa: PT011
        import_model(folder, folder / "ours")
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


def test_all_that_a_model_needs_is_said_before_its_weights_are_asked_for(tmp_path):
    message = refused(tmp_path, {**LLAMA, **CODE, "num_local_experts": 8, "quantization_config": {"bits": 4},
                                 "hidden_act": "relu2"})
    assert message == ("the model is of type llama and needs experts to choose among (num_local_experts), quantised "
                       "weights (quantization_config), code that comes with it, which is never run (auto_map) and the "
                       "activation relu2 (hidden_act), which Heads Up's models do not have; in Python, "
                       "transformer.show(model, tokenizer, text) shows it")


def test_a_type_that_nobody_knows_is_judged_by_its_fields(tmp_path):
    message = refused(tmp_path, {**LLAMA, "model_type": "made-up", "n_routed_experts": 64, "kv_lora_rank": 512})
    assert message.startswith("the model is of type made-up and needs experts to choose among (n_routed_experts) and "
                              "keys")
    message = refused(tmp_path, {"model_type": "made-up"})
    assert message.startswith("the model is of type made-up,") and "gpt2, llama, " in message
    assert all(kind in message for kind in FAMILIES)


@each_row("kind", FAMILIES)
def test_what_is_imported_lacks_nothing_and_may_not_be_more_than_it_is(kind):
    check_needs({"model_type": kind}, tuple(FAMILIES))
    for field, what in (({"num_experts": 8}, EXPERTS), ({"vision_config": {"hidden_size": 8}}, PICTURES),
                        ({"num_mel_bins": 80}, SOUND), ({"quantization_config": {"bits": 4}}, "quantised weights"),
                        ({"add_cross_attention": True}, "cross-attention to another model"),
                        ({"kv_lora_rank": 64}, "keys and values kept as one narrow row")):
        with pytest.raises(Refused, match=rf"of type {kind} and needs {what} \({next(iter(field))}\)"):
            check_needs({"model_type": kind, **field}, tuple(FAMILIES))


@pytest.mark.parametrize("field", [{"num_local_experts": 1}, {"num_experts": 0}, {"quantization_config": None},
                                   {"vision_config": {}}, {"pruned_heads": {}}, {"kv_lora_rank": None}], ids=str)
def test_a_field_that_asks_for_nothing_is_harmless(field):
    assert needs({**LLAMA, **field}) == []


@pytest.mark.parametrize(("kinds", "what"), [
    (["mixtral", "qwen3_moe", "gpt_oss", "deepseek_v3", "switch_transformers"], EXPERTS),
    (["mamba", "mamba2", "rwkv", "jamba", "recurrent_gemma"], STATES),
    (["vit", "clip", "llava", "qwen2_vl", "gemma3"], PICTURES), (["whisper", "wav2vec2", "hubert"], SOUND),
    (["longformer", "big_bird", "reformer"], "attention in blocks and to chosen tokens"),
    (["xlnet"], "attention to an earlier piece of the text")], ids=lambda value: str(value)[:30])
def test_types_say_what_no_field_of_theirs_does(tmp_path, kinds, what):
    for kind in kinds:
        assert f"of type {kind} and needs {what}" in refused(tmp_path, {"model_type": kind})


@pytest.mark.parametrize(("config", "needed"), [
    ({"model_type": "gpt2", "activation_function": "quick_gelu"}, ["the activation quick_gelu (activation_function)"]),
    ({"model_type": "t5", "feed_forward_proj": "gated-quick_gelu"}, ["the activation gated-quick_gelu"]),
    ({"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": True}, ["attention scaled by its layer's number"]),
    ({"model_type": "marian", "normalize_before": True, "add_final_layer_norm": True}, ["pre-norm", "a final norm"]),
    ({"model_type": "bert", "is_decoder": True}, ["an encoder used as a decoder"]),
    ({"model_type": "bert", "position_embedding_type": "relative_key"}, ["relative_key positions"]),
    ({"model_type": "bloom", "slow_but_exact": True}, ["weights in slices"]),
    ({"model_type": "gemma3_text", "use_bidirectional_attention": True}, ["a decoder that sees what comes later"]),
], ids=lambda value: str(value)[:40])
def test_each_is_named(config, needed):
    with pytest.raises(Refused, match="which Heads Up's models do not have") as error:
        check_needs(config, tuple(FAMILIES))
    assert all(what in str(error.value) for what in needed)
    assert needs({"model_type": config["model_type"]}) == []


@each_row(("config", "needed"), [
    ({"model_type": "granitemoehybrid", "layer_types": ["attention"] * 4, "num_local_experts": 0}, []),
    ({"model_type": "granitemoehybrid", "layer_types": ["mamba", "attention"]}, [f"{STATES} (layer_types)"]),
    ({"model_type": "granitemoehybrid"}, [STATES]), ({"model_type": "lfm2", "layer_types": ["conv"]},
                                                     [f"{STATES} (layer_types)"]),
    *(({"model_type": kind, "layer_types": ["linear_attention", "full_attention"]}, [f"{STATES} (layer_types)"])
      for kind in ("qwen3_5_text", "made-up")),
    ({"model_type": "gemma2", "layer_types": ["sliding_attention", "full_attention"]}, []),
    ({"model_type": "prophetnet", "add_cross_attention": True, "is_encoder_decoder": True}, [])])
def test_what_is_there_counts_and_not_what_a_type_may_have(config, needed):
    assert needs(config) == needed


@each_row(("config", "hinted"), [
    ({"model_type": "mixtral"}, True), ({"model_type": "exaone4"}, True), ({"model_type": "jamba"}, True),
    ({"model_type": "vit"}, False), ({"model_type": "whisper"}, False), ({"model_type": "mamba"}, False),
    ({"model_type": "llama", "vision_config": {"hidden_size": 8}}, False)])
def test_what_cannot_be_imported_may_be_looked_at_in_python(config, hinted):
    with pytest.raises(Refused) as error:
        check_needs(config, tuple(FAMILIES))
    assert ("transformer.show(model, tokenizer, text)" in str(error.value)) == hinted


BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 64,
        "vocab_size": 99}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4, "vocab_size": 99}
BASE = {"gptj": GPTJ, "gpt_neo": NEO, "bloom": BLOOM, "falcon": FALCON, "mpt": MPT, "opt": OPT, "t5": T5, "umt5": T5,
        "deberta-v2": {**BERT, **NEAR}, **dict.fromkeys(("bart", "mbart", "m2m_100"), BART),
        **dict.fromkeys(("albert", "electra", "modernbert"), BERT)}


@each_row(("kind", "settings", "message"), [
    ("gptj", {"rotary_dim": 5}, "rotary_dim is 5, and should be even and no more than a head's width of 8"),
    *(("gpt_neo", {"attention_types": types}, "should name global or local for each of 3 layers") for types in (
        [[["global", "near"], 2]], [[["global"], 10**9]], [[5, "x"]], 7)),
    ("bloom", {"apply_residual_connection_post_layernorm": True}, "needs sums with the normalised rows"),
    ("falcon", {"num_ln_in_parallel_attn": 2}, "num_ln_in_parallel_attn is 2, and Falcon has 1"),
    ("falcon", {"new_decoder_architecture": True, "parallel_attn": False}, "needs parallel_attn, and it is false"),
    ("mpt", {"attn_config": {"alibi": False, "qk_ln": True, "attn_type": "multiquery_attention"}, "no_bias": False},
     r"needs positions in place of ALiBi \(attn_config.alibi\), multiquery_attention \(attn_config.attn_type\), all "
     r"heads' queries .*\) and biases in an MPT model \(no_bias\), which"),
    ("mpt", {"attn_config": 5}, "attn_config should be an object"),
    ("opt", {"activation_function": "quick_gelu"}, "needs the activation quick_gelu"),
    ("bart", {"decoder_attention_heads": 2}, "encoder_attention_heads 4 and decoder_attention_heads 2"),
    ("bart", {"decoder_ffn_dim": 50}, "encoder_ffn_dim 40 and decoder_ffn_dim 50"),
    ("bart", {"architectures": ["BartForCausalLM"]}, "a BartForCausalLM"), ("bart", {"is_decoder": True}, "used alone"),
    ("bart", {"normalize_before": True}, r"needs pre-norm layers \(normalize_before\)"),
    ("mbart", {"normalize_before": False, "add_final_layer_norm": False},
     "needs post-norm layers .* and layers without a final norm"),
    ("bart", {"pad_token_id": 99}, "gives no pad_token_id inside the vocabulary"),
    ("m2m_100", {"decoder_start_token_id": 1}, "are both 1"),
    ("bart", {"scale_embedding": "yes"}, "scale_embedding is yes, and should be true or false"),
    ("t5", {"feed_forward_proj": "gated-swiglu"}, r"activation gated-swiglu \(feed_forward_proj\)"),
    ("t5", {"relative_attention_max_distance": 16}, "leave no buckets for what is far"),
    ("t5", {"architectures": ["T5EncoderModel"]}, "a T5EncoderModel"), ("umt5", {}, "each layer's own table"),
    ("t5", {"eos_token_id": 120}, "gives no eos_token_id"),
    ("albert", {"num_hidden_groups": 2, "inner_group_num": 3}, r"several groups of shared layers \(num_hidden_groups\) "
                                                               "and several layers in each group"),
    ("electra", {"is_decoder": True}, "an encoder used as a decoder"),
    ("electra", {"architectures": ["ElectraForCausalLM"]}, "the model is a ElectraForCausalLM"),
    ("deberta-v2", {"conv_kernel_size": 3}, r"a convolution beside its first layer \(conv_kernel_size\)"),
    ("deberta-v2", {"share_att_key": False, "pos_att_type": ["c2p"]}, r"\(share_att_key\) and distances that meet not"),
    ("deberta-v2", {"position_biased_input": True}, "positions relative and learned at once"),
    ("deberta-v2", {"embedding_size": 16}, "embeddings that are normalised after"),
    ("deberta-v2", {"attention_head_size": 5}, "heads of another width"),
    ("deberta-v2", {"position_buckets": 40}, "position_buckets is 40, and should be from 2 to less than"),
    ("deberta-v2", {"pooler_hidden_act": "mish"}, r"the activation mish \(pooler_hidden_act\)"),
    ("deberta-v2", {"pos_att_type": 5}, "distances that meet not both"),
    ("modernbert", {"classifier_activation": "mish", "architectures": ["ModernBertForMaskedLM"]},
     r"the activation mish \(classifier_activation\)"),
    *(("modernbert", {"layer_types": types}, "layer_types should name") for types in (
        ["sliding_attention"], [{}, 1, None])),
    ("modernbert", {"rope_parameters": {"full_attention": 5}}, "rope_parameters should be objects"),
    ("modernbert", {"classifier_pooling": "max", "architectures": ["ModernBertForSequenceClassification"]},
     "classifier_pooling is max, and should be cls or mean"),
    ("modernbert", {"norm_bias": "yes"}, "norm_bias is yes, and should be true or false")])
def test_what_ours_lack_is_said_in_one_sentence(kind, settings, message):
    with pytest.raises(ValueError, match=message) as error:
        plan_of({"model_type": kind, **BASE[kind], **settings}, {})
    assert "\n" not in str(error.value) and len(str(error.value)) < 500


def test_code_that_transformers_has_as_its_own_is_not_asked_for():
    assert needs({"model_type": "falcon", **CODE}) == []
    assert needs({"model_type": "llama", **CODE}) == ["code that comes with it, which is never run (auto_map)"]


@pytest.mark.rare("makes three hundred configurations of transformers; types by name are in make test")
def test_every_type_that_transformers_makes_by_default_is_imported_or_gets_a_sentence():
    import transformers as hf
    from huggingface_hub.errors import StrictDataclassError

    mapping = hf.models.auto.configuration_auto.CONFIG_MAPPING
    refusals, passed = {}, set()
    for name in sorted(mapping.keys()):
        try:
            config = json.loads(json.dumps(mapping[name]().to_dict(), default=str))
        except (ImportError, TypeError, ValueError, AttributeError, StrictDataclassError):  # none by default
            continue
        try:
            check_needs(config, tuple(FAMILIES))
            passed.add(config["model_type"])
        except Refused as error:
            refusals[config["model_type"]] = str(error)
    assert set(FAMILIES) - passed == set(FAMILIES) - {*mapping.keys()}
    assert passed <= set(FAMILIES)
    assert len(refusals) > 200
    for kind, message in refusals.items():
        assert re.match(rf"the model is of type {re.escape(kind[:40])}(,| and needs )", message), message
        assert "\n" not in message and len(message) < 600, message
    for kind, what in {"mixtral": EXPERTS, "mamba": STATES, "vit": PICTURES, "whisper": SOUND}.items():
        assert what in refusals[kind]


def test_a_gguf_that_is_none_is_refused_as_a_file_and_as_a_folder_and_left_beside_a_configuration(tmp_path):
    folder = tmp_path / "smol"
    folder.mkdir()
    (folder / "smol.Q4_1.gguf").write_bytes(b"GGUF\3\0\0\0" + bytes(64))
    message = "holds a model of the architecture None, and llama, "
    with pytest.raises(ValueError, match=message):
        take_in(folder / "smol.Q4_1.gguf", tmp_path / "taken")
    with pytest.raises(ValueError, match=f"smol.Q4_1.gguf {message}"):
        import_model(folder, tmp_path / "ours")
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1,
                                                    "vocab_size": 9, "n_positions": 5}))
    with pytest.raises(ValueError, match=r"smol has no model\.safetensors"):
        import_model(folder, tmp_path / "ours")


def test_opening_what_is_no_checkpoint_says_what_to_do(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    for name, message in ((tmp_path, "is a Hugging Face folder; import it first: headsup import"),
                          (tmp_path / "model.gguf", "import it first: headsup import model.gguf"),
                          ("gone.gguf", "import it first: headsup import gone.gguf"),
                          ("wrote", "there is no folder wrote; `headsup list`")):
        with pytest.raises(ValueError, match=message):
            transformer.load(name)


SMALL = {"vocab_size": 60, "hidden_size": 32, "n_embd": 32, "d_model": 32, "d_kv": 8, "d_ff": 64, "head_dim": 8,
         "num_attention_heads": 4, "num_heads": 4, "n_head": 4, "num_key_value_heads": 4, "num_hidden_layers": 3,
         "num_layers": 3, "n_layer": 3, "intermediate_size": 64, "eos_token_id": 1, "relative_attention": False}
CLASSIFIES = {"architectures": ["BertForSequenceClassification"]}
YARN, FAR = {"rope_type": "yarn", "factor": 4.0}, {"sliding_window": 4, "use_sliding_window": True}


@each_row(("kind", "change"), [
    ("gemma2", {"num_hidden_layers": 10**12, **FAR}), ("gemma3_text", {"num_hidden_layers": 10**12, **FAR}),
    ("qwen2", {"num_hidden_layers": 10**12, "max_window_layers": 1, **FAR}),
    ("modernbert", {"num_hidden_layers": 10**12}), ("bert", {"num_labels": 10**12, **CLASSIFIES}),
    ("bert", {"id2label": ["a", "b"], **CLASSIFIES}), ("bert", {"id2label": 3, **CLASSIFIES}),
    ("llama", {"hidden_act": "gated-gelu"}), ("llama", {"hidden_act": ["gelu"]}),
    ("t5", {"dense_act_fn": "gated-gelu"}),
    ("llama", {"rope_parameters": {"rope_type": ["yarn"]}}), ("llama", {"rope_parameters": {"rope_type": {"a": 1}}}),
    *[("llama", {"rope_parameters": {**YARN, **more}}) for more in (
        {"mscale": "x", "mscale_all_dim": 1}, {"mscale": [1], "mscale_all_dim": 1}, {"attention_factor": [1]},
        {"factor": 2.718281828459045, "mscale": 1.0, "mscale_all_dim": -10.0}, {"attention_factor": "high"},
        {"rope_theta": 1.0}, {"beta_fast": 1e-320})],
    ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 1e-300}}),
    ("llama", {"rms_norm_eps": 1e-300}), ("gemma2", {"final_logit_softcapping": 1e-320}),
    ("phi3", {"original_max_position_embeddings": 1, "rope_parameters": {
        "rope_type": "longrope", "long_factor": [1.0] * 4, "short_factor": [1.0] * 4}}),
    ("gpt_neox", {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 1e308}}),
    ("gemma2", {"layer_types": [["x"]] * 3, **FAR}), ("gptj", {"n_embd": 4 * 8192, "rotary_dim": 8192}),
    ("modernbert", {"classifier_activation": ["gelu"], "architectures": ["ModernBertForSequenceClassification"]}),
    ("deberta-v2", {"pooler_hidden_act": ["gelu"], "architectures": ["DebertaV2ForSequenceClassification"]}),
    ("gpt_neo", {"attention_layers": None, "attention_types": [["a" * 3_900_000, 128]]}),
])
def test_a_setting_that_no_model_has_is_refused_in_a_sentence_before_anything_is_made_of_it(kind, change):
    began = memory_used()
    with pytest.raises(Refused) as error:
        plan_of({"model_type": kind, **SMALL, **change}, {})
    assert memory_used() - began < 500_000_000
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("kind", "turned"), [("stablelm", 5), ("phi", 3)])
def test_an_odd_share_of_turned_features_is_refused_where_transformers_cannot_run_it(kind, turned):
    rope = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25}
    with pytest.raises(Refused, match=f"{turned} of the .* are turned.*{turned} is odd"):
        plan_of({"model_type": kind, **SMALL, "hidden_size": 16 * turned, "head_dim": 4 * turned,
                 "rope_parameters": rope}, {})


def memory_used():
    """The peak memory of this process, in bytes."""
    return 1_024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@each_row(("kind", "more"), [
    ("gemma2", {}), ("gemma3_text", {}), ("gemma3_text", {"sliding_window_pattern": 3}),
    ("qwen2", {"use_sliding_window": True, "max_window_layers": 3}),
    ("qwen3", {"use_sliding_window": True, "max_window_layers": 1})])
def test_of_a_folder_that_lists_no_layer_types_the_same_layers_have_the_window(kind, more):
    """As folders of older versions are."""
    import transformers as hf

    settings = {"num_hidden_layers": 7, "sliding_window": 5, **more}
    theirs = hf.AutoConfig.for_model(kind, **settings).layer_types
    assert window_of(ConfigJson(settings), kind, 7) == {
        "window": 5, "window_layers": tuple(at for at, one in enumerate(theirs) if one == "sliding_attention")}
