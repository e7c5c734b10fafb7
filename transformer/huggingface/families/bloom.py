"""Decoders whose scores fall with distance, and Falcon, whose newer models have rotary positions instead.

BigScience Workshop 2022 (BLOOM), MosaicML 2023 (MPT), Almazrouei et al. 2023 (Falcon).
"""

from math import sqrt

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families.decoder import QKV, decoder_config, decoder_plan
from transformer.huggingface.families.neox import grouped
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import Names, Plan, in_layers, inside
from transformer.huggingface.rotary_settings import reach, rotary_of
from transformer.settings.config import PARTS

MEGATRON = {  # linear maps of a layer, by the names that BLOOM and Falcon have from Megatron
    QKV: "self_attention.query_key_value", "attention.out_proj": "self_attention.dense",
    "feed_forward.up": "mlp.dense_h_to_4h", "feed_forward.down": "mlp.dense_4h_to_h"}
NORMS = {"attention_norm": "input_layernorm", "feed_forward_norm": "post_attention_layernorm"}


def bloom(config: ConfigJson, names: Names) -> Plan:
    """BigScience Workshop 2022, section 3.2: ALiBi, and a norm of the embeddings."""
    config.check_architecture("BloomForCausalLM", "BloomModel")
    width, heads = config.number("n_embed", "hidden_size"), config.number("n_head", "num_attention_heads")
    vocab, inner = config.number("vocab_size"), 4 * width
    ours = decoder_config(
        config, {"bos_token_id": 1, "eos_token_id": 2}, vocab, d_model=width, n_heads=heads,
        decoder_layers=config.number("n_layer", "num_hidden_layers"), d_ff=inner,
        max_len=config.number("seq_length", default=2048), embedding_norm=True, positions="alibi",
        norm_eps=config.real("layer_norm_epsilon", 1e-5, least=-1.0), activation="gelu_tanh",
        dropout=config.dropout("hidden_dropout", 0.0), attention_dropout=config.dropout("attention_dropout", 0.0))
    at = inside(names, "transformer.")
    modules = {"tgt_embedding.norm": f"{at}word_embeddings_layernorm", "decoder.norm": f"{at}ln_f",
               **in_layers("decoder", f"{at}h.{{}}", MEGATRON | NORMS)}
    return decoder_plan(
        config, names, ours, modules, tokens=f"{at}word_embeddings", is_tied=True, joined=grouped(heads, ours.width),
        spare=r"(transformer\.)?h\.\d+\.self_attention\.scale_mask_softmax\.causal_mask")


def falcon(config: ConfigJson, names: Names) -> Plan:
    """Almazrouei et al. 2023, section 3.4: one key and value for all heads (7B) or for groups of them (40B and 11B),
    attention and feed-forward in parallel; the RefinedWeb models have ALiBi, after BLOOM."""
    config.check_architecture("FalconForCausalLM", "FalconModel")
    width = config.number("n_embed", "hidden_size")
    heads, vocab = config.number("num_attention_heads", "n_head"), config.number("vocab_size")
    inner, longest = config.number("ffn_hidden_size", default=4 * width), config.number("max_position_embeddings",
                                                                                 default=2048)
    newer, biased = config.flag("new_decoder_architecture", False), config.flag("bias", False)
    groups = config.number("num_kv_heads", "n_head_kv", default=heads) if newer else (
        1 if config.flag("multi_query", True) else heads)
    head, parallel = max(1, width // heads), _parallel(config, newer)
    if config.flag("alibi", False):  # transformers rounds it
        places: dict[str, object] = {"positions": "alibi", "alibi_scale": 1 / sqrt(head), "alibi_rounded": True,
                                     "max_len": longest}
    else:
        rotary = rotary_of(config, width=head, longest=longest)
        places = {"positions": "rotary", "rotary": rotary, "max_len": reach(rotary, longest)}
    ours = decoder_config(
        config, {"bos_token_id": 11, "eos_token_id": 11}, vocab, d_model=width, n_heads=heads, kv_heads=groups,
        decoder_layers=config.number("num_hidden_layers", "n_layer"), d_ff=inner,
        norm_eps=config.real("layer_norm_epsilon", 1e-5, least=-1.0), parallel=parallel,
        biases=PARTS if biased else ("norm",), activation=config.activation("activation", "gelu"),
        dropout=config.dropout("hidden_dropout", 0.0), attention_dropout=config.dropout("attention_dropout", 0.0),
        **places)
    at = inside(names, "transformer.")
    norms = {"attention_norm": "ln_attn", "feed_forward_norm": "ln_mlp"} if parallel == "two" else NORMS
    modules = {"decoder.norm": f"{at}ln_f", **in_layers("decoder", f"{at}h.{{}}", MEGATRON | norms)}
    return decoder_plan(
        config, names, ours, modules, tokens=f"{at}word_embeddings", is_tied=True, joined=grouped(groups, head),
        spare=r"(transformer\.)?h\.\d+\.self_attention\.rotary_emb\.inv_freq")


def _parallel(config: ConfigJson, newer: bool) -> str | None:
    """The `parallel` of a Falcon. Raises Refused for combinations that no Falcon has."""
    norms = config.number("num_ln_in_parallel_attn", default=2 if newer else 1)
    if config.flag("parallel_attn", True):
        if norms == 1 or (norms == 2 and newer):
            return "one" if norms == 1 else "two"
        raise Refused(f"config.json: num_ln_in_parallel_attn is {norms}, and Falcon has 1, or 2 with "
                      "new_decoder_architecture")
    if newer:
        raise Refused("config.json: new_decoder_architecture needs parallel_attn, and it is false")
    return None


def mpt(config: ConfigJson, names: Names) -> Plan:
    """MosaicML 2023: ALiBi, and no bias anywhere."""
    config.check_architecture("MptForCausalLM", "MPTForCausalLM", "MptModel")
    width, heads = config.number("d_model", "hidden_size"), config.number("n_heads", "num_attention_heads")
    vocab, attention = config.number("vocab_size"), config.get("attn_config") or {}
    if not isinstance(attention, dict):
        raise Refused("config.json: attn_config should be an object; copy the folder again")
    attention = ConfigJson(attention)
    at = inside(names, "transformer.")
    inner = _inner(config, names, f"{at}blocks.0.ffn.up_proj.weight", width)
    ours = decoder_config(
        config, {}, vocab, d_model=width, n_heads=heads, decoder_layers=config.number("n_layers", "num_hidden_layers"),
        d_ff=inner, max_len=config.number("max_seq_len", default=2048), positions="alibi",
        alibi_max=attention.real("alibi_bias_max", 8.0), attention_scale=attention.real("softmax_scale"),
        qkv_clip=attention.real("clip_qkv", least=-1.0) or None,
        norm_eps=config.real("layer_norm_epsilon", 1e-5, least=-1.0), biases=(), activation="gelu",
        dropout=config.dropout("resid_pdrop", 0.0), attention_dropout=attention.dropout("attn_pdrop", 0.0))
    modules = {"decoder.norm": f"{at}norm_f", **in_layers("decoder", f"{at}blocks.{{}}", {
        QKV: "attn.Wqkv", "attention.out_proj": "attn.out_proj", "feed_forward.up": "ffn.up_proj",
        "feed_forward.down": "ffn.down_proj", "attention_norm": "norm_1", "feed_forward_norm": "norm_2"})}
    return decoder_plan(config, names, ours, modules, tokens=f"{at}wte", is_tied=True, spare="")


def _inner(config: ConfigJson, names: Names, theirs: str, width: int) -> int:
    """Width of the feed-forward parts: four times d_model if the weights are, as those that transformers saved,
    whatever expansion_ratio says."""
    width_said = config.number("expansion_ratio", default=4) * width
    return 4 * width if getattr(names.get(theirs), "shape", None) == (4 * width, width) else width_said
