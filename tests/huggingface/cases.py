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
