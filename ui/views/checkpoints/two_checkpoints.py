"""Comparison of two checkpoints, or two training steps: their weights, their quality, all heads on the same
sentence."""

from functools import partial

import numpy as np
import streamlit as st

from transformer.analysis.difference import QualityChange, attention_distance, compare_quality, overlap, untrained_twin
from transformer.attention_view.message import token_labels
from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.evaluation.held_out import held_out_sentences
from transformer.inference.beam_search import translate
from transformer.inference.reading import Reading, attend
from transformer.settings.config import Kind
from transformer.settings.task import does
from transformer.text.sides import sides_of
from ui import figures
from ui.choices.checkpoint import open_entry, pick_entry
from ui.choices.head import HeadState, head_controls, head_in_range, origin
from ui.choices.held_out_corpus import readable, say_missing
from ui.choices.text_box import as_learned, example_of, label_of
from ui.components.head_maps import show_head_maps
from ui.page.link import Field, choice, quiet, text
from ui.page.plain_text import say_error
from ui.page.presentation import chart_size, columns, enlarged, settings
from ui.page.terms import with_terms
from ui.page.text_limits import ANSWER, LONGEST_TRANSLATION, PASSAGE, taken
from ui.state.caches import Entry, along_the_way, entries, is_best, steps_of, weight_changes
from ui.state.page_state import Kept, PageState
from ui.state.work_queue import heavy
from ui.views.checkpoints.card import shape

AGAINST = {"untrained": "Itself untrained", "step": "An earlier step", "other": "Another"}
MOST_CELLS = 20_000  # of all heads in one picture
SENTENCES = 200
LARGE = 50_000_000  # parameters of a model that takes minutes for so many sentences
PARTS = {"attention.q_proj": "W_q", "attention.k_proj": "W_k", "attention.v_proj": "W_v", "attention.out_proj": "W_o",
         "cross.q_proj": "cross W_q", "cross.k_proj": "cross W_k", "cross.v_proj": "cross W_v",
         "cross.out_proj": "cross W_o", "feed_forward.up": "FF up", "feed_forward.down": "FF down"}


class CompareState(PageState):
    """What is kept of this view."""

    against = quiet(choice("untrained", list(AGAINST)))
    other: Field[str | None] = quiet(Field(None))  # the id of B, where it is another
    step: Field[str | None] = quiet(Field(None))  # the id of B, where it is an earlier step
    target = quiet(text(""))
    text = quiet(text(""))
    untrained: Kept[tuple[str, Checkpoint] | None] = Kept(None)  # the id of A, and A untrained
    quality: Kept[tuple[tuple, QualityChange] | None] = Kept(None)  # of which two, and what was measured
    translated: Kept[tuple[tuple, str] | None] = Kept(None)  # by which checkpoint of which text, and the translation


def show_compare(page: str, entry: Entry, *, dark: bool) -> None:
    """The chooser of the other checkpoint, and the differences."""
    one = open_entry(entry)
    st.caption(with_terms("Two checkpoints side by side: how far apart their weights are, which does better on the "
                          "same sentences, and where each head looks.", "checkpoint", "head"), unsafe_allow_html=True)
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{page}_against_settings"):
        steps = [step for step in steps_of(entry) if (step.about.step or 0) < (entry.about.step or float("inf"))]
        offered = [name for name in AGAINST if steps or name != "step"]
        if CompareState(page).against not in offered:
            CompareState(page).against = "untrained"
        against = st.segmented_control("Compare with", offered, format_func=AGAINST.__getitem__,
                                       key=CompareState.against.key(page), required=True)
        other = (_untrained(page, one) if against == "untrained" else _step(page, steps) if against == "step" else
                 _other(page, entry))
    if other.id == one.id:
        st.info("Both are the same checkpoint. Choose another one, or another step.")
        return
    rows = {"checkpoint": lambda ckpt: ckpt.id, "step": _step_of,
            "reported quality": lambda ckpt: ckpt.description.quality, "task": lambda ckpt: does(ckpt.config),
            "size": lambda ckpt: shape(ckpt.config)}
    st.html(figures.plain_table(["", "A", "B"], [[name, of(one), of(other)] for name, of in rows.items()],
                                label="The two"))
    if against == "untrained":
        st.caption("B is A before training: the same random weights, recreated from its seed."
                   if one.description.train else "A was not trained here, so its initial weights are unknown; B has "
                                                 "fresh random weights of the same shape.")
    if against != "untrained" or one.description.train:
        _show_weights(page, one, other, dark=dark)
    _show_quality(page, one, other)
    _show_attention(page, one, other, dark=dark)


def _step_of(ckpt: Checkpoint) -> str:
    step = ckpt.description.step
    return "not recorded" if step is None else f"{step:,}"


def _other(page: str, entry: Entry) -> Checkpoint:
    """Draws the chooser of B, of the same task and by default of the same shape."""
    state = CompareState(page)
    if state.other is None:
        every = [one.about for one in (*entries(), *filter(is_best, along_the_way())) if one.about]
        state.other = next((about.id for about in every
                            if about.config == entry.about.config and about.id != entry.about.id), None)
    return open_entry(pick_entry(page, lambda about: about.config.kinds == entry.about.config.kinds, label="B",
                                   name="other", more=is_best))


def _step(page: str, steps: list[Entry]) -> Checkpoint:
    """Draws the chooser of a step of the same training as B, by default the first."""
    by_id, state = {one.about.id: one for one in steps}, CompareState(page)
    if state.step not in by_id:
        state.step = next(iter(by_id))
    return open_entry(by_id[st.selectbox("B, the step", list(by_id), key=CompareState.step.key(page),
                                         format_func=lambda id: f"{by_id[id].about.step or 0:,}")])


def _untrained(page: str, one: Checkpoint) -> Checkpoint:
    state = CompareState(page)
    known = state.untrained
    if known is None or known[0] != one.id:
        known = state.untrained = one.id, untrained_twin(one)
    return known[1]


# Weights


def _show_weights(page: str, one: Checkpoint, other: Checkpoint, *, dark: bool) -> None:
    st.header("Weights", anchor=False)
    changes, unlike = weight_changes(one, other)
    if not changes:
        st.info("The two have no tensor of the same name and shape, so their weights cannot be compared.")
    else:
        values, rows, columns = _by_part({change.name: change.relative for change in changes})
        if values.size:
            st.html(figures.named_matrix(values, rows, columns, least_high=0.1, label="Relative change of each matrix",
                                         caption=f"A {origin(one)} · B {origin(other)}", dark=dark))
        with settings(page, "changes"), st.expander(f"All {len(changes)} tensors", key=f"{page}_changes"):
            st.dataframe({"tensor": [change.name for change in changes],
                          "relative change": [change.relative for change in changes],
                          "cosine": [change.cosine for change in changes]}, hide_index=True, width="stretch",
                         key=f"{page}_change_table", column_config={
                             name: st.column_config.NumberColumn(format="%.4g") for name in ("relative change",
                                                                                             "cosine")})
        st.caption("Relative change: ‖B − A‖ / ‖A‖; 0 is unchanged, unrelated matrices of equal size give about 1.41. "
                   "Cosine: of the two as vectors. Weights can change without any effect: a head's queries and keys "
                   "may rotate together.")
    if unlike:
        with (settings(page, "unlike"),
              st.expander(f"{len(unlike)} tensors without a counterpart", key=f"{page}_unlike")):
            st.text("\n".join(unlike[:200]))


def _by_part(result: dict[str, float]) -> tuple[np.ndarray, list[str], list[str]]:
    """Layers by parts (rows, columns); NaN where a layer has no such part."""
    places = {tuple(name.split(".")[:3:2]) for name in result if ".layers." in name}
    rows = sorted(places, key=lambda place: (place[0] != "encoder", int(place[1])))
    columns = [part for part in PARTS if any(f".{part}.weight" in name for name in result)]
    values = np.full((len(rows), len(columns)), np.nan)
    for i, (stack, layer) in enumerate(rows):
        for j, part in enumerate(columns):
            values[i, j] = result.get(f"{stack}.layers.{layer}.{part}.weight", np.nan)
    return values, [f"{stack} layer {layer}" for stack, layer in rows], [PARTS[part] for part in columns]


# Quality


def _show_quality(page: str, one: Checkpoint, other: Checkpoint) -> None:
    st.header("Quality", anchor=False)
    names = readable(one)
    if one.config.task == "reads":
        st.info("An encoder without a head predicts nothing that could be measured.")
        return
    if not names:
        say_missing(one)
        return
    state, key = CompareState(page), (one.id, other.id)
    known = state.quality
    if known is None or known[0] != key:
        with settings(page, "measure"):
            wanted = st.button(f"Measure both on {SENTENCES} held-out sentences", key=f"{page}_measure",
                               help=_how_long(one, other))
        if not wanted:
            return
        try:
            with heavy("Measuring both") as work:
                result = compare_quality(one, other, *_both(one, other, names[0]), watch=work.watch)
        except ValueError as error:
            say_error(error)
            return
        known = state.quality = key, result
    _show_measured(known[1])


def _how_long(one: Checkpoint, other: Checkpoint) -> str:
    count = max(sum(weight.numel() for weight in ckpt.model.parameters()) for ckpt in (one, other))
    time = f"Takes {'minutes' if count >= LARGE else 'seconds'} for models of this size"
    return time + ("; an untrained one rarely ends a sentence and takes longer" if one.config.task == "translation"
                   else "")


def _both(one: Checkpoint, other: Checkpoint, corpus: str) -> tuple[list, list]:
    """The held-out sentences that fit both, as each reads them."""
    first, second = ({sentence.text: sentence for sentence in held_out_sentences(ckpt, limit=SENTENCES, name=corpus)}
                     for ckpt in (one, other))
    shared = [name for name in first if name in second]
    if not shared:
        raise ValueError("the two use different tokenizers, so their losses cannot be compared")
    return [first[name] for name in shared], [second[name] for name in shared]


def _show_measured(result: QualityChange) -> None:
    one, other = result.one, result.other
    unit = "token" if one.right is None else "text"
    change = "other pieces" if result.change is None else f"{result.change:+.4f}"
    error = "" if result.error is None else f" ± {result.error:.4f}"
    rows = [[f"loss, nats per {unit}", f"{one.loss:.4f}", f"{other.loss:.4f}", change + error]]
    if one.outputs is not None and other.outputs is not None and one.bleu is not None and other.bleu is not None:
        same = sum(a == b for a, b in zip(one.outputs, other.outputs, strict=True))
        rows += [["BLEU, greedy, first reference", f"{one.bleu:.2f}", f"{other.bleu:.2f}",
                  f"{other.bleu - one.bleu:+.2f}"],
                 ["the same translation", "", "", f"{same} of {result.n}"]]
    if one.right is not None and other.right is not None:
        rows.append(["right", f"{one.right.mean():.1%}", f"{other.right.mean():.1%}",
                     f"{other.right.mean() - one.right.mean():+.1%}"])
    st.html(figures.plain_table([f"on {result.n} held-out texts", "A", "B", "B minus A"], rows, label="Quality",
                                numbers={1, 2, 3}))
    st.caption("The same texts for both, fewer than for the figure on a card. Nats: −ln of the probability of the "
               "correct token; smaller is better. ±: standard error of the change."
               + (" With so few sentences, a point or two of BLEU is noise." if one.bleu is not None else ""))


# Every head on the same sentence


def _show_attention(page: str, one: Checkpoint, other: Checkpoint, *, dark: bool) -> None:
    st.header("Every head on the same sentence", anchor=False)
    read = _read(page, one, other)
    if read is None:
        return
    first, second = read
    kind, layer, head = head_in_range(page, one.config)
    common = min(first.attentions[kind].shape[0], second.attentions[kind].shape[0])
    heads = min(one.config.n_heads, other.config.n_heads)
    with settings(page, "head"):
        head_controls(page, one.config)
    if layer >= common or head >= heads:
        st.info(f"B has {how_many(common, 'layer')} of {how_many(heads, 'head')} here, and no "
                f"{figures.head_label(layer, head)}.")
        return
    (queries, keys), (other_queries, other_keys) = (of.axes(kind) for of in read)
    size = overlap(kind, (len(queries), len(keys)), (len(other_queries), len(other_keys)))
    if size is None or (queries, keys) != (other_queries, other_keys):
        st.info("The two tokenize this text differently, so cells do not correspond: the chosen head is shown for "
                "each, without a difference.")
        _show_side_by_side(page, read, (one, other), kind, layer, head, dark=dark)
        return
    a, b = (of.attentions[kind][:common, :heads] for of in read)
    far = attention_distance(a, b, first.mask(kind)).numpy()
    _show_distances(page, far, kind, layer, head, source=f"A {one.id} · B {other.id}", dark=dark)
    _show_tiles(page, a.numpy(), b.numpy(), queries, keys, (one, other), kind, layer, head, dark=dark)
    _show_side_by_side(page, read, (one, other), kind, layer, head, dark=dark)
    mask = first.mask(kind).numpy()
    figure = figures.difference_heatmap(
        a[layer, head].numpy(), b[layer, head].numpy(), queries, keys, names=("A", "B"), mask=mask, dark=dark,
        source=f"A {one.id} · B {other.id}",
        title=f"{kind.capitalize()}, {figures.head_label(layer, head)} · A minus B")
    st.plotly_chart(enlarged(page, figure), key=f"{page}_difference", config=figures.PLOTLY_CONFIG, **chart_size(page),
                    alt=figures.describe_difference(a[layer, head].numpy(), b[layer, head].numpy(), queries, keys))


def _read(page: str, one: Checkpoint, other: Checkpoint) -> tuple[Reading, Reading] | None:
    """The text, read by both with the same target; None, with a message, if one of them cannot."""
    config = one.config
    example = example_of(one)
    translates = config.task == "translation"
    with settings(page, "text"):
        typed = taken(st.text_input(label_of(one), key=CompareState.text.key(page), placeholder=(
            f"{' '.join(example.split())} (used while this is empty)" if example else
            "Type a sentence and press Enter")), PASSAGE)
    typed = as_learned(one, typed, say=True) if typed.strip() else example
    if not typed:
        sentence = figures.markdown_text(sides_of(one.description.languages).typed)
        st.info(f"Type {sentence} above to see where each head looks.")
        return None
    target = None
    try:
        if translates:
            with settings(page, "target"):
                forced = taken(st.text_input("Translation read by both decoders", key=CompareState.target.key(page),
                                             placeholder="A's own translation if empty"), ANSWER)
            target = forced if forced.strip() else _translated(page, one, typed)
            st.text(f"{typed} → {target}")
        else:
            st.text(typed)
        with heavy("Reading the text with both"):
            result = attend(one, typed, target), attend(other, typed, target)
    except ValueError as error:
        say_error(error)
        return None
    return result


def _translated(page: str, ckpt: Checkpoint, typed: str) -> str:
    """The translation by A, made once."""
    state, key = CompareState(page), (ckpt.id, typed)
    known = state.translated
    if known is None or known[0] != key:
        most = min(LONGEST_TRANSLATION, ckpt.config.max_len - 1)  # both decoders read the start token too
        with heavy("Translating") as work:
            result = translate(ckpt, [typed], max_steps=most, watch=work.watch)[0]
        known = state.translated = key, result
    return known[1]


def _show_tiles(page: str, a: np.ndarray, b: np.ndarray, queries: list[str], keys: list[str],
                both: tuple[Checkpoint, Checkpoint], kind: str, layer: int, head: int, *, dark: bool) -> None:
    layers, note = list(range(len(a))), ""
    if a.size > MOST_CELLS:
        layers, note = [layer], (f" {len(a) * a.shape[1]} heads over {len(queries)} tokens are too much for one "
                                 f"picture: shown are those of layer {layer}")
        a, b = a[[layer]], b[[layer]]
    most = max(1, int((MOST_CELLS / (a.shape[0] * a.shape[1])) ** 0.5))
    if max(a.shape[2:]) > most and a.size > MOST_CELLS:
        a, b, queries, keys = a[..., -most:, -most:], b[..., -most:, -most:], queries[-most:], keys[-most:]
        note += f", and of the text the last {most} tokens"
    figure = figures.difference_tiles(
        a, b, queries, keys, layers=layers, names=("A", "B"), chosen=(layer, head), dark=dark,
        title=f"{kind.capitalize()} attention, every head: A minus B", source=" · ".join(ckpt.id for ckpt in both))
    st.plotly_chart(enlarged(page, figure), key=f"{page}_tiles", config=figures.PLOTLY_CONFIG, **chart_size(page),
                    alt=f"Difference of every {kind} head over "
                    f"{how_many(len(queries), 'query', 'queries')} and {how_many(len(keys), 'key')}.")
    st.caption("In each small matrix rows are queries and columns keys. Blue: A puts more weight there; red: B does."
               + (f"{note}." if note else ""))


def _show_distances(page: str, far: np.ndarray, kind: str, layer: int, head: int, *, source: str, dark: bool) -> None:
    """A map of the distance of each head to its counterpart, to click."""
    card = figures.amount_card("distance", kind, far, high=max(float(far.max()), 0.1), unit="0 to 1",
                               title=f"Distance between {kind} heads")
    show_head_maps(f"{page}_distance", figures.head_maps(
        [card], alt=figures.describe_head_maps([card], [far]), source=source, chosen=(kind, layer, head), dark=dark),
        partial(_pick_head, page))
    st.caption("Total variation distance of a query's weights, averaged over queries: 0 if both look at the same "
               "tokens, 1 if they share none. Click a head to look closer.")
    with settings(page, "numbers"), st.expander("Numbers"):
        st.html(figures.heads_table({"distance": {kind: far}}, caption=source, label=f"Distance of every {kind} head"))


def _pick_head(page: str, pick: dict) -> None:
    state = HeadState(page)
    state.layer, state.head = pick["layer"], pick["head"]


def _show_side_by_side(page: str, read: tuple[Reading, Reading], both: tuple[Checkpoint, Checkpoint], kind: Kind,
                       layer: int, head: int, *, dark: bool) -> None:
    for place, name, of, ckpt in zip(columns(page, 2, gap="large"), "AB", read, both, strict=True):
        queries, keys, _ = token_labels(of, kind)
        weights, mask = of.attentions[kind][layer, head].numpy(), of.mask(kind).numpy()
        figure = figures.attention_heatmap(weights, queries, keys, mask=mask, newest=False, source=origin(ckpt),
                                           title=f"{kind.capitalize()}, {figures.head_label(layer, head)} · {name}",
                                           dark=dark)
        place.plotly_chart(enlarged(page, figure), key=f"{page}_{name}", config=figures.PLOTLY_CONFIG,
                           **chart_size(page), alt=figures.describe_attention(weights, queries, keys, newest=False))
