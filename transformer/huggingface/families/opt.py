"""OPT: Zhang et al. 2022."""

import torch

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families.decoder import QKV, decoder_config, decoder_plan
from transformer.huggingface.plan import Names, Part, Plan, in_layers, inside, parts_of, rows, shapes_of
from transformer.settings.config import PARTS

SKIPPED = 2  # rows of the table of positions before the first token's, unused since fairseq


def opt(config: ConfigJson, names: Names) -> Plan:
    """Zhang et al. 2022, section 2.1: GPT-3's layers with ReLU. The model of 350M is post-norm, and its embeddings are
    narrower than its rows."""
    config.check_architecture("OPTForCausalLM", "OPTModel")
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    vocab, inner = config.number("vocab_size"), config.number("ffn_dim")
    narrow = config.number("word_embed_proj_dim", default=width)
    pre, biased = config.flag("do_layer_norm_before", True), config.flag("enable_bias", True)
    learned = config.flag("layer_norm_elementwise_affine", True)
    ours = decoder_config(
        config, {"bos_token_id": 2, "eos_token_id": 2}, vocab, d_model=width, n_heads=heads,
        decoder_layers=config.number("num_hidden_layers"), d_ff=inner,
        max_len=config.number("max_position_embeddings", default=2048), norm_position="pre" if pre else "post",
        final_norm=not (pre and config.flag("_remove_final_layer_norm", False)), positions="learned",
        embedding_dim=None if narrow == width else narrow, widen_first=narrow != width,
        biases=tuple(part for part in PARTS if (learned if part == "norm" else biased)),
        activation=config.activation("activation_function", "relu"), dropout=config.dropout("dropout"),
        attention_dropout=config.dropout("attention_dropout", 0.0))
    at = f"{inside(names, 'model.')}decoder."
    modules = {"tgt_embedding.widen": f"{at}project_in", "narrow": f"{at}project_out", **in_layers(
        "decoder", f"{at}layers.{{}}", {
            **{one: one.replace("attention", "self_attn") for one in (*QKV, "attention.out_proj")},
            "feed_forward.up": "fc1", "feed_forward.down": "fc2"})}
    norms = {"decoder.norm": f"{at}final_layer_norm", **in_layers("decoder", f"{at}layers.{{}}", {
        "attention_norm": "self_attn_layer_norm", "feed_forward_norm": "final_layer_norm"})}
    shapes, parts = shapes_of(ours), parts_of(ours, modules | norms if learned else modules)
    # theirs have no biases of the projections, and norms that learn nothing have no weights
    constants = {name: torch.zeros(shape) for name, shape in shapes.items() if name in ("tgt_embedding.widen.bias",
                                                                                        "narrow.bias")}
    if not learned:
        constants |= {name: torch.ones(shape) for name, shape in shapes.items() if "norm." in name}
    parts = {name: part for name, part in parts.items() if name not in constants}
    parts["tgt_embedding.positions.weight"] = Part(f"{at}embed_positions.weight", (ours.max_len + SKIPPED, width),
                                                   rows(SKIPPED, ours.max_len))
    return decoder_plan(config, names, ours, {}, tokens=f"{at}embed_tokens", is_tied=True, parts=parts,
                        constants=constants, spare=r"(model\.)?decoder\.version")
