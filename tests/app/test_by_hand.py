"""By hand, without a browser: the numbers shown are those that numpy computes from the matrices shown before them."""

import json
import re
from html import unescape

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from tests.markup import Markup
from transformer.by_hand.exercises import exercises
from transformer.by_hand.experiments import (
    folding,
    mask_after_softmax,
    padding_masked,
    scales,
    softmax_over_queries,
    spreads,
)
from transformer.by_hand.notebook import lines
from transformer.by_hand.stages import BOUNDS, SCALES, SENTENCE, ByHand, Settings
from transformer.by_hand.window import WHOLE, WINDOW
from transformer.inference.decoding import start
from ui.views.by_hand.settings import FIELDS, PARTS, STEPS

from .page import plain, press, put, rows_of

PAGE = "by_hand"
_NUMBERS = "td[@title][not(contains(concat(' ', @class, ' '), ' sum '))]"
CLOSE = {"atol": 1e-4, "rtol": 1e-4}
OPENING = {"step": "all"}
OPEN = {name: "open" for name in FIELDS if name.startswith("weights_")}  # the boxes of weights
WIDEST = {name: str(most) for name, (_, most) in BOUNDS.items() if name != "seed"}
LONGEST = "a b c d e f g h i j k l"
FIRST = {"text": SENTENCE, "seed": "123", "d": "4", "d_k": "3", "d_v": "3", "heads": "1", "scale": "sqrt(d_k)",
         "mask": "none", "query": "6", "key": "0", "part": "steps", "step": "all"}


class Matrices:
    """Name -> numbers, shape and words of every matrix of a page, the sums beside them left out; and its marked row."""

    def __init__(self, at: AppTest) -> None:
        self.values, self.shapes, self.marked, self.words = {}, {}, {}, {}
        for figure in Markup(html_of_all(at)).root.xpath("//figure"):
            name = figure.get("data-name")
            assert name not in self.values, f"two matrices are called {name}"
            rows = [row for row in figure.xpath(".//tr") if row.xpath(_NUMBERS)]
            self.values[name] = np.array([[float(title) for title in row.xpath(f"{_NUMBERS}/@title")] for row in rows])
            self.words[name] = [head.text_content() for head in figure.xpath(".//th[@scope='row']")]
            self.shapes[name] = "".join(shape.text_content() for shape in figure.xpath(".//span[@class='shape']"))
            for place, row in enumerate(rows):
                if "chosen" in row.get("class", "").split():
                    self.marked[name] = place


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def html_of_all(at: AppTest) -> str:
    return "".join(element.value for element in at.get("html"))


def said(at: AppTest) -> str:
    """All the text of the page, tables as one word after another."""
    texts = "\n".join(str(element.value) for kind in ("markdown", "caption", "html") for element in at.get(kind))
    return unescape(re.sub(r"<[^>]+>", "", texts.replace("</td><td", "</td> <td")))


def settings_line(at: AppTest) -> str:
    """What the button of the settings says of them."""
    (label,) = [block.proto.popover.label for block in at.get("popover") if "Settings" in block.proto.popover.label]
    return plain(label)


def follows(matrices: dict[str, np.ndarray], scaled: str, divisor: float, *, causal: bool) -> None:
    """Each matrix of head 0 and of the block is made of those before it."""
    m = matrices
    words = len(m["ids"][0])
    x = m["x = embeddings + positions" if "positions" in m else "x = embeddings"]
    q, k, v = (x @ m[name] for name in ("W_q", "W_k", "W_v"))
    mask = np.where(np.tri(words, dtype=bool) | (not causal), 0, -np.inf)
    weights = softmax(q @ k.T / divisor + mask)
    expected = {
        "q = x W_q": q, "k = x W_k": k, "v = x W_v": v, "q kᵀ": q @ k.T, scaled: q @ k.T / divisor, "mask": mask,
        "weights": weights, "context = weights v": weights @ v,
        "attended = concatenation W_o": m["concatenation"] @ m["W_o"],
        "x + attended": x + m["attended = concatenation W_o"],
        "max(0, y W_1)": np.maximum(m["y = LayerNorm(x + attended)"] @ m["W_1"], 0),
        "max(0, y W_1) W_2": m["max(0, y W_1)"] @ m["W_2"]}
    if causal:
        expected["scores + mask"] = q @ k.T / divisor + mask
    for name, values in expected.items():
        np.testing.assert_allclose(m[name], values, **CLOSE, err_msg=name)
    np.testing.assert_allclose(m["concatenation"][:, : v.shape[1]], weights @ v, **CLOSE)


def test_it_opens_with_the_sentence_every_shape_and_the_steps_in_their_order(open_page):
    assert open_page().query_params == FIRST
    page = Matrices(at := open_page(**OPEN))
    assert page.values["ids"].tolist() == [[0, 4, 6, 5, 3, 1, 2]]
    assert page.shapes.pop("ids") == "(7,)"
    assert page.shapes == {name: str(page.values[name].shape) for name in page.shapes}
    assert {"weights of head 0", "W_o", "y W_1"} < set(page.shapes)
    np.testing.assert_allclose(page.values["output"], ByHand(Settings()).block.output, **CLOSE)
    assert [heading.value.split(" · ")[0] for heading in at.header] == [str(number) for number in range(1, 15)]


@pytest.mark.parametrize(("mask", "positions"), [("none", "yes"), ("causal", "no")])
@pytest.mark.parametrize("scale", SCALES)
def test_every_matrix_is_made_of_those_before_it(open_page, scale, mask, positions):
    at = open_page(scale=scale, mask=mask, positions=positions, seed="9", heads="3", **OPEN)
    values = Matrices(at).values
    divisor = {"sqrt(d_k)": 3**0.5, "1": 1, "sqrt(d_model)": 2, "d_k": 3, "split": 3**0.5}[scale]
    follows(values, SCALES[scale].quotient, divisor, causal=mask == "causal")
    if positions == "yes":
        np.testing.assert_allclose(values["x = embeddings + positions"], ByHand(Settings(seed=9, positions=True)).x,
                                   **CLOSE)
        np.testing.assert_allclose(values["embeddings"] + values["positions"], values["x = embeddings + positions"],
                                   **CLOSE)
    if scale == "split":
        for name in ("q", "k"):
            np.testing.assert_allclose(values[f"{name} / ⁴√d_k"], values[f"{name} = x W_{name}"] / 3**0.25, **CLOSE)
        assert "each divided by ⁴√d_k = 1.32" in said(at)


def test_changing_a_control_redraws_what_follows_and_leaves_what_came_before(open_page):
    at = open_page(**OPEN)
    before = Matrices(at).values
    put(at, "by_hand_mask", "causal")
    put(at, "by_hand_scale", "1")
    put(at, "by_hand_d_v", 11)
    after = Matrices(at).values
    np.testing.assert_array_equal(before["q kᵀ"], after["q kᵀ"])
    assert after["v = x W_v"].shape == (7, 11)
    follows(after, "q kᵀ / 1", 1, causal=True)
    put(at, "by_hand_seed", 5)
    assert not np.allclose(Matrices(at).values["q kᵀ"], after["q kᵀ"])
    put(at, "by_hand_positions", True)
    assert "x = embeddings + positions" in Matrices(at).values
    assert {"mask": "causal", "scale": "1", "d_v": "11", "positions": "yes"}.items() <= at.query_params.items()


def test_a_word_moves_and_stays_chosen(open_page):
    at = open_page(query="2", key="1")
    press(at, "by_hand_left")
    assert at.query_params["text"] == "Life too is short for bad coffee"
    assert (at.query_params["query"], at.query_params["key"]) == ("1", "2")
    assert Matrices(at).values["ids"].tolist() == [[0, 6, 4, 5, 3, 1, 2]]
    press(at, "by_hand_right")
    press(at, "by_hand_right")
    assert at.query_params["text"] == "Life is short too for bad coffee"
    assert at.query_params["query"] == "3"
    assert open_page(query="0").button(key="by_hand_left").disabled
    assert open_page(query="6").button(key="by_hand_right").disabled
    at = press(open_page(numbers="torch", text="Life is short, eat dessert first", query="2"), "by_hand_right")
    assert at.query_params["text"] == "Life is eat short dessert first"  # the words that torch's lines read
    assert at.query_params["query"] == "3"


def test_the_query_is_marked_in_every_matrix_and_the_key_among_keys_and_values(open_page):
    at = open_page(query="3", key="5")
    marked = Matrices(at).marked
    assert marked.pop("embedding table") == 5  # the row of "short" in the vocabulary
    assert (marked.pop("k = x W_k"), marked.pop("v = x W_v")) == (5, 5)
    assert set(marked.values()) == {3}
    assert {"q = x W_q", "q kᵀ", "weights", "context = weights v", "concatenation", "output"} <= marked.keys()


def test_the_spelled_out_weight_has_the_numbers_of_the_matrices(open_page):
    at = open_page(query="6", key="0")
    values, text = Matrices(at).values, said(at)
    terms = [f"{a:.2f}".join(["(", ")"] if a < 0 else ["", ""]) for pair in
             zip(values["q = x W_q"][6], values["k = x W_k"][0], strict=True) for a in pair]
    product, scaled, weight = values["q kᵀ"][6, 0], values["q kᵀ / √d_k"][6, 0], values["weights"][6, 0]
    assert f"q[coffee] · k[Life] = {terms[0]}·{terms[1]} + " in text
    spelled = text[text.index("k[Life] ="):]
    assert spelled[:spelled.index("\n")].count("·") == 3
    assert f"{product:.2f} / √d_k = {product:.2f} / 1.73 = {scaled:.2f}" in text
    assert f"= {np.exp(scaled):.2f} / {np.exp(values['q kᵀ / √d_k'][6]).sum():.2f} = {weight:.2f}" in text
    assert "bad comes after is: −∞ takes the place of" in said(open_page(mask="causal", query="1", key="5"))


@pytest.mark.parametrize("text", ["", "   "])
def test_nothing_typed_asks_for_a_sentence_and_too_much_names_the_limit(open_page, text):
    at = open_page(text=text)
    assert [info.value for info in at.info] == ["Type a sentence above and press Enter."]
    assert not at.error
    put(at, "by_hand_text", "one")
    assert Matrices(at).values["weights"].tolist() == [[1.0]]
    put(at, "by_hand_text", "word " * 13)
    assert ["13 words; at most 12" in error.value for error in at.error] == [True]
    put(at, "by_hand_text", "a" * 5_000)
    assert "5,000 characters; at most 200" in at.error[0].value


@pytest.mark.parametrize("part", PARTS)
def test_every_part_opens_on_any_words_and_at_the_bounds(open_page, shipped, part):
    at = open_page(part=part, text="<s>x</s> <img src=x> $a$ :red[b] `c` *d* 😀 the the", mask="causal", heads="3",
                   checkpoint=shipped("write").id)
    assert not at.error
    assert at.query_params["part"] == part
    assert not re.search("<img|<s>", html_of_all(at))
    assert not open_page(part=part, text="one", d="2", d_k="1", d_v="1", heads="1", mask="causal").error


@pytest.mark.parametrize("widths", [WIDEST, pytest.param(
    dict.fromkeys(("d", "d_k", "d_v"), "33") | {"heads": "8"}, marks=pytest.mark.rare("a second width of matrices"))],
    ids=["the widest", "33"])
@pytest.mark.parametrize("part", ["steps", "exercise", "scale", "batch", "slips"])
def test_a_page_never_has_more_cells_than_a_browser_draws_at_once(open_page, part, widths):
    at = open_page(part=part, text=LONGEST, mask="causal", positions="yes", scale="split", fill="matrix", **widths)
    assert html_of_all(at).count("<td") < 4_000
    if part == "exercise":
        assert sum(map(len, exercise(at)["answers"])) <= 12 * WHOLE
    if part == "steps":
        for step in STEPS if widths != WIDEST else ("all", "qkv", "products", "context", "feed-forward"):
            at = open_page(step=step, text=LONGEST, mask="causal", scale="split", **OPEN, **widths)
            assert html_of_all(at).count("<td") < (1_400 if step != "all" else 5_000), step


def test_a_window_of_wide_matrices_moves_with_its_place_said_and_stays_in_the_link(open_page, visit):
    at = open_page(step="qkv", d="40", d_k="512", d_v="5", weights_3="open")
    hand = ByHand(Settings(d=40, d_k=512, d_v=5))
    shown = Matrices(at).values
    np.testing.assert_allclose(shown["q = x W_q"], hand.heads[0].q[:, :WINDOW], **CLOSE)
    np.testing.assert_allclose(shown["W_q"], hand.projections[0].q[:WINDOW, :WINDOW], **CLOSE)
    np.testing.assert_allclose(shown["v = x W_v"], hand.heads[0].v, **CLOSE)
    assert "first" not in at.query_params
    put(at, "by_hand_first", 2 * WINDOW + 3)  # typed, inside of a window
    assert at.query_params["first"] == str(2 * WINDOW)
    shown = Matrices(at).values
    np.testing.assert_allclose(shown["k = x W_k"], hand.heads[0].k[:, 2 * WINDOW:3 * WINDOW], **CLOSE)
    text = said(at)
    assert text.count("columns 16 to 23 of 512") == 4  # q, k, W_q, W_k
    assert "rows 16 to 23 of 40" in text
    assert "to 23 of 512 in the longest row or column. Sums go over all of them." in text
    again = visit(PAGE, **at.query_params)
    assert Matrices(again).values["q = x W_q"].tolist() == shown["q = x W_q"].tolist()
    assert not [box for box in open_page(step="qkv").number_input if box.key == "by_hand_first"]


@pytest.mark.parametrize("step", [*STEPS])
def test_the_places_to_choose_reach_to_the_end_of_the_widest_matrix_of_a_step(open_page, step):
    at = open_page(step=step, d="20", d_k="12", d_v="28", heads="2")
    sides = [int(side) for side in re.findall(r"(?:column|row)s? \d+(?: to \d+)? of (\d+)", said(at))]
    longest = re.findall(r"to \d+ of (\d+) in the longest row or column", said(at))
    assert not sides or [max(sides)] == [int(one) for one in longest]


def test_past_a_matrix_s_end_its_last_window_stands_while_wider_ones_go_on(open_page):
    at = open_page(d="33", d_k="3", d_v="40", heads="8", first="48")
    hand, shown = ByHand(Settings(d=33, d_v=40, heads=8)), Matrices(at).values
    np.testing.assert_allclose(shown["concatenation"], hand.block.concatenated[:, 48:56], **CLOSE)
    np.testing.assert_allclose(shown["x = embeddings"], hand.x[:, 32:33], **CLOSE)
    assert "column 32 of 33" in said(at)
    assert at.query_params["first"] == "48"


@pytest.mark.parametrize("sent", ["999999999", "-1", "0", "1e300"])
def test_numbers_of_a_link_are_brought_into_their_bounds(open_page, sent):
    at = open_page(**dict.fromkeys(BOUNDS, sent))
    assert not at.error
    assert {name: at.query_params[name] for name in BOUNDS} == {
        name: str(int(min(max(float(sent), least), most))) for name, (least, most) in BOUNDS.items()}


@pytest.mark.parametrize(("first", "stands"), [("-9", None), ("0", None), ("nan", None), ("99999", "96")])
def test_the_first_window_is_not_in_the_link_and_the_last_is_the_farthest(open_page, first, stands):
    at = open_page(step="qkv", d_k="100", first=first)
    assert at.query_params.get("first") == stands
    assert Matrices(at).values["q = x W_q"].shape == (7, 4 if stands else WINDOW)


def test_a_wide_product_is_spelled_out_over_all_its_numbers(open_page):
    text = said(open_page(step="products", d_k="512", first="8", query="2", key="4"))
    product = float(ByHand(Settings(d_k=512)).heads[0].products[2, 4])
    spelled = text[text.index("k[for] = "):]
    assert spelled[:spelled.index("\n") if "\n" in spelled else None].count("·") == WINDOW
    assert f"(the sum of the other 504 products) = {product:.2f}" in spelled
    assert "context[too, 8] = " in said(open_page(step="context", d_v="512", first="8", query="2"))


@pytest.mark.parametrize("step", ["qkv", "products", "scaled", "context"])
def test_a_wide_exercise_asks_only_for_cells_on_the_screen(open_page, step):
    settings = Settings(d=64, d_k=512, d_v=40, scale="split")
    at = open_page(part="exercise", step=step, d="64", d_k="512", d_v="40", scale="split", first="16")
    task, data = exercises(ByHand(settings), 16)[STEPS[step]], exercise(at)
    _, across = task.answer.seen
    assert data["columns"] == [str(at) if task.answer.columns is None else SENTENCE.split()[at] for at in across]
    np.testing.assert_allclose(answers(data), task.answer.values[:, across.start:across.stop], atol=0.0051)
    given = Matrices(at).values
    for one in task.given:
        np.testing.assert_allclose(given[one.name], one.values.numpy()[np.ix_(*one.seen)], **CLOSE)
    other = exercise(put(at, "by_hand_first", 24)) if step != "context" else data
    assert (other["name"] == data["name"]) == (step != "qkv")  # what was typed belongs to its window


def test_a_link_brings_the_picture_back_and_settings_stay_while_a_trained_head_is_looked_at(open_page, visit):
    at = open_page(text="b a b", d="4", d_k="5", heads="4", mask="causal", scale="d_k", positions="yes", query="0")
    again = visit(PAGE, **at.query_params)
    assert again.query_params == at.query_params
    np.testing.assert_equal(Matrices(again).values, Matrices(at).values)
    put(at, "by_hand_part", "trained")
    put(at, "by_hand_part", "steps")
    assert Matrices(at).shapes["q = x W_q"] == "(3, 5)"


def test_the_curves_are_measured_with_and_without_the_scale(open_page):
    curves = {}
    for chart in open_page(part="scale").get("vega_lite_chart"):
        for row in rows_of(chart):
            curves.setdefault(row["name"], {})[row["at"]] = row["value"]
    measured = spreads([2**power for power in range(11)], keys=len(SENTENCE.split()), seed=Settings().seed)
    for name, values in (("q · k, measured", [row.unscaled_deviation for row in measured]),
                         ("√d_k, the theory", [row.d_k**0.5 for row in measured]),
                         ("softmax of q · k", [row.unscaled_entropy for row in measured]),
                         ("softmax of q · k / √d_k", [row.scaled_entropy for row in measured])):
        assert curves[name] == pytest.approx({row.d_k: value for row, value in zip(measured, values, strict=True)})


def test_the_shapes_of_the_fold_and_its_check_are_shown(open_page):
    text = said(open_page(part="batch", heads="3"))
    found = folding(ByHand(Settings(heads=3)))
    assert all(f"{what} {shape} {how}" in text for what, how, shape in found.shapes)
    difference = float(re.search(r"largest difference \*\*(\S+)\*\*", text)[1])
    assert difference == pytest.approx(float((found.folded - found.looped).abs().max()), rel=0.06)
    assert difference < 1e-5
    assert f"**{float((found.unturned - found.looped).abs().max()):.2f}**" in text


def test_each_slip_stands_beside_what_is_right(open_page):
    """What gives it away is among the accepted words of this page."""
    at = open_page(part="slips")
    values, text, hand = Matrices(at).values, said(at), ByHand(Settings())
    axis, late, padded = softmax_over_queries(hand), mask_after_softmax(hand)[0], padding_masked(hand)
    named = {"nothing": "no padding masked", "keys": "keys' padding masked", "queries": "queries' padding masked",
             "both": "both masked"}
    for name, expected in (("softmax(dim=-1)", axis.right), ("softmax(dim=-2)", axis.wrong),
                           ("mask, then softmax", late.right), ("softmax, then mask", late.wrong),
                           *((named[row.blocked], row.weights) for row in padded[1:])):
        np.testing.assert_allclose(values[name], expected, **CLOSE, err_msg=name)
    assert all(f"{named[row.blocked]} {row.wasted:.1%} {row.broken[0]} of 9 {row.broken[1]} of 9" in text
               for row in padded)
    measured = scales(hand)
    assert [row.scale for row in measured] == list(SCALES)
    for page in (text, said(open_page(part="scale"))):
        assert all(f"{SCALES[row.scale].said} {row.divisor:.2f} {row.deviation:.2f} {row.entropy:.3f}" in page
                   for row in measured)
    assert "Nothing gives it away here" in said(open_page(part="slips", d="8", d_k="8"))


@pytest.mark.parametrize(("name", "kind", "layer", "head"), [
    ("translate", "encoder", 1, 0), ("translate", "decoder", 1, 3), ("translate", "cross", 1, 1),
    ("write", "decoder", 2, 1)])
def test_a_trained_head_goes_through_the_same_steps_to_its_own_weights(open_page, shipped, name, kind, layer, head):
    ckpt = shipped(name)
    chosen = {"checkpoint": ckpt.id, "kind": kind, "layer": str(layer), "head": str(head)}
    at = open_page(part="trained", **chosen)
    assert not at.error and chosen.items() <= at.query_params.items()
    assert ckpt.id in said(at).replace("\\", "")
    values = Matrices(at).values
    step = start(ckpt, SENTENCE) if name == "write" else list(transformer.steps(ckpt, SENTENCE))[-1]
    np.testing.assert_allclose(values["weights"], step.attentions[kind][layer, head].numpy(), atol=1e-5)
    q, k, v = values["q"], values["k"], values["v"]
    np.testing.assert_allclose(values["q kᵀ"], q @ k.T, atol=1e-3, rtol=1e-3)
    scores = q @ k.T / np.sqrt(q.shape[1])
    if kind == "decoder":
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
        np.testing.assert_allclose(values["scores + mask"], scores, atol=1e-3, rtol=1e-3)
    np.testing.assert_allclose(values["weights"], softmax(scores), atol=1e-4)
    np.testing.assert_allclose(values["context = weights v"], softmax(scores) @ v, atol=1e-3)


def test_of_a_long_text_the_first_letters_are_shown_and_a_head_out_of_range_is_brought_into_range(open_page, shipped):
    ckpt, text = shipped("write"), "Nevertheless everybody understands incomprehensible transformers"
    at = open_page(part="trained", checkpoint=ckpt.id, text=text, kind="cross", layer="99", head="-3", row="999",
                   column="nan")
    assert {"kind": "decoder", "layer": "3", "head": "0", "row": "31", "column": "0"}.items() <= at.query_params.items()
    weights = start(ckpt, text).attentions["decoder"][3, 0].numpy()
    np.testing.assert_allclose(Matrices(at).values["weights"], weights[:32, :32], atol=1e-5)
    assert f"The first 32 of {len(text)} tokens" in said(at)  # where later ones change nothing
    at = open_page(part="trained", checkpoint=shipped("translate").id, text="qxzvkj " * 12)
    assert re.search(r"\d+ tokens .* at most 32", at.error[0].value)


def test_one_step_stands_alone_and_the_next_is_a_click_away(open_page):
    at = open_page(step="softmax")
    assert list(Matrices(at).values) == ["weights"]
    for key, step, heading in (("next", "context", "8 · "), ("back", "softmax", "7 · "), ("back", "mask", "6 · ")):
        press(at, f"by_hand_{key}")
        assert at.query_params["step"] == step
        assert [one.value[:4] for one in at.header] == [heading]
    put(at, "by_hand_step", "all")
    assert at.query_params["step"] == "all"
    assert len(at.header) == 14
    assert at.button(key="by_hand_back").disabled
    press(at, "by_hand_next")
    assert at.query_params["step"] == "ids"
    assert at.button(key="by_hand_back").disabled
    assert open_page(step="block").button(key="by_hand_next").disabled
    assert open_page(step="of-no-name").query_params["step"] == "softmax"


def exercise(at: AppTest) -> dict:
    """What the matrix to fill in is sent."""
    (view,) = [view.proto for view in at.get("bidi_component") if view.proto.component_name.endswith("exercise")]
    return json.loads(view.json)


def answers(data: dict) -> list[list[float]]:
    return [[float(cell.replace("−", "-").replace("∞", "inf")) for cell in row] for row in data["answers"]]


@pytest.mark.parametrize("step", ["qkv", "products", "scaled", "mask", "softmax", "context"])
def test_an_exercise_asks_for_the_matrix_of_its_step(open_page, step):
    at = open_page(part="exercise", step=step, mask="causal", query="2")
    task = exercises(ByHand(Settings(causal=True)))[STEPS[step]]
    data, given = exercise(at), Matrices(at).values
    assert data["title"] == task.answer.name
    assert data["open"] == [2]
    assert at.query_params["step"] == step
    for one in task.given:
        np.testing.assert_allclose(given[one.name], one.values, **CLOSE)
    assert task.answer.name not in given
    used_whole = {"k = x W_k", "v = x W_v", "W_q"}  # and of the others the query's row
    assert Matrices(at).marked == {one.name: 2 for one in task.given if one.name not in used_whole}
    np.testing.assert_allclose(answers(data), task.answer.values, atol=0.0051)


def test_an_exercise_opens_the_whole_matrix_when_asked_goes_on_to_the_next_and_offers_a_worksheet(open_page):
    at = open_page(part="exercise", step="scaled", sheet="3,7")
    put(at, "by_hand_fill", "matrix")
    assert exercise(at)["open"] == list(range(7))
    assert (at.query_params["fill"], at.query_params["sheet"]) == ("matrix", "3,7")
    assert at.multiselect(key="by_hand_sheet").value == [3, 7]
    assert len(at.get("download_button")) == 1
    press(at, "by_hand_next")
    assert at.query_params["step"] == "softmax"  # without a mask there is nothing to mask
    assert open_page(part="exercise", step="feed-forward").query_params["step"] == "context"
    assert open_page(part="exercise").query_params["step"] == "qkv"


@pytest.mark.parametrize("numbers", ["torch", "torch-once"])
def test_torch_s_own_numbers_are_shown_with_the_lines_that_draw_them(open_page, numbers):
    at = open_page(numbers=numbers, seed="42")
    assert at.query_params["numbers"] == numbers
    wanted = Settings(numbers=numbers, seed=42)
    assert [code.value for code in at.get("code")] == [lines(wanted).strip()]
    wide = open_page(numbers=numbers, scale="split", **WIDEST)
    (code,) = [code.value for code in wide.get("code")]
    assert "d, d_k, d_v, heads = 512, 512, 512, 8" in code
    assert "(q / d_k ** 0.25) @ (k / d_k ** 0.25).T" in code
    np.testing.assert_allclose(Matrices(at).values["weights"], ByHand(wanted).heads[0].weights, **CLOSE)
    put(at, "by_hand_numbers", "ours")
    assert not at.get("code")


def test_the_settings_say_themselves_in_a_line(open_page):
    at = open_page(seed="7", mask="causal", heads="2")
    assert settings_line(at) == "Settings: seed 7, d = 4, d_k = 3, d_v = 3, 2 heads, causal mask"
    assert "⁴√d_k for q and for k" in settings_line(open_page(scale="split"))
