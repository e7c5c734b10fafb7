"""T5 and mT5: Raffel et al. 2020, Xue et al. 2021, and Flan-T5, which is a T5 (Chung et al. 2022)."""

import re

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import Names, Plan, checked, in_layers, parts_of, present

CLASSES = {"t5": ("T5ForConditionalGeneration", "T5Model", "T5WithLMHeadModel"),
           "mt5": ("MT5ForConditionalGeneration", "MT5Model")}
USUAL = {"t5": "relu", "mt5": "gated-gelu"}  # the default of feed_forward_proj
LONGEST = 2_048  # tokens: theirs have no limit, and learned from texts of a fourth of this


def t5(config: ConfigJson, names: Names) -> Plan:
    """Raffel et al. 2020, section 2.1: pre-norm without means and biases, q.k is not scaled, and a learned number for
    every bucket of distances, shared by the layers of a stack."""
    kind = str(config["model_type"])
    config.check_architecture(*CLASSES[kind])
    width, heads, head = config.number("d_model"), config.number("num_heads"), config.number("d_kv")
    vocab, inner, layers = config.number("vocab_size"), config.number("d_ff"), config.number("num_layers")
    buckets = config.number("relative_attention_num_buckets", default=32)
    furthest = config.number("relative_attention_max_distance", default=128)
    if buckets < 4 or furthest <= buckets // 2:
        raise Refused(f"config.json: relative_attention_num_buckets {buckets} and relative_attention_max_distance "
                      f"{furthest} leave no buckets for what is far; copy the folder again")
    pad, eos = config.token("pad_token_id", vocab, default=0), config.token("eos_token_id", vocab, default=1)
    start = config.token("decoder_start_token_id", vocab, default=pad)
    config.needed_tokens({"pad_token_id": pad, "eos_token_id": eos, "decoder_start_token_id": start})
    tied = config.flag("tie_word_embeddings", True)
    gated, activation = feed_forward(config, USUAL[kind])
    ours = checked(
        d_model=width, n_heads=heads, head_dim=head, encoder_layers=layers,
        decoder_layers=config.number("num_decoder_layers", default=layers), d_ff=inner, vocab_size=vocab,
        max_len=max(LONGEST, config.number("n_positions", default=1)), norm_position="pre", norm_kind="rms",
        norm_eps=config.real("layer_norm_epsilon", 1e-6, least=-1.0), biases=(), positions="relative",
        relative_buckets=buckets, relative_distance=furthest, attention_scale=1.0, embedding_scale=False,
        # logits of tied embeddings are scaled in the first T5, and in no mT5
        logits_scale=width ** -0.5 if kind == "t5" and config.flag("scale_decoder_outputs", tied) else 1.0,
        activation=activation, gated=gated, init="normal", dropout=config.dropout("dropout_rate"), pad_id=pad,
        bos_id=config.token("bos_token_id", vocab), eos_id=eos, start_id=start,
        forced_bos_id=config.token("forced_bos_token_id", vocab), banned_ids=config.banned_ids(vocab),
        end_ids=config.end_ids(vocab))
    one, encoder, decoder = "shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"
    head = ["lm_head.weight"] * tied  # if that alone is in the file
    tgt = present(names, decoder, one, encoder, *head)
    # without an lm_head the embeddings are tied, whatever tie_word_embeddings says
    modules = {mine: theirs.removesuffix(".weight") for mine, theirs in (
        ("src_embedding.tokens", present(names, encoder, one, decoder, *head)), ("tgt_embedding.tokens", tgt),
        ("output", present(names, "lm_head.weight", tgt)))}
    for side, attentions in (("encoder", ("attention",)), ("decoder", ("attention", "cross"))):
        layer: dict[str | tuple[str, ...], str] = {}
        for place, mine in enumerate(attentions):
            theirs = {"attention": "SelfAttention", "cross": "EncDecAttention"}[mine]
            layer |= {f"{mine}.{letter}_proj": f"{place}.{theirs}.{letter}" for letter in "qkv"}
            layer |= {f"{mine}.out_proj": f"{place}.{theirs}.o", f"{mine}_norm": f"{place}.layer_norm"}
        last = len(attentions)
        layer |= {f"feed_forward.{mine}": f"{last}.DenseReluDense.{theirs}" for mine, theirs in (
            ("gate", "wi_0"), ("up", "wi_1" if gated else "wi"), ("down", "wo"))}
        layer["feed_forward_norm"] = f"{last}.layer_norm"
        modules |= {f"{side}.norm": f"{side}.final_layer_norm",
                    f"{side}.buckets": f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias",
                    **in_layers(side, f"{side}.block.{{}}.layer", layer)}
    spare = re.compile(r"shared\.weight|(en|de)coder\.embed_tokens\.weight|"
                       r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight")
    return Plan(ours, parts_of(ours, modules), spare)


def feed_forward(config: ConfigJson, usual: str) -> tuple[bool, str]:
    """Whether the feed-forward parts are gated, and our name of their activation: from feed_forward_proj, such as relu
    or gated-silu, or the fields that newer files have beside it. Raises Refused for one that ours lack."""
    projection = str(config.get("feed_forward_proj") or usual)
    name = "gelu_new" if projection == "gated-gelu" else projection.removeprefix("gated-")
    return config.flag("is_gated_act", projection.startswith("gated-")), config.activation("dense_act_fn", name)
