"""The attention of what is looked at: all heads of a kind to choose from, one of them large, and what explains it."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import orjson
import streamlit as st

from transformer.attention_view.heads import AttentionSource, Head, Pooled, rolls, shape, weights
from transformer.attention_view.message import Selection, about, head_of, live
from transformer.attention_view.offline_page import page as offline_page
from transformer.attention_view.phone_message import small
from transformer.attention_view.script_bundle import JS
from transformer.attention_view.shared import CHOICES, MOST_LIT, settled
from transformer.attention_view.window import Window, window
from transformer.config import ModelConfig
from transformer.inference.decoding import GREEDY, Sampling
from transformer.inference.recompute import scoring
from transformer.inference.word_attention import LEFT_OUT, Words
from transformer.model.attention import PLAIN, Scoring
from ui import figures
from ui.choices.head import origin
from ui.components.position_curves import show_positions
from ui.components.scripts import component
from ui.page.link import Field, number
from ui.page.presentation import presenting
from ui.page.publish import draw, leading

# the parts of what is looked at
SELECTION = ("kind", "layer", "head", "view", "of", "stage", "scale", "pair", "lit", "tokens", "special", "rows",
             "order", "start")
MEANING = {
    "encoder": "Encoder: each source token looks at all source tokens.",
    "decoder": "Decoder: each token written looks at itself and at those before it.",
    "cross": "Cross: each token written looks at the source tokens.",
}
LONGEST = 400            # characters of a part of the selection in a link
MOST_CELLS = 10_000      # weights in a table
MOST_MASK = 64           # tokens along each side of the mask's figure
MOST_SAVED = 50_000_000  # weights in an npz
WHOLE_PAGE = 3_000_000   # weights that an offline page holds in full
STEPPING = ("steps", "films", "plays")  # of a step view, for those who step
CELL_ASKED = "cell_asked"  # in session state: the page on which somebody waits for a cell to be clicked
TELL = "cell_chosen"     # and whether it has just been
DETAILS = {"Mask": "The mask", "Positions": "Positions", "Numbers": "All numbers"}

_view = component("attention_view", JS / "view.js", '<div class="attention-view"></div>')


def selection_fields(prefix: str = "", **first: object) -> dict[str, Field]:
    """What of the attention is looked at, for an address; first: parts of it that are not as everywhere to begin
    with."""
    return {f"{prefix}{name}": Field(first.get(name), lambda value: value[:LONGEST], partial(selection_param, name))
            for name in SELECTION}


def change_selection(page: str, **parts: object) -> None:
    """Choose some parts of what is looked at; the others stay, but for the pair of tokens."""
    for name, value in {"pair": None, **parts}.items():
        st.session_state[f"{page}_{name}"] = value


def _selection_in_range(page: str, shown: AttentionSource, *, newest: bool) -> tuple[Selection, AttentionSource]:
    """What is chosen to be seen, brought into the range of what there is, and kept so; and what of it is drawn."""
    state = st.session_state
    found = {name: state.get(f"{page}_{name}") for name in SELECTION}
    kind = found["kind"] if found["kind"] in shown.kinds else shown.kinds[-1]
    layers, heads = shape(shown, kind)
    sizes = tuple(map(len, shown.axes(kind)))
    layer, head = min(_number(found["layer"]), layers - 1), min(_number(found["head"]), heads - 1)
    selection = Selection(kind, layer, head, **settled(found, rolls=rolls(shown, kind)),
                          start=_pair(found["start"], sizes), lit=_lit(found["lit"], heads))
    drawn = window(shown, selection.start, last=newest)
    selection = replace(selection, pair=_pair(found["pair"], tuple(map(len, drawn.axes(kind)))))
    change_selection(page, **{name: getattr(selection, name) for name in SELECTION})
    return selection, drawn


def _number(value: object) -> int:
    try:
        return int(number(value, 0, 999_999))
    except ValueError:
        return 0


def _numbers(value: object, separator: str) -> list[int]:
    parts = value.split(separator) if isinstance(value, str) else value
    return [_number(part) for part in parts[:100] if part != ""] if isinstance(parts, list | tuple) else []


def _pair(value: object, sizes: tuple[int, int]) -> tuple[int, int] | None:
    pair = tuple(_numbers(value, ":"))
    return pair if len(pair) == 2 and pair[0] < sizes[0] and pair[1] < sizes[1] else None


def _lit(value: object, heads: int) -> tuple[int, ...] | None:
    lit = tuple(sorted({at for at in _numbers(value, ",") if at < heads}))
    return None if value is None or len(lit) == heads <= MOST_LIT else lit


def selection_param(name: str, value: object) -> str | None:
    """One part of the look as the link says it; None where it is as it is to begin with."""
    if value is None or (name in CHOICES and value == CHOICES[name][0]):
        return None
    if name in ("pair", "start", "lit") and not isinstance(value, str):
        return ("," if name == "lit" else ":").join(map(str, value))
    return str(value)


def source_line(shown: AttentionSource) -> str:
    """What every figure says of where it comes from."""
    return origin(shown.ckpt)


def read_selection(page: str, shown: AttentionSource, *, newest: bool = True) -> tuple[Selection, Head]:
    """What is chosen to be seen, and its numbers: of a long text those of the window drawn, at its end where `newest`,
    else at its beginning."""
    selection, drawn = _selection_in_range(page, shown, newest=newest)
    return selection, head_of(drawn, selection)


def show_attention(page: str, shown: AttentionSource, selection: Selection, head: Head, *, dark: bool,
                   newest: bool = True) -> None:
    """The attention view alone, and what to take away from it; newest outlines the last query."""
    _view(key=f"{page}_attention", on_selection_change=partial(take_selection, page, f"{page}_attention"),
          data=message_of(page, shown, selection, head, dark=dark, newest=newest))
    if presenting(page):
        return
    st.caption(f"{MEANING[selection.kind]} {_reading(selection, scoring(shown, selection.kind))} "
               "Attention shows where a head looks, not why the model decides.")
    offer_files(page, shown, selection)


def message_of(page: str, shown: AttentionSource, selection: Selection, head: Head, *, dark: bool, newest: bool = True,
               coming: Sequence[tuple[str, str]] = (), **header: object) -> bytes:
    """What the script is sent; coming: as `live` takes it; header: more of its own fields."""
    state = st.session_state
    coming = coming if selection.tokens == "pieces" and selection.special == "shown" else ()
    merged, selection = _in_words(shown, selection)
    drawn = window(merged, selection.start, last=newest)
    head = head if merged is shown else head_of(drawn, selection)
    before: dict[str, Pooled] = state.setdefault(f"{page}_pooled", {})
    pooled = before[selection.kind] = Pooled.of(merged, selection.kind, before.get(selection.kind))
    ends = newest and _at_end(drawn, selection.kind)  # the newest query is among those drawn
    if leading():
        draw(page, small(drawn, selection, pooled, head, newest=ends, coming=coming, **_for_room(header)),
             header.get("step_view", {}).get("said", ""))
    return live(drawn, selection, pooled, head=head, dark=dark, newest=ends, large=presenting(page), coming=coming,
                answered=state.get(f"{page}_selection_answered", 0), **header)


def _at_end(drawn: AttentionSource, kind: str) -> bool:
    return not isinstance(drawn, Window) or drawn.places[kind][0].stop == drawn.whole(kind)[0]


def _for_room(header: Mapping[str, object]) -> dict[str, object]:
    """The part of a step view for those who do not step."""
    if "step_view" not in header:
        return {}
    step_view = {name: value for name, value in header["step_view"].items() if name not in STEPPING}
    if step_view["hide"]:  # what comes next does not even travel
        rows = [row | {"tokens": row["tokens"][:row.get("predicted")]} for row in step_view["rows"]]
        step_view |= {"bars": None, "rows": rows}
    return {"step_view": step_view}


def _in_words(shown: AttentionSource, selection: Selection) -> tuple[AttentionSource, Selection]:
    if selection.tokens == "pieces" and selection.special == "shown":
        return shown, selection
    merged = shown.words(merge=selection.tokens == "words", leave_out=LEFT_OUT if selection.special == "hidden" else ())
    queries, keys = map(len, window(merged, selection.start).axes(selection.kind))
    pair = selection.pair if selection.pair and selection.pair[0] < queries and selection.pair[1] < keys else None
    return merged, replace(selection, pair=pair)


def _reading(selection: Selection, scored: Scoring = PLAIN) -> str:
    """How to read what is drawn. scored: how the model makes scores."""
    if selection.view == "lines":
        return "The stronger a line, the larger its weight; lines of several heads lie side by side."
    if selection.special == "hidden":
        return "Each row of weights adds up to 1 minus what is left out; the scale shows which colour is which number."
    single = selection.of == "head" and selection.tokens == "pieces"
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


def take_selection(page: str, key: str) -> None:
    """Take over what the component of that key asks to be looked at."""
    state, asked = st.session_state, st.session_state[key].selection
    if not isinstance(asked, Mapping) or not isinstance(asked.get("number"), int) or not 0 <= asked["number"] < 10**9:
        return
    change_selection(page, **{name: asked.get(name) for name in SELECTION})
    state[f"{page}_selection_answered"] = asked["number"]
    state[TELL] = asked.get("pair") is not None and state.get(CELL_ASKED) == page


def cells_of(shown: AttentionSource) -> int:
    """How many weights all heads of all kinds have."""
    sizes = [shape(shown, kind) + tuple(map(len, shown.axes(kind))) for kind in shown.kinds]
    return sum(int(np.prod(size)) for size in sizes)


def offer_files(page: str, shown: AttentionSource, selection: Selection, sampling: Sampling = GREEDY) -> None:
    """What a reader can take away: the picture as a page, the numbers. sampling: how the steps were chosen."""
    if presenting(page):
        return
    shown, selection = _in_words(shown, selection)
    cells = cells_of(shown)
    words = "-words" if selection.tokens == "words" else ""
    name = f"{shown.ckpt.id}-{selection.kind}-layer{selection.layer}-head{selection.head}{words}"
    with st.container(horizontal=True):
        st.download_button("Save as a page", partial(_page, window(shown, selection.start), selection, sampling),
                           f"{name}.html", "text/html", key=f"{page}_save_page", icon=":material/html:",
                           on_click="ignore",
                           help="One HTML file with every head of every kind, for a browser without a network.")
        st.download_button("Save the numbers", partial(_npz, shown), f"{name}.npz", key=f"{page}_save_npz",
                           icon=":material/data_array:", on_click="ignore", disabled=cells > MOST_SAVED,
                           help=f"All {cells:,} weights and scores as npz, for numpy." if cells <= MOST_SAVED else
                           f"{cells:,} weights are more than the {MOST_SAVED:,} that a file is made of here: use the "
                           "library, `step.attentions`.")


def _page(shown: AttentionSource, selection: Selection, sampling: Sampling) -> bytes:
    return offline_page(shown, selection, exact=cells_of(shown) <= WHOLE_PAGE, sampling=sampling).encode()


def _npz(shown: AttentionSource) -> bytes:
    words = isinstance(shown, Words)
    pieces = {"pieces": {kind: shown.pieces(kind) for kind in shown.kinds}} if words else {}
    arrays = {"about": np.array(orjson.dumps(about(shown) | pieces).decode())}
    for kind in shown.kinds:
        queries, keys = shown.axes(kind)
        more = (f"{kind}_hidden", shown.hidden(kind)) if words else (f"{kind}_scores", shown.scores[kind])
        arrays |= {f"{kind}_weights": weights(shown, kind).numpy(), more[0]: more[1].numpy(),
                   f"{kind}_mask": shown.mask(kind).numpy(), f"{kind}_queries": np.array(queries),
                   f"{kind}_keys": np.array(keys)}
        if (after := shown.predicted(kind)) is not None:
            arrays[f"{kind}_predicted"] = np.array(after)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def show_details(page: str, shown: AttentionSource, selection: Selection, head: Head, *, dark: bool) -> None:
    """The mask on these tokens, the positional encoding of these positions, and the chosen head's numbers."""
    if presenting(page):
        return
    kind = selection.kind
    queries, keys = shown.axes(kind)
    layer = selection.layer if selection.of in ("head", "mean_heads") else None
    mask, source = shown.mask(kind, layer).numpy(), source_line(shown)
    chosen = st.pills("More about this attention", list(DETAILS), key=f"{page}_details", persist_state="session",
                      label_visibility="collapsed", format_func=DETAILS.get)
    if chosen == "Mask":
        part, rows, columns = mask[-MOST_MASK:, -MOST_MASK:], queries[-MOST_MASK:], keys[-MOST_MASK:]
        title = f"Who may look at whom: {kind}" + (f", last {MOST_MASK} tokens" if part.size < mask.size else "")
        figure = figures.mask_matrix(part, rows, columns, title=title, source=source, dark=dark)
        picture, said = st.columns([1, 1] if mask.all() else [5, 2], gap="large", vertical_alignment="center")
        with picture:
            st.plotly_chart(figure, key=f"{page}_mask", config=figures.PLOTLY_CONFIG,
                            alt=figures.describe_mask(part, rows, columns))
        near = "" if shown.ckpt is None or layer is None else window_said(shown.ckpt.config, kind, layer)
        said.markdown(
            "**This mask allows everything.** " + (
                "There is one token so far, and it may look at itself." if kind == "decoder" else
                "Every query may look at every key: with one sentence there is no padding to hide.") if mask.all()
            else (near or
                  "**The causal mask**: no token sees the ones after it, because they had not been written yet "
                  "(Vaswani et al. 2017, section 3.2.3)."))
    elif chosen == "Positions":
        _show_positions(page, shown, kind, dark=dark)
    elif chosen == "Numbers":
        if len(queries) * len(keys) > MOST_CELLS:
            st.info(f"{len(queries)} x {len(keys)} weights are too many for a table; hover over the picture for "
                    "each, or save the numbers.")
        elif selection.of != "head":
            st.info("The table is for single heads; the picture above shows a mean.")
        else:
            st.html(figures.attention_table(head.weights, queries, keys, kind=kind, layer=selection.layer,
                                            head=selection.head, mask=mask, source=source))


def window_said(config: ModelConfig, kind: str, layer: int) -> str:
    """What the window of a layer lets a token see; empty where it has none."""
    if kind == "cross" or not config.has_window(layer):
        return ""
    seen = (f"the last {config.window:,} tokens, itself included" if kind == "decoder" else
            f"at most {config.window - 1:,} tokens to each side")
    return f"**Layer {layer} has a window**: each token sees {seen} (Beltagy et al. 2020, section 3.1)."


def _show_positions(page: str, shown: AttentionSource, kind: str, *, dark: bool) -> None:
    side = "src" if kind in ("encoder", "cross") else "tgt"
    tokens = shown.axes(kind)[1]
    model = shown.ckpt.model
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
                   source=source_line(shown), dark=dark, key=f"{page}_positions")
    st.caption(what)
