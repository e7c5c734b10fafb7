"""GPT-2: Radford et al. 2019."""

import re
from collections.abc import Callable

from torch import Tensor

from transformer.huggingface.plan import (
    Names,
    Part,
    Plan,
    activation,
    architecture,
    checked,
    inside,
    norm,
    number,
    present,
    share,
    special,
)
from transformer.huggingface.unsupported import Config


def _columns(start: int, count: int) -> Callable[[Tensor], Tensor]:
    """Some outputs of a linear map that GPT-2 keeps input by input: (in, outputs) -> (count, in), or of a bias."""
    return lambda tensor: tensor[..., start:start + count].T if tensor.dim() == 2 else tensor[start:start + count]


def _turned(tensor: Tensor) -> Tensor:
    return tensor.T


def gpt2(config: Config, names: Names) -> Plan:
    """Radford et al. 2019, section 2.3: a decoder, pre-norm, learned positions."""
    architecture(config, dict.fromkeys(("GPT2LMHeadModel", "GPT2Model", "GPT2DoubleHeadsModel"), ""), "")
    width, vocab = number(config, "n_embd", "hidden_size"), number(config, "vocab_size")
    inner = number(config, "n_inner", default=4 * width)
    ends = {"bos_token_id": 50256, "eos_token_id": 50256}
    ours = checked(
        d_model=width, n_heads=number(config, "n_head", "num_attention_heads"), encoder_layers=0,
        decoder_layers=number(config, "n_layer", "num_hidden_layers"), d_ff=inner, vocab_size=vocab,
        max_len=number(config, "n_positions", "n_ctx", "max_position_embeddings"), norm_position="pre",
        positions="learned", norm_eps=config.get("layer_norm_epsilon", 1e-5),
        activation=activation(config, "activation_function", "gelu_new"), embedding_scale=False, init="normal",
        dropout=share(config, "resid_pdrop"), attention_dropout=share(config, "attn_pdrop"),
        attention_scale=None if config.get("scale_attn_weights") is not False else 1.0,
        **special({**ends, **{key: value for key, value in config.items() if value is not None}}, vocab))
    at = inside(names, "transformer.")
    parts = {"tgt_embedding.tokens.weight": Part(f"{at}wte.weight", (vocab, width)),
             "tgt_embedding.positions.weight": Part(f"{at}wpe.weight", (ours.max_len, width)),
             **norm("decoder.norm", f"{at}ln_f", width)}
    tied = config.get("tie_word_embeddings", True)
    output = present(names, "lm_head.weight", *[f"{at}wte.weight"] * bool(tied))
    parts["output.weight"] = Part(output, (vocab, width))
    for i in range(ours.decoder_layers):
        to, block = f"decoder.layers.{i}", f"{at}h.{i}"
        for third, one in enumerate("qkv"):
            for name, shape in (("weight", (width, 3 * width)), ("bias", (3 * width,))):
                parts[f"{to}.attention.{one}_proj.{name}"] = Part(f"{block}.attn.c_attn.{name}", shape,
                                                                  _columns(third * width, width))
        for mine, theirs, outputs, inputs in (("attention.out_proj", "attn.c_proj", width, width),
                                              ("feed_forward.up", "mlp.c_fc", inner, width),
                                              ("feed_forward.down", "mlp.c_proj", width, inner)):
            parts[f"{to}.{mine}.weight"] = Part(f"{block}.{theirs}.weight", (inputs, outputs), _turned)
            parts[f"{to}.{mine}.bias"] = Part(f"{block}.{theirs}.bias", (outputs,))
        parts |= norm(f"{to}.attention_norm", f"{block}.ln_1", width)
        parts |= norm(f"{to}.feed_forward_norm", f"{block}.ln_2", width)
    spare = re.compile(r"(transformer\.)?h\.\d+\.attn\.(bias|masked_bias)|multiple_choice_head\..*")
    return Plan(ours, parts, spare)
