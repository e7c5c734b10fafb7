"""ModernBERT: Warner et al. 2024."""

import re

from transformer.config import Rotary
from transformer.huggingface.families.bert import HEADS, LEFT_OUT, labels_of, left_of
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
    present,
    real,
    rows,
    share,
    token,
)
from transformer.huggingface.rotary_settings import reach, rotary_of, spelled
from transformer.huggingface.unsupported import Config


def modernbert(config: Config, names: Names) -> Plan:
    """Pre-norm layers with gated feed-forward parts and rotary positions, most of which see their neighbours alone."""
    guess = "classes" if "classifier.weight" in names else "masked" if "head.dense.weight" in names else "none"
    head = architecture(config, {f"ModernBert{ending}": kind for ending, kind in HEADS.items()
                                 if ending != "ForPreTraining"}, guess)
    labels = labels_of(config) if head == "classes" else None
    width, heads = number(config, "hidden_size"), number(config, "num_attention_heads")
    vocab, layers = number(config, "vocab_size"), number(config, "num_hidden_layers")
    longest = number(config, "max_position_embeddings", default=8192)
    rotary, near = _rotary(config, max(1, width // heads), longest)
    biased = {"q": "attention_bias", "k": "attention_bias", "v": "attention_bias", "out": "attention_bias",
              "up": "mlp_bias", "down": "mlp_bias", "norm": "norm_bias", "head": "classifier_bias"}
    ours = checked(
        d_model=width, n_heads=heads, encoder_layers=layers, decoder_layers=0, vocab_size=vocab,
        d_ff=number(config, "intermediate_size"), max_len=reach(rotary, longest), norm_position="pre", first_norm=False,
        norm_eps=real(config, "norm_eps", 1e-5, least=-1.0), gated=True, embedding_norm=True, embedding_scale=False,
        activation=activation(config, "hidden_activation", "gelu"), positions="rotary", rotary=rotary,
        window_rotary=near, biases=tuple(part for part, name in biased.items() if flag(config, name, False)),
        init="normal", dropout=share(config, "mlp_dropout", 0.0),
        attention_dropout=share(config, "attention_dropout", 0.0), pad_id=token(config, "pad_token_id", vocab),
        bos_id=token(config, "bos_token_id", vocab), eos_id=token(config, "eos_token_id", vocab), start_id=0,
        **_window(config, layers), **_head(config, head, labels))
    at, inner, normed = inside(names, "model."), ours.d_ff, "norm" in ours.biases
    words = f"{at}embeddings.tok_embeddings.weight"
    parts = {"src_embedding.tokens.weight": Part(words, (vocab, width)),
             **norm("src_embedding.norm", f"{at}embeddings.norm", width, bias=normed),
             **norm("encoder.norm", f"{at}final_norm", width, bias=normed)}
    for i in range(layers):
        to, block = f"encoder.layers.{i}", f"{at}layers.{i}"
        parts |= fused({f"{to}.attention.{one}_proj": rows(place * width, width) for place, one in enumerate("qkv")},
                       f"{block}.attn.Wqkv", 3 * width, width, bias="q" in ours.biases)
        parts |= linear(f"{to}.attention.out_proj", f"{block}.attn.Wo", width, width, bias="out" in ours.biases)
        parts |= fused({f"{to}.feed_forward.gate": rows(0, inner), f"{to}.feed_forward.up": rows(inner, inner)},
                       f"{block}.mlp.Wi", 2 * inner, width, bias="up" in ours.biases)
        parts |= linear(f"{to}.feed_forward.down", f"{block}.mlp.Wo", width, inner, bias="down" in ours.biases)
        for mine, theirs in (("attention_norm", "attn_norm"), ("feed_forward_norm", "mlp_norm")):
            if i or mine != "attention_norm":
                parts |= norm(f"{to}.{mine}", f"{block}.{theirs}", width, bias=normed)
    if head != "none":
        before, after = ("masked_head.dense", "masked_head.norm") if not labels else ("pooler", "pooler_norm")
        parts |= linear(before, "head.dense", width, width, bias="head" in ours.biases)
        parts |= norm(after, "head.norm", width, bias=normed)
    if labels:
        parts |= linear("output", "classifier", len(labels), width)
    elif head == "masked":
        tied = [words] * flag(config, "tie_word_embeddings", True)
        parts["output.weight"] = Part(present(names, "decoder.weight", *tied), (vocab, width))
        if ours.logits_bias:
            parts["output.bias"] = Part("decoder.bias", (vocab,))
    return Plan(ours, parts, re.compile(r"(head|decoder|classifier)\..*"), classes=labels,
                left_out=left_of(config, LEFT_OUT))


def _head(config: Config, head: str, labels: list[str] | None) -> dict[str, object]:
    """What stands behind the encoder: one more layer with a norm, then tokens or classes."""
    if head == "none":
        return {"head": head}
    kind = activation(config, "classifier_activation", "gelu")
    if not labels:
        return {"head": head, "head_activation": kind, "logits_bias": flag(config, "decoder_bias", True)}
    pooling = {"cls": "first", "mean": "mean"}.get(str(config.get("classifier_pooling") or "cls"))
    if pooling is None:
        raise Refused(f"config.json: classifier_pooling is {str(config['classifier_pooling'])[:40]}, and should be cls "
                      "or mean")
    return {"pooling": pooling, "pooler": kind, "pooler_norm": True, "n_classes": len(labels)}


def _window(config: Config, layers: int) -> dict[str, object]:
    """Which layers see their neighbours alone, local_attention // 2 to each side: ours count the token itself too."""
    listed, every = config.get("layer_types"), number(config, "global_attn_every_n_layers", default=3)
    if listed is None:
        listed = ["sliding_attention" if i % every else "full_attention" for i in range(layers)]
    if not isinstance(listed, list) or len(listed) != layers or not all(
            one in ("sliding_attention", "full_attention") for one in listed):
        raise Refused(f"config.json: layer_types should name sliding_attention or full_attention for {layers} layers; "
                      "copy the folder again")
    near = tuple(i for i, one in enumerate(listed) if one == "sliding_attention")
    return {"window": number(config, "local_attention", default=128) // 2 + 1, "window_layers": near} if near else {}


def _rotary(config: Config, head: int, longest: int) -> tuple[Rotary, Rotary]:
    """Rotary positions of layers that see everything and of those with a window, each with its base."""
    rope = spelled(config)
    bases = {"full_attention": config.get("global_rope_theta") or 160_000.0,
             "sliding_attention": config.get("local_rope_theta") or 10_000.0}
    if "local_rope_theta" in config and config["local_rope_theta"] is None:
        bases["sliding_attention"] = bases["full_attention"]
    told = bases.keys() & rope.keys()
    each = {kind: rope.get(kind) or {} for kind in bases} if told else dict.fromkeys(bases, rope)  # as older files do
    if not all(isinstance(one, dict) for one in each.values()):
        raise Refused("config.json: rope_parameters should be objects; copy the folder again")
    far, near = (rotary_of(config, width=head, longest=longest, rope={"rope_theta": base, **each[kind]})
                 for kind, base in bases.items())
    return far, near
