"""What each view of each page says, whole: texts, labels, choices and hints in their order, and the address that leads
there again. A sentence is asserted in another file only where it is what that test is about."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from .addresses import addresses
from .page import said

# Views that read many texts, here by a tiny model -> what their addresses say besides.
TINY = {"spaces": {"text": "a dog is tall."}, "neurons": {"text": "a dog is tall."}, "contexts": {}, "test": {}}
VIEWS = {".".join([page, *view.values()]).lower().replace(" ", "-"): (page, view) for page, view in addresses()}
VIEWS["by_hand.steps"] = "by_hand", {"part": "steps", "step": "all"}


def whole(at: AppTest) -> str:
    fields = " ".join(f"{name}={value!r}" for name, value in sorted(at.query_params.items()))
    return f"{said(at)}\naddress: " + re.sub(r"@[0-9a-f]{8}", "@hash", re.sub(r"'/\S+/", "'…/", fields))


@pytest.mark.parametrize("name", [name for name in VIEWS if name.rpartition(".")[2] not in TINY])
def test_a_view_says_what_is_accepted(name, visit, accepted):
    page, view = VIEWS[name]
    accepted(name, whole(visit(page, **view)))


@pytest.mark.usefixtures("lasting")
@pytest.mark.parametrize("name", [name for name in VIEWS if name.rpartition(".")[2] in TINY])
def test_a_view_of_many_texts_says_what_is_accepted(name, visit, made, accepted):
    page, view = VIEWS[name]
    accepted(name, whole(visit(page, **view, **TINY[view["view"]], checkpoint=made("translator").id)))


@pytest.mark.parametrize("name", ["library.write", "library.classify", "positions.trained.write",
                                  "checkpoints.card.classify", "by_hand.trained.write", "heads.why.write"])
def test_a_view_of_another_kind_of_model_says_what_is_accepted(name, visit, shipped, accepted):
    view, _, model = name.rpartition(".")
    page, params = VIEWS[view]
    accepted(name, whole(visit(page, **params, checkpoint=shipped(model).id)))
