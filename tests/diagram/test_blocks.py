"""The blocks of a model hold every parameter once, have the shapes that it computes, and lie beside each other."""

import json
from itertools import combinations, pairwise
from time import perf_counter

import pytest
import torch

import transformer
from tests.diagram.configurations import (
    CONFIGS,
    DECODER,
    ENCODER,
    NORMS,
    ODD,
    SMALL,
    apart,
    families,
    inside,
    placed,
    touches,
    way,
)
from tests.rows import each_row
from transformer.diagram.blocks import Block, model_blocks
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig

SELF, CROSS, FORWARD = "masked self-attention", "cross-attention", "feed-forward"


def leaves(config: ModelConfig) -> list[Block]:
    return [block for block in model_blocks(config).walk() if not block.blocks]


def stack(config: ModelConfig, kind: str = "decoder") -> Block:
    return next(block for block in model_blocks(config).blocks if block.id == kind)


def ends(config: ModelConfig, kind: str) -> list[Block]:
    """What comes after a stack, from the bottom up."""
    blocks = [block for block in model_blocks(config).blocks if block.id.startswith(kind)]
    return blocks[[block.type for block in blocks].index("stack") + 1:]


@pytest.mark.slow
@each_row("name", CONFIGS)
def test_every_parameter_is_in_one_block_and_a_block_has_those_of_all_in_it(name):
    config = CONFIGS[name]
    with torch.device("meta"):
        total = sum(parameter.numel() for parameter in Transformer(config).parameters())
    counted = {}
    for block in leaves(config):
        kind, layer, *rest = block.id.split(".")
        shared = config.shared_layers and bool(rest)
        counted[(kind, *rest) if shared else (kind, layer, *rest)] = block.parameters
    assert sum(counted.values()) == model_blocks(config).parameters == total
    for block, parts in families(model_blocks(config)):
        once = parts[:1] if block.type == "stack" and config.shared_layers else parts
        assert not parts or block.parameters == sum(part.parameters for part in once), block.id


@pytest.mark.slow
@each_row("name", CONFIGS)
def test_every_block_has_an_id_of_its_own_and_every_layer_is_there_once(name):
    config = CONFIGS[name]
    blocks = [*model_blocks(config).walk()]
    assert len({block.id for block in blocks}) == len(blocks)
    assert [block.id for block in blocks if block.type == "layer"] == [
        f"{kind}.{layer}" for kind, layers in config.stacks.items() for layer in range(layers)]
    assert [block.id for block in blocks if block.kind == "cross"] == [
        f"decoder.{layer}.cross" for layer in range(config.layers("cross"))]
    assert not any("{" in block.id + block.name for block in blocks)


@each_row("name", CONFIGS)
def test_blocks_lie_in_their_box_and_never_on_each_other_nor_on_a_wire_that_does_not_join_them(name):
    for block, parts in families(model_blocks(CONFIGS[name])):
        for part in parts:
            assert inside(part.box, (0, 0, 1, 1)), part.id
        for a, b in combinations(parts, 2):
            assert apart(a.box, b.box), (block.id, a.id, b.id)
        for wire in block.wires if block.type == "layer" else ():
            own = [part for part in parts if part.type in ("attention", "feed_forward")
                   and touches(part.box, wire.points)]
            assert len(own) == (wire.role != "stream"), (block.id, wire)


@each_row("name", CONFIGS)
def test_the_memory_goes_to_every_cross_attention(name):
    config = CONFIGS[name]
    whole = model_blocks(config)
    wires = [wire for wire in whole.wires if wire.role == "memory"]
    boxes = [placed(block, placed(layer, placed(decoder, (0, 0, 1, 1))))
             for decoder, layers in families(whole) if decoder.id == "decoder"
             for layer in layers for block in layer.blocks if block.kind == "cross"]
    assert len(boxes) == len(wires) == config.layers("cross")
    for wire, box in zip(wires, boxes, strict=True):
        (memory,) = (block for block in whole.blocks if block.type == "memory")
        assert touches(memory.box, (wire.points[0], wire.points[0]))
        (x, y) = wire.points[-1]
        assert x == pytest.approx(box[0]) and box[1] < y < box[1] + box[3]


@pytest.mark.parametrize(("norm", "layer"), [
    ("pre", ["layer norm", SELF, "+", "layer norm", FORWARD, "+"]),
    ("post", [SELF, "+", "layer norm", FORWARD, "+", "layer norm"]),
    ("both", ["layer norm", SELF, "layer norm", "+", "layer norm", FORWARD, "layer norm", "+"]),
    ("output", [SELF, "layer norm", "+", FORWARD, "layer norm", "+"])])
def test_norms_stand_where_the_model_has_them(norm, layer):
    config = ModelConfig(**DECODER, norm_position=norm)
    assert [way(block) for block in stack(config).blocks] == [layer]
    assert ("final layer norm" in [block.name for block in ends(config, "decoder")]) == (norm != "post")
    first, *others = (way(block) for block in stack(config.replace(first_norm=False)).blocks)
    if norm == "output":
        assert first == layer
    else:
        changed = [*layer]
        changed.pop(layer.index("layer norm"))
        assert first == changed and others == [layer]


@pytest.mark.parametrize("norm", NORMS)
def test_each_part_of_a_layer_is_added_to_what_went_in(norm):
    (layer,) = stack(ModelConfig(**SMALL, norm_position=norm)).blocks
    assert [name for name in way(layer) if "norm" not in name] == [SELF, "+", CROSS, "+", FORWARD, "+"]
    (alone,) = stack(ModelConfig(**{**SMALL, "d_ff": 0}, norm_position=norm)).blocks
    assert [name for name in way(alone) if "norm" not in name] == [SELF, "+", CROSS, "+"]


@pytest.mark.parametrize(("norms", "norm", "layer"), [
    ("one", "pre", ["layer norm", SELF, "+", FORWARD, "+"]),
    ("two", "pre", ["layer norm", SELF, "+", "layer norm", FORWARD, "+"]),
    ("two", "both", ["layer norm", SELF, "layer norm", "+", "layer norm", FORWARD, "layer norm", "+"])])
def test_parallel_parts_stand_beside_each_other_and_read_the_same_rows(norms, norm, layer):
    (block,) = stack(ModelConfig(**DECODER, parallel=norms, norm_position=norm)).blocks
    assert way(block) == layer
    attention, forward = (one.box for one in block.blocks if one.type in ("attention", "feed_forward"))
    assert attention[1] == forward[1] and attention[3] == forward[3] and attention[0] + attention[2] < forward[0]
    reads = [wire.points for wire in block.wires if wire.role == "reads"]
    (lane,) = (one.box for one in block.blocks if one.id.endswith(".attention_norm"))
    if norms == "one":  # behind the norm that both read, not from the stream
        assert lane[0] + lane[2] <= reads[1][0][0] < attention[0]
    else:
        assert reads[0][0][0] == reads[1][0][0]


def test_positions_come_in_where_they_do():
    def before(positions: str, **changes: object) -> list[str]:
        blocks = model_blocks(ModelConfig(**{**DECODER, **changes}, positions=positions)).blocks
        return [block.name for block in blocks[:[block.type for block in blocks].index("stack")]]

    def note(positions: str) -> str:
        return next(block.note for block in leaves(ModelConfig(**SMALL, positions=positions))
                    if block.kind == "decoder")

    assert before("sinusoidal") == ["tokens", "embedding", "+ positions (sine waves)"]
    assert before("learned") == ["tokens", "embedding", "+ learned positions"]
    assert before("none") == before("rotary") == before("alibi") == ["tokens", "embedding"]
    assert before("relative") == ["tokens", "embedding", "relative bias"]
    assert before("learned", type_vocab=2, embedding_norm=True, embedding_dim=6) == [
        "tokens", "embedding", "+ learned positions", "+ segments", "layer norm", "linear, wider"]
    assert before("learned", embedding_dim=6, widen_first=True) == [
        "tokens", "embedding", "linear, wider", "+ learned positions"]
    assert [note(kind) for kind in ("learned", "rotary", "alibi")] == [
        "2 heads × 8", "2 heads × 8, rotary", "2 heads × 8, ALiBi"]
    assert all("rotary" not in block.note for block in leaves(ModelConfig(**SMALL, positions="rotary"))
               if block.kind == "cross")


@each_row(("name", "names", "shape"), [
    ("no head", ["final layer norm", "final rows"], ("T", 16)),
    ("pooler", ["final layer norm", "first token", "linear, tanh", "logits", "class"], (5,)),
    ("mean of classes", ["final layer norm", "mean over tokens", "logits", "class"], (10_000,)),
    ("masked", ["final layer norm", "linear, relu, norm", "logits", "each token"], ("T", 50)),
    ("narrow embeddings", ["final layer norm", "linear, narrower", "logits", "next token"], (50,)),
    ("no final norm", ["logits", "next token"], (50,)), ("norm post", ["logits", "next token"], (50,)),
    ("two vocabularies", ["final layer norm", "logits", "next token"], (50,))])
def test_a_model_ends_in_what_it_is_for_and_an_encoder_with_a_decoder_in_the_memory(name, names, shape):
    assert [block.type for block in ends(ModelConfig(**SMALL), "encoder")] == ["norm", "memory"]
    config = ODD[name]
    blocks = ends(config, [*config.stacks][-1])
    assert [block.name for block in blocks] == names
    assert blocks[-1].gives == model_blocks(config).gives == shape
    for below, above in pairwise(blocks):
        assert above.takes == below.gives and above.box[1] + above.box[3] <= below.box[1]


def test_layers_that_differ_have_templates_of_their_own_and_grouped_heads_and_gates_are_said():
    layers = stack(ODD["five windows to one"]).layers
    assert layers == tuple(at % 6 // 5 for at in range(34))
    notes = [next(block.note for block in template.blocks if block.kind)
             for template in stack(ODD["five windows to one"]).blocks]
    assert ["sees 4 tokens" in note for note in notes] == [True, False]
    assert stack(ODD["no first norm"], "encoder").layers[:6] == (0, 1, 1, 2, 1, 1)
    assert len({*stack(ODD["shared layers"], "encoder").layers}) == 1
    config = ODD["30 x 9, 3 of keys"]
    (layer,) = stack(config).blocks
    attention, forward = (block for block in layer.blocks if block.type in ("attention", "feed_forward"))
    assert (attention.heads.count, attention.heads.groups, attention.heads.width) == (9, 3, 64)
    assert attention.note == "9 heads × 64, 3 heads of keys and values, rotary"
    assert forward.name == "gated feed-forward" and {block.name for block in layer.blocks if block.type == "norm"} == {
        "RMS norm"}


@each_row("changes", [
    {}, {"encoder_layers": 0, "kv_heads": 1}, {"encoder_layers": 0, "parallel": "one", "norm_position": "pre"},
    {"d_ff": 0}, {"decoder_layers": 0, "pooling": "first", "pooler": "tanh", "n_classes": 3},
    {"decoder_layers": 0, "head": "masked", "embedding_dim": 6, "type_vocab": 2, "positions": "learned"},
    {"decoder_layers": 0, "head": "none", "norm_position": "post"}])
def test_shapes_are_those_that_the_model_computes(make_checkpoint, target_for, changes):
    ckpt = make_checkpoint(**changes)
    text = "I am cold."
    run = transformer.run(ckpt, text, target_for(ckpt, "Go on."), capture="*")
    config, stacks = ckpt.config, [*ckpt.config.stacks]
    first, last = stacks[0], stacks[-1]
    letters = {letter: run[f"{kind}.0.resid_pre"].shape[0] for letter, kind in (("S", first), ("T", last))}
    whole = {block.id: block for block in model_blocks(config).walk()}

    def shape(block: Block, sizes: tuple = ()) -> tuple[int, ...]:
        return tuple(letters.get(size, size) for size in sizes or block.gives)

    compared = 0
    for kind in config.kinds:
        side, part = ("decoder", "cross") if kind == "cross" else (kind, "attention")
        for layer in range(config.layers(kind)):
            block = whole[f"{side}.{layer}.{part}"]
            assert shape(block, block.takes) == tuple(run[f"{side}.{layer}.resid_pre"].shape)
            assert shape(block) == tuple(run[f"{kind}.{layer}.attn_out"].shape)
            heads, rows = block.heads, shape(block)[0]
            assert tuple(run[f"{kind}.{layer}.q"].shape) == (heads.count, rows, heads.width)
            assert tuple(run[f"{kind}.{layer}.k"].shape)[::2] == (heads.groups, heads.width)
            assert tuple(run[f"{kind}.{layer}.pattern"].shape)[:2] == (heads.count, rows)
            compared += 1
    for kind, layers in config.stacks.items():
        assert shape(whole[kind], whole[kind].takes) == tuple(run[f"{kind}.0.resid_pre"].shape)
        assert shape(whole[kind]) == tuple(run[f"{kind}.{layers - 1}.resid_post"].shape)
        assert whole[f"{kind}.embedding"].takes == whole[f"{kind}.tokens"].gives
        if config.d_ff:
            assert shape(whole[f"{kind}.0.feed_forward"]) == tuple(run[f"{kind}.0.mlp_out"].shape)
    if config.head != "none":
        assert shape(whole[f"{last}.output"]) == tuple(run.logits.shape)
    assert compared == sum(config.layers(kind) for kind in config.kinds)


@pytest.mark.slow
def test_eighty_layers_are_laid_out_fast_and_small():
    model_blocks(ModelConfig(**ENCODER, head="none"))  # what is imported once
    for name in ("80 x 64", "80 x 64 on both sides"):
        start = perf_counter()
        whole = model_blocks.__wrapped__(ODD[name])  # not one that is kept
        assert perf_counter() - start < 20  # 0.1 s and 0.4 s where nothing else runs; weights would fill 300 GB
        assert len(json.dumps(whole.to_json())) < 20_000
        assert whole.parameters > 1e10


def test_its_json_says_all_that_is_not_empty_and_nothing_else():
    said = model_blocks(ModelConfig(**SMALL)).to_json()
    encoder = next(block for block in said["blocks"] if block["id"] == "encoder")
    assert encoder["layers"] == (0, 0) and "mirrored" not in encoder
    (layer,) = encoder["blocks"]
    assert layer["id"] == "encoder.{layer}" and layer["name"] == "layer {layer}"
    attention = next(block for block in layer["blocks"] if block["type"] == "attention")
    assert attention["heads"]["count"] == 2 and attention["takes"] == ("S", 16) and "blocks" not in attention
    assert next(block for block in said["blocks"] if block["id"] == "decoder")["mirrored"] is True
    assert json.loads(json.dumps(said))["parameters"] == said["parameters"]
