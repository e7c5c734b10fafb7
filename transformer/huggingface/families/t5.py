"""T5 and mT5: Raffel et al. 2020, Xue et al. 2021, and Flan-T5, which is a T5 (Chung et al. 2022)."""

import re

from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import (
    Names,
    Part,
    Plan,
    activation,
    architecture,
    banned,
    checked,
    flag,
    linear,
    norm,
    number,
    other_ends,
    present,
    real,
    share,
    token,
)
from transformer.huggingface.unsupported import Config

CLASSES = {"t5": ("T5ForConditionalGeneration", "T5Model", "T5WithLMHeadModel"),
           "mt5": ("MT5ForConditionalGeneration", "MT5Model")}
USUAL = {"t5": "relu", "mt5": "gated-gelu"}  # feed-forward parts, where a config.json does not say
LONGEST = 2_048  # tokens: theirs have no limit, and learned from texts of a fourth of this


def t5(config: Config, names: Names) -> Plan:
    """Raffel et al. 2020, section 2.1: pre-norm without means and biases, scores that are not scaled, and a number for
    every bucket of distances, which all layers of a stack share."""
    kind = str(config["model_type"])
    architecture(config, dict.fromkeys(CLASSES[kind], ""), "")
    width, heads, head = number(config, "d_model"), number(config, "num_heads"), number(config, "d_kv")
    vocab, inner, layers = number(config, "vocab_size"), number(config, "d_ff"), number(config, "num_layers")
    buckets = number(config, "relative_attention_num_buckets", default=32)
    furthest = number(config, "relative_attention_max_distance", default=128)
    if buckets < 4 or furthest <= buckets // 2:
        raise Refused(f"config.json: relative_attention_num_buckets {buckets} and relative_attention_max_distance "
                      f"{furthest} leave no buckets for what is far; copy the folder again")
    pad, eos = token(config, "pad_token_id", vocab, default=0), token(config, "eos_token_id", vocab, default=1)
    start = token(config, "decoder_start_token_id", vocab, default=pad)
    for name, value in (("pad_token_id", pad), ("eos_token_id", eos), ("decoder_start_token_id", start)):
        if value is None:
            raise Refused(f"config.json gives no {name} inside the vocabulary, and a model of type {kind} needs one")
    tied = flag(config, "tie_word_embeddings", True)
    gated, activation = feed_forward(config, USUAL[kind])
    ours = checked(
        d_model=width, n_heads=heads, head_dim=head, encoder_layers=layers,
        decoder_layers=number(config, "num_decoder_layers", default=layers), d_ff=inner, vocab_size=vocab,
        max_len=max(LONGEST, number(config, "n_positions", default=1)), norm_position="pre", norm_kind="rms",
        norm_eps=real(config, "layer_norm_epsilon", 1e-6, least=-1.0), biases=(), positions="relative",
        relative_buckets=buckets, relative_distance=furthest, attention_scale=1.0, embedding_scale=False,
        # the logits of tied embeddings, which the first T5 has, and no mT5
        logits_scale=width ** -0.5 if kind == "t5" and flag(config, "scale_decoder_outputs", tied) else 1.0,
        activation=activation, gated=gated, init="normal", dropout=share(config, "dropout_rate"), pad_id=pad,
        bos_id=token(config, "bos_token_id", vocab), eos_id=eos, start_id=start,
        forced_bos_id=token(config, "forced_bos_token_id", vocab), banned_ids=banned(config, vocab),
        end_ids=other_ends(config, vocab))
    one, encoder, decoder = "shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"
    tgt = present(names, decoder, one, encoder)
    # without an lm_head the embeddings are tied, whatever tie_word_embeddings says
    parts = {"src_embedding.tokens.weight": Part(present(names, encoder, one, decoder), (vocab, width)),
             "tgt_embedding.tokens.weight": Part(tgt, (vocab, width)),
             "output.weight": Part(present(names, "lm_head.weight", tgt), (vocab, width))}
    inside = heads * head
    for side, count in (("encoder", ours.encoder_layers), ("decoder", ours.decoder_layers)):
        parts |= norm(f"{side}.norm", f"{side}.final_layer_norm", width, bias=False)
        parts[f"{side}.buckets.weight"] = Part(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                                               (buckets, heads))
        theirs = [("attention", "SelfAttention"), ("cross", "EncDecAttention")][: 1 + (side == "decoder")]
        for i in range(count):
            to, block = f"{side}.layers.{i}", f"{side}.block.{i}.layer"
            for place, (mine, name) in enumerate(theirs):
                for letter in "qkv":
                    parts |= linear(f"{to}.{mine}.{letter}_proj", f"{block}.{place}.{name}.{letter}", inside, width,
                                    bias=False)
                parts |= linear(f"{to}.{mine}.out_proj", f"{block}.{place}.{name}.o", width, inside, bias=False)
                parts |= norm(f"{to}.{mine}_norm", f"{block}.{place}.layer_norm", width, bias=False)
            last = f"{block}.{len(theirs)}"
            for mine, name in ((("gate", "wi_0"), ("up", "wi_1")) if gated else (("up", "wi"),)):
                parts |= linear(f"{to}.feed_forward.{mine}", f"{last}.DenseReluDense.{name}", inner, width, bias=False)
            parts |= linear(f"{to}.feed_forward.down", f"{last}.DenseReluDense.wo", width, inner, bias=False)
            parts |= norm(f"{to}.feed_forward_norm", f"{last}.layer_norm", width, bias=False)
    spare = re.compile(r"shared\.weight|(en|de)coder\.embed_tokens\.weight|"
                       r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight")
    return Plan(ours, parts, spare)


def feed_forward(config: Config, usual: str) -> tuple[bool, str]:
    """Whether the feed-forward parts are gated, and our name of their activation: of feed_forward_proj, such as relu or
    gated-silu, or of what newer files say beside it. Raises Refused for one that ours lack."""
    said = str(config.get("feed_forward_proj") or usual)
    name = "gelu_new" if said == "gated-gelu" else said.removeprefix("gated-")
    return flag(config, "is_gated_act", said.startswith("gated-")), activation(config, "dense_act_fn", name)
