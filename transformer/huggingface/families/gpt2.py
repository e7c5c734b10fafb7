"""GPT-2: Radford et al. 2019."""

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families.decoder import QKV, decoder_config, decoder_plan
from transformer.huggingface.plan import Names, Plan, in_layers, inside, parts_of


def gpt2(config: ConfigJson, names: Names) -> Plan:
    """Radford et al. 2019, section 2.3: a decoder, pre-norm, learned positions; its matrices are (inputs, outputs)."""
    config.check_architecture("GPT2LMHeadModel", "GPT2Model", "GPT2DoubleHeadsModel")
    width, vocab = config.number("n_embd", "hidden_size"), config.number("vocab_size")
    ours = decoder_config(
        config, {"bos_token_id": 50256, "eos_token_id": 50256}, vocab, d_model=width,
        n_heads=config.number("n_head", "num_attention_heads"),
        decoder_layers=config.number("n_layer", "num_hidden_layers"), d_ff=config.number("n_inner", default=4 * width),
        max_len=config.number("n_positions", "n_ctx", "max_position_embeddings"), positions="learned",
        norm_eps=config.get("layer_norm_epsilon", 1e-5),
        activation=config.activation("activation_function", "gelu_new"), dropout=config.dropout("resid_pdrop"),
        attention_dropout=config.dropout("attn_pdrop"),
        attention_scale=None if config.get("scale_attn_weights") is not False else 1.0)
    at = inside(names, "transformer.")
    maps = in_layers("decoder", f"{at}h.{{}}", {
        QKV: "attn.c_attn", "attention.out_proj": "attn.c_proj", "feed_forward.up": "mlp.c_fc",
        "feed_forward.down": "mlp.c_proj"})
    modules = {"tgt_embedding.positions": f"{at}wpe", "decoder.norm": f"{at}ln_f", **in_layers(
        "decoder", f"{at}h.{{}}", {"attention_norm": "ln_1", "feed_forward_norm": "ln_2"})}
    return decoder_plan(
        config, names, ours, modules, tokens=f"{at}wte", is_tied=True, parts=parts_of(ours, maps, is_transposed=True),
        spare=r"(transformer\.)?h\.\d+\.attn\.(bias|masked_bias)|multiple_choice_head\..*")
