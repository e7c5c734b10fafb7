"""Attention as it forms: the recorded heads of a run or a checkpoint, moved through in the browser."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from transformer.checkpoints.checkpoint import describe, snapshots
from transformer.measures.catalogue import MEASURES
from transformer.training.forming import Forming, forming_stamp
from ui.choices.text_box import type_text
from ui.components.training_screen import draw_screen
from ui.figures import markdown_text
from ui.page.plain_text import say_error
from ui.page.presentation import settings
from ui.page.terms import with_terms
from ui.state import caches


def show_forming(prefix: str, folder: Path, *, dark: bool, every: float | None = 5.0, live: bool = False,
                 plays: bool = False, says: str = "", beside: Sequence[Path] = ()) -> None:
    """Show the loss of a run or a checkpoint beside the attention that it recorded, or that the steps of a checkpoint
    give a visitor's text.

    The selection and the text are in `FormingState(prefix)`, which a page may have in its address. every: seconds
    between looks for new snapshots of a run under way; the page runs again only if there are some, and only these are
    sent. live: the page does that itself. plays: moves through all steps once by itself. says: how far the run is.
    beside: other runs, whose curves are drawn with its own.
    """
    folder = Path(folder).resolve()
    stamp = forming_stamp(folder)
    if every and not live and stamp[-1] == "running":
        st.fragment(_watch, run_every=every)(folder, stamp)
    try:
        forming = caches.forming(folder)
        if of_text := forming is None and keeps_steps(folder):
            forming = _of_text(prefix, folder)
    except ValueError as error:
        say_error(error)
        forming, of_text = None, False
    if forming is None and of_text:
        st.info("Type a text above to see how every head comes to read it.")
        return
    if forming is None and not live:
        st.info("No attention recorded yet. A run records its pinned sentences before the first step, and then at "
                "growing intervals.")
        return
    draw_screen(prefix, folder, forming, dark=dark, plays=plays, says=says, beside=beside)
    if forming is None:
        return
    st.caption(with_terms("Each square is a head; each of its rows shows where one token looks. Drag the slider, or "
                          "focus it and press ← → Home End; P plays. Click a head or a curve to enlarge that head.",
                          "head", "token"), unsafe_allow_html=True)
    with (settings(prefix, "words"),
          st.expander("What the measures show, and what they do not", key=f"{prefix}_forming_words")):
        st.markdown((TEXT_EXPLANATION if of_text else EXPLANATION).format(measures="\n".join(
            f"- **{markdown_text(measure.title)}** ({markdown_text(measure.unit)}). {measure.explained}"
            for measure in MEASURES if any(measure.name in rows for rows in forming.rows.values()))))


MEASURES_TEXT = """
Every measure is a mean over this one sentence's queries, the tokens that look. Tokens with only one place to look,
such as the decoder's first, are left out: whatever the head does, all their weight is there.

{measures}
"""
EXPLANATION = f"""{MEASURES_TEXT}
The dotted line is uniform attention, and the left end of each curve is the model before training,
with random weights: a head does something of its own only where it differs from both. One place can count twice: for
the second token, the previous token is also the first.

The training loss is taken with dropout, and label smoothing where the run has it; the held-out loss without, so it
can be the lower one.

The measures say **where** weight lies in a few pinned sentences, with the right answer given to the decoder. They do
not say what is moved from there, nor whether the model needs it: a head with a clear pattern may be one that can be
switched off, and attention is not explanation (Jain and Wallace 2019). Weights were recorded in 8 bits, and are exact
to about 0.004.
"""
TEXT_EXPLANATION = f"""{MEASURES_TEXT}
Each step's own weights read this text now; nothing was recorded during the training. The loss is that of this one text,
a mean over its tokens after the first, and not of the training. Between the steps that were imported, the curves are
straight lines: what happened there is not known. A decoder that translates is given the last step's translation at
every step.

The dotted line is uniform attention, and at step 0 the model has random weights: a head does something of its own only
where it leaves both. One place can count twice: for the second token, the previous token is also the first.

The measures say **where** weight lies in one text. They do not say what is moved from there, nor whether the model
needs it: a head with a clear pattern may be one that can be switched off, and attention is not explanation (Jain and
Wallace 2019). Weights are kept in 8 bits, exact to about 0.004.
"""


def keeps_steps(folder: Path) -> bool:
    """Whether a checkpoint came with steps of its training whose attention was not recorded."""
    return not (folder / "attention").is_dir() and (folder / "manifest.json").is_file() and bool(snapshots(folder))


def _of_text(prefix: str, folder: Path) -> Forming | None:
    """The attention of the steps of a checkpoint on the text in the field; None if it is empty. Raises ValueError."""
    ckpt = caches.opened(folder, describe(folder).id)
    with settings(prefix, "text"):
        text = type_text(prefix, ckpt)
    return caches.formed(ckpt, text) if text.strip() else None


def _watch(folder: Path, stamp: tuple) -> None:
    """Run the page again if there is more than it has drawn."""
    if forming_stamp(folder) != stamp:
        st.rerun()
