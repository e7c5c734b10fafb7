"""ModernBERT: Warner et al. 2024."""

import re
from dataclasses import replace

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families.bert import HEADS, LEFT_OUT, labels_of, left_of
from transformer.huggingface.families.decoder import QKV
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import Names, Plan, checked, in_layers, inside, parts_of, present
from transformer.huggingface.rotary_settings import reach, rope_settings, rotary_of
from transformer.settings.config import Rotary

LAYER = {QKV: "attn.Wqkv", "attention.out_proj": "attn.Wo", ("feed_forward.gate", "feed_forward.up"): "mlp.Wi",
         "feed_forward.down": "mlp.Wo", "attention_norm": "attn_norm", "feed_forward_norm": "mlp_norm"}


def modernbert(config: ConfigJson, names: Names) -> Plan:
    """Pre-norm layers with gated feed-forward parts and rotary positions; most layers have a window."""
    guess = "classes" if "classifier.weight" in names else "masked" if "head.dense.weight" in names else "none"
    head = config.architecture({f"ModernBert{ending}": kind for ending, kind in HEADS.items()
                                 if ending != "ForPreTraining"}, guess)
    labels = labels_of(config) if head == "classes" else None
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    vocab, layers = config.number("vocab_size"), config.number("num_hidden_layers")
    longest = config.number("max_position_embeddings", default=8192)
    rotary, near = _rotary(config, max(1, width // heads), longest)
    biased = {"q": "attention_bias", "k": "attention_bias", "v": "attention_bias", "out": "attention_bias",
              "up": "mlp_bias", "down": "mlp_bias", "norm": "norm_bias", "head": "classifier_bias"}
    ours = checked(
        d_model=width, n_heads=heads, encoder_layers=layers, decoder_layers=0, vocab_size=vocab,
        d_ff=config.number("intermediate_size"), max_len=reach(rotary, longest), norm_position="pre", first_norm=False,
        norm_eps=config.real("norm_eps", 1e-5, least=-1.0), gated=True, embedding_norm=True, embedding_scale=False,
        activation=config.activation("hidden_activation", "gelu"), positions="rotary", rotary=rotary,
        window_rotary=near, biases=tuple(part for part, name in biased.items() if config.flag(name, False)),
        init="normal", dropout=config.dropout("mlp_dropout", 0.0),
        attention_dropout=config.dropout("attention_dropout", 0.0), pad_id=config.token("pad_token_id", vocab),
        bos_id=config.token("bos_token_id", vocab), eos_id=config.token("eos_token_id", vocab), start_id=0,
        **_window(config, layers), **_head(config, head, labels))
    at = inside(names, "model.")
    words = f"{at}embeddings.tok_embeddings"
    table, decoder, tied = f"{words}.weight", "decoder.weight", config.flag("tie_word_embeddings", True)
    before, after = ("pooler", "pooler_norm") if labels else ("masked_head.dense", "masked_head.norm")
    parts = parts_of(ours, {
        "src_embedding.tokens": words, "src_embedding.norm": f"{at}embeddings.norm", "encoder.norm": f"{at}final_norm",
        **in_layers("encoder", f"{at}layers.{{}}", LAYER), before: "head.dense", after: "head.norm",
        "output": "classifier" if labels else "decoder"})
    if head == "masked":
        parts["output.weight"] = replace(parts["output.weight"], name=present(names, decoder, *[table] * tied))
        parts["src_embedding.tokens.weight"] = replace(parts["src_embedding.tokens.weight"],
                                                       name=present(names, table, *[decoder] * tied))
    return Plan(ours, parts, re.compile(r"(head|decoder|classifier)\..*"), classes=labels,
                left_out=left_of(config, LEFT_OUT))


def _head(config: ConfigJson, head: str, labels: list[str] | None) -> dict[str, object]:
    """Settings of the head: one more layer with a norm, then tokens or classes."""
    if head == "none":
        return {"head": head}
    kind = config.activation("classifier_activation", "gelu")
    if not labels:
        return {"head": head, "head_activation": kind, "logits_bias": config.flag("decoder_bias", True)}
    pooling = {"cls": "first", "mean": "mean"}.get(str(config.get("classifier_pooling") or "cls"))
    if pooling is None:
        raise Refused(f"config.json: classifier_pooling is {str(config['classifier_pooling'])[:40]}, and should be cls "
                      "or mean")
    return {"pooling": pooling, "pooler": kind, "pooler_norm": True, "n_classes": len(labels)}


def _window(config: ConfigJson, layers: int) -> dict[str, object]:
    """The layers that have a window, of local_attention // 2 tokens on each side; ours count the token itself too."""
    listed, every = config.get("layer_types"), config.number("global_attn_every_n_layers", default=3)
    if listed is None:
        listed = ["sliding_attention" if i % every else "full_attention" for i in range(layers)]
    if not isinstance(listed, list) or len(listed) != layers or not all(
            one in ("sliding_attention", "full_attention") for one in listed):
        raise Refused(f"config.json: layer_types should name sliding_attention or full_attention for {layers} layers; "
                      "copy the folder again")
    near = tuple(i for i, one in enumerate(listed) if one == "sliding_attention")
    return {"window": config.number("local_attention", default=128) // 2 + 1, "window_layers": near} if near else {}


def _rotary(config: ConfigJson, head: int, longest: int) -> tuple[Rotary, Rotary]:
    """Rotary positions of layers without a window and of those with one, each with its base."""
    rope = rope_settings(config)
    bases = {"full_attention": config.get("global_rope_theta") or 160_000.0,
             "sliding_attention": config.get("local_rope_theta") or 10_000.0}
    if "local_rope_theta" in config and config["local_rope_theta"] is None:
        bases["sliding_attention"] = bases["full_attention"]
    kinds = bases.keys() & rope.keys()
    each = {kind: rope.get(kind) or {} for kind in bases} if kinds else dict.fromkeys(bases, rope)  # as older files do
    if not all(isinstance(one, dict) for one in each.values()):
        raise Refused("config.json: rope_parameters should be objects; copy the folder again")
    far, near = (rotary_of(config, width=head, longest=longest, rope={"rope_theta": base, **each[kind]})
                 for kind, base in bases.items())
    return far, near
