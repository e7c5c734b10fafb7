"""The drawing of an architecture says what the blocks say, and can be read in print."""

from functools import cache
from itertools import pairwise

import pytest

import transformer
from tests.diagram.configurations import CONFIGS, DECODER, ENCODER, SMALL
from tests.diagram.drawn import SVG, Drawn, read
from tests.rows import each_row
from transformer.diagram.blocks import COLOURS, model_blocks
from transformer.diagram.drawing import Diagram, architecture, share_text
from transformer.diagram.repeats import MOST_FRAMES, drawn_once
from transformer.diagram.text_width import text_width
from transformer.settings.config import ModelConfig
from transformer.settings.presets import PRESETS

CM = 72 / 2.54  # points


@cache
def drawn_as(name: str) -> tuple[Diagram, Drawn]:
    """The drawing of one of the configurations, and what is in it."""
    diagram = architecture(CONFIGS[name])
    return diagram, read(diagram)


@pytest.mark.parametrize("name", ["paper-base", "gpt2", "t5-small", "windows on both sides", "no first norm"])
def test_nor_where_layers_are_drawn_one_by_one(name):
    drawn = read(architecture(CONFIGS[name], apart=40))
    assert drawn.faults() == []
    assert sorted(drawn.frames()) == sorted(
        f"layer {at}" for layers in CONFIGS[name].stacks.values() for at in range(layers))


@pytest.mark.slow
@each_row("name", CONFIGS)
def test_it_fits_a_page_as_vectors_alone_and_no_text_is_too_small_or_lies_on_another_or_leaves_its_box(name):
    diagram, drawn = drawn_as(name)
    assert drawn.faults() == []
    assert diagram.width <= 17.01 * CM
    several = len(drawn.frames()) > len(CONFIGS[name].stacks)
    assert diagram.height <= (36 if several else 24) * CM
    assert f'width="{diagram.width:g}pt"' in diagram.svg and len(diagram.svg) < 60_000
    assert "<image" not in diagram.svg and "foreignObject" not in diagram.svg


@each_row("name", CONFIGS)
def test_every_part_is_named_with_its_shape_and_its_parameters(name):
    (_, drawn), whole = drawn_as(name), model_blocks(CONFIGS[name])
    titles = [title for _, title in drawn.boxes]
    for block in whole.blocks:
        if block.type == "stack":
            continue
        mine = [title for title in titles if title.startswith(f"{block.name} · ")]
        assert mine, block.id
        assert any(" × ".join(f"{size:,}" if isinstance(size, int) else size for size in block.gives) in title
                   for title in mine)
        assert not block.parameters or any(f"{block.parameters:,} parameter" in title for title in mine)
    for stack in (block for block in whole.blocks if block.type == "stack"):
        for layer in stack.blocks:
            for part in layer.blocks:
                if part.type != "sum" and part.parameters:
                    assert any(title.startswith(f"{part.name} · ") and f"{part.parameters:,} parameter" in title
                               for title in titles), part.id


@each_row("name", CONFIGS)
def test_an_attention_says_its_heads_and_weights_and_share(name):
    config, (_, drawn) = CONFIGS[name], drawn_as(name)
    whole = model_blocks(config)
    attentions = {block.name: block for block in whole.walk() if block.type == "attention"}
    letters = {"self-attention": ("S", "S") if len(config.stacks) == 2 else ("T", "T"),
               "masked self-attention": ("T", "T"), "cross-attention": ("T", "S")}
    for called, block in attentions.items():
        boxes = drawn.titled(f"{called} · ")
        assert boxes
        for box, _ in boxes:
            texts = drawn.texts_in(box)
            assert " × ".join((f"weights {config.n_heads:,}", *letters[called])) in texts
            assert any(text.split("…")[0] in called[:1].upper() + called[1:] for text in texts[:1])
            assert any(share_text(block.parameters, whole.parameters) in text for text in texts)
    paths = [*drawn.root.iter(f"{SVG}path")]
    squares = [path for path in paths if path.get("data-heads")]
    brackets = [path for path in paths if path.get("data-groups")]
    frames = sum(len(drawn.titled(f"{called} · ")) for called in attentions)
    assert len(squares) == frames
    assert {path.get("d").count("M") for path in squares} == {config.n_heads}
    assert [path.get("d").count("M") for path in brackets] == [config.groups] * (
        frames if config.groups < config.n_heads else 0)


@pytest.mark.parametrize(("text", "thousandths"), [("layer norm", 4723), ("T × 8,000", 4253), ("50%", 2001)])
def test_texts_are_as_wide_as_in_helvetica(text, thousandths):  # by the widths that Adobe published
    assert thousandths / 100 <= text_width(text, 10) <= 1.03 * thousandths / 100
    assert text_width(text, 10, bold=True) > 1.05 * text_width(text, 10)
    assert text_width(text, 10) == pytest.approx(10 * text_width(text, 1))


@each_row(("parameters", "text"), [
    (0, ""), (1, "< 0.1%"), (95, "0.1%"), (1_234, "1.2%"), (9_949, "9.9%"), (9_950, "10%"), (12_499, "12%"),
    (100_000, "100%")])
def test_a_share_is_rounded_to_what_can_be_read(parameters, text):
    assert share_text(parameters, 100_000) == text


def test_the_memory_is_drawn_to_every_cross_attention_that_is_drawn():
    diagram = architecture(ModelConfig(**SMALL), apart=2)
    drawn = read(diagram)
    crosses = [box for box, _ in drawn.titled("cross-attention · ")]
    ((memory, _),) = drawn.titled("memory · ")
    lines = [path.get("d").replace("M", "").split("L") for path in drawn.root.iter(f"{SVG}path")
             if path.get("stroke-width") == "1.4" and path.get("stroke") == COLOURS["cross"][1]]
    points = [[tuple(map(float, point.split())) for point in line] for line in lines]
    assert len(crosses) == len(points) == 2
    for line in points:
        assert line[0][0] == pytest.approx(memory[0] + memory[2], abs=0.02)
        assert sum(line[-1][0] == pytest.approx(box[0], abs=0.02) and box[1] < line[-1][1] < box[1] + box[3]
                   for box in crosses) == 1
        assert all(x0 == x1 or y0 == y1 for (x0, y0), (x1, y1) in pairwise(line))


def test_the_encoder_stands_on_the_left_and_the_decoder_mirrored_on_the_right():
    drawn = read(architecture(ModelConfig(**SMALL)))
    (source, _), (tokens, _) = (drawn.titled(name)[0] for name in ("source tokens · ", "tokens · "))
    assert source[0] + source[2] < tokens[0] and source[1] == tokens[1]
    (encoder, _), (decoder, _) = (drawn.titled(name)[0] for name in ("self-attention · ", "masked self-attention · "))
    assert encoder[0] - source[0] == pytest.approx(tokens[0] + tokens[2] - decoder[0] - decoder[2], abs=0.03)
    above = [drawn.titled(name)[0][0][1] for name in ("tokens · ", "final layer norm · ", "logits · ", "next token · ")]
    assert sorted(above, reverse=True) == above


@each_row(("layers", "times"), [(1, None), (2, "× 2"), (6, "× 6"), (12, "× 12"), (30, "× 30"),
                                               (80, "× 80"), (128, "× 128")])
def test_equal_layers_are_drawn_once_with_how_many_they_are(layers, times):
    config = ModelConfig(**{**DECODER, "decoder_layers": layers})
    drawn = read(architecture(config))
    said = [text.said for text in drawn.texts]
    assert len(drawn.titled("masked self-attention · ")) == 1
    assert [text for text in said if text.startswith("× ")] == [times] * (times is not None)
    assert f"Decoder, {layers} layer{'s' * (layers > 1)}" in said
    each = next(block for block in model_blocks(config).walk() if block.kind and block.heads)
    share = share_text(each.parameters, model_blocks(config).parameters)
    assert (f"{layers} × {share}" if layers > 1 else share) in said


def test_layers_that_repeat_in_a_pattern_are_bracketed_and_shared_ones_are_counted_once():
    said = [text.said for text in drawn_as("five windows to one")[1].texts]
    assert [text for text in said if text.startswith("× ")] == ["× 5", "× 5", "× 4"]
    assert "layers 30–33" in said and any(text.startswith("layers 0–4, 6–10, ") for text in said)
    said = [text.said for text in drawn_as("shared layers")[1].texts]
    assert "× 12" in said and any(text.endswith("%, shared") for text in said)
    assert not any(text.startswith("12 × ") for text in said)


@each_row("templates", [
    [0], [0, 0], [0, 1] * 13, [0] * 5 + [1], ([0] * 5 + [1]) * 5 + [0] * 4, [0, *[1, 1, 2] * 7], [0, 1, 2, 3] * 2,
    [0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1], [0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1]])
@each_row("apart", [1, 12])
def test_every_layer_is_drawn_once_and_in_its_order(templates, apart):
    cycles = drawn_once(templates, apart=apart)
    runs = [run for cycle in cycles for run in cycle.runs]
    assert sorted(layer for run in runs for layer in run.layers) == [*range(len(templates))]
    assert all(templates[layer] == run.template for run in runs for layer in run.layers)
    assert len(runs) <= max(MOST_FRAMES, apart)
    if all(run.together for run in runs):
        order = [run.template for cycle in cycles for _ in range(cycle.times) for run in cycle.runs
                 for _ in range(run.together)]
        assert order == templates
    if len(templates) <= apart:
        assert [run.layers for run in runs] == [(layer,) for layer in range(len(templates))]


def test_positions_and_embeddings_stand_in_the_order_in_which_they_come():
    config = ModelConfig(**ENCODER, head="none", embedding_dim=6, type_vocab=2, embedding_norm=True,
                         positions="learned")
    drawn = read(architecture(config))
    heights = [drawn.titled(f"{name} · ")[0][0][1] for name in (
        "tokens", "embedding", "+ learned positions", "+ segments", "layer norm · T × 6 → T × 6", "linear, wider",
        "layers 0–1")]
    assert sorted(heights, reverse=True) == heights
    assert not read(architecture(ModelConfig(**DECODER, positions="rotary"))).titled("+ ")
    (bias, said), *_ = drawn_as("relative")[1].titled("relative bias · ")
    assert "32 × 2" in said and "64 parameters" in said and bias[2] > 0


@pytest.mark.parametrize(("name", "last"), [("no head", "Final rows"), ("pooler", "Class"), ("masked", "Each token"),
                                            ("no final norm", "Next token")])
def test_above_stands_what_the_model_gives(name, last):
    _, drawn = drawn_as(name)
    (top, _) = min(drawn.boxes, key=lambda box: box[0][1])
    assert last in drawn.texts_in(top)


def test_it_is_shown_in_a_notebook_and_saved_as_svg(translator, tmp_path):
    diagram = translator.diagram()
    assert diagram.svg == str(diagram) == diagram._repr_svg_() == transformer.architecture(translator.config).svg
    assert diagram.save(tmp_path / "model.svg").read_text("utf-8") == diagram.svg
    assert len(repr(diagram)) < 200 and "2 encoder layers and 2 decoder layers" in repr(diagram)
    with pytest.raises(ValueError, match=r"model\.png does not end in \.svg; save it as model\.svg"):
        diagram.save(tmp_path / "model.png")
    with pytest.raises(ValueError, match="apart is 0"):
        translator.diagram(apart=0)
    grounds = [len([one for one in read(architecture(translator.config, transparent=transparent)).root
                    if one.tag == f"{SVG}rect" and one.get("fill") == "#ffffff" and one.find(f"{SVG}title") is None])
               for transparent in (False, True)]
    assert grounds == [1, 0]  # white, or left out


def test_the_command_draws_a_checkpoint_or_a_preset(headsup, translator, tmp_path):
    folder, out = translator.description.folder, tmp_path / "model.svg"
    code, said, _ = headsup("diagram", folder, "--out", out, "--apart", 2)
    assert not code and str(out) in said
    assert out.read_text("utf-8") == translator.diagram(apart=2).svg
    code, said, _ = headsup("diagram", "gpt2", "--transparent")
    assert not code and said == architecture(PRESETS["gpt2"].model, transparent=True).svg
    for arguments, why in ((("nobody",), "there is no checkpoint and no preset 'nobody'; `headsup list` shows"),
                           (("gpt2", "--out", tmp_path / "a.pdf"), "a.pdf does not end in .svg"),
                           (("gpt2", "--apart", 0), "apart is 0"),
                           (("gpt2", "--out", tmp_path / "none" / "a.svg"), "No such file or directory")):
        code, said, error = headsup("diagram", *arguments)
        assert (code, said) == (2, "") and why in error
