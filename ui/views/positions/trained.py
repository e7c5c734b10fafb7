"""The positions of a trained model, and what its heads do without them."""

from dataclasses import replace

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.positions import moved_share, without_positions
from transformer.attention_view.message import token_labels
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.beam_search import translate
from transformer.inference.reading import Reading, attend
from transformer.settings.config import Kind
from ui import figures
from ui.choices.head import head_controls, head_in_range, origin, plain_name
from ui.page.plain_text import say_error
from ui.page.presentation import chart_size, columns, enlarged, presenting, settings
from ui.page.text_limits import SENTENCE, taken
from ui.views.positions.table import MOST, PAGE, Table, opened_settings, show_curves, show_matrix, show_similarities


def show_checkpoint(ckpt: Checkpoint, sets: DeltaGenerator, *, dark: bool) -> None:
    """The positions of a model; sets: the place of the button of the settings."""
    state, config, positions = st.session_state, ckpt.config, ckpt.model.positions
    sides = [{"encoder": "src", "decoder": "tgt"}[stack] for stack in config.stacks]
    most = min(MOST, config.max_len)
    state[f"{PAGE}_count"] = min(state[f"{PAGE}_count"], most)
    if not ckpt.model.position_pictures(1, side=sides[0]):
        st.info(figures.markdown_text(positions.describe(config)))
        return
    if most < 2:
        st.info(f"{figures.markdown_text(_sentence(ckpt))} reads one position, so there is nothing to compare.")
        return
    box = opened_settings(sets, count="{:,} positions")
    with box:
        left, right = st.columns(2)
    count = left.number_input("Positions", 2, most, step=1, key=f"{PAGE}_count")
    if state[f"{PAGE}_side"] not in sides:
        state[f"{PAGE}_side"] = sides[0]
    side = sides[0]
    if positions.learned and len(sides) > 1:
        right.segmented_control("Added to", sides, key=f"{PAGE}_side", required=True,
                                format_func={"src": "source embeddings", "tgt": "target embeddings"}.__getitem__)
        side = state[f"{PAGE}_side"]
    pictures = ckpt.model.position_pictures(count, side=side)
    (first, *others), source = pictures, _source(ckpt)
    table = Table(first.values.float().cpu(), first.title, first.value, source, first.column)
    one, other = columns(PAGE, 2, gap="large")
    with one:
        show_matrix(table.values, "table", across=first.column, down=first.row, value=first.value, title=first.title,
               source=source, dark=dark)
    with other:
        for second in others:
            show_matrix(second.values, "beside", across=second.column, down=second.row, value=second.value,
                   title=second.title, source=source, angle=second.angles, dark=dark)
        if not others:
            show_curves(table, "checkpoint", box, dark=dark)
    st.markdown(f"The positions of {figures.markdown_text(plain_name(ckpt))} are "
                f"**{figures.markdown_text(positions.name)}**. "
                f"{figures.markdown_text(positions.describe(config))}"
                + ("" if positions.learned else " Choose a checkpoint trained with `positions=learned` to see what a "
                                                "model learns."))
    if others:
        show_curves(table, "checkpoint", box, dark=dark)
    if positions.compared:
        rows = positions.rows_to_compare(pictures).float().cpu()
        show_similarities(replace(table, values=rows), likeness=positions.likeness, dark=dark)


def _sentence(ckpt: Checkpoint) -> str:
    """The name of a checkpoint, to begin a sentence."""
    name = plain_name(ckpt)
    return name[:1].upper() + name[1:] if name.startswith("our ") else name


def _source(ckpt: Checkpoint) -> str:
    """The source of a figure, briefly; the table below it has the whole name."""
    return f"{plain_name(ckpt)} ·{origin(ckpt).partition(' ·')[2]}"


def show_left_out(ckpt: Checkpoint, *, dark: bool) -> None:
    """A model on the same text with positions and without."""
    config = ckpt.config
    translates, writes = config.task == "translation", config.task == "text"
    with settings(PAGE, "text"):
        typed = taken(st.text_area("Text", key=f"{PAGE}_text", height=80,
                                   placeholder="Type a text and press Ctrl+Enter"), SENTENCE)
    if not typed.strip():
        st.info("Type a text above and press Ctrl+Enter.")
        return
    if not ckpt.model.positions.undone:
        st.info(f"{figures.markdown_text(_sentence(ckpt))} has no positions to leave out.")
        return
    bare = without_positions(ckpt)
    try:
        target, other_target = (translate(which, [typed])[0] if translates else None for which in (ckpt, bare))
        with_them, without = (attend(which, typed, target) for which in (ckpt, bare))
    except ValueError as error:
        say_error(error)
        return
    kind, layer, head = head_in_range(PAGE, config)
    with settings(PAGE, "head"):
        head_controls(PAGE, config)
    st.caption("The same weights, and the same text" + (", and the translation with positions given to both decoders"
                                                        if translates else "")
               + f". Without positions, {ckpt.model.positions.undone}.")
    with st.container(key=f"{PAGE}_both"):
        above, pictures, below = (st.container() for _ in range(3))
    with pictures:
        shares = _show_both(ckpt, (with_them, without), (kind, layer, head), dark=dark)
    if translates:
        with below if presenting(PAGE) else above:
            one, other = columns(PAGE, 2)
        for place, name, text in ((one, "with", target), (other, "without", other_target)):
            place.header(f"Translation {name} positions", anchor=False)
            place.text(text or "(nothing)")
    _show_moved(ckpt, shares, (kind, layer, head))
    if translates:
        st.caption("Without positions the encoder reads a bag of words. The decoder's causal mask still reveals some "
                   "order: each token sees one more than the token before.")
    elif writes:
        st.caption("The causal mask still reveals some order, so a decoder is not entirely without it.")
    else:
        st.caption("An encoder without positions reads a bag of words: any order of these tokens gives the same "
                   "output.")


def _show_both(ckpt: Checkpoint, readings: tuple[Reading, Reading], at: tuple[Kind, int, int], *,
               dark: bool) -> torch.Tensor:
    """One head with positions and without; returns the share of each head's attention that moves, (layers, H)."""
    (kind, layer, head), (with_them, without) = at, readings
    axes = token_labels(with_them, kind)[:2]
    mask = with_them.masks[kind].numpy()
    names, keys = ("with", "without"), ("trained", "bare")
    for place, reading, name, key in zip(st.columns(2), readings, names, keys, strict=True):
        weights = reading.attentions[kind][layer, head].numpy()
        with place:
            title = f"{name.capitalize()} positions" if presenting(PAGE) else (
                f"{kind.capitalize()}, {figures.head_label(layer, head)}, {name} positions")
            figure = figures.attention_heatmap(weights, *axes, title=title, source=_source(ckpt), mask=mask,
                                               newest=False, dark=dark)
            st.plotly_chart(
                enlarged(PAGE, figure), key=f"{PAGE}_attention_{key}", config=figures.PLOTLY_CONFIG, **chart_size(PAGE),
                alt=figures.describe_attention(weights, *axes, newest=False))
    return moved_share(with_them.attentions[kind], without.attentions[kind])


def _show_moved(ckpt: Checkpoint, shares: torch.Tensor, at: tuple[str, int, int]) -> None:
    kind, layer, head = at
    st.markdown(f"**{float(shares[layer, head]):.1%}** of this head's attention moves without positions.")
    st.html(figures.number_table(
        [f"head {at}" for at in range(ckpt.config.n_heads)],
        [(f"layer {at}", [f"{float(share):.3f}" for share in row]) for at, row in enumerate(shares)],
        label="attention moved without positions", marked={(layer, head)}, caption=origin(ckpt)))
    st.caption(f"The share of each {kind} head's attention that shifts: total variation distance of a row, averaged "
               f"over rows; 0 is none, 1 is all.")
