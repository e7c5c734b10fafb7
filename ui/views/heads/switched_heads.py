"""Switched heads: a text before and after heads are switched off or made uniform, and each head in turn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from torch import Tensor

from transformer.analysis.ablation import EXPLAINED, Head, PathChange, all_heads, compare_paths, switch_heads
from transformer.attention_view.message import token_labels
from transformer.basics.formatting import how_many, in_percent
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import reads_examples
from transformer.inference.decoding import Step, steps
from transformer.inference.reading import Reading, attend
from transformer.model.changes import Change
from transformer.model.sites import label
from transformer.settings.config import ModelConfig
from transformer.text.word_pieces import labelled
from ui import figures
from ui.choices.head import caption_of, head_controls, head_in_range, origin, plain_name
from ui.choices.held_out_corpus import readable
from ui.choices.text_box import TextState, type_text
from ui.components.head_maps import show_head_switches
from ui.page.pages import stepper_of
from ui.page.plain_text import say_error
from ui.page.presentation import presenting
from ui.page.text_limits import untouched
from ui.state.caches import chart, shelf
from ui.state.work_queue import heavy
from ui.views.heads.head_ablation import CALLED, show_effects
from ui.views.heads.page_layout import behind, say_tokens, windowed
from ui.views.heads.switch_state import WHAT, Switch, read_heads
from ui.views.stepper.address import address_of_step


@dataclass(frozen=True)
class Demonstration:
    """A sentence, and a head without which the model translates it differently."""

    text: str
    head: Head

    @property
    def label(self) -> str:
        return f"{self.text} · {label(self.head.kind, self.head.layer, self.head.head)} off"


# For the checkpoint that comes with the app; a test has the translation without each head.
DEMONSTRATIONS = [Demonstration("I am cold.", Head("cross", 1, 1)),
                  Demonstration("The animal didn't cross the street because it was too tired.", Head("cross", 1, 2))]


def seen_in(ckpt: Checkpoint, *, watch: Callable[[], None] = lambda: None) -> list[Demonstration]:
    """The demonstrations that work with a model's weights, tried out."""
    result = []
    for one in DEMONSTRATIONS:
        try:
            change = compare_paths(ckpt, one.text, switch_heads(ckpt.config, one.head), max_steps=60, watch=watch)
        except ValueError:  # the head does not exist, or the sentence cannot be read
            continue
        if change.before[-1].output != change.after[-1].output:
            result.append(one)
    return result


TOP = 5
LEAST = 0.01  # the least probability with a visible bar
MOST_CLASSES = 20
FEW_CLASSES = 6  # with room beside the switches
BEFORE = "unchanged"


Pair = tuple[Step, Step] | tuple[Reading, Reading]


@dataclass(frozen=True)
class Both:
    """A text read with all heads, and with some switched."""

    ckpt: Checkpoint
    name: str  # the switched heads, such as “without X1H3”
    readings: Pair  # the same tokens, read both ways
    change: PathChange | None = None  # of a model that writes


def show_both(page: str, both: Both, *, dark: bool) -> None:
    """The model's output for the text, both ways."""
    if both.change is not None:
        _show_paths(page, both.ckpt, both.change, name=both.name)
    else:
        _show_encoder(page, both.ckpt, both.readings, name=both.name, dark=dark)


def show_chances(page: str, both: Both, *, dark: bool) -> None:
    """The probability of each token of the unchanged model, or of each class, both ways: as a chart and a table."""
    ckpt, name = both.ckpt, both.name
    if both.change is not None:
        pieces = [step.piece for step in both.change.before]
        st.vega_lite_chart(
            chart(figures.probability_change, pieces, both.change.probabilities, what="token of the unchanged model",
                  series=(BEFORE, name), title="Probability of each token", dark=dark,
                  source=f"after the same preceding tokens · {origin(ckpt)}"),
            key=f"{page}_switch_chances", alt=figures.describe_probability_change(pieces, both.change.probabilities))
        _table(pieces, both.change.probabilities, name, "token")
        return
    if not ckpt.config.n_classes:
        st.caption("This encoder predicts no class.")
        return
    order, values = _classes(_logits(both.readings))
    few = order[:MOST_CLASSES]
    names = [ckpt.classes[at] for at in few]
    st.vega_lite_chart(
        chart(figures.probability_change, names, values[few], what="class", series=(BEFORE, name), dark=dark,
              tokens=False, title="Probability of each class", source=origin(ckpt)),
        key=f"{page}_switch_chances", alt=figures.describe_probability_change(names, values[few]))
    if len(order) > len(few):
        st.caption(f"The {MOST_CLASSES} likeliest of {len(order):,} classes; the table lists all.")
    _table([ckpt.classes[at] for at in order], values[order], name, "class")


def _show_paths(page: str, ckpt: Checkpoint, change: PathChange, *, name: str) -> None:
    """Both paths, the first token that differs and the candidates there."""
    before, after, differs, named = change.before, change.after, change.differs, figures.markdown_text(name)
    for title, path, said in ((BEFORE, before, "tokens before"), (name, after, "tokens after")):
        with st.container(key=f"{page}_path_{said.split()[-1]}", gap="xsmall"):
            st.markdown(f"**{figures.markdown_text(title[0].upper() + title[1:])}**")
            st.text(path[-1].output or "(nothing)")
            st.html(figures.token_chips(labelled([step.piece for step in path], ckpt.tokenizer), label=said,
                                        predicted=differs))
            if ckpt.config.encoder_layers and not ckpt.config.ends(path[-1].id):
                st.caption(f"Cut off after {len(path)} tokens: the model had not ended.")
    if differs is None:
        st.success(f"Every token is the same {named}: {len(before)} of {len(before)}.")
    else:
        st.markdown(f"**First difference: step {differs}.** Unchanged, the model predicts "
                    f"“{_shown(before[differs])}”, {named} “{_shown(after[differs])}”.",
                    help="Outlined: the first difference. After it, the two have read different tokens (faint), so "
                         "they are no longer compared.")
        with st.container(key=f"{page}_candidates"):
            for place, step, title in zip(st.columns(2, gap="medium"), (before[differs], after[differs]),
                                          (BEFORE, name), strict=True):
                top = [one for one in step.top(TOP) if one.probability >= LEAST or one.id == step.id]
                rest = 1 - sum(one.probability for one in top)
                place.html(figures.candidate_rows(top, chosen_id=step.id, rest=rest if rest >= LEAST else None,
                                                  label=f"likeliest at step {differs}, {title}"))
    with st.container(horizontal=True, key=f"{page}_paths_settings"):
        _link(page, ckpt, before, "tokens before")
        _link(page, ckpt, after, "tokens after")


def _logits(pair: Pair) -> list[Tensor]:
    """What is predicted both ways; nothing by an encoder without a head."""
    return [one.logits for one in pair if one.logits is not None]


def _classes(logits: list[Tensor]) -> tuple[np.ndarray, np.ndarray]:
    """The classes, the likeliest of the unchanged model first, and the probabilities (classes, 2)."""
    values = np.stack([one.exp().cpu().numpy() for one in logits], axis=1)
    return np.argsort(-values[:, 0], kind="stable"), values


def _show_encoder(page: str, ckpt: Checkpoint, pair: Pair, *, name: str, dark: bool) -> None:
    """The classes, or the pieces put at each place, of a text read both ways."""
    logits, text = _logits(pair), pair[0].text
    if not logits:
        st.info("This encoder has no head and predicts nothing: only its attention can be compared.")
        return
    if not ckpt.config.n_classes:
        _show_masked(page, ckpt, logits, read=pair[0].axes("encoder")[0], text=text, name=name)
        return
    order, values = _classes(logits)
    first, second = (ckpt.classes[int(column.argmax())] for column in values.T)
    other = "the same" if first == second else f"**{figures.markdown_text(second)}**"
    sure, then = (in_percent(float(column.max())) for column in values.T)
    st.markdown(f"Unchanged, the likeliest class is **{figures.markdown_text(first)}** ({sure}); "
                f"{figures.markdown_text(name)} it is {other} ({then}).")
    few = [at for at in order[:FEW_CLASSES] if values[at].max() >= LEAST]
    st.html(figures.bar_table(
        [figures.words_label(ckpt.classes[at]) for at in few],
        {BEFORE: values[few, 0].tolist(), name: values[few, 1].tolist()},
        caption_of(ckpt, "Probability of each class"), corner="class", tokens=False, written=in_percent,
        dark=dark))
    _open(page, ckpt, address_of_step(ckpt.id, text)[0], "before", "Open this text")


def _show_masked(page: str, ckpt: Checkpoint, logits: list[Tensor], *, read: list[str], text: str, name: str) -> None:
    """The likeliest piece at each place, both ways, for a masked language model. read: the pieces of the text."""
    tops = [one.softmax(-1).max(-1) for one in logits]
    rows = [[f"{place}", figures.plain_label(piece, longest=None),
             *(cell for values, ids in tops for cell in (
                 figures.plain_label(ckpt.tokenizer.piece(int(ids[place])), longest=None), f"{values[place]:.3f}"))]
            for place, piece in enumerate(read)]
    same = sum(int(one) == int(other) for one, other in zip(tops[0][1], tops[1][1], strict=True))
    st.markdown(f"**Predictions at each position**: the same at {same} of {len(rows)} positions "
                f"{figures.markdown_text(name)}.")
    st.html(figures.plain_table(["place", "read", BEFORE, "probability", name, "probability"], rows,
                                label="predictions before and after", numbers=(3, 5)))
    _open(page, ckpt, address_of_step(ckpt.id, text)[0], "before", "Open this text")


def _shown(step: Step) -> str:
    return figures.markdown_text(figures.plain_label(step.piece))


def _table(names: list[str], probabilities: np.ndarray, name: str, what: str) -> None:
    st.html(figures.number_table(
        [BEFORE, name, "change"],
        [(one if what == "class" else figures.plain_label(one, longest=None),
          [str(before), str(after), f"{after - before:+.6f}"])
         for one, (before, after) in zip(names, probabilities, strict=True)],
        corner=what, label=f"probabilities of each {what}"))


def _link(page: str, ckpt: Checkpoint, path: list[Step], label: str) -> None:
    """A link to these tokens on the model's own page, where it has all its heads."""
    choices = {step.index: step.id for step in path}
    address, _ = address_of_step(ckpt.id, path[0].text, choices=choices if label == "tokens after" else {},
                                 temperature=0.0, step=len(path) - 1)
    _open(page, ckpt, address, label.split()[-1], "" if label == "tokens before" else " with all heads on")


def _open(page: str, ckpt: Checkpoint, address: Mapping[str, str], which: str, words: str) -> None:
    other = stepper_of(ckpt.config)
    with st.container(key=f"{page}_open_{which}", width="content"):
        st.page_link(other.script, label=f"Open in {other.title}{words}", icon=":material/open_in_new:",
                     query_params=address)


def show_seen(page: str, both: Both, chosen: tuple[Head, ...], *, dark: bool) -> None:
    """A head's weights before and after, and their difference."""
    state, ckpt, pair, name = Switch(page), both.ckpt, both.readings, both.name
    if state.seen_layer is None and state.seen_kind is None:
        state.seen_kind, state.seen_layer, state.seen_head = _later(ckpt.config, chosen[0])
    kind, layer, head = head_in_range(f"{page}_seen", ckpt.config)
    st.markdown("On the tokens the unchanged model writes, read both ways." if both.change else
                "On this text, read both ways.")
    head_controls(f"{page}_seen", ckpt.config)
    (before, after), queries, keys, mask = windowed(
        [one.attentions[kind][layer, head].cpu().numpy() for one in pair], *token_labels(pair[0], kind)[:2],
        pair[0].mask(kind).numpy())
    say_tokens(queries, keys)
    which, newest = f"{kind.capitalize()}, {figures.head_label(layer, head)}", False
    for place, of, matrix, title in zip(st.columns(2, gap="large"), ("before", "after"), (before, after),
                                        ("unchanged", name), strict=True):
        with place:
            st.plotly_chart(
                figures.attention_heatmap(matrix, queries, keys, title=f"{which} · {title}", source=origin(ckpt),
                                          mask=mask, newest=newest, dark=dark),
                key=f"{page}_seen_{of}", config=figures.PLOTLY_CONFIG,
                alt=figures.describe_attention(matrix, queries, keys, newest=newest))
    if Head(kind, layer, head) in chosen:
        st.caption("This head is itself switched" + (
            ": it still computes its weights, but its output is discarded."
            if Switch(page).what == "off" else ": its weights are uniform."))
    if np.abs(after - before).max() < 1e-6:
        st.info("This head attends exactly as before. Only heads in later layers, or in the decoder after a change in "
                "the encoder, can be affected.")
        return
    left, right = st.columns(2, gap="large")
    left.plotly_chart(
        figures.difference_heatmap(after, before, queries, keys, names=("after", "before"), mask=mask, dark=dark,
                                   title=f"{which} · after minus before", source=origin(ckpt)),
        key=f"{page}_seen_difference", config=figures.PLOTLY_CONFIG,
        alt=figures.describe_difference(after, before, queries, keys))
    with right, st.expander("The difference as a table", key=f"{page}_seen_table"):
        if before.size <= 2_500:
            st.html(figures.attention_table(after - before, queries, keys, kind=kind, layer=layer, head=head,
                                            source=f"After minus before. {origin(ckpt)}"))
        else:
            st.caption(f"{before.size:,} numbers are too many for a table; try a shorter text.")


def _later(config: ModelConfig, head: Head) -> Head:
    """The default of a head that reads this one's output: the one above it, else itself."""
    return head._replace(layer=head.layer + 1) if head.layer + 1 < config.layers(head.kind) else head


STEPS = {"translation": 60, "text": 40}
INSTRUCTION = {"off": "Click a head to switch it off. Crossed heads are off.",
               "uniform": "Click a head to make it look at everything equally. Crossed heads do."}


def show_switch(page: str, ckpt: Checkpoint, *, dark: bool) -> None:
    """The view: the switches, beside the model's output for a text with and without these heads."""
    state, config = Switch(page), ckpt.config
    Switch.switch_again.pop(page)  # the whole page is drawn in this run
    there = set(all_heads(config))
    state.heads = [head for head in state.heads if head in there]
    text = _choose_text(page, ckpt)
    with st.container(key=f"{page}_switch_picture"):
        left, right = st.columns([9, 11] if presenting(page) else [11, 9], gap="medium")
    with left, st.container(key=f"{page}_switches"):
        _choose_heads(page, ckpt, dark=dark)
    heads, both = state.heads, None
    with right, st.container(key=f"{page}_switched"):
        if not text.strip():
            st.info("Type a text above to see what switching heads changes in it.")
        elif not heads:
            st.info("Click heads to switch them off. The text then runs through the model twice: with them and "
                    "without.")
        else:
            try:
                both = _read_both(page, ckpt, text, switch_heads(config, *heads, what=state.what))
                show_both(page, both, dark=dark)
            except ValueError as error:
                say_error(error)
    with behind(page, "each", "Each head in turn: how much worse is the model without it?") as is_open:
        if is_open:
            show_effects(page, ckpt, names=readable(ckpt), crossed=heads, on_pick=partial(_toggle, page), dark=dark)
    if both is not None:
        with behind(page, "chances", "How likely each answer is, with and without") as is_open:
            if is_open:
                show_chances(page, both, dark=dark)
        with behind(page, "seen", "Where another head looks, with and without") as is_open:
            if is_open:
                show_seen(page, both, tuple(heads), dark=dark)
    state.demonstrated = ckpt.id  # last: a run that was cut short above arrives again


def _choose_text(page: str, ckpt: Checkpoint) -> str:
    """The text, and demonstrations, if any work with this model; the first is the default."""
    state, offered = Switch(page), _demonstrations(ckpt)
    arriving = state.demonstrated != ckpt.id
    example = offered[0].text if offered else None
    if arriving and untouched(TextState.text.key(page)) and offered and not state.heads:
        state.heads = [offered[0].head]
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_switch_line"):
        with st.container(width=480):
            text = type_text(page, ckpt, example=example)
        if offered:
            st.pills("Examples", range(len(offered)), key=Switch.demonstration.key(page), wrap=True,
                     format_func=lambda at: figures.markdown_text(offered[at].label), label_visibility="collapsed",
                     on_change=_demonstrate, args=[page, offered])
    return text


def _demonstrations(ckpt: Checkpoint) -> list[Demonstration]:
    if ckpt.config.task != "translation" or not reads_examples(ckpt.description):
        return []
    return shelf("demonstrations").make((ckpt.id,), "Trying two sentences",
                                        lambda work: seen_in(ckpt, watch=work.watch))


def _demonstrate(page: str, offered: list[Demonstration]) -> None:
    state = Switch(page)
    picked = state.demonstration
    if picked is not None:
        TextState(page).text, state.heads = offered[picked].text, [offered[picked].head]
        state.demonstration = None


def _toggle(page: str, pick: dict) -> None:
    """Switches the head that was clicked in a map of effects, or back."""
    state = Switch(page)
    head, heads = Head(pick["kind"], pick["layer"], pick["head"]), state.heads
    state.heads = [one for one in heads if one != head] if head in heads else [*heads, head]
    state.switch_again = True


def _choose_heads(page: str, ckpt: Checkpoint, *, dark: bool) -> None:
    """A map of the heads of each kind, to switch them."""
    state, config = Switch(page), ckpt.config
    chosen, what = state.heads, state.what
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_what_settings"):
        st.segmented_control("Clicked heads are", list(WHAT), format_func=WHAT.__getitem__, key=Switch.what.key(page),
                             required=True, label_visibility="collapsed")
        st.button("Reset", key=f"{page}_all_on", icon=":material/restart_alt:", on_click=_all_on, args=[page],
                  disabled=not chosen)
    st.markdown(INSTRUCTION[what], help=EXPLAINED["switch"])
    cards = []
    for kind in config.kinds:
        count = sum(head.kind == kind for head in chosen)
        title = kind.capitalize() + (f" · {count} {CALLED[what]}" if count else "")
        cards.append(figures.switch_card(kind, config.layers(kind), config.n_heads, title=title))
    with st.container(key=f"{page}_boards"):
        show_head_switches(f"{page}_switch_maps", figures.head_maps(
            cards, alt="The heads, to be switched.", source=plain_name(ckpt), crossed=chosen, dark=dark,
            columns=len(cards)), partial(_switch, page))


def _switch(page: str, heads: list[str]) -> None:
    Switch(page).heads = read_heads(",".join(heads))


def _all_on(page: str) -> None:
    state = Switch(page)
    state.heads, state.demonstrated = [], state.checkpoint


def _read_both(page: str, ckpt: Checkpoint, text: str, change: list[Change]) -> Both:
    """A text read with all heads, and with some switched. Raises ValueError for a text that cannot be read."""
    state = Switch(page)
    chosen, what = tuple(state.heads), state.what
    name, key = name_of(chosen, what), (ckpt.id, text, chosen, what)
    if not ckpt.config.decoder_layers:
        with heavy("Reading the text both ways"):
            return Both(ckpt, name, (attend(ckpt, text), attend(ckpt, text, change=change)))
    known = state.paths
    if known is None or known[0] != key:
        with heavy("Decoding both ways") as work:
            both = compare_paths(ckpt, text, change, max_steps=STEPS[ckpt.config.task], watch=work.watch)
            forced = {step.index: step.id for step in both.before}
            path = []
            for step in steps(ckpt, text, max_steps=len(forced), forced=forced, change=change):
                path.append(step)
                work.watch()
        known = state.paths = key, both, (both.before[-1], path[-1])
    _, both, pair = known
    return Both(ckpt, name, pair, both)


def name_of(chosen: tuple[Head, ...], what: str) -> str:
    """The switched heads, such as “without X1H3”."""
    one = chosen[0]
    heads = label(one.kind, one.layer, one.head) if len(chosen) == 1 else how_many(len(chosen), "head")
    return f"without {heads}" if what == "off" else f"with {heads} uniform"
