"""What the views paint, mark by mark, as accepted text: the scripts run in node, on canvases that write down what is
painted on them (tests/js/dom.js)."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from xml.etree import ElementTree

import numpy as np
import pytest

import transformer
from tests.attention_view.shapes import FAMILIES, IDS, shaped
from tests.node import answering, needs_node
from transformer.attention_view.heads import AttentionSource, Pooled
from transformer.attention_view.message import MODEL, head_of, live, pack, whole
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.model_message import model_message
from transformer.attention_view.shared import CHOICES
from transformer.settings.presets import PRESETS
from ui.figures import Dot, Thread, flow_picture, head_maps, role_card

LEVELS = CHOICES["level"]
pytestmark = needs_node


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[[dict], list]]:
    with answering("pictures.js") as ask:
        yield ask


@pytest.fixture(scope="module")
def viewed(ask, tmp_path_factory) -> Callable[..., list]:
    """viewed(source, selection, looks): for each look, which is the fields of a selection that differ, the lines of
    what the view paints and says: every mark, or with `whole` False what they are in few words; or with `saved` the
    file of that kind. alone: of a file, which has all numbers."""
    file = tmp_path_factory.mktemp("message") / "message"

    def viewed(source: AttentionSource, selection: Selection, looks: Sequence[dict] = ({},), *, alone: bool = False,
               **how: bool | str) -> list:
        of_model, more = model_message(source, selection)
        file.write_bytes(whole(source, selection) if alone else live(
            source, selection, Pooled.of(source, selection.kind), newest=True, answered=0,
            head=head_of(source, selection), more=more, **of_model))
        return ask({"message": str(file), "looks": looks, **how})

    return viewed


def under_titles(titles: Sequence[str], pictures: Sequence[list[str]], *, once: bool = True) -> str:
    """Pictures one below the other. once: without the lines that the picture before has too."""
    parts = []
    for at, (title, lines) in enumerate(zip(titles, pictures, strict=True)):
        before = {*pictures[at - 1]} if at and once else {}
        parts += [f"== {title}", *(line for line in lines if line not in before)]
    text = "\n".join(parts)
    assert "undefined" not in text and "NaN" not in text
    return text


def seen_by(ckpt: transformer.Checkpoint, text: str) -> AttentionSource:
    if not ckpt.config.decoder_layers:
        return transformer.attend(ckpt, text)
    return list(transformer.steps(ckpt, text, max_steps=4))[-1]


def in_model(source: AttentionSource) -> Selection:
    """One number of the last layer, in the picture of the whole model."""
    kind, config = source.kinds[-1], source.ckpt.config
    return Selection(kind, layer=config.layers(kind) - 1, head=min(1, config.n_heads - 1), view=MODEL, level="number",
                     pair=(3, 2), feature=2)


EVERY_LEVEL = [{"level": level} for level in LEVELS]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "of"), [*((name, "preset") for name in PRESETS),
                                          *((name, "family") for name in FAMILIES)])
def test_every_shape_is_drawn_from_the_whole_down_to_a_number(viewed, tmp_path, accepted, name, of):
    source = seen_by(shaped(name, tmp_path), IDS)
    pictures = viewed(source, in_model(source), EVERY_LEVEL, whole=False)
    assert len({*map(str, pictures)}) == len(LEVELS)
    accepted(f"{of}.{name}", under_titles(LEVELS, pictures))


@pytest.mark.rare("the same messages in a page of its own, which one preset and one family are drawn from in a browser")
def test_every_shape_is_shown_by_a_notebook(tmp_path):
    for name in (*PRESETS, *FAMILIES):
        ckpt = shaped(name, tmp_path / name)
        assert ckpt.id in transformer.show(ckpt, text=IDS, live=False).page, name


@pytest.mark.slow
def test_every_mark_of_the_whole_model_is_where_it_was_and_a_head_that_is_switched_off_is_crossed_out(viewed,
                                                                                                      translator,
                                                                                                      accepted):
    source = seen_by(translator, "I am")
    pictures = viewed(source, in_model(source), EVERY_LEVEL, whole=True)
    accepted("a model, every mark", under_titles(LEVELS, pictures, once=False))
    *_, source = transformer.steps(translator, "I am", max_steps=4, change=transformer.scale("X1H1", 0))
    pictures = viewed(source, in_model(source), EVERY_LEVEL, whole=False)
    accepted("a model with a head off", under_titles(LEVELS, pictures))


SVG = "{http://www.w3.org/2000/svg}"


def test_every_level_is_a_file_of_lines_areas_and_text(viewed, translator, writer, classifier):
    for ckpt in (translator, writer, classifier):
        source = seen_by(ckpt, "I am")
        for nth, svg in enumerate(viewed(source, in_model(source), EVERY_LEVEL, saved="svg")):
            where, root = f"{ckpt.config.task} {LEVELS[nth]}", ElementTree.fromstring(svg)
            words = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
            assert any(one.startswith(f"{ckpt.id} · training step 7 · text: I am") for one in words), where
            assert [one.count("›") for one in words if one.startswith("Model")] == [nth], where
            assert not [*root.iter(f"{SVG}image")], where
            numbers = [float(one.get(at)) for one in root.iter(f"{SVG}rect") for at in ("x", "y", "width", "height")]
            assert np.isfinite(numbers).all(), where


LOOKS = {
    "matrix": {}, "lines": {"view": "lines"}, "lines of two heads": {"view": "lines", "lit": (0, 2)},
    "scores": {"stage": "scores"}, "masked scores": {"stage": "masked"}, "what is moved": {"stage": "moved"},
    "in proportion": {"scale": "linear"}, "mean over heads": {"of": "mean_heads"}, "mean over all": {"of": "mean_all"},
    "rollout": {"of": "rollout"}, "rows by what is read": {"rows": "read"}, "a pair": {"pair": (2, 1)}}
FEW = {name: LOOKS[name] for name in ("matrix", "lines of two heads", "scores")}
SIZES = {"n_heads": 4, "head_dim": 4, "encoder_layers": 0, "positions": "rotary", "max_len": 80}


def attention(viewed, source: AttentionSource, looks: Mapping[str, dict], *, whole: bool = False) -> str:
    kind = source.kinds[-1]
    pictures = [viewed(source, Selection(kind, layer=1, head=2, **look), whole=whole)[0] for look in looks.values()]
    return under_titles([*looks], pictures, once=not whole)


def test_attention_to_few_tokens_and_to_many_is_drawn_as_it_was(viewed, make_checkpoint, accepted):
    source = seen_by(make_checkpoint(**SIZES), "I am")
    accepted("attention to 4 tokens, every mark", attention(viewed, source, FEW, whole=True))
    accepted("attention to 4 tokens", attention(viewed, source, LOOKS))
    source = seen_by(make_checkpoint(**SIZES), "We can go home. " * 4)
    accepted("attention to 64 tokens", attention(viewed, source, LOOKS))


@pytest.mark.slow
def test_attention_of_270_heads_is_drawn_as_it_was(viewed, make_checkpoint, accepted):
    ckpt = make_checkpoint(**SIZES | {"n_heads": 9, "decoder_layers": 30, "head_dim": 2, "d_model": 18})
    orders = {order: {"order": order} for order in CHOICES["order"]}
    source = seen_by(ckpt, "I am")
    accepted("attention of 270 heads", attention(viewed, source, FEW | orders))
    files = [viewed(source, Selection("decoder", layer=17, head=2, order=order), alone=True, whole=True)[0]
             for order in ("layers", "same")]
    accepted("a file of 270 heads", under_titles(["by layer", "by what they look at"], [
        [line for line in lines if line.startswith("“")] for lines in files], once=False))


DOTS = [Dot("top", "decoder", 5, None, "prediction", "the prediction", 1.0),
        Dot("d1", "decoder", 2, 1, "state", "after layer 0", 0.8),
        Dot("f1", "decoder", 3, 1, "feed_forward", "feed-forward of layer 1", 0.4),
        Dot("d0", "decoder", 0, 0, "state", "embedding", 0.3),
        Dot("e0", "encoder", 0, 0, "state", "embedding of the source", 0.5)]
THREADS = [Thread("", "d1", "top", "logits", "", "output", 1.0),
           Thread("decoder-0-1", "d0", "d1", "decoder", "D0H1", "D0H1, from a", 0.3),
           Thread("decoder-0-2", "d0", "d1", "decoder", "D0H2", "D0H2, from a", 0.1),
           Thread("cross-0-1", "e0", "d1", "cross", "X0H1", "X0H1, from b", 0.5),
           Thread("", "d1", "f1", "feed_forward", "", "into the neurons", 0.4)]


def test_a_flow_and_the_losses_of_a_training_are_drawn_as_they_were(ask, accepted):
    tokens = {"encoder": [(0, "▁b"), (1, "</s>")], "decoder": [(0, "▁a"), (1, "▁word"), (3, "\n")]}
    bands = {"encoder": [("layer 0", 0, 2)], "decoder": [("layer 0", 0, 2), ("layer 1", 2, 4)]}
    sent = flow_picture(DOTS, THREADS, tokens, bands, answer="c", chosen="decoder-0-1", alt="the flow", dark=False)
    accepted("a flow", "\n".join(ask({"flow": sent})))
    steps = [0, 10, 100, 1000]
    losses = {"training": [[step, 4 / (1 + step / 100)] for step in steps], "validation": [[10, 3.9], [1000, 1.1]],
              "losses": [[None, None], [None, 3.9], [None, None], [0.4, 1.1]], "steps": steps, "guessing": None,
              "called": ["training loss", "validation loss"]}
    accepted("losses", "\n".join(ask({"timeline": losses})))


@pytest.mark.parametrize("dark", [True, False])
def test_a_head_that_learns_is_drawn_in_the_theme_of_the_app(ask, tmp_path, accepted, dark):
    file = tmp_path / "message"
    file.write_bytes(pack(
        {"title": "a head", "dark": dark, "steps": [0, 500], "losses": [None, 1.25], "queries": ["▁a", "▁b"],
         "keys": ["▁c", "</s>"], "makes": ["▁b", "</s>"]},
        {"cells": np.array([[[128, 128], [128, 128]], [[255, 0], [30, 240]]], np.uint8)}))
    accepted(f"a head that learns, {'dark' if dark else 'light'}", "\n".join(ask({"growing": str(file)})))


def test_a_head_of_a_map_and_a_measure_of_the_list_are_chosen_by_a_click(ask, accepted):
    cards = [role_card(name, kind, np.array(values), np.array(values) / 2, 0.2, title=name, unit="weight", share=True)
             for name, kind, values in (("previous", "decoder", [[0.1, 0.2, 0.8], [0.0, 0.3, np.nan]]),
                                        ("first", "cross", [[0.1, 0.2], [0.9, 0.3]]))]
    sent = head_maps(cards, alt="maps", source="a@b", chosen=("decoder", 0, 2), chosen_card="previous", listed=True,
                     dark=False)
    accepted("maps of heads, clicked", "\n".join(ask({"maps": sent})))


def test_a_table_that_is_saved_has_the_numbers_of_the_stage_that_is_looked_at(viewed, translator):
    source = seen_by(translator, "I am")
    weights = source.attentions["cross"][1, 1].numpy()
    for stage in ("weights", "scores"):
        (text,) = viewed(source, Selection("cross", layer=1, head=1, stage=stage), saved="csv")
        rows = [row[1:] for row in csv.reader(text.splitlines()) if len(row) == weights.shape[1] + 1][1:]
        numbers = np.array(rows, float)
        found = np.exp(numbers) / np.exp(numbers).sum(axis=1, keepdims=True) if stage == "scores" else numbers
        np.testing.assert_allclose(found, weights, atol=1e-4)
