"""GPT-NeoX and its kin, decoders of EleutherAI and of those who built on them.

Black et al. 2022 (GPT-NeoX; Pythia: Biderman et al. 2023), Wang and Komatsuzaki 2021 (GPT-J), Black et al. 2021
(GPT-Neo), Li et al. 2023 (Phi 1 and 1.5; Phi 2 is built like them).
"""

import re
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from transformer.config import PARTS
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
    share,
    special,
)
from transformer.huggingface.rotary_settings import reach, rotary_of, spelled, turning
from transformer.huggingface.unsupported import Config


def decoder(config: Config, ends: Mapping[str, int | None], vocab: int, **settings: object) -> dict[str, object]:
    """What all of these decoders have in common, as settings of ours; ends: special tokens where config.json does not
    name them."""
    found = {**ends, **{key: value for key, value in config.items() if value is not None}}
    return {"encoder_layers": 0, "norm_position": "pre", "embedding_scale": False, "init": "normal",
            "vocab_size": vocab, **special(found, vocab), **settings}


def table(config: Config, names: Names, at: str, vocab: int, width: int, *, tied: bool,
          bias: bool = False) -> dict[str, Part]:
    """The embeddings of the pieces, called `at`, and the logits, which are tied to them unless config.json differs."""
    output = present(names, "lm_head.weight", *["embed_out.weight"] * ("embed_out.weight" in names),
                     *[at] * flag(config, "tie_word_embeddings", tied))
    found = {"tgt_embedding.tokens.weight": Part(at, (vocab, width)), "output.weight": Part(output, (vocab, width))}
    return found | ({"output.bias": Part("lm_head.bias", (vocab,))} if bias else {})


def grouped(groups: int, width: int, kind: int) -> Callable[[Tensor], Tensor]:
    """Queries (kind 0), keys (1) or values (2) of a linear map that keeps, for each group of keys and values, first its
    queries and then its key and its value, each of a head's width."""
    which = (slice(None, -2), slice(-2, -1), slice(-1, None))[kind]

    def take(tensor: Tensor) -> Tensor:
        heads = tensor.unflatten(0, (groups, -1, width))  # (groups, queries + 2, width, inputs), or of a bias
        return heads[:, which].flatten(0, 2)
    return take


def query_key_value(ours: str, theirs: str, heads: int, groups: int, width: int, inputs: int, *,
                    bias: bool) -> dict[str, Part]:
    """The three maps of an attention that is kept as one by `grouped`."""
    return fused({f"{ours}.{one}_proj": grouped(groups, width, kind) for kind, one in enumerate("qkv")}, theirs,
                 (heads + 2 * groups) * width, inputs, bias=bias)


def neox(config: Config, names: Names) -> Plan:
    """Black et al. 2022, section 2.1: attention and feed-forward beside each other, each with a norm of its own; rotary
    positions of a part of each head."""
    architecture(config, dict.fromkeys(("GPTNeoXForCausalLM", "GPTNeoXModel"), ""), "")
    width, heads = number(config, "hidden_size"), number(config, "num_attention_heads")
    vocab, inner = number(config, "vocab_size"), number(config, "intermediate_size")
    longest = number(config, "max_position_embeddings", default=2048)
    part = real(config, "rotary_pct", 0.25)
    rotary = rotary_of(config, width=max(1, width // heads), longest=longest, part=part, odd=True, rope={
        "rope_theta": real(config, "rotary_emb_base", 10_000.0), "partial_rotary_factor": part, **spelled(config)})
    biased = flag(config, "attention_bias", True)
    ours = checked(**decoder(
        config, {"bos_token_id": 0, "eos_token_id": 2}, vocab, d_model=width, n_heads=heads,
        decoder_layers=number(config, "num_hidden_layers"), d_ff=inner, max_len=reach(rotary, longest),
        norm_eps=real(config, "layer_norm_eps", 1e-5, least=-1.0), positions="rotary", rotary=rotary,
        parallel="two" if flag(config, "use_parallel_residual", True) else None,
        biases=PARTS if biased else ("up", "down", "norm"), activation=activation(config, "hidden_act", "gelu"),
        dropout=share(config, "hidden_dropout", 0.0), attention_dropout=share(config, "attention_dropout", 0.0)))
    at = inside(names, "gpt_neox.")
    parts = {**table(config, names, f"{at}embed_in.weight", vocab, width, tied=False),
             **norm("decoder.norm", f"{at}final_layer_norm", width)}
    for i in range(ours.decoder_layers):
        to, block = f"decoder.layers.{i}", f"{at}layers.{i}"
        parts |= query_key_value(f"{to}.attention", f"{block}.attention.query_key_value", heads, heads, ours.width,
                                 width, bias=biased)
        parts |= linear(f"{to}.attention.out_proj", f"{block}.attention.dense", width, width, bias=biased)
        parts |= linear(f"{to}.feed_forward.up", f"{block}.mlp.dense_h_to_4h", inner, width)
        parts |= linear(f"{to}.feed_forward.down", f"{block}.mlp.dense_4h_to_h", width, inner)
        parts |= norm(f"{to}.attention_norm", f"{block}.input_layernorm", width)
        parts |= norm(f"{to}.feed_forward_norm", f"{block}.post_attention_layernorm", width)
    return Plan(ours, parts, re.compile(
        r"(gpt_neox\.)?layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)"))


def gptj(config: Config, names: Names) -> Plan:
    """Wang and Komatsuzaki 2021: attention and feed-forward beside each other by one norm; pairs of rotary positions
    are neighbours."""
    architecture(config, dict.fromkeys(("GPTJForCausalLM", "GPTJModel"), ""), "")
    width, heads = number(config, "n_embd", "hidden_size"), number(config, "n_head", "num_attention_heads")
    vocab, inner = number(config, "vocab_size"), number(config, "n_inner", default=4 * width)
    turned = number(config, "rotary_dim", default=None if "rotary_dim" in config else 64)
    if turned % 2 or turned > width // heads:
        raise Refused(f"config.json: rotary_dim is {turned}, and should be even and no more than a head's width of "
                      f"{width // heads}")
    ours = checked(**decoder(
        config, {"bos_token_id": 50256, "eos_token_id": 50256}, vocab, d_model=width, n_heads=heads,
        decoder_layers=number(config, "n_layer", "num_hidden_layers"), d_ff=inner,
        max_len=number(config, "n_positions", "n_ctx", "max_position_embeddings", default=2048),
        norm_eps=real(config, "layer_norm_epsilon", 1e-5, least=-1.0), positions="rotary",
        rotary=turning(dim=turned, layout="interleaved"), parallel="one", biases=("up", "down", "norm"),
        logits_bias=True, activation=activation(config, "activation_function", "gelu_new"),
        dropout=share(config, "resid_pdrop", 0.0), attention_dropout=share(config, "attn_pdrop", 0.0)))
    at = inside(names, "transformer.")
    parts = {**table(config, names, f"{at}wte.weight", vocab, width, tied=False, bias=True),
             **norm("decoder.norm", f"{at}ln_f", width)}
    for i in range(ours.decoder_layers):
        to, block = f"decoder.layers.{i}", f"{at}h.{i}"
        for one in ("q_proj", "k_proj", "v_proj", "out_proj"):
            parts |= linear(f"{to}.attention.{one}", f"{block}.attn.{one}", width, width, bias=False)
        parts |= linear(f"{to}.feed_forward.up", f"{block}.mlp.fc_in", inner, width)
        parts |= linear(f"{to}.feed_forward.down", f"{block}.mlp.fc_out", width, inner)
        parts |= norm(f"{to}.attention_norm", f"{block}.ln_1", width)
    return Plan(ours, parts, re.compile(
        r"(transformer\.)?h\.\d+\.attn\.(bias|masked_bias|embed_positions)"))


def gpt_neo(config: Config, names: Names) -> Plan:
    """Black et al. 2021: GPT-3's layers, every other with a window; scores are products as they are."""
    architecture(config, dict.fromkeys(("GPTNeoForCausalLM", "GPTNeoModel"), ""), "")
    width, heads = number(config, "hidden_size"), number(config, "num_heads", "num_attention_heads")
    vocab, layers = number(config, "vocab_size"), number(config, "num_layers", "num_hidden_layers")
    inner = number(config, "intermediate_size", default=4 * width)
    near = tuple(i for i, one in enumerate(_kinds(config, layers)) if one == "local")
    ours = checked(**decoder(
        config, {"bos_token_id": 50256, "eos_token_id": 50256}, vocab, d_model=width, n_heads=heads,
        decoder_layers=layers, d_ff=inner, max_len=number(config, "max_position_embeddings", default=2048),
        norm_eps=real(config, "layer_norm_epsilon", 1e-5, least=-1.0), positions="learned", attention_scale=1.0,
        window=number(config, "window_size", default=256) if near else None, window_layers=near or None,
        biases=("out", "up", "down", "norm"), activation=activation(config, "activation_function", "gelu_new"),
        dropout=share(config, "resid_dropout", 0.0), attention_dropout=share(config, "attention_dropout", 0.0)))
    at = inside(names, "transformer.")
    parts = {**table(config, names, f"{at}wte.weight", vocab, width, tied=True),
             "tgt_embedding.positions.weight": Part(f"{at}wpe.weight", (ours.max_len, width)),
             **norm("decoder.norm", f"{at}ln_f", width)}
    for i in range(layers):
        to, block = f"decoder.layers.{i}", f"{at}h.{i}"
        for one in ("q_proj", "k_proj", "v_proj", "out_proj"):
            parts |= linear(f"{to}.attention.{one}", f"{block}.attn.attention.{one}", width, width,
                            bias=one == "out_proj")
        parts |= linear(f"{to}.feed_forward.up", f"{block}.mlp.c_fc", inner, width)
        parts |= linear(f"{to}.feed_forward.down", f"{block}.mlp.c_proj", width, inner)
        parts |= norm(f"{to}.attention_norm", f"{block}.ln_1", width)
        parts |= norm(f"{to}.feed_forward_norm", f"{block}.ln_2", width)
    return Plan(ours, parts, re.compile(
        r"(transformer\.)?h\.\d+\.attn\.attention\.(bias|masked_bias)"))


def _kinds(config: Config, layers: int) -> Sequence[str]:
    """Which layers are "global" and which "local", of [[["global", "local"], 12]] or a list of them all."""
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


def phi(config: Config, names: Names) -> Plan:
    """Li et al. 2023, section 2.2: attention and feed-forward beside each other by one norm, with every bias."""
    architecture(config, dict.fromkeys(("PhiForCausalLM", "PhiModel"), ""), "")
    width, heads = number(config, "hidden_size"), number(config, "num_attention_heads")
    vocab, inner = number(config, "vocab_size"), number(config, "intermediate_size")
    head, longest = max(1, width // heads), number(config, "max_position_embeddings", default=2048)
    rotary = rotary_of(config, width=head, longest=longest, part=0.5)
    ours = checked(**decoder(
        config, {"bos_token_id": 1, "eos_token_id": 2}, vocab, d_model=width, n_heads=heads,
        kv_heads=number(config, "num_key_value_heads", default=heads),
        decoder_layers=number(config, "num_hidden_layers"), d_ff=inner, max_len=reach(rotary, longest),
        norm_eps=real(config, "layer_norm_eps", 1e-5, least=-1.0), positions="rotary", rotary=rotary, parallel="one",
        qk_norm="head" if flag(config, "qk_layernorm", False) else None, qk_norm_kind="layer", logits_bias=True,
        activation=activation(config, "hidden_act", "gelu_new"), dropout=share(config, "resid_pdrop", 0.0),
        attention_dropout=share(config, "attention_dropout", 0.0)))
    at = inside(names, "model.")
    parts = {**table(config, names, f"{at}embed_tokens.weight", vocab, width, tied=False, bias=True),
             **norm("decoder.norm", f"{at}final_layernorm", width)}
    for i in range(ours.decoder_layers):
        to, block = f"decoder.layers.{i}", f"{at}layers.{i}"
        for one, outputs in (("q", width), ("k", ours.groups * head), ("v", ours.groups * head)):
            parts |= linear(f"{to}.attention.{one}_proj", f"{block}.self_attn.{one}_proj", outputs, width)
        parts |= linear(f"{to}.attention.out_proj", f"{block}.self_attn.dense", width, width)
        parts |= linear(f"{to}.feed_forward.up", f"{block}.mlp.fc1", inner, width)
        parts |= linear(f"{to}.feed_forward.down", f"{block}.mlp.fc2", width, inner)
        parts |= norm(f"{to}.attention_norm", f"{block}.input_layernorm", width)
        if ours.qk_norm:
            for one in "qk":
                parts |= norm(f"{to}.attention.{one}_norm", f"{block}.self_attn.{one}_layernorm", head)
    return Plan(ours, parts, re.compile(r"(model\.)?layers\.\d+\.self_attn\.rotary_emb\.inv_freq"))
