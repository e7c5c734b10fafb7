"""GPT-NeoX and its relatives, decoders of EleutherAI and of others who built on them.

Black et al. 2022 (GPT-NeoX; Pythia: Biderman et al. 2023), Wang and Komatsuzaki 2021 (GPT-J), Black et al. 2021
(GPT-Neo), Li et al. 2023 (Phi 1 and 1.5; Phi 2 has the same architecture).
"""

from collections.abc import Callable, Sequence

from torch import Tensor

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families.decoder import QKV, decoder_config, decoder_plan
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import Names, Plan, Take, in_layers, inside
from transformer.huggingface.rotary_settings import build_rotary, reach, rope_settings, rotary_of
from transformer.settings.config import PARTS


def grouped(groups: int, width: int) -> Callable[[int, Sequence[int]], Take]:
    """Takes queries, keys or values of a matrix that has, for each group of keys and values, its queries and then its
    key and its value, each of a head's width."""
    def joined(at: int, outputs: Sequence[int]) -> Take:
        which = (slice(None, -2), slice(-2, -1), slice(-1, None))[at]

        def take(tensor: Tensor) -> Tensor:
            heads = tensor.unflatten(0, (groups, -1, width))  # (groups, queries + 2, width, inputs), or of a bias
            return heads[:, which].flatten(0, 2)
        return take
    return joined


def neox(config: ConfigJson, names: Names) -> Plan:
    """Black et al. 2022, section 2.1: attention and feed-forward in parallel, each with its own norm; rotary positions
    of a part of each head."""
    config.check_architecture("GPTNeoXForCausalLM", "GPTNeoXModel")
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    vocab, inner = config.number("vocab_size"), config.number("intermediate_size")
    longest = config.number("max_position_embeddings", default=2048)
    part = config.real("rotary_pct", 0.25)
    rotary = rotary_of(config, width=max(1, width // heads), longest=longest, part=part, odd=True, rope={
        "rope_theta": config.real("rotary_emb_base", 10_000.0), "partial_rotary_factor": part, **rope_settings(config)})
    biased = config.flag("attention_bias", True)
    ours = decoder_config(
        config, {"bos_token_id": 0, "eos_token_id": 2}, vocab, d_model=width, n_heads=heads,
        decoder_layers=config.number("num_hidden_layers"), d_ff=inner, max_len=reach(rotary, longest),
        norm_eps=config.real("layer_norm_eps", 1e-5, least=-1.0), positions="rotary", rotary=rotary,
        parallel="two" if config.flag("use_parallel_residual", True) else None,
        biases=PARTS if biased else ("up", "down", "norm"), activation=config.activation("hidden_act", "gelu"),
        dropout=config.dropout("hidden_dropout", 0.0), attention_dropout=config.dropout("attention_dropout", 0.0))
    at = inside(names, "gpt_neox.")
    modules = {"decoder.norm": f"{at}final_layer_norm", **in_layers("decoder", f"{at}layers.{{}}", {
        QKV: "attention.query_key_value", "attention.out_proj": "attention.dense",
        "feed_forward.up": "mlp.dense_h_to_4h", "feed_forward.down": "mlp.dense_4h_to_h",
        "attention_norm": "input_layernorm", "feed_forward_norm": "post_attention_layernorm"})}
    return decoder_plan(
        config, names, ours, modules, tokens=f"{at}embed_in", is_tied=False, joined=grouped(heads, ours.width),
        spare=r"(gpt_neox\.)?layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)")


def gptj(config: ConfigJson, names: Names) -> Plan:
    """Wang and Komatsuzaki 2021: attention and feed-forward in parallel with one norm; interleaved pairs of rotary
    positions."""
    config.check_architecture("GPTJForCausalLM", "GPTJModel")
    width, heads = config.number("n_embd", "hidden_size"), config.number("n_head", "num_attention_heads")
    vocab, inner = config.number("vocab_size"), config.number("n_inner", default=4 * width)
    turned = config.number("rotary_dim", default=None if "rotary_dim" in config else 64)
    if turned % 2 or turned > width // heads:
        raise Refused(f"config.json: rotary_dim is {turned}, and should be even and no more than a head's width of "
                      f"{width // heads}")
    ours = decoder_config(
        config, {"bos_token_id": 50256, "eos_token_id": 50256}, vocab, d_model=width, n_heads=heads,
        decoder_layers=config.number("n_layer", "num_hidden_layers"), d_ff=inner,
        max_len=config.number("n_positions", "n_ctx", "max_position_embeddings", default=2048),
        norm_eps=config.real("layer_norm_epsilon", 1e-5, least=-1.0), positions="rotary",
        rotary=build_rotary(dim=turned, layout="interleaved"), parallel="one", biases=("up", "down", "norm"),
        logits_bias=True, activation=config.activation("activation_function", "gelu_new"),
        dropout=config.dropout("resid_pdrop", 0.0), attention_dropout=config.dropout("attn_pdrop", 0.0))
    at = inside(names, "transformer.")
    modules = {"decoder.norm": f"{at}ln_f", **in_layers("decoder", f"{at}h.{{}}", {
        **{one: one.replace("attention", "attn") for one in QKV}, "attention.out_proj": "attn.out_proj",
        "feed_forward.up": "mlp.fc_in", "feed_forward.down": "mlp.fc_out", "attention_norm": "ln_1"})}
    return decoder_plan(config, names, ours, modules, tokens=f"{at}wte", is_tied=False,
                        spare=r"(transformer\.)?h\.\d+\.attn\.(bias|masked_bias|embed_positions)")


def gpt_neo(config: ConfigJson, names: Names) -> Plan:
    """Black et al. 2021: GPT-3's layers, every other with a window; q.k is not scaled."""
    config.check_architecture("GPTNeoForCausalLM", "GPTNeoModel")
    width, heads = config.number("hidden_size"), config.number("num_heads", "num_attention_heads")
    vocab, layers = config.number("vocab_size"), config.number("num_layers", "num_hidden_layers")
    inner = config.number("intermediate_size", default=4 * width)
    near = tuple(i for i, one in enumerate(_kinds(config, layers)) if one == "local")
    ours = decoder_config(
        config, {"bos_token_id": 50256, "eos_token_id": 50256}, vocab, d_model=width, n_heads=heads,
        decoder_layers=layers, d_ff=inner, max_len=config.number("max_position_embeddings", default=2048),
        norm_eps=config.real("layer_norm_epsilon", 1e-5, least=-1.0), positions="learned", attention_scale=1.0,
        window=config.number("window_size", default=256) if near else None, window_layers=near or None,
        biases=("out", "up", "down", "norm"), activation=config.activation("activation_function", "gelu_new"),
        dropout=config.dropout("resid_dropout", 0.0), attention_dropout=config.dropout("attention_dropout", 0.0))
    at = inside(names, "transformer.")
    modules = {
        "tgt_embedding.positions": f"{at}wpe", "decoder.norm": f"{at}ln_f", **in_layers("decoder", f"{at}h.{{}}", {
            **{one: f"attn.{one}" for one in (*QKV, "attention.out_proj")}, "feed_forward.up": "mlp.c_fc",
            "feed_forward.down": "mlp.c_proj", "attention_norm": "ln_1", "feed_forward_norm": "ln_2"})}
    return decoder_plan(config, names, ours, modules, tokens=f"{at}wte", is_tied=True,
                        spare=r"(transformer\.)?h\.\d+\.attn\.attention\.(bias|masked_bias)")


def _kinds(config: ConfigJson, layers: int) -> Sequence[str]:
    """"global" or "local" for each layer, from [[["global", "local"], 12]] or a list of all."""
    listed, types = config.get("attention_layers"), config.get("attention_types") or [[["global", "local"], 12]]
    if listed is None and isinstance(types, list):
        try:
            listed = [kind for kinds, times in types[:layers + 1]
                      for kind in list(kinds[:layers + 1]) * min(int(times), layers + 1)]
        except (KeyError, TypeError, ValueError, OverflowError):
            listed = None
    if not isinstance(listed, list) or len(listed) != layers or any(one not in ("global", "local") for one in listed):
        raise Refused(f"config.json: attention_types should name global or local for each of {layers} layers; copy the "
                      "folder again")
    return listed


def phi(config: ConfigJson, names: Names) -> Plan:
    """Li et al. 2023, section 2.2: attention and feed-forward in parallel with one norm, with every bias."""
    config.check_architecture("PhiForCausalLM", "PhiModel")
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    vocab, inner = config.number("vocab_size"), config.number("intermediate_size")
    head, longest = max(1, width // heads), config.number("max_position_embeddings", default=2048)
    rotary = rotary_of(config, width=head, longest=longest, part=0.5)
    ours = decoder_config(
        config, {"bos_token_id": 1, "eos_token_id": 2}, vocab, d_model=width, n_heads=heads,
        kv_heads=config.number("num_key_value_heads", default=heads),
        decoder_layers=config.number("num_hidden_layers"), d_ff=inner, max_len=reach(rotary, longest),
        norm_eps=config.real("layer_norm_eps", 1e-5, least=-1.0), positions="rotary", rotary=rotary, parallel="one",
        qk_norm="head" if config.flag("qk_layernorm", False) else None, qk_norm_kind="layer", logits_bias=True,
        activation=config.activation("hidden_act", "gelu_new"), dropout=config.dropout("resid_pdrop", 0.0),
        attention_dropout=config.dropout("attention_dropout", 0.0))
    at = inside(names, "model.")
    modules = {"decoder.norm": f"{at}final_layernorm", **in_layers("decoder", f"{at}layers.{{}}", {
        **{one: one.replace("attention", "self_attn") for one in QKV}, "attention.out_proj": "self_attn.dense",
        "attention.q_norm": "self_attn.q_layernorm", "attention.k_norm": "self_attn.k_layernorm",
        "feed_forward.up": "mlp.fc1", "feed_forward.down": "mlp.fc2", "attention_norm": "input_layernorm"})}
    return decoder_plan(config, names, ours, modules, tokens=f"{at}embed_tokens", is_tied=False,
                        spare=r"(model\.)?layers\.\d+\.self_attn\.rotary_emb\.inv_freq")
