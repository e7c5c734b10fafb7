"""BART and its relatives, encoder-decoders that translate or summarise.

Lewis et al. 2020 (BART), Liu et al. 2020 (mBART), Fan et al. 2021 (M2M-100), NLLB Team 2022, Junczys-Dowmunt et al.
2018 (Marian).
"""

import re

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import Names, Part, Plan, checked, in_layers, inside, parts_of, present, rows

CLASSES = {"bart": ("BartForConditionalGeneration", "BartModel"), "marian": ("MarianMTModel",),
           "mbart": ("MBartForConditionalGeneration", "MBartModel"),
           "m2m_100": ("M2M100ForConditionalGeneration", "M2M100Model")}
KINDS: dict[str, dict[str, object]] = {  # of layers
    "bart": {"norm_position": "post", "positions": "learned", "embedding_norm": True},
    "mbart": {"norm_position": "pre", "positions": "learned", "embedding_norm": True},
    "m2m_100": {"norm_position": "pre", "sinusoid_layout": "fairseq"},
    "marian": {"norm_position": "post", "sinusoid_layout": "halves"}}
USUAL = {"pad": 1, "bos": 0, "eos": 2}  # tokens that a config.json may leave out; Marian's does not
SKIPPED = 2  # unused first rows of a table of learned positions
LAYER = {
    **{f"{ours}.{one}": f"{theirs}.{one}" for ours, theirs in (("attention", "self_attn"), ("cross", "encoder_attn"))
       for one in ("q_proj", "k_proj", "v_proj", "out_proj")},
    "feed_forward.up": "fc1", "feed_forward.down": "fc2", "attention_norm": "self_attn_layer_norm",
    "cross_norm": "encoder_attn_layer_norm", "feed_forward_norm": "final_layer_norm"}


def bart(config: ConfigJson, names: Names) -> Plan:
    """Vaswani et al. 2017 with each family's changes: learned positions from the third row of their table on and a norm
    of the embeddings (BART), pre-norm (mBART), sinusoids counted from behind the padding id (M2M-100), all sines and
    then all cosines, and two vocabularies (Marian)."""
    kind = str(config["model_type"])
    config.check_architecture(*CLASSES[kind])
    for what in ("attention_heads", "ffn_dim"):
        encoder, decoder = config.number(f"encoder_{what}"), config.number(f"decoder_{what}")
        if encoder != decoder:
            raise Refused(f"the model needs encoder_{what} {encoder} and decoder_{what} {decoder}, and Heads Up's "
                          "models have one number for both")
    width, inner, vocab = config.number("d_model"), config.number("encoder_ffn_dim"), config.number("vocab_size")
    tgt_vocab = config.number("decoder_vocab_size", default=vocab) if kind == "marian" else vocab
    biased = kind != "m2m_100" and (not names or "final_logits_bias" in names)
    ours = checked(
        **KINDS[kind], **_special(config, kind, vocab, tgt_vocab), d_model=width,
        n_heads=config.number("encoder_attention_heads"), encoder_layers=config.number("encoder_layers"),
        decoder_layers=config.number("decoder_layers"), d_ff=inner, vocab_size=tgt_vocab,
        src_vocab_size=None if tgt_vocab == vocab else vocab, max_len=config.number("max_position_embeddings"),
        activation=config.activation("activation_function", "relu" if kind == "m2m_100" else "gelu"),
        embedding_scale=config.flag("scale_embedding", kind == "m2m_100"), logits_bias=biased,
        dropout=config.dropout("dropout"), attention_dropout=config.dropout("attention_dropout", 0.0))
    at = inside(names, "model.")
    one = [f"{at}shared.weight"] if config.flag("share_encoder_decoder_embeddings", True) else []
    encoder, decoder = f"{at}encoder.embed_tokens.weight", f"{at}decoder.embed_tokens.weight"
    head, tied = "lm_head.weight", config.flag("tie_word_embeddings", True)
    src = present(names, encoder, *one, *[decoder, *[head] * tied] * len(one))
    tgt = present(names, decoder, *one, *[encoder] * len(one), *[head] * tied)
    output = present(names, head, *[tgt] * tied)
    modules = {mine: theirs.removesuffix(".weight") for mine, theirs in (
        ("src_embedding.tokens", src), ("tgt_embedding.tokens", tgt), ("output", output))}
    parts: dict[str, Part] = {}
    for side, mine in (("encoder", "src"), ("decoder", "tgt")):
        modules |= {f"{mine}_embedding.norm": f"{at}{side}.layernorm_embedding",
                    f"{side}.norm": f"{at}{side}.layer_norm", **in_layers(side, f"{at}{side}.layers.{{}}", LAYER)}
        if ours.positions == "learned":
            parts[f"{mine}_embedding.positions.weight"] = Part(
                f"{at}{side}.embed_positions.weight", (ours.max_len + SKIPPED, width), rows(SKIPPED, ours.max_len))
    if biased:
        parts["output.bias"] = Part("final_logits_bias", (1, tgt_vocab), lambda tensor: tensor[0].clone())
    parts = parts_of(ours, modules) | parts
    sinusoids = {f"{mine}_embedding": Part(name, (ours.max_len, width)) for mine, name in
                 (("src", f"{at}encoder.embed_positions.weight"), ("tgt", f"{at}decoder.embed_positions.weight"))
                 if kind == "marian" and name in names}
    spare = re.compile(r"(model\.)?(shared\.weight|(en|de)coder\.(embed_tokens\.weight|embed_positions\.weights|"
                       r"version))")
    return Plan(ours, parts, spare, positions=sinusoids)


def _special(config: ConfigJson, kind: str, vocab: int, written: int) -> dict[str, object]:
    """The special tokens, as settings of ours. Raises Refused without those that a translation needs."""
    usual = {} if kind == "marian" else USUAL
    pad, eos, bos = (config.token(f"{name}_token_id", min(vocab, written), default=usual.get(name))
                     for name in ("pad", "eos", "bos"))
    start = config.token("decoder_start_token_id", written,
                  default={"bart": usual.get("eos"), "m2m_100": usual.get("eos"), "mbart": bos}.get(kind))
    config.needed_tokens({"pad_token_id": pad, "eos_token_id": eos, "decoder_start_token_id": start})
    if kind == "m2m_100" and start == pad:
        raise Refused(f"config.json: decoder_start_token_id and pad_token_id are both {pad}, and a model of type "
                      "m2m_100 counts no position for padding")
    forced = config.token("forced_bos_token_id", written)
    if forced is None and config.flag("force_bos_token_to_be_generated", False):  # as older files spell it
        forced = bos
    return {"pad_id": pad, "bos_id": None if kind == "marian" else bos, "eos_id": eos, "start_id": start,
            "forced_bos_id": forced, "banned_ids": config.banned_ids(written), "end_ids": config.end_ids(written)}
