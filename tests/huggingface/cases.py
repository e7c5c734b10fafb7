"""Tiny models of other families with random weights: the configurations for one test that compares them all.

Each case: a name, the class of transformers that is saved, its configuration's class, and what differs from `SMALL`.
"""

from collections.abc import Callable, Hashable, Iterable

import pytest

SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
         "intermediate_size": 40, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2,
         "pad_token_id": 0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 1e4}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16, "rope_theta": 5e5}
LONG = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.1, 1.2, 1.3],
        "long_factor": [1.0, 2.0, 3.0, 4.0], "original_max_position_embeddings": 16}

LLAMAS = [
    ("llama", "Llama", {}),
    ("llama, grouped", "Llama", {"num_key_value_heads": 2, "tie_word_embeddings": True}),
    ("llama, one key-value head, odd widths", "Llama", {"num_attention_heads": 3, "num_key_value_heads": 1,
                                                        "hidden_size": 27, "head_dim": 10, "attention_bias": True,
                                                        "mlp_bias": True}),
    ("llama, linear", "Llama", {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}}),
    ("llama, dynamic", "Llama", {"max_position_embeddings": 16, "rope_parameters": {
        "rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}}),
    ("llama, llama3", "Llama", {"rope_parameters": LLAMA3}),
    ("llama, yarn", "Llama", {"rope_parameters": YARN}),
    ("llama, yarn of a short text that turns slowly", "Llama", {"rope_parameters": {
        **YARN, "original_max_position_embeddings": 8, "beta_slow": 2.0, "truncate": False, "mscale": 0.7,
        "mscale_all_dim": 0.5}}),
    ("llama, base and part", "Llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0,
                                                           "partial_rotary_factor": 0.5}}),
    ("llama, longrope with a factor of its own", "Llama", {"rope_parameters": {
        **LONG, "original_max_position_embeddings": 48, "factor": 2.5}}),
    ("mistral", "Mistral", {"num_key_value_heads": 2, "sliding_window": None}),
    ("mistral, window", "Mistral", {"num_key_value_heads": 2, "sliding_window": 5, "head_dim": 6}),
    ("qwen2", "Qwen2", {"num_key_value_heads": 2}),
    ("qwen2, window", "Qwen2", {"num_key_value_heads": 4, "use_sliding_window": True, "sliding_window": 4,
                                "max_window_layers": 1}),
    ("qwen3", "Qwen3", {"num_key_value_heads": 2, "head_dim": 10}),
    ("qwen3, biased", "Qwen3", {"num_key_value_heads": 1, "head_dim": 8, "attention_bias": True}),
    ("phi3", "Phi3", {"num_key_value_heads": 2}),
    ("phi3, longrope", "Phi3", {"num_key_value_heads": 4, "rope_parameters": LONG,
                                "original_max_position_embeddings": 16}),
    ("phi3, window and part", "Phi3", {"num_key_value_heads": 4, "sliding_window": 6, "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}),
    ("phi3, an odd share turned", "Phi3", {"num_key_value_heads": 4, "hidden_size": 48, "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25}}),
    ("gemma", "Gemma", {"num_key_value_heads": 1, "head_dim": 12}),
    ("gemma, relu", "Gemma", {"num_key_value_heads": 2, "head_dim": 8, "hidden_act": "relu",
                              "hidden_activation": "gelu_pytorch_tanh"}),
    ("gemma2", "Gemma2", {"num_key_value_heads": 2, "head_dim": 12, "sliding_window": 5, "query_pre_attn_scalar": 20,
                          "attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0}),
    ("gemma3", "Gemma3Text", {"num_key_value_heads": 2, "head_dim": 12, "sliding_window": 5, "num_hidden_layers": 7,
                              "query_pre_attn_scalar": 20}),
    ("gemma3, capped", "Gemma3Text", {"head_dim": 8, "sliding_window": 5, "attn_logit_softcapping": 1.5,
                                      "final_logit_softcapping": 2.0, "query_pre_attn_scalar": 20}),
    ("olmo", "Olmo", {"num_key_value_heads": 2}),
    ("olmo, clipped", "Olmo", {"clip_qkv": 0.5, "attention_bias": True}),
    ("olmo2", "Olmo2", {"num_key_value_heads": 2}),
    ("stablelm", "StableLm", {"num_key_value_heads": 2}),
    ("stablelm, parallel", "StableLm", {"num_key_value_heads": 2, "use_parallel_residual": True, "qk_layernorm": True,
                                        "use_qkv_bias": True}),
    ("granite", "Granite", {"num_key_value_heads": 2, "embedding_multiplier": 12.0, "logits_scaling": 6.0,
                            "residual_multiplier": 0.22, "attention_multiplier": 0.3})]
HEADS = {"none": "Model", "masked": "ForMaskedLM", "classes": "ForSequenceClassification"}
NEAR = {"relative_attention": True, "share_att_key": True, "position_biased_input": False, "position_buckets": 8,
        "max_relative_positions": 20, "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm"}
ENCODERS = [  # name, family, head, settings
    ("electra", "Electra", "none", {"embedding_size": 20}),
    ("electra, its discriminator", "Electra", "ForPreTraining", {"embedding_size": 20}),
    ("electra masked", "Electra", "masked", {"embedding_size": 20, "hidden_act": "relu", "type_vocab_size": 1}),
    ("electra masked, one width, untied", "Electra", "masked", {"embedding_size": 32, "tie_word_embeddings": False}),
    ("electra classes", "Electra", "classes", {"embedding_size": 20, "num_labels": 3, "layer_norm_eps": 1e-3}),
    ("electra tokens", "Electra", "ForTokenClassification", {"embedding_size": 20}),
    ("albert", "Albert", "none", {"embedding_size": 20}),
    ("albert masked", "Albert", "masked", {"embedding_size": 20}),
    ("albert masked, one width, relu", "Albert", "masked", {"embedding_size": 32, "hidden_act": "relu"}),
    ("albert masked, untied", "Albert", "masked", {"embedding_size": 20, "tie_word_embeddings": False}),
    ("albert pretraining", "Albert", "ForPreTraining", {"embedding_size": 20, "num_attention_heads": 1}),
    ("albert classes", "Albert", "classes", {"embedding_size": 20, "num_labels": 5, "hidden_act": "silu"}),
    ("deberta", "DebertaV2", "none", NEAR),
    ("deberta, all distances, types", "DebertaV2", "none", {**NEAR, "position_buckets": -1, "type_vocab_size": 2,
                                                            "norm_rel_ebd": "none", "max_relative_positions": 9}),
    ("deberta, distances as long as texts", "DebertaV2", "none", {**NEAR, "max_relative_positions": -1,
                                                                  "pos_att_type": "c2p|p2c"}),
    ("deberta, odd buckets and heads", "DebertaV2", "none", {**NEAR, "position_buckets": 5, "hidden_size": 27,
                                                             "num_attention_heads": 3}),
    ("deberta, buckets that hang on rounding", "DebertaV2", "none", {**NEAR, "position_buckets": 31,
                                                                     "max_relative_positions": 33}),
    ("deberta masked", "DebertaV2", "masked", {**NEAR, "legacy": False}),
    ("deberta masked, as before, untied", "DebertaV2", "masked", {**NEAR, "tie_word_embeddings": False}),
    ("deberta classes", "DebertaV2", "classes", {**NEAR, "num_labels": 3}),
    ("deberta classes, tanh", "DebertaV2", "classes", {**NEAR, "pooler_hidden_act": "tanh"}),
    ("deberta, learned positions", "DebertaV2", "masked", {"pos_att_type": ["c2p"], "hidden_act": "gelu_new"}),
    ("deberta, no positions", "DebertaV2", "none", {"position_biased_input": False, "norm_rel_ebd": "layer_norm"}),
    ("modernbert", "ModernBert", "none", {"local_attention": 8, "num_hidden_layers": 5}),
    ("modernbert, odd window, every bias", "ModernBert", "none", {
        "local_attention": 7, "attention_bias": True, "mlp_bias": True, "norm_bias": True, "norm_eps": 1e-3,
        "num_attention_heads": 1}),
    ("modernbert, window longer than texts, bases", "ModernBert", "none", {
        "global_attn_every_n_layers": 2, "global_rope_theta": 500.0, "local_rope_theta": 50.0}),
    ("modernbert, layers named, scaled", "ModernBert", "none", {
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "local_attention": 2,
        "rope_parameters": {"full_attention": YARN, "sliding_attention": {"rope_type": "default", "rope_theta": 9.0}}}),
    ("modernbert masked", "ModernBert", "masked", {"local_attention": 8}),
    ("modernbert masked, untied, unbiased", "ModernBert", "masked", {
        "local_attention": 8, "tie_word_embeddings": False, "decoder_bias": False, "classifier_bias": True,
        "classifier_activation": "silu", "hidden_activation": "relu"}),
    ("modernbert classes", "ModernBert", "classes", {"local_attention": 8, "num_labels": 3}),
    ("modernbert classes, mean", "ModernBert", "classes", {
        "local_attention": 8, "classifier_pooling": "mean", "norm_bias": True, "classifier_bias": True,
        "classifier_activation": "gelu_new"})]
LANGUAGE = {"Gemma3Text": "Gemma3ForCausalLM"}

# name, class, configuration, settings
CASES = [(name, LANGUAGE.get(family, f"{family}ForCausalLM"), f"{family}Config", {**SMALL, **settings})
         for name, family, settings in LLAMAS]

SHORT = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "bos_token_id": 1,
         "eos_token_id": 2}
PYTHIA = {**SHORT, "intermediate_size": 40, "max_position_embeddings": 64}
GPTJ = {"vocab_size": 99, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64, "rotary_dim": 4,
        "bos_token_id": 1, "eos_token_id": 2}
NEO = {"vocab_size": 99, "hidden_size": 32, "num_layers": 3, "num_heads": 4, "max_position_embeddings": 64,
       "bos_token_id": 1, "eos_token_id": 2, "window_size": 5, "attention_types": [[["global", "local"], 1],
                                                                                   [["local"], 1]]}
BLOOM = {"vocab_size": 99, "hidden_size": 32, "n_layer": 3, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2}
FALCON = {**SHORT, "max_position_embeddings": 64}
MPT = {"vocab_size": 99, "d_model": 32, "n_layers": 3, "n_heads": 4, "max_seq_len": 64, "bos_token_id": 1,
       "eos_token_id": 2}
OPT = {**SHORT, "ffn_dim": 40, "max_position_embeddings": 64, "pad_token_id": 0}
RW = {"alibi": True, "bias": True, "multi_query": False, "parallel_attn": False}  # falcon-rw-1b

NEOXES = [
    ("neox", "GPTNeoX", PYTHIA, {}),
    ("neox, one after the other, half turned, tied", "GPTNeoX", PYTHIA, {
        "use_parallel_residual": False, "tie_word_embeddings": True, "hidden_act": "gelu_fast", "rope_parameters": {
            "rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5}}),
    ("neox, no attention bias, odd widths", "GPTNeoX", PYTHIA, {
        "attention_bias": False, "hidden_size": 30, "num_attention_heads": 3, "hidden_act": "relu"}),
    ("neox, an odd share turned", "GPTNeoX", PYTHIA, {"hidden_size": 48, "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25}}),
    ("neox, an odd share turned, dynamic", "GPTNeoX", PYTHIA, {
        "hidden_size": 48, "max_position_embeddings": 16, "rope_parameters": {
            "rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4, "partial_rotary_factor": 0.25}}),
    ("neox, linear", "GPTNeoX", PYTHIA, {"max_position_embeddings": 32, "rope_parameters": {
        "rope_type": "linear", "factor": 2.0, "rope_theta": 1e4, "partial_rotary_factor": 1.0}}),
    ("neox, dynamic", "GPTNeoX", PYTHIA, {"max_position_embeddings": 16, "rope_parameters": {
        "rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4, "partial_rotary_factor": 0.5}}),
    ("neox, yarn", "GPTNeoX", PYTHIA, {"rope_parameters": {**YARN, "partial_rotary_factor": 0.5}}),
    ("neox, llama3", "GPTNeoX", PYTHIA, {"rope_parameters": {**LLAMA3, "partial_rotary_factor": 0.5}}),
    ("gptj", "GPTJ", GPTJ, {}),
    ("gptj, all turned, tied, odd widths", "GPTJ", GPTJ, {"n_embd": 30, "n_head": 3, "rotary_dim": 10, "n_inner": 17,
                                                         "tie_word_embeddings": True, "activation_function": "silu"}),
    ("gpt neo", "GPTNeo", NEO, {}),
    ("gpt neo, no window, untied", "GPTNeo", NEO, {
        "attention_types": [[["global"], 3]], "tie_word_embeddings": False, "intermediate_size": 17,
        "hidden_size": 27, "num_heads": 3, "activation_function": "relu"}),
    ("gpt neo, windows alone", "GPTNeo", NEO, {"attention_types": [[["local"], 3]], "window_size": 1}),
    ("phi", "Phi", PYTHIA, {}),
    ("phi, grouped, normed", "Phi", PYTHIA, {"num_key_value_heads": 2, "qk_layernorm": True}),
    ("phi, one key-value head, tied, odd widths", "Phi", PYTHIA, {
        "num_key_value_heads": 1, "hidden_size": 30, "num_attention_heads": 3, "tie_word_embeddings": True,
        "hidden_act": "gelu", "rope_parameters": {"rope_type": "default", "rope_theta": 1e4,
                                                  "partial_rotary_factor": 0.4}}),
    ("phi, linear", "Phi", PYTHIA, {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4,
                                                        "partial_rotary_factor": 0.5}}),
    ("phi, dynamic", "Phi", PYTHIA, {"max_position_embeddings": 16, "rope_parameters": {
        "rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4, "partial_rotary_factor": 0.5}}),
    ("phi, longrope", "Phi", PYTHIA, {"rope_parameters": {  # whose kept keys are not turned anew behind 48
        **LONG, "original_max_position_embeddings": 48, "partial_rotary_factor": 1.0}}),
    ("bloom", "Bloom", BLOOM, {}),
    ("bloom, six heads, untied", "Bloom", BLOOM, {"hidden_size": 30, "n_head": 6, "tie_word_embeddings": False,
                                                  "layer_norm_epsilon": 1e-3}),
    ("falcon", "Falcon", FALCON, {}),
    ("falcon, biased, untied, odd widths", "Falcon", FALCON, {
        "bias": True, "tie_word_embeddings": False, "hidden_size": 30, "num_attention_heads": 3,
        "ffn_hidden_size": 17, "activation": "relu"}),
    ("falcon, a key for each head", "Falcon", FALCON, {"multi_query": False}),
    ("falcon, one after the other", "Falcon", FALCON, {"parallel_attn": False}),
    ("falcon, grouped", "Falcon", FALCON, {"new_decoder_architecture": True, "num_kv_heads": 2}),
    ("falcon, grouped, one norm", "Falcon", FALCON, {"new_decoder_architecture": True, "num_kv_heads": 1,
                                                     "num_ln_in_parallel_attn": 1, "bias": True}),
    ("falcon, dynamic", "Falcon", FALCON, {"max_position_embeddings": 16, "rope_parameters": {
        "rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}}),
    ("falcon, alibi", "Falcon", FALCON, RW),
    ("falcon, alibi, grouped, six heads", "Falcon", FALCON, {
        "alibi": True, "hidden_size": 36, "num_attention_heads": 6, "new_decoder_architecture": True,
        "num_kv_heads": 3}),
    ("mpt", "Mpt", MPT, {}),
    ("mpt, six heads, clipped, scaled", "Mpt", MPT, {
        "d_model": 30, "n_heads": 6, "expansion_ratio": 2, "tie_word_embeddings": False, "attn_config": {
            "clip_qkv": 0.5, "softmax_scale": 0.3, "alibi_bias_max": 5}}),
    ("opt", "OPT", OPT, {}),
    ("opt, normed sums, narrow embeddings", "OPT", OPT, {"do_layer_norm_before": False, "word_embed_proj_dim": 12}),
    ("opt, no bias, nothing learned of norms, untied", "OPT", OPT, {
        "enable_bias": False, "layer_norm_elementwise_affine": False, "tie_word_embeddings": False,
        "activation_function": "gelu", "hidden_size": 27, "num_attention_heads": 3}),
    ("opt, no last norm, wide embeddings", "OPT", OPT, {"_remove_final_layer_norm": True, "word_embed_proj_dim": 40})]
CASES += [(name, f"{family}ForCausalLM", f"{family}Config", {**base, **settings})
          for name, family, base, settings in NEOXES]
CASES += [(name, f"{family}{HEADS.get(head, head)}", f"{family}Config", {**SMALL, **settings})
          for name, family, head, settings in ENCODERS]

SEQUENCES = {"vocab_size": 99, "d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
             "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 64}
T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4,
      "decoder_start_token_id": 0, "initializer_factor": 0.3}
ODD = {"d_model": 21, "encoder_attention_heads": 3, "decoder_attention_heads": 3}
MARIAN = {**SEQUENCES, "pad_token_id": 98, "decoder_start_token_id": 98, "eos_token_id": 0, "forced_eos_token_id": None}

TRANSLATORS = [
    ("bart", "BartForConditionalGeneration", "BartConfig", SEQUENCES),
    ("bart, scaled, odd width, relu", "BartForConditionalGeneration", "BartConfig", {
        **SEQUENCES, **ODD, "scale_embedding": True, "activation_function": "relu"}),
    ("bart, untied", "BartForConditionalGeneration", "BartConfig", {**SEQUENCES, "tie_word_embeddings": False}),
    ("bart without its head", "BartModel", "BartConfig", SEQUENCES),
    ("mbart", "MBartForConditionalGeneration", "MBartConfig", {
        **SEQUENCES, "scale_embedding": True, "decoder_start_token_id": 2, "forced_bos_token_id": 77}),
    ("mbart, one head, untied", "MBartForConditionalGeneration", "MBartConfig", {
        **SEQUENCES, "encoder_attention_heads": 1, "decoder_attention_heads": 1, "tie_word_embeddings": False,
        "activation_function": "gelu_new", "decoder_start_token_id": 5}),
    ("m2m_100", "M2M100ForConditionalGeneration", "M2M100Config", {**SEQUENCES, "forced_bos_token_id": 90}),
    ("m2m_100, odd width, padding elsewhere", "M2M100ForConditionalGeneration", "M2M100Config", {
        **SEQUENCES, **ODD, "pad_token_id": 6, "scale_embedding": False, "activation_function": "swish"}),
    ("m2m_100, untied", "M2M100ForConditionalGeneration", "M2M100Config", {**SEQUENCES, "tie_word_embeddings": False}),
    ("marian", "MarianMTModel", "MarianConfig", MARIAN),
    ("marian, two vocabularies", "MarianMTModel", "MarianConfig", {
        **MARIAN, "decoder_vocab_size": 110, "share_encoder_decoder_embeddings": False}),
    ("t5", "T5ForConditionalGeneration", "T5Config", T5),
    ("t5, v1.1", "T5ForConditionalGeneration", "T5Config", {
        **T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    ("t5, few buckets, one odd head", "T5ForConditionalGeneration", "T5Config", {
        **T5, "num_heads": 1, "d_kv": 7, "d_model": 15, "relative_attention_num_buckets": 12,
        "relative_attention_max_distance": 20, "feed_forward_proj": "gated-silu", "layer_norm_epsilon": 1e-3}),
    ("t5, as many layers, gelu", "T5Model", "T5Config", {**T5, "num_decoder_layers": None,
                                                         "feed_forward_proj": "gelu"}),
    ("mt5", "MT5ForConditionalGeneration", "MT5Config", T5)]
CASES += TRANSLATORS


def its_family(case: tuple) -> set[Hashable]:
    """What a case is of: its family, and how its rotary positions are stretched."""
    return {case[2], case[3].get("rope_parameters", {}).get("rope_type")}


def its_settings(case: tuple) -> set[Hashable]:
    """What a case is of and every setting that it names."""
    return its_family(case) | {*case[3], *case[3].get("rope_parameters", {})}


def rows(what: Callable[[tuple], set[Hashable]], cases: Iterable[tuple] = CASES) -> list:
    """Rows for a test of every case, rare where cases before it have all that it is."""
    seen: set[Hashable] = set()
    found = []
    for case in cases:
        marks = pytest.mark.rare("earlier rows have its family and all of its settings") if what(case) <= seen else ()
        found.append(pytest.param(case, id=case[0], marks=marks))
        seen |= what(case)
    return found
