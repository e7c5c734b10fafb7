from collections import namedtuple
from math import log

import pytest

from ui.figures import beam_figure, describe_beam, hypotheses_table, picked_node
from ui.figures.palette import CLEAR, MARK, MUTED

Node = namedtuple("Node", "place parent depth rank id piece log_probability total penalised state best")
NODES = [
    Node(0, None, 0, 0, 2, "<s>", 0.0, 0.0, 0.0, "kept", True),
    Node(1, 0, 1, 0, 9, "▁the", log(0.6), log(0.6), log(0.6), "kept", True),
    Node(2, 0, 1, 1, 8, "<b>$", log(0.3), log(0.3), log(0.3), "kept", False),
    Node(3, 0, 1, 2, 7, "▁the", log(0.01), log(0.01), log(0.01), "pruned", False),
    Node(4, 1, 2, 0, 3, "</s>", log(0.9), log(0.54), log(0.54) / 2, "ended", True),
    Node(5, 2, 2, 1, 9, "▁the", log(0.5), log(0.15), log(0.15) / 2, "open", False),
]


def boxes(figure):
    return figure.data[-1]


def drawn_edges(trace):
    x, y = list(trace.x), list(trace.y)
    return [(round(x[at]), y[at], round(x[at + 1]), y[at + 1]) for at in range(0, len(x), 3)]


def test_each_node_is_a_box_at_its_step_and_rank_with_its_place_to_click_and_a_ring_around_one():
    found = boxes(beam_figure(NODES))
    assert list(found.customdata) == [0, 1, 2, 3, 4, 5]
    assert [base + 0.5 * x for base, x in zip(found.base, found.x, strict=True)] == pytest.approx([0, 1, 1, 1, 2, 2])
    assert list(found.y) == [0, 0, 1, 2, 0, 1]
    assert len({*found.marker.color}) == 5  # two are see-through, the others by their probability
    (ring,) = [trace for trace in beam_figure(NODES, here=5).data if trace.name == "here"]
    assert (ring.base[0] + ring.x[0] / 2, ring.y[0]) == (pytest.approx(2), 1)
    assert not [trace for trace in beam_figure(NODES).data if trace.name == "here"]
    assert picked_node({"selection": {"points": [{"customdata": 0}]}}) == 0
    assert picked_node({"selection": {"points": []}}) is picked_node(None) is None


def test_a_box_says_its_token_and_total_and_hover_every_score(accepted):
    found = boxes(beam_figure(NODES))
    accepted("beam", "\n".join(f"{text}\n{hover}\n" for text, hover in zip(found.text, found.hovertext, strict=True)))
    assert f"log-probability −{-log(0.5):.4f}" in found.hovertext[5]
    assert "probability 60.0%" in found.hovertext[1]


def test_what_lost_is_grey_and_the_best_path_in_the_accent():
    figure = beam_figure(NODES)
    found = boxes(figure)
    assert [line == MARK for line in found.marker.line.color] == [node.best for node in NODES]
    assert [ink == MUTED for ink in found.insidetextfont.color] == [node.state == "pruned" for node in NODES]
    assert found.marker.color[3] == CLEAR
    lost, kept, best = figure.data[:3]
    assert drawn_edges(lost) == [(0, 0, 1, 2)]
    assert drawn_edges(kept) == [(0, 0, 1, 1), (1, 1, 2, 1)]
    assert drawn_edges(best) == [(0, 0, 1, 0), (1, 0, 2, 0)]
    assert best.line.color == MARK
    assert lost.line.dash


@pytest.mark.parametrize("dark", [True, False])
def test_a_likelier_token_stands_out_more_from_the_page(dark):
    light = [sum(int(part) for part in colour[4:-1].split(",")) for colour in
             (boxes(beam_figure(NODES, dark=dark)).marker.color[at] for at in (2, 1, 4))]  # 0.3, 0.6, 0.9
    assert light == sorted(light, reverse=not dark)


def test_the_picture_grows_with_the_steps_and_the_ranks():
    chain = [Node(at, at - 1 if at else None, at, 0, 1, "a", log(0.5), at * log(0.5), at * log(0.5), "kept", True)
             for at in range(31)]
    long, short = beam_figure(chain), beam_figure(NODES)
    assert long.layout.width > 30 * 100
    assert short.layout.width < 500
    assert short.layout.height > long.layout.height


def test_a_part_of_a_tree_has_no_edges_from_what_is_not_drawn():
    figure = beam_figure(NODES[1:])
    assert figure.layout.xaxis.ticktext == ("step 0", "step 1")
    assert drawn_edges(figure.data[0]) == []
    assert drawn_edges(figure.data[1]) == [(1, 1, 2, 1)]
    assert list(boxes(figure).customdata) == [1, 2, 3, 4, 5]


def test_the_description_counts_and_names_the_best_path_and_the_hypotheses_are_a_table_of_plain_text():
    text = describe_beam(NODES, width=2)
    assert "width 2" in text
    assert "5 tokens considered, 1 pruned, 1 ended" in text
    assert text.endswith("Best path: the </s>.")
    html = hypotheses_table([("<b>x</b>", -1.5, 3, -1.25, True), ("y\u202e", -2.0, 9, -1.75, False)], source="a@b")
    assert '<td data-what="total">−1.5000</td><td data-what="length">3</td><td data-what="penalised">−1.2500' in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html and "<b>" not in html
    assert "⟨202E⟩ (cut short)" in html and "a@b" in html
    assert html.count("<tr") == 3
