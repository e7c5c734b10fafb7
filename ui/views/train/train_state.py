"""What is kept of *Train*, which its views share."""

from transformer.settings.task import LEARNED
from ui.page.link import Field, choice
from ui.state.page_state import Kept, PageState

VIEWS = {"watch": "Train", "now": "Train one now", "new": "A new run", "runs": "All runs", "sweep": "A sweep",
         "server": "Server"}


def _name(longest: int) -> Field[str]:
    return Field("", lambda value: value[:longest], lambda value: value or None)


class TrainState(PageState):
    """The view and what it shows, in the address; and what a button has done, which is said once."""

    view = choice("watch", list(VIEWS))
    run = _name(80)
    task = choice("translation", list(LEARNED))
    preset = _name(40)
    sweep = _name(60)
    over: Field[list[str]] = Field([], lambda value: value.split(",")[:12], lambda names: ",".join(names) or None)
    next_view: Kept[str | None] = Kept(None)  # what the next run of the page shows, in place of `view`
    opened = Kept(False)  # a click in a fragment wants the whole page drawn again
    started: Kept[str | None] = Kept(None)  # the run that this visitor started last
    start_refused: Kept[list[str] | None] = Kept(None)  # why none was started
    plays = Kept(False)  # a recorded training moves through its steps once
    done: Kept[str | None] = Kept(None)  # the outcome of the last button
    refused: Kept[str | None] = Kept(None)
    opens: Kept[str | None] = Kept(None)  # the checkpoint that it has made
