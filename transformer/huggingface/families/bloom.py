"""Decoders whose scores fall with distance, and Falcon, whose younger models have rotary positions in place of that.

BigScience Workshop 2022 (BLOOM), MosaicML 2023 (MPT), Almazrouei et al. 2023 (Falcon).
"""

import re
from math import sqrt

from transformer.config import PARTS
from transformer.huggingface.families.neox import decoder, query_key_value, table
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import (
    Names,
    Part,
    Plan,
    activation,
    architecture,
    checked,
    flag,
    fused,
    inside,
    linear,
    norm,
    number,
    real,
    rows,
    share,
)
from transformer.huggingface.rotary_settings import reach, rotary_of
from transformer.huggingface.unsupported import Config


def bloom(config: Config, names: Names) -> Plan:
    """BigScience Workshop 2022, section 3.2: ALiBi, and a norm of the embeddings."""
    architecture(config, dict.fromkeys(("BloomForCausalLM", "BloomModel"), ""), "")
    width, heads = number(config, "n_embed", "hidden_size"), number(config, "n_head", "num_attention_heads")
    vocab, inner = number(config, "vocab_size"), 4 * width
    ours = checked(**decoder(
        config, {"bos_token_id": 1, "eos_token_id": 2}, vocab, d_model=width, n_heads=heads,
        decoder_layers=number(config, "n_layer", "num_hidden_layers"), d_ff=inner,
        max_len=number(config, "seq_length", default=2048), embedding_norm=True, positions="alibi",
        norm_eps=real(config, "layer_norm_epsilon", 1e-5, least=-1.0), activation="gelu_tanh",
        dropout=share(config, "hidden_dropout", 0.0), attention_dropout=share(config, "attention_dropout", 0.0)))
    at = inside(names, "transformer.")
    parts = {**table(config, names, f"{at}word_embeddings.weight", vocab, width, tied=True),
             **norm("tgt_embedding.norm", f"{at}word_embeddings_layernorm", width),
             **norm("decoder.norm", f"{at}ln_f", width)}
    for i in range(ours.decoder_layers):
        to, block = f"decoder.layers.{i}", f"{at}h.{i}"
        parts |= _megatron(to, block, heads, heads, ours.width, inner, bias=True)
        parts |= norm(f"{to}.attention_norm", f"{block}.input_layernorm", width)
        parts |= norm(f"{to}.feed_forward_norm", f"{block}.post_attention_layernorm", width)
    return Plan(ours, parts, re.compile(
        r"(transformer\.)?h\.\d+\.self_attention\.scale_mask_softmax\.causal_mask"))


def _megatron(to: str, block: str, heads: int, groups: int, head: int, inner: int, *, bias: bool) -> dict[str, Part]:
    """The linear maps of a layer, by the names that BLOOM and Falcon have from Megatron."""
    width = heads * head
    return {**query_key_value(f"{to}.attention", f"{block}.self_attention.query_key_value", heads, groups, head, width,
                              bias=bias),
            **linear(f"{to}.attention.out_proj", f"{block}.self_attention.dense", width, width, bias=bias),
            **linear(f"{to}.feed_forward.up", f"{block}.mlp.dense_h_to_4h", inner, width, bias=bias),
            **linear(f"{to}.feed_forward.down", f"{block}.mlp.dense_4h_to_h", width, inner, bias=bias)}


def falcon(config: Config, names: Names) -> Plan:
    """Almazrouei et al. 2023, section 3.4: one key and value for all heads (7B) or for groups of them (40B and 11B),
    attention and feed-forward beside each other; the RefinedWeb models have ALiBi, after BLOOM."""
    architecture(config, dict.fromkeys(("FalconForCausalLM", "FalconModel"), ""), "")
    width = number(config, "n_embed", "hidden_size")
    heads, vocab = number(config, "num_attention_heads", "n_head"), number(config, "vocab_size")
    inner, longest = number(config, "ffn_hidden_size", default=4 * width), number(config, "max_position_embeddings",
                                                                                 default=2048)
    newer, biased = flag(config, "new_decoder_architecture", False), flag(config, "bias", False)
    groups = number(config, "num_kv_heads", "n_head_kv", default=heads) if newer else (
        1 if flag(config, "multi_query", True) else heads)
    head, parallel = max(1, width // heads), _parallel(config, newer)
    if flag(config, "alibi", False):  # which transformers rounds
        places: dict[str, object] = {"positions": "alibi", "alibi_scale": 1 / sqrt(head), "alibi_rounded": True,
                                     "max_len": longest}
    else:
        rotary = rotary_of(config, width=head, longest=longest)
        places = {"positions": "rotary", "rotary": rotary, "max_len": reach(rotary, longest)}
    ours = checked(**decoder(
        config, {"bos_token_id": 11, "eos_token_id": 11}, vocab, d_model=width, n_heads=heads, kv_heads=groups,
        decoder_layers=number(config, "num_hidden_layers", "n_layer"), d_ff=inner,
        norm_eps=real(config, "layer_norm_epsilon", 1e-5, least=-1.0), parallel=parallel,
        biases=PARTS if biased else ("norm",), activation=activation(config, "activation", "gelu"),
        dropout=share(config, "hidden_dropout", 0.0), attention_dropout=share(config, "attention_dropout", 0.0),
        **places))
    at = inside(names, "transformer.")
    parts = {**table(config, names, f"{at}word_embeddings.weight", vocab, width, tied=True),
             **norm("decoder.norm", f"{at}ln_f", width)}
    first, second = ("ln_attn", "ln_mlp") if parallel == "two" else ("input_layernorm", "post_attention_layernorm")
    for i in range(ours.decoder_layers):
        to, block = f"decoder.layers.{i}", f"{at}h.{i}"
        parts |= _megatron(to, block, heads, groups, head, inner, bias=biased)
        parts |= norm(f"{to}.attention_norm", f"{block}.{first}", width)
        if parallel != "one":
            parts |= norm(f"{to}.feed_forward_norm", f"{block}.{second}", width)
    return Plan(ours, parts, re.compile(r"(transformer\.)?h\.\d+\.self_attention\.rotary_emb\.inv_freq"))


def _parallel(config: Config, newer: bool) -> str | None:
    """By how many norms attention and feed-forward stand beside each other, if they do. Raises Refused for what no
    Falcon is."""
    norms = number(config, "num_ln_in_parallel_attn", default=2 if newer else 1)
    if flag(config, "parallel_attn", True):
        if norms == 1 or (norms == 2 and newer):
            return "one" if norms == 1 else "two"
        raise Refused(f"config.json: num_ln_in_parallel_attn is {norms}, and Falcon has 1, or 2 with "
                      "new_decoder_architecture")
    if newer:
        raise Refused("config.json: new_decoder_architecture needs parallel_attn, and it is false")
    return None


def mpt(config: Config, names: Names) -> Plan:
    """MosaicML 2023: ALiBi, and no bias anywhere."""
    architecture(config, dict.fromkeys(("MptForCausalLM", "MPTForCausalLM", "MptModel"), ""), "")
    width, heads = number(config, "d_model", "hidden_size"), number(config, "n_heads", "num_attention_heads")
    vocab, attention = number(config, "vocab_size"), config.get("attn_config") or {}
    if not isinstance(attention, dict):
        raise Refused("config.json: attn_config should be an object; copy the folder again")
    at = inside(names, "transformer.")
    inner = _inner(config, names, f"{at}blocks.0.ffn.up_proj.weight", width)
    ours = checked(**decoder(
        config, {}, vocab, d_model=width, n_heads=heads, decoder_layers=number(config, "n_layers", "num_hidden_layers"),
        d_ff=inner, max_len=number(config, "max_seq_len", default=2048), positions="alibi",
        alibi_max=real(attention, "alibi_bias_max", 8.0), attention_scale=real(attention, "softmax_scale"),
        qkv_clip=real(attention, "clip_qkv", least=-1.0) or None,
        norm_eps=real(config, "layer_norm_epsilon", 1e-5, least=-1.0), biases=(), activation="gelu",
        dropout=share(config, "resid_pdrop", 0.0), attention_dropout=share(attention, "attn_pdrop", 0.0)))
    parts = {**table(config, names, f"{at}wte.weight", vocab, width, tied=True),
             **norm("decoder.norm", f"{at}norm_f", width, bias=False)}
    for i in range(ours.decoder_layers):
        to, block = f"decoder.layers.{i}", f"{at}blocks.{i}"
        parts |= fused({f"{to}.attention.{one}_proj": rows(third * width, width) for third, one in enumerate("qkv")},
                       f"{block}.attn.Wqkv", 3 * width, width, bias=False)
        parts |= linear(f"{to}.attention.out_proj", f"{block}.attn.out_proj", width, width, bias=False)
        parts |= linear(f"{to}.feed_forward.up", f"{block}.ffn.up_proj", inner, width, bias=False)
        parts |= linear(f"{to}.feed_forward.down", f"{block}.ffn.down_proj", width, inner, bias=False)
        parts |= norm(f"{to}.attention_norm", f"{block}.norm_1", width, bias=False)
        parts |= norm(f"{to}.feed_forward_norm", f"{block}.norm_2", width, bias=False)
    return Plan(ours, parts, re.compile(""))


def _inner(config: Config, names: Names, theirs: str, width: int) -> int:
    """Width of the feed-forward parts; four times d_model where the weights are so, as those that transformers saved
    are, whatever its expansion_ratio says."""
    told = number(config, "expansion_ratio", default=4) * width
    return 4 * width if getattr(names.get(theirs), "shape", None) == (4 * width, width) else told
