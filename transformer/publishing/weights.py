"""A checkpoint as bytes for a browser: what openCheckpoint of js/inference/decoding.js reads.

Four bytes say how long the header is, little-endian; the header is JSON; the tokenizers' scores and the weights follow,
each from an offset that divides by four. In this order a browser can begin before the end has come.
"""

from collections.abc import Mapping

import orjson

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.publishing.tokenizers import published, reasons_against_tokenizer
from transformer.settings.config import Config
from transformer.text.tokenizer import Tokenizer

LARGEST = 200_000_000  # bytes of weights; as text in a page they are a third more, and a browser takes half a billion

# What js/model/model.js and js/inference/decoding.js compute of `ModelConfig` and its `Rotary`: each field's values,
# None for all. What is not here, a page would leave out without a word, so `refusal` names it.
COMPUTED: Mapping[str, tuple[object, ...] | None] = {
    **dict.fromkeys((
        # sizes
        "d_model", "n_heads", "head_dim", "kv_heads", "encoder_layers", "decoder_layers", "d_ff", "vocab_size",
        "src_vocab_size", "max_len",
        # of training alone
        "dropout", "attention_dropout", "output_dropout", "init",
        # layers
        "norm_eps", "first_norm", "final_norm", "shared_layers", "gated", "residual_scale",
        # attention
        "attention_scale", "qkv_clip", "score_cap", "window", "window_layers",
        # positions
        "rotary", "window_rotary", "relative_buckets", "relative_distance", "alibi_max", "alibi_scale", "alibi_rounded",
        # embeddings
        "embedding_dim", "embedding_norm", "embedding_scale", "widen_first", "type_vocab", "tie_embeddings",
        # output
        "logits_bias", "logits_scale", "logits_cap", "pooler_norm", "n_classes",
        # tokens
        "pad_id", "unk_id", "bos_id", "eos_id", "end_ids", "start_id", "forced_bos_id", "banned_ids",
        # rotary positions
        "base", "dim", "factor", "learned_len", "attention_factor", "low_freq_factor", "high_freq_factor", "beta_fast",
        "beta_slow", "truncate", "short_factors", "long_factors",
    )),
    "norm_position": ("pre", "post", "both", "output"),
    "norm_kind": ("layer", "rms", "scale"),
    "parallel": (None, "one", "two"),
    "biases": ("q", "k", "v", "out", "up", "down", "norm", "head"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu"),
    "qk_norm": (None, "head", "heads", "row"),
    "qk_norm_kind": ("layer", "rms"),
    "positions": ("sinusoidal", "learned", "rotary", "alibi", "relative", "disentangled", "none"),
    "sinusoid_layout": ("interleaved", "halves", "fairseq"),
    "pooling": (None, "max", "mean", "first"),
    "pooler": (None, "tanh", "relu", "gelu", "gelu_tanh", "silu"),
    "head": (None, "masked", "none"),
    "head_activation": (None, "relu", "gelu", "gelu_tanh", "silu"),
    "layout": ("halves", "interleaved"),
    "scaling": (None, "linear", "dynamic", "llama3", "yarn", "longrope"),
}

# What js/inference/sampling.js computes of `SETTINGS`. A page has no others: it leaves them out of its settings, and
# says so of a link or a script that names one.
SAMPLED = ("temperature", "top_k", "top_p", "min_p", "seed")


def pack(ckpt: Checkpoint) -> bytes:
    """The header and the weights of a checkpoint. A weight is in half precision where that holds its numbers exactly,
    as those of a shipped or exported checkpoint are; tied ones come once. Raises ValueError for what a browser does not
    compute, with all reasons."""
    tokenizers = dict.fromkeys((ckpt.tokenizer, ckpt.source_tokenizer))
    size = 2 * sum(weight.numel() for weight in ckpt.model.parameters())
    if reasons := reasons_against(ckpt.config, *tokenizers, size=size):
        raise ValueError(f"{ckpt.description.name} does not run in a browser: {'; '.join(reasons)}. Publish another "
                         "checkpoint, or serve this one with `headsup app`")
    parts, size = [], 0
    read = []
    for tokenizer in tokenizers:
        description, content = published(tokenizer)
        read.append({"description": description, "offset": size, "size": len(content)})
        parts.append(content + bytes(-len(content) % 4))
        size += len(parts[-1])
    tensors, places = [], {}
    for name, weight in ckpt.model.named_parameters(remove_duplicate=False):
        if id(weight) not in places:
            numbers = weight.detach().float().cpu()
            half = numbers.half()
            is_half = bool((half.float() == numbers).all())
            content = (half if is_half else numbers).contiguous().numpy().tobytes()
            places[id(weight)] = {"type": "float16" if is_half else "float32", "offset": size}
            parts.append(content + bytes(-len(content) % 4))
            size += len(parts[-1])
        tensors.append({"name": name, "shape": list(weight.shape), **places[id(weight)]})
    header = {"id": ckpt.id, "name": ckpt.description.name, "task": ckpt.config.task, "meta": ckpt.meta,
              "classes": ckpt.classes, "end_id": ckpt.end_id, "config": ckpt.config.model_dump(mode="json"),
              "tensors": tensors, "tokenizers": read}
    head = orjson.dumps(header)
    head += b" " * (-len(head) % 4)
    return b"".join([len(head).to_bytes(4, "little"), head, *parts])


def reasons_against(config: Config, *tokenizers: Tokenizer, size: int) -> list[str]:
    """Why a browser does not run a model with these tokenizers, and weights of so many bytes; empty if it does."""
    reasons = _beyond(config)
    for tokenizer in tokenizers:
        reasons += reasons_against_tokenizer(tokenizer)
    if size > LARGEST:
        reasons.append(f"its weights have {size:,} bytes, in half precision where that holds them, and at most "
                       f"{LARGEST:,} are packed")
    return reasons


def _beyond(config: Config) -> list[str]:
    """What is set and not computed."""
    reasons = []
    for name, field in type(config).model_fields.items():
        value = getattr(config, name)
        if isinstance(value, Config):
            reasons += _beyond(value)
        elif name not in COMPUTED:
            if value != field.default:
                reasons.append(f"{name} {value} is not computed there")
        elif (known := COMPUTED[name]) is not None:
            reasons += [f"{name} {one} is not computed there"
                        for one in (value if isinstance(value, tuple) else (value,)) if one not in known]
    return reasons
