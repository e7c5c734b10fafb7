"""Marian: Junczys-Dowmunt et al. 2018."""

import re

from transformer.huggingface.folder import Refused
from transformer.huggingface.needs import Config
from transformer.huggingface.plan import (
    Names,
    Part,
    Plan,
    activation,
    architecture,
    banned,
    checked,
    linear,
    norm,
    number,
    present,
    share,
    token,
)


def marian(config: Config, names: Names) -> Plan:
    """Vaswani et al. 2017 as Marian builds it: post-norm, all sines and then all cosines, padding as the start."""
    architecture(config, {"MarianMTModel": ""}, "")
    for what in ("attention_heads", "ffn_dim"):
        encoder, decoder = number(config, f"encoder_{what}"), number(config, f"decoder_{what}")
        if encoder != decoder:
            raise Refused(f"the model needs encoder_{what} {encoder} and decoder_{what} {decoder}, and Heads Up's "
                          "models have one number for both")
    width, inner, vocab = number(config, "d_model"), number(config, "encoder_ffn_dim"), number(config, "vocab_size")
    written = number(config, "decoder_vocab_size", default=vocab)
    pad, eos = (token(config, f"{name}_token_id", min(vocab, written)) for name in ("pad", "eos"))
    start = token(config, "decoder_start_token_id", written)
    for name, value in (("pad_token_id", pad), ("eos_token_id", eos), ("decoder_start_token_id", start)):
        if value is None:
            raise Refused(f"config.json gives no {name} inside the vocabulary, and a Marian model needs one")
    ours = checked(
        d_model=width, n_heads=number(config, "encoder_attention_heads"),
        encoder_layers=number(config, "encoder_layers"), decoder_layers=number(config, "decoder_layers"),
        d_ff=inner, vocab_size=written,
        src_vocab_size=None if written == vocab else vocab, max_len=number(config, "max_position_embeddings"),
        norm="post", sinusoid_layout="halves", activation=activation(config, "activation_function", "gelu"),
        embedding_scale=bool(config.get("scale_embedding", False)), logits_bias=True, dropout=share(config, "dropout"),
        attention_dropout=share(config, "attention_dropout", 0.0), pad_id=pad, bos_id=None, eos_id=eos, start_id=start,
        banned_ids=banned(config, written))
    one = ["model.shared.weight"] if config.get("share_encoder_decoder_embeddings", True) else []
    encoder, decoder = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    src = present(names, encoder, *one, *[decoder] * len(one))
    tgt = present(names, decoder, *one, *[encoder] * len(one))
    output = present(names, "lm_head.weight", *[tgt] * bool(config.get("tie_word_embeddings", True)))
    parts = {"src_embedding.tokens.weight": Part(src, (vocab, width)),
             "tgt_embedding.tokens.weight": Part(tgt, (written, width)),
             "output.weight": Part(output, (written, width)),
             "output.bias": Part("final_logits_bias", (1, written), lambda tensor: tensor[0].clone())}
    for side, layers in (("encoder", ours.encoder_layers), ("decoder", ours.decoder_layers)):
        for i in range(layers):
            to, block = f"{side}.layers.{i}", f"model.{side}.layers.{i}"
            for mine, theirs in (("attention", "self_attn"), ("cross", "encoder_attn"))[: 1 + (side == "decoder")]:
                for one in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    parts |= linear(f"{to}.{mine}.{one}", f"{block}.{theirs}.{one}", width, width)
                parts |= norm(f"{to}.{mine}_norm", f"{block}.{theirs}_layer_norm", width)
            parts |= linear(f"{to}.feed_forward.up", f"{block}.fc1", inner, width)
            parts |= linear(f"{to}.feed_forward.down", f"{block}.fc2", width, inner)
            parts |= norm(f"{to}.feed_forward_norm", f"{block}.final_layer_norm", width)
    positions = {f"{side}_embedding": Part(name, (ours.max_len, width)) for side, name in
                 (("src", "model.encoder.embed_positions.weight"), ("tgt", "model.decoder.embed_positions.weight"))
                 if name in names}
    return Plan(ours, parts, re.compile(r"model\.(shared|(en|de)coder\.embed_tokens)\.weight"), positions)
