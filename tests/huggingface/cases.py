"""Tiny models of other families with random weights: how each is configured, for one test that compares them all.

Each case: a name, the class of transformers that is saved, its configuration's class, and what differs from `SMALL`.
"""

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
    ("llama, base and part", "Llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0,
                                                           "partial_rotary_factor": 0.5}}),
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
    ("gemma", "Gemma", {"num_key_value_heads": 1, "head_dim": 12}),
    ("gemma2", "Gemma2", {"num_key_value_heads": 2, "head_dim": 12, "sliding_window": 5, "query_pre_attn_scalar": 20,
                          "attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0}),
    ("gemma3", "Gemma3Text", {"num_key_value_heads": 2, "head_dim": 12, "sliding_window": 5, "num_hidden_layers": 7,
                              "query_pre_attn_scalar": 20}),
    ("olmo", "Olmo", {"num_key_value_heads": 2}),
    ("olmo2", "Olmo2", {"num_key_value_heads": 2}),
    ("stablelm", "StableLm", {"num_key_value_heads": 2}),
    ("stablelm, parallel", "StableLm", {"num_key_value_heads": 2, "use_parallel_residual": True, "qk_layernorm": True,
                                        "use_qkv_bias": True}),
    ("granite", "Granite", {"num_key_value_heads": 2, "embedding_multiplier": 12.0, "logits_scaling": 6.0,
                            "residual_multiplier": 0.22, "attention_multiplier": 0.3})]
LANGUAGE = {"Gemma3Text": "Gemma3ForCausalLM"}

# name, class, configuration, settings
CASES = [(name, LANGUAGE.get(family, f"{family}ForCausalLM"), f"{family}Config", {**SMALL, **settings})
         for name, family, settings in LLAMAS]

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
