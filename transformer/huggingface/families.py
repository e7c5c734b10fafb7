"""Which of other people's models ours can be, and where each of our weights lies in theirs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from pydantic import ValidationError
from torch import Tensor

from transformer.brief import brief
from transformer.config import ModelConfig
from transformer.huggingface.folder import Refused
from transformer.huggingface.needs import ACTIVATIONS, Config

Names = Mapping[str, object]  # of the weights that a folder has


@dataclass(frozen=True)
class Part:
    """Where one of our weights is: a tensor of theirs, and what to take of it."""

    name: str
    shape: tuple[int, ...]
    take: Callable[[Tensor], Tensor] = lambda tensor: tensor

    __repr__ = brief


@dataclass(frozen=True)
class Plan:
    """How a folder becomes a model of ours, with no weight tied: which are equal shows when they are read."""

    config: ModelConfig
    parts: dict[str, Part]  # our parameter -> theirs
    spare: re.Pattern[str]  # names of what may be there and is not needed
    positions: dict[str, Part] = field(default_factory=dict)  # tables that are sinusoids unless they turn out not to be
    classes: list[str] | None = None
    left_out: str | None = None  # a part of the model that is not taken over, in words


def number(config: Config, *names: str, default: int | None = None) -> int:
    """A whole number above 0 under the first name that is there. Raises Refused."""
    for name in names:
        value = config.get(name)
        if value is not None:
            if type(value) is not int or value < 1:
                raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be a whole number above 0")
            return value
    if default is None:
        raise Refused(f"config.json has no {names[0]}; copy the folder again")
    return default


def activation(config: Config, name: str, default: str) -> str:
    """Our name of an activation, one that `check_needs` found to be known."""
    return ACTIVATIONS[str(config.get(name) or default)]


def token(config: Config, name: str, vocab_size: int, *, default: int | None = None) -> int | None:
    """The id of a special token; None where there is none, or the vocabulary does not reach so far."""
    value = config.get(name, default)
    if isinstance(value, list):
        if len(value) > 1:
            raise Refused(f"the model has {len(value)} tokens in {name}, and Heads Up's models have one")
        value = value[0] if value else None
    if value is not None and (type(value) is not int or value < 0):
        raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be a whole number from 0")
    return value if value is not None and value < vocab_size else None


def banned(config: Config, vocab_size: int) -> list[int]:
    """Ids that are never to be generated, by bad_words_ids and suppress_tokens. Raises Refused for a banned phrase."""
    words, single = config.get("bad_words_ids") or [], config.get("suppress_tokens") or []
    words = [*words, *([id] for id in single)] if isinstance(words, list) and isinstance(single, list) else [None]
    if not all(isinstance(word, list) and len(word) == 1 and type(word[0]) is int and word[0] >= 0 for word in words):
        raise Refused("the model needs phrases of several tokens banned (bad_words_ids), and Heads Up bans single "
                      "tokens")
    return sorted({word[0] for word in words if word[0] < vocab_size})


def share(config: Config, name: str, default: float = 0.1) -> float:
    """A dropout, which only training would use."""
    value = config.get(name, default)
    return float(value) if isinstance(value, int | float) and 0 <= value < 1 else default


def checked(**settings: object) -> ModelConfig:
    """A configuration of ours. Raises Refused with the first thing that is wrong."""
    try:
        return ModelConfig(tie_embeddings=False, unk_id=None, **settings)
    except ValidationError as error:
        first = error.errors()[0]
        where = f"{'.'.join(map(str, first['loc']))}: " if first["loc"] else ""
        raise Refused(f"config.json: {where}{first['msg'].removeprefix('Value error, ')}") from None


def linear(ours: str, theirs: str, outputs: int, inputs: int) -> dict[str, Part]:
    """A torch.nn.Linear."""
    return {f"{ours}.weight": Part(f"{theirs}.weight", (outputs, inputs)),
            f"{ours}.bias": Part(f"{theirs}.bias", (outputs,))}


def norm(ours: str, theirs: str, width: int) -> dict[str, Part]:
    """A torch.nn.LayerNorm."""
    return {f"{ours}.{name}": Part(f"{theirs}.{name}", (width,)) for name in ("weight", "bias")}


def present(names: Names, *candidates: str) -> str:
    """The first that is there, or else the first."""
    return next((name for name in candidates if name in names), candidates[0])


def architecture(config: Config, known: Mapping[str, str], guess: str) -> str:
    """What kind of model the folder says it is; where it does not say, a guess. Raises Refused for others."""
    listed = config.get("architectures") or []
    name = str(listed[0]) if isinstance(listed, list) and listed else None
    if name is not None and name not in known:
        raise Refused(f"the model is a {name[:60]}, and of its family {', '.join(known)} are imported")
    return known[name] if name else guess


# GPT-2: Radford et al. 2019

def _columns(third: int, width: int, tensor: Tensor) -> Tensor:
    """A third of what GPT-2 keeps side by side, (in, 3 * out) -> (out, in), or (3 * out,) -> (out,)."""
    return tensor[..., third * width:(third + 1) * width].T.contiguous() if tensor.dim() == 2 else (
        tensor[third * width:(third + 1) * width].clone())


def gpt2(config: Config, names: Names) -> Plan:
    """Radford et al. 2019, section 2.3: a decoder, pre-norm, learned positions."""
    architecture(config, dict.fromkeys(("GPT2LMHeadModel", "GPT2Model", "GPT2DoubleHeadsModel"), ""), "")
    width, vocab = number(config, "n_embd", "hidden_size"), number(config, "vocab_size")
    inner = number(config, "n_inner", default=4 * width)
    bos, eos = (token(config, name, vocab, default=50256) for name in ("bos_token_id", "eos_token_id"))
    ours = checked(
        d_model=width, n_heads=number(config, "n_head", "num_attention_heads"), encoder_layers=0,
        decoder_layers=number(config, "n_layer", "num_hidden_layers"), d_ff=inner, vocab_size=vocab,
        max_len=number(config, "n_positions", "n_ctx", "max_position_embeddings"), norm="pre", positions="learned",
        norm_eps=config.get("layer_norm_epsilon", 1e-5),
        activation=activation(config, "activation_function", "gelu_new"), embedding_scale=False, init="normal",
        dropout=share(config, "resid_pdrop"),
        attention_dropout=share(config, "attn_pdrop"), pad_id=None, bos_id=bos, eos_id=eos,
        start_id=next((id for id in (bos, eos) if id is not None), 0), banned_ids=banned(config, vocab))
    at = "transformer." if any(name.startswith("transformer.") for name in names) else ""
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
                                                                  partial(_columns, third, width))
        for mine, theirs, outputs, inputs in (("attention.out_proj", "attn.c_proj", width, width),
                                              ("feed_forward.up", "mlp.c_fc", inner, width),
                                              ("feed_forward.down", "mlp.c_proj", width, inner)):
            parts[f"{to}.{mine}.weight"] = Part(f"{block}.{theirs}.weight", (inputs, outputs),
                                                lambda tensor: tensor.T.contiguous())
            parts[f"{to}.{mine}.bias"] = Part(f"{block}.{theirs}.bias", (outputs,))
        parts |= norm(f"{to}.attention_norm", f"{block}.ln_1", width)
        parts |= norm(f"{to}.feed_forward_norm", f"{block}.ln_2", width)
    spare = re.compile(r"(transformer\.)?h\.\d+\.attn\.(bias|masked_bias)|multiple_choice_head\..*")
    return Plan(ours, parts, spare)


# Marian: Junczys-Dowmunt et al. 2018

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
