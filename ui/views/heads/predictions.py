"""The views that take one prediction apart, by name."""

from transformer.checkpoint import Checkpoint
from ui.page.link import Field
from ui.views.heads import attribution, direct, lens, prediction
from ui.views.heads.attribution import show_attribution
from ui.views.heads.direct import show_direct
from ui.views.heads.lens import show_lens
from ui.views.heads.prediction import ask

VIEWS = {"lens": show_lens, "direct": show_direct, "attribution": show_attribution}


def prediction_fields() -> dict[str, Field]:
    """All that these views have in the address, but the text."""
    return {**prediction.FIELDS, **lens.FIELDS, **direct.FIELDS, **attribution.FIELDS}


def show_prediction(page: str, ckpt: Checkpoint, view: str, *, dark: bool) -> None:
    """Choose a prediction and show one of the views of it."""
    prediction = ask(page, ckpt)
    if prediction is not None:
        VIEWS[view](page, prediction, dark=dark)
