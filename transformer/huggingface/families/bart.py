"""BART and those built like it, encoder-decoders that translate or summarise.

Lewis et al. 2020 (BART), Liu et al. 2020 (mBART), Fan et al. 2021 (M2M-100), NLLB Team 2022, Junczys-Dowmunt et al.
2018 (Marian).
"""

import re

from torch import Tensor

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
    inside,
    linear,
    norm,
    number,
    other_ends,
    present,
    share,
    token,
)
from transformer.huggingface.unsupported import Config

CLASSES = {"bart": ("BartForConditionalGeneration", "BartModel"), "marian": ("MarianMTModel",),
           "mbart": ("MBartForConditionalGeneration", "MBartModel"),
           "m2m_100": ("M2M100ForConditionalGeneration", "M2M100Model")}
KINDS: dict[str, dict[str, object]] = {  # of layers
    "bart": {"norm_position": "post", "positions": "learned", "embedding_norm": True},
    "mbart": {"norm_position": "pre", "positions": "learned", "embedding_norm": True},
    "m2m_100": {"norm_position": "pre", "sinusoid_layout": "fairseq"},
    "marian": {"norm_position": "post", "sinusoid_layout": "halves"}}
USUAL = {"pad": 1, "bos": 0, "eos": 2}  # tokens, where a config.json does not say; Marian's always does
SKIPPED = 2  # rows of a table of learned positions, which nothing reads


def bart(config: Config, names: Names) -> Plan:
    """Vaswani et al. 2017 with what each family changed: learned positions from the third row of their table on and a
    norm of the embeddings (BART), pre-norm (mBART), sinusoids that are counted from behind the padding id (M2M-100),
    all sines and then all cosines, and two vocabularies (Marian)."""
    kind = str(config["model_type"])
    architecture(config, dict.fromkeys(CLASSES[kind], ""), "")
    for what in ("attention_heads", "ffn_dim"):
        encoder, decoder = number(config, f"encoder_{what}"), number(config, f"decoder_{what}")
        if encoder != decoder:
            raise Refused(f"the model needs encoder_{what} {encoder} and decoder_{what} {decoder}, and Heads Up's "
                          "models have one number for both")
    width, inner, vocab = number(config, "d_model"), number(config, "encoder_ffn_dim"), number(config, "vocab_size")
    written = number(config, "decoder_vocab_size", default=vocab) if kind == "marian" else vocab
    biased = kind != "m2m_100" and (not names or "final_logits_bias" in names)
    ours = checked(
        **KINDS[kind], **_special(config, kind, vocab, written), d_model=width,
        n_heads=number(config, "encoder_attention_heads"), encoder_layers=number(config, "encoder_layers"),
        decoder_layers=number(config, "decoder_layers"), d_ff=inner, vocab_size=written,
        src_vocab_size=None if written == vocab else vocab, max_len=number(config, "max_position_embeddings"),
        activation=activation(config, "activation_function", "relu" if kind == "m2m_100" else "gelu"),
        embedding_scale=flag(config, "scale_embedding", kind == "m2m_100"), logits_bias=biased,
        dropout=share(config, "dropout"), attention_dropout=share(config, "attention_dropout", 0.0))
    at = inside(names, "model.")
    one = [f"{at}shared.weight"] if flag(config, "share_encoder_decoder_embeddings", True) else []
    encoder, decoder = f"{at}encoder.embed_tokens.weight", f"{at}decoder.embed_tokens.weight"
    src = present(names, encoder, *one, *[decoder] * len(one))
    tgt = present(names, decoder, *one, *[encoder] * len(one))
    output = present(names, "lm_head.weight", *[tgt] * flag(config, "tie_word_embeddings", True))
    parts = {"src_embedding.tokens.weight": Part(src, (vocab, width)),
             "tgt_embedding.tokens.weight": Part(tgt, (written, width)),
             "output.weight": Part(output, (written, width))}
    if biased:
        parts["output.bias"] = Part("final_logits_bias", (1, written), lambda tensor: tensor[0].clone())
    for side, mine, layers in (("encoder", "src", ours.encoder_layers), ("decoder", "tgt", ours.decoder_layers)):
        if ours.positions == "learned":
            parts[f"{mine}_embedding.positions.weight"] = Part(f"{at}{side}.embed_positions.weight",
                                                               (ours.max_len + SKIPPED, width), _counted)
        if ours.embedding_norm:
            parts |= norm(f"{mine}_embedding.norm", f"{at}{side}.layernorm_embedding", width)
        if ours.norm_position == "pre":
            parts |= norm(f"{side}.norm", f"{at}{side}.layer_norm", width)
        for i in range(layers):
            parts |= _layer(f"{side}.layers.{i}", f"{at}{side}.layers.{i}", width, inner, crosses=side == "decoder")
    sinusoids = {f"{mine}_embedding": Part(name, (ours.max_len, width)) for mine, name in
                 (("src", f"{at}encoder.embed_positions.weight"), ("tgt", f"{at}decoder.embed_positions.weight"))
                 if kind == "marian" and name in names}
    spare = re.compile(r"(model\.)?(shared\.weight|(en|de)coder\.(embed_tokens\.weight|embed_positions\.weights|"
                       r"version))")
    return Plan(ours, parts, spare, positions=sinusoids)


def _counted(table: Tensor) -> Tensor:
    return table[SKIPPED:].clone()


def _layer(to: str, block: str, width: int, inner: int, *, crosses: bool) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for mine, theirs in (("attention", "self_attn"), ("cross", "encoder_attn"))[: 1 + crosses]:
        for one in ("q_proj", "k_proj", "v_proj", "out_proj"):
            parts |= linear(f"{to}.{mine}.{one}", f"{block}.{theirs}.{one}", width, width)
        parts |= norm(f"{to}.{mine}_norm", f"{block}.{theirs}_layer_norm", width)
    parts |= linear(f"{to}.feed_forward.up", f"{block}.fc1", inner, width)
    parts |= linear(f"{to}.feed_forward.down", f"{block}.fc2", width, inner)
    return parts | norm(f"{to}.feed_forward_norm", f"{block}.final_layer_norm", width)


def _special(config: Config, kind: str, vocab: int, written: int) -> dict[str, object]:
    """The special tokens, as settings of ours. Raises Refused without those that a translation needs."""
    usual = {} if kind == "marian" else USUAL
    pad, eos, bos = (token(config, f"{name}_token_id", min(vocab, written), default=usual.get(name))
                     for name in ("pad", "eos", "bos"))
    start = token(config, "decoder_start_token_id", written,
                  default={"bart": usual.get("eos"), "m2m_100": usual.get("eos"), "mbart": bos}.get(kind))
    for name, value in (("pad_token_id", pad), ("eos_token_id", eos), ("decoder_start_token_id", start)):
        if value is None:
            raise Refused(f"config.json gives no {name} inside the vocabulary, and a model of type {kind} needs one")
    if kind == "m2m_100" and start == pad:
        raise Refused(f"config.json: decoder_start_token_id and pad_token_id are both {pad}, and a model of type "
                      "m2m_100 counts no position for padding")
    forced = token(config, "forced_bos_token_id", written)
    if forced is None and flag(config, "force_bos_token_to_be_generated", False):  # as older files spell it
        forced = bos
    return {"pad_id": pad, "bos_id": None if kind == "marian" else bos, "eos_id": eos, "start_id": start,
            "forced_bos_id": forced, "banned_ids": banned(config, written), "end_ids": other_ends(config, written)}
