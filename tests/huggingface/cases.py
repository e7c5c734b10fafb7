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
    ("deberta, no positions", "DebertaV2", "none", {"position_biased_input": False}),
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
CASES += [(name, f"{family}{HEADS.get(head, head)}", f"{family}Config", {**SMALL, **settings})
          for name, family, head, settings in ENCODERS]
