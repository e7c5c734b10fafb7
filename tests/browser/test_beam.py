"""Clicking in the tree of a beam search, in Chromium."""

import pytest

from tests.labels import labels_of
from tests.waiting import until
from transformer.inference.beam_tree import beam_tree

from .conftest import address, chips, reached, settle

TEXT = "I like red wine."
POINT = ".st-key-translate_beam_box .point path"


@pytest.fixture(scope="module")
def tree(shipped):
    return beam_tree(shipped("translate"), TEXT, width=3)


def click(page, tree, node):
    """The boxes are drawn in the order of the nodes, after the ring."""
    points = page.locator(POINT)
    ring = points.count() - len(tree.nodes)
    points.nth(ring + node.place).click(force=True)
    settle(page)


def ids(choices: str) -> dict[int, int]:
    return {int(at): int(id) for at, id in (pair.split(":") for pair in choices.split(","))}


def test_a_click_on_a_node_moves_the_steps_there_and_the_tree_scrolls_in_its_box(visit, tree):
    page = visit(f"/translate?text={TEXT}&beam=3&step=2")
    page.locator(POINT).first.wait_for()
    before = chips(page, "target tokens")
    pruned = next(node for node in tree.nodes if node.state == "pruned" and node.depth == 3)
    for node in (pruned, tree.best, pruned):  # the same one again, too
        click(page, tree, node)
        reached(page, step=node.depth - 1)
        step = tree.step(node)
        shown = chips(page, "target tokens")[: node.depth + 1]
        assert [*shown] == labels_of(step)
    chosen = ids(address(page)["choices"])
    assert chosen.items() <= dict(enumerate(tree.ids(pruned))).items()
    page.get_by_role("button", name="○ ").first.click()
    until(lambda: chips(page, "target tokens")[: len(before)] == before, lambda: str(chips(page, "target tokens")))
    settle(page)
    page.set_viewport_size({"width": 390, "height": 800})
    settle(page)
    box = page.locator(".st-key-translate_beam_box")
    assert box.evaluate("box => box.scrollWidth") > 2 * box.evaluate("box => box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box.evaluate("box => box.scrollTo(0, 0)")
    click(page, tree, tree.best)
    reached(page, step=tree.best.depth - 1)
    page.wait_for_function("document.querySelector('.st-key-translate_beam_box').scrollLeft > 0")
