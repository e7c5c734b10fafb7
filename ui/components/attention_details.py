"""What stands below an attention view: files to save, the mask, the positions and the numbers of the chosen head."""

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import orjson
import streamlit as st

from transformer.attention_view.heads import AttentionSource, Head, weights
from transformer.attention_view.message import MODEL, about, token_labels
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.offline_page import page as offline_page
from transformer.attention_view.selected import in_words
from transformer.attention_view.window import window
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import GREEDY, Sampling, Step
from transformer.inference.reading import Reading
from transformer.inference.recompute import scoring
from transformer.inference.word_attention import Words
from transformer.model.attention import PLAIN, Scoring
from transformer.settings.config import Kind, ModelConfig
from ui import figures
from ui.choices.head import origin
from ui.components.attention_view import WHOLE_PAGE, cells_of
from ui.components.model_details import show_model_numbers
from ui.components.position_curves import show_positions
from ui.page.presentation import presenting
from ui.state.page_state import Kept, PageState

MOST_CELLS = 10_000      # weights in a table
MOST_MASK = 64           # tokens along each side of the mask's figure
MOST_SAVED = 50_000_000  # weights in an npz
MEANING = {
    "encoder": "Encoder: each source token looks at all source tokens.",
    "decoder": "Decoder: each token written looks at itself and at those before it.",
    "cross": "Cross: each token written looks at the source tokens.",
}
DETAILS = {"Mask": "The mask", "Positions": "Positions", "Numbers": "All numbers"}


def source_line(source: AttentionSource) -> str:
    """What every figure says of where it comes from."""
    return origin(_model_of(source))


def _model_of(source: AttentionSource) -> Checkpoint:
    """The checkpoint, which whatever a page draws has."""
    assert source.ckpt is not None
    return source.ckpt


def explain(page: str, source: AttentionSource, selection: Selection) -> None:
    """What the picture shows and how it is read, in a caption."""
    if not presenting(page):
        st.caption(f"{MEANING[selection.kind]} {_reading(selection, scoring(source, selection.kind))} "
                   "Attention shows where a head looks, not why the model decides.")


def _reading(selection: Selection, scored: Scoring = PLAIN) -> str:
    """How to read what is drawn. scored: how the model makes scores."""
    if selection.view == "lines":
        return "The stronger a line, the larger its weight; lines of several heads lie side by side."
    if selection.special == "hidden":
        return "Each row of weights adds up to 1 minus what is left out; the scale shows which colour is which number."
    single = selection.of == "head" and selection.tokens != "words"
    click = " Click a cell to compare its two tokens." if single else ""
    return {"weights": "Each row of weights adds up to 1; the scale shows which colour is which number.",
            "scores": f"Scores are {_formula(scored)} of the two tokens, before the mask and the softmax: blue above "
                      "0, red below.",
            "masked": "What the softmax is given: the scores, and −∞ where the mask forbids (striped).",
            "moved": "The length of the vector that each key adds to its query: its weight times the length of its "
                     "projected value (Kobayashi et al. 2020, section 3). Rows have no fixed sum.",
            }[selection.stage] + click


def _formula(scored: Scoring) -> str:
    """How scores are made, without what positions add."""
    scale = "/√d" if scored.scale is None else "" if scored.scale == 1 else f" × {scored.scale:.3g}"
    return f"q·k{scale}" + (f", capped at ±{scored.cap:g}," if scored.cap is not None else "")


class DetailsState(PageState):
    """What is kept of the details: which of them are open."""

    details: Kept[str | None] = Kept(None)


def offer_files(page: str, shown: Callable[[], tuple[AttentionSource, Selection]],
                sampling: Sampling = GREEDY) -> None:
    """What a reader can take away: the picture as a page, the numbers. shown: the picture of the moment, asked for when
    a file is made; sampling: how the steps were chosen."""
    if presenting(page):
        return
    source, _ = shown()
    cells, name = cells_of(source), _model_of(source).id
    with st.container(horizontal=True):
        st.download_button("Save as a page", partial(_page, shown, sampling), f"{name}.html", "text/html",
                           key=f"{page}_save_page", icon=":material/html:", on_click="ignore",
                           help="One HTML file with every head of every kind, for a browser without a network.")
        st.download_button("Save the numbers", partial(_npz, shown), f"{name}.npz", key=f"{page}_save_npz",
                           icon=":material/data_array:", on_click="ignore", disabled=cells > MOST_SAVED,
                           help="All weights and scores as npz, for numpy." if cells <= MOST_SAVED else
                           f"{cells:,} weights are more than the {MOST_SAVED:,} that a file is made of here: use the "
                           "library, `step.attentions`.")


def _page(shown: Callable[[], tuple[AttentionSource, Selection]], sampling: Sampling) -> bytes:
    source, selection = in_words(*shown())
    source = window(source, selection.start)
    return offline_page(source, selection, exact=cells_of(source) <= WHOLE_PAGE, sampling=sampling).encode()


def _npz(shown: Callable[[], tuple[AttentionSource, Selection]]) -> bytes:
    source, _ = in_words(*shown())
    assert isinstance(source, Step | Reading | Words)  # what pages draw
    pieces = {"pieces": {kind: source.pieces(kind) for kind in source.kinds}} if isinstance(source, Words) else {}
    arrays: dict[str, Any] = {"about": np.array(orjson.dumps(about(source) | pieces).decode())}
    for kind in source.kinds:
        queries, keys = source.axes(kind)
        more = ((f"{kind}_hidden", source.hidden(kind)) if isinstance(source, Words) else
                (f"{kind}_scores", source.scores[kind]))
        arrays |= {f"{kind}_weights": weights(source, kind).numpy(), more[0]: more[1].numpy(),
                   f"{kind}_mask": source.mask(kind).numpy(), f"{kind}_queries": np.array(queries),
                   f"{kind}_keys": np.array(keys)}
        if (after := source.predicted(kind)) is not None:
            arrays[f"{kind}_predicted"] = np.array(after)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def show_details(page: str, source: AttentionSource, selection: Selection, head: Head, *, dark: bool) -> None:
    """The mask on these tokens, the positional encoding of these positions, and the chosen head's numbers."""
    if presenting(page):
        return
    kind = selection.kind
    queries, keys, _ = token_labels(source, kind)
    layer = selection.layer if selection.of in ("head", "mean_heads") else None
    mask, origin_line = source.mask(kind, layer).numpy(), source_line(source)
    chosen = st.pills("More about this attention", list(DETAILS), key=DetailsState.details.key(page),
                      persist_state="session", label_visibility="collapsed", format_func=DETAILS.__getitem__)
    if chosen == "Mask":
        part, rows, columns = mask[-MOST_MASK:, -MOST_MASK:], queries[-MOST_MASK:], keys[-MOST_MASK:]
        title = f"Who may look at whom: {kind}" + (f", last {MOST_MASK} tokens" if part.size < mask.size else "")
        figure = figures.mask_matrix(part, rows, columns, title=title, source=origin_line, dark=dark)
        picture, words = st.columns([1, 1] if mask.all() else [5, 2], gap="large", vertical_alignment="center")
        with picture:
            st.plotly_chart(figure, key=f"{page}_mask", config=figures.PLOTLY_CONFIG,
                            alt=figures.describe_mask(part, rows, columns))
        near = "" if source.ckpt is None or layer is None else window_said(source.ckpt.config, kind, layer)
        words.markdown(
            "**This mask allows everything.** " + (
                "There is one token so far, and it may look at itself." if kind == "decoder" else
                "Every query may look at every key: with one sentence there is no padding to hide.") if mask.all()
            else (near or
                  "**The causal mask**: no token sees the ones after it, because they had not been written yet "
                  "(Vaswani et al. 2017, section 3.2.3)."))
    elif chosen == "Positions":
        _show_positions(page, source, kind, dark=dark)
    elif chosen == "Numbers":
        if selection.view == MODEL:
            show_model_numbers(page, source, selection, origin=origin_line)
        elif len(queries) * len(keys) > MOST_CELLS:
            st.info(f"{len(queries)} x {len(keys)} weights are too many for a table; hover over the picture for "
                    "each, or save the numbers.")
        elif selection.of != "head":
            st.info("The table is for single heads; the picture above shows a mean.")
        else:
            st.html(figures.attention_table(head.weights, queries, keys, kind=kind, layer=selection.layer,
                                            head=selection.head, mask=mask, source=origin_line))


def window_said(config: ModelConfig, kind: str, layer: int) -> str:
    """What the window of a layer lets a token see; empty where it has none."""
    if kind == "cross" or config.window is None or not config.has_window(layer):
        return ""
    seen = (f"the last {config.window:,} tokens, itself included" if kind == "decoder" else
            f"at most {config.window - 1:,} tokens to each side")
    return f"**Layer {layer} has a window**: each token sees {seen} (Beltagy et al. 2020, section 3.1)."


def _show_positions(page: str, source: AttentionSource, kind: Kind, *, dark: bool) -> None:
    side = "src" if kind in ("encoder", "cross") else "tgt"
    tokens = token_labels(source, kind)[1]
    model = _model_of(source).model
    what = figures.markdown_text(model.positions.describe(model.config))
    pictures = model.position_pictures(len(tokens), side=side)
    if not pictures:
        st.info(what)
        return
    encoding, column = pictures[0].values.numpy(), pictures[0].column
    width = encoding.shape[1]
    dims = st.multiselect(f"{column.capitalize()}s to draw", range(width), key=f"{page}_dimensions", max_selections=12,
                          default=sorted({0, min(1, width - 1), width // 8, width // 4, width // 2}))
    if not dims:
        st.info(f"Choose a {column} to see its curve.")
        return
    show_positions(encoding, dims, column=column, tokens=tokens, title=pictures[0].title, value=pictures[0].value,
                   source=source_line(source), dark=dark, key=f"{page}_positions")
    st.caption(what)
