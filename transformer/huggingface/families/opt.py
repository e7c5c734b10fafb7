"""OPT: Zhang et al. 2022."""

import re

import torch

from transformer.config import PARTS
from transformer.huggingface.families.neox import decoder, table
from transformer.huggingface.plan import (
    Names,
    Part,
    Plan,
    activation,
    architecture,
    checked,
    flag,
    inside,
    linear,
    norm,
    number,
    rows,
    share,
)
from transformer.huggingface.unsupported import Config

SKIPPED = 2  # rows of the table of positions, before that of the first token: what padding had in fairseq


def opt(config: Config, names: Names) -> Plan:
    """Zhang et al. 2022, section 2.1: GPT-3's layers with ReLU; those of the model of 350M normalise each sum, and its
    embeddings are narrower than its rows."""
    architecture(config, dict.fromkeys(("OPTForCausalLM", "OPTModel"), ""), "")
    width, heads = number(config, "hidden_size"), number(config, "num_attention_heads")
    vocab, inner = number(config, "vocab_size"), number(config, "ffn_dim")
    narrow = number(config, "word_embed_proj_dim", default=width)
    pre, biased = flag(config, "do_layer_norm_before", True), flag(config, "enable_bias", True)
    learned = flag(config, "layer_norm_elementwise_affine", True)
    ours = checked(**decoder(
        config, {"bos_token_id": 2, "eos_token_id": 2}, vocab, d_model=width, n_heads=heads,
        decoder_layers=number(config, "num_hidden_layers"), d_ff=inner,
        max_len=number(config, "max_position_embeddings", default=2048), norm_position="pre" if pre else "post",
        final_norm=not (pre and flag(config, "_remove_final_layer_norm", False)), positions="learned",
        embedding_dim=None if narrow == width else narrow, widen_first=narrow != width,
        biases=tuple(part for part in PARTS if (learned if part == "norm" else biased)),
        activation=activation(config, "activation_function", "relu"), dropout=share(config, "dropout"),
        attention_dropout=share(config, "attention_dropout", 0.0)))
    at = f"{inside(names, 'model.')}decoder."
    parts = {**table(config, names, f"{at}embed_tokens.weight", vocab, narrow, tied=True),
             "tgt_embedding.positions.weight": Part(f"{at}embed_positions.weight", (ours.max_len + SKIPPED, width),
                                                    rows(SKIPPED, ours.max_len))}
    made: dict[str, torch.Tensor] = {}
    norms = {"decoder.norm": "final_layer_norm"} if pre and ours.final_norm else {}
    if ours.widen_first:
        parts |= linear("tgt_embedding.widen", f"{at}project_in", width, narrow, bias=False)
        parts |= linear("narrow", f"{at}project_out", narrow, width, bias=False)
        made |= {"tgt_embedding.widen.bias": torch.zeros(width), "narrow.bias": torch.zeros(narrow)}
    for i in range(ours.decoder_layers):
        to, block = f"decoder.layers.{i}", f"layers.{i}"
        for one in ("q_proj", "k_proj", "v_proj", "out_proj"):
            parts |= linear(f"{to}.attention.{one}", f"{at}{block}.self_attn.{one}", width, width, bias=biased)
        parts |= linear(f"{to}.feed_forward.up", f"{at}{block}.fc1", inner, width, bias=biased)
        parts |= linear(f"{to}.feed_forward.down", f"{at}{block}.fc2", width, inner, bias=biased)
        norms |= {f"{to}.attention_norm": f"{block}.self_attn_layer_norm",
                  f"{to}.feed_forward_norm": f"{block}.final_layer_norm"}
    for mine, theirs in norms.items():
        if learned:
            parts |= norm(mine, f"{at}{theirs}", width)
        else:
            made[f"{mine}.weight"] = torch.ones(width)
    return Plan(ours, parts, re.compile(r"(model\.)?decoder\.version"), made=made)
