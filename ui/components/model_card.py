"""A small picture of the whole model beside the step view of a page, which leads to the large one."""

from ui.components.scripts import HERE, component

WORDS = ("The boxes with small squares are attention, and each square is one head. The orange band is the newest token "
         "on its way up: only in those boxes does it take anything from other tokens.")

BONES = '<div class="model-card" style="min-height: 21rem"></div>'

_model_card = component("model_card", HERE / "model_card.js", BONES)


def show_model_card(key: str, *, leads: str, label: str) -> None:
    """Draw what the step view of the page has been sent, which has to be a `StepView` with a card. leads: the key of a
    container with the link to the large picture; label: what that is called."""
    _model_card(key=key, data={"leads": leads, "words": WORDS, "label": label})
