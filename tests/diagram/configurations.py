"""Configurations of every preset and of odd shapes, and the ways that blocks and wires lie."""

from collections.abc import Iterator
from itertools import pairwise

from tests.choices import choices
from transformer.diagram.blocks import Block, Box
from transformer.settings.config import ModelConfig
from transformer.settings.presets import PRESETS

SMALL = {"d_model": 16, "n_heads": 2, "encoder_layers": 2, "decoder_layers": 2, "d_ff": 24, "vocab_size": 50,
         "max_len": 20}
DECODER, ENCODER = {**SMALL, "encoder_layers": 0}, {**SMALL, "decoder_layers": 0}
NORMS = choices(ModelConfig, "norm_position")

ODD = {
    "one layer, one head": ModelConfig(**{**DECODER, "decoder_layers": 1, "n_heads": 1}),
    "one layer each": ModelConfig(**{**SMALL, "encoder_layers": 1, "decoder_layers": 1}),
    "30 x 9, 3 of keys": ModelConfig(d_model=576, n_heads=9, kv_heads=3, encoder_layers=0, decoder_layers=30,
                                     d_ff=1536, vocab_size=49_152, positions="rotary", gated=True, norm_kind="rms"),
    "80 x 64": ModelConfig(d_model=8192, n_heads=64, kv_heads=8, encoder_layers=0, decoder_layers=80, d_ff=28_672,
                           vocab_size=128_256, max_len=8192, positions="rotary", tie_embeddings=False),
    "80 x 64 on both sides": ModelConfig(d_model=8192, n_heads=64, encoder_layers=80, decoder_layers=80),
    "128 heads": ModelConfig(d_model=1024, n_heads=128, encoder_layers=8, decoder_layers=1),
    "128 heads, 1 of keys": ModelConfig(**{**DECODER, "d_model": 256, "n_heads": 128}, kv_heads=1),
    "127 heads": ModelConfig(**{**DECODER, "d_model": 127, "n_heads": 127}, positions="none"),
    "wide numbers": ModelConfig(d_model=262_144, n_heads=128, encoder_layers=1, decoder_layers=1, d_ff=262_144,
                                vocab_size=1_000_000, max_len=64, gated=True, qk_norm="row", window=16_777_216,
                                activation="gelu_tanh", tie_embeddings=False, kv_heads=64, norm_position="both"),
    "attention alone": ModelConfig(**{**SMALL, "d_ff": 0}),
    "shared layers": ModelConfig(**{**ENCODER, "encoder_layers": 12}, shared_layers=True, embedding_dim=6, type_vocab=2,
                                 embedding_norm=True, positions="learned", norm_position="post", head="masked"),
    "shared layers, both": ModelConfig(**SMALL, shared_layers=True),
    "pooler": ModelConfig(**ENCODER, pooling="first", pooler="tanh", pooler_norm=True, n_classes=5),
    "mean of classes": ModelConfig(**ENCODER, pooling="mean", n_classes=10_000),
    "masked": ModelConfig(**ENCODER, head="masked", tie_embeddings=False, logits_bias=True),
    "no head": ModelConfig(**ENCODER, head="none"),
    "narrow embeddings": ModelConfig(**DECODER, embedding_dim=6, positions="learned"),
    "wide embeddings": ModelConfig(**DECODER, embedding_dim=40, positions="learned", widen_first=True),
    "embeddings of one width, projected": ModelConfig(**DECODER, embedding_dim=16),
    "segments": ModelConfig(**SMALL, type_vocab=16, embedding_norm=True, positions="learned"),
    "relative": ModelConfig(**SMALL, positions="relative"),
    "distances": ModelConfig(**ENCODER, positions="disentangled", head="none"),
    "windows in every other layer": ModelConfig(**{**DECODER, "decoder_layers": 26}, window=4,
                                                window_layers=tuple(range(0, 26, 2))),
    "windows on both sides": ModelConfig(**{**SMALL, "encoder_layers": 10, "decoder_layers": 9}, window=4, kv_heads=1,
                                         window_layers=(1, 3, 5, 7), norm_position="both"),
    "five windows to one": ModelConfig(**{**DECODER, "decoder_layers": 34}, window=4, qk_norm="head", kv_heads=1,
                                       window_layers=tuple(at for at in range(34) if at % 6 < 5)),
    "windows anywhere": ModelConfig(**{**DECODER, "decoder_layers": 40}, window=4,
                                    window_layers=(0, 3, 4, 9, 11, 12, 13, 17, 20, 22, 25, 29, 33, 34, 36, 39)),
    "no first norm": ModelConfig(**{**ENCODER, "encoder_layers": 22}, window=4, first_norm=False, head="masked",
                                 window_layers=tuple(at for at in range(22) if at % 3)),
    "scaled sums": ModelConfig(**SMALL, residual_scale=0.22),
    "no final norm": ModelConfig(**SMALL, final_norm=False),
    "two vocabularies": ModelConfig(**SMALL, src_vocab_size=77, tie_embeddings=False),
    **{f"parallel, {norms} norm, {norm}": ModelConfig(**{**DECODER, "n_heads": heads}, parallel=norms, kv_heads=1,
                                                       norm_position=norm)
       for norms in ("one", "two") for norm, heads in (("pre", 2), ("both", 16))},
    "parallel encoder": ModelConfig(**ENCODER, parallel="one", head="none"),
    **{f"norm {norm}": ModelConfig(**SMALL, norm_position=norm, norm_kind="scale") for norm in NORMS},
}
CONFIGS = {**{name: preset.model for name, preset in PRESETS.items()}, **ODD}


def apart(a: Box, b: Box, *, by: float = -1e-9) -> bool:
    """Whether two boxes (x, y, width, height) do not lie on each other."""
    return (a[0] + a[2] <= b[0] - by or b[0] + b[2] <= a[0] - by
            or a[1] + a[3] <= b[1] - by or b[1] + b[3] <= a[1] - by)


def inside(a: Box, b: Box) -> bool:
    """Whether the first box lies in the second."""
    close = 1e-6
    return (b[0] <= a[0] + close and a[0] + a[2] <= b[0] + b[2] + close and b[1] <= a[1] + close
            and a[1] + a[3] <= b[1] + b[3] + close)


def placed(block: Block, box: Box) -> Box:
    """A block's box in the whole, given that of the block in which it is."""
    x, y, width, height = block.box
    return box[0] + x * box[2], box[1] + y * box[3], width * box[2], height * box[3]


def families(block: Block) -> Iterator[tuple[Block, list[Block]]]:
    """Every block with those in it; of a stack its layers by their numbers."""
    parts = [block.blocks[template].numbered(at, len(block.layers)) for at, template in enumerate(block.layers)] \
        if block.layers else [*block.blocks]
    yield block, parts
    for part in parts:
        yield from families(part)


def touches(box: Box, points: tuple[tuple[float, float], ...]) -> bool:
    """Whether a line with level and upright parts goes through a box."""
    x, y, width, height = box
    return any(min(x0, x1) <= x + width and x <= max(x0, x1) and min(y0, y1) <= y + height and y <= max(y0, y1)
               for (x0, y0), (x1, y1) in pairwise(points))


def way(layer: Block) -> list[str]:
    """What rows meet in a layer, from the bottom up: on the way into each part and back, and then on the stream."""
    (stream,) = (wire.points for wire in layer.wires if wire.role == "stream")
    names: list[tuple[float, str]] = []
    on_stream = [block for block in layer.blocks if block.type in ("sum", "norm") and touches(block.box, stream)]
    for reads, adds in zip((one.points for one in layer.wires if one.role == "reads"),
                           (one.points for one in layer.wires if one.role == "adds"), strict=True):
        (part,) = (block for block in layer.blocks if block.type in ("attention", "feed_forward")
                   and touches(block.box, (reads[-1], reads[-1])) and touches(block.box, (adds[0], adds[0])))
        ends = [block for block in on_stream if touches(block.box, (adds[-1], adds[-1]))]
        assert [block.type for block in ends] == ["sum"] and ends[0].id.startswith(part.id)
        before, after = ([block.name for block in layer.blocks if block.type == "norm" and block not in on_stream
                          and touches(block.box, points)] for points in (reads, adds))
        names.append((ends[0].box[1], "|".join([*before, part.name, *after, "+"])))
    names += [(block.box[1], block.name) for block in on_stream if block.type == "norm"]
    return "|".join(name for _, name in sorted(names, reverse=True)).split("|")
