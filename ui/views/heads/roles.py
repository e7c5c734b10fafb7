"""Roles: measures of every head over many sentences, beside random weights; and one head on its best sentence."""

from collections import Counter
from functools import partial

import numpy as np
import orjson
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.roles import BASELINES, SHORT, HeadRoles, read_weights, repeated
from transformer.analysis.sample import Sentence, pad_sentences
from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.measures.catalogue import BY_NAME
from transformer.measures.totals import ENOUGH
from transformer.model.masks import allowed_keys
from transformer.model.sites import label
from transformer.settings.config import Kind
from transformer.text.tokenizer import Tokenizer
from ui import figures
from ui.choices.head import head_in_range, origin, plain_name
from ui.components.head_maps import show_head_maps
from ui.page.pages import stepper_of
from ui.page.presentation import presenting
from ui.views.heads.page_layout import LABELLED, behind, say_tokens, windowed
from ui.views.heads.sample import OWN, RoleState, Sample, at_hand, choose_sample, measured, say_cut
from ui.views.stepper.address import address_of_step

MARGIN = 0.2


def named_heads(trained: np.ndarray, untrained: np.ndarray, even: float, *, margin: float = MARGIN,
                ) -> list[tuple[int, int]]:
    """Of shares (layers, H), the heads above both baselines by `margin` of what is left up to 1, largest first.

    The baselines are the largest of all heads with random weights, as the largest trained ones are looked for too, and
    a head that looks at all alike.
    """
    baselines = [float(np.nanmax(untrained))] if np.isfinite(untrained).any() else []
    baselines += [even] if np.isfinite(even) else []
    if not baselines:
        return []
    base = max(baselines)
    least = base + margin * (1 - base)
    result = [(float(trained[at]), at) for at in np.ndindex(trained.shape) if trained[at] >= least]
    return [at for _, at in sorted(result, key=lambda pair: (-pair[0], pair[1]))]


TWICE = 8  # random tokens, in a sequence that is repeated
MOST_CELLS = 2_500  # of the table


def show_best(page: str, ckpt: Checkpoint, roles: HeadRoles, measure: str, kind: Kind, layer: int, head: int, *,
              dark: bool) -> None:
    """The weights of a head on the sentence where the measure is largest, with its target forced."""
    about = BY_NAME[measure]
    show_head(page, roles, measure, kind, layer, head, numbers=not presenting(page))  # the map beside it has them
    best, short = (roles.sentence(kind, measure, layer, head, short=short) for short in (False, True))
    longest = best is not short and RoleState(page).role_longest
    if about.repeated:
        sentence = next(iter(repeated(ckpt.config, roles.sentences, seed=roles.seed, count=TWICE, rows=1)), None)
    else:
        sentence = best if longest else short
    if sentence is None:
        st.info("No single sentence can show this measure.")
        return
    if about.repeated:
        read = Counter(sentence.src if kind == "encoder" else sentence.tgt)
        twice = sum(times == 2 for times in read.values())
        st.caption(f"Measured on random tokens. Here are {twice} of them, repeated once: an induction head looks from "
                   "the second half at what followed the same token in the first.")
    else:
        window = ckpt.config.task == "text" and RoleState(page).role_on != OWN
        st.text("…" * window + sentence.text + (f" → {sentence.target}" if sentence.target is not None else ""))
    weights = _draw(page, ckpt, sentence, kind, layer, head, dark=dark)
    if about.repeated:
        return
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_role_best_settings"):
        what, other = "sentence" if sentence.target is not None else "text", stepper_of(ckpt.config)
        st.page_link(other.script, label=f"Open this {what} in {other.title}", icon=":material/open_in_new:",
                     query_params=address_of(ckpt, sentence, kind, layer, head)[0], width="content",
                     help=_chosen_so(what, sentence, longest=longest))
        st.button("More of this head", key=f"{page}_to_contexts", icon=":material/arrow_forward:",
                  on_click=st.session_state.update, args=[{f"{page}_view": "contexts"}],
                  help="Where it does this most in many texts, and where less.")
        if best is not short:
            st.toggle("Allow longer texts", key=RoleState.role_longest.key(page))
    if weights.size <= MOST_CELLS:
        with behind(page, "role_weights", "These weights as a table") as is_open:
            if is_open:
                queries, keys, mask = axes_on(ckpt, sentence, kind, layer)
                st.html(figures.attention_table(weights, queries, keys, kind=kind, layer=layer, head=head, mask=mask,
                                                source=origin(ckpt)))


def show_head(page: str, roles: HeadRoles, measure: str, kind: Kind, layer: int, head: int, *,
              numbers: bool = True) -> None:
    """The name of a head, with a measure of it beside the baselines."""
    value, random = (of[kind][measure][layer, head] for of in (roles.values, roles.untrained))
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_role_head_line"):
        st.markdown(f"## {kind.capitalize()}, {figures.head_label(layer, head)}", width="content")
        if numbers:
            st.markdown(f"**{figures.part_of_one(value)}** · random weights {figures.part_of_one(random)}, "
                        f"uniform {roles.even[kind][measure]:.2f}",
                        help=BY_NAME[measure].explained, width="content")


def _chosen_so(what: str, sentence: Sentence, *, longest: bool) -> str:
    """Why this text is shown."""
    few = is_short(sentence) and not longest
    return (f"The {what} of the sample where this head scores highest"
            + (f", of those with at most {SHORT} tokens" if few else "")
            + f" ({ENOUGH} or more measurable tokens where possible)"
            + (". The decoder is given its translation." if sentence.target is not None else "."))


def _draw(page: str, ckpt: Checkpoint, sentence: Sentence, kind: Kind, layer: int, head: int, *,
          dark: bool) -> np.ndarray:
    """Draws the weights of a head, with plotly only for a long text, and returns them."""
    whole = weights_on(ckpt, sentence, kind)[layer, head]
    queries, keys, mask = axes_on(ckpt, sentence, kind, layer)
    (weights,), queries, keys, mask = windowed([whole], queries, keys, mask)
    if max(weights.shape) <= figures.MOST_IN_GRID:
        after = [ckpt.tokenizer.piece(id) for id in sentence.labels or ()] if kind != "encoder" and (
            ckpt.config.task != "classes") else []
        small = presenting(page) and max(weights.shape) > LARGE_ON_A_WALL
        st.html(figures.weight_grid(weights, queries, keys, kind=kind, layer=layer, head=head, mask=mask, dark=dark,
                                    after=() if presenting(page) else after, small=small))
        return whole
    st.plotly_chart(
        figures.attention_heatmap(weights, queries, keys, mask=mask, newest=False, dark=dark, source=origin(ckpt),
                                  title=f"{kind.capitalize()}, {figures.head_label(layer, head)}"),
        key=f"{page}_role_heatmap", config=figures.PLOTLY_CONFIG,
        alt=figures.describe_attention(weights, queries, keys, newest=False))
    if max(len(queries), len(keys)) > LABELLED:
        with st.container(key=f"{page}_role_long", height=160, border=False):
            say_tokens(queries, keys)
    return whole


def is_short(sentence: Sentence) -> bool:
    return max(len(sentence.src or ()), len(sentence.tgt or ())) <= SHORT


def weights_on(ckpt: Checkpoint, sentence: Sentence, kind: Kind) -> np.ndarray:
    """The weights (layers, H, Tq, Tk) of a kind on a measured sentence."""
    batch = pad_sentences(ckpt.config, [sentence], device=ckpt.device)
    layers = dict(read_weights(ckpt.model, batch.src, batch.tgt))[kind]
    return torch.cat(layers).cpu().numpy()


def axes_on(ckpt: Checkpoint, sentence: Sentence, kind: Kind,
            layer: int) -> tuple[list[str], list[str], np.ndarray | None]:
    """The queries and keys of a kind on a sentence, and the mask of a layer if it hides anything."""
    tokens = {"src": [ckpt.source_tokenizer.piece(id) for id in sentence.src or ()],
              "tgt": [ckpt.tokenizer.piece(id) for id in sentence.tgt or ()]}
    queries, keys = tokens["src" if kind == "encoder" else "tgt"], tokens["tgt" if kind == "decoder" else "src"]
    mask = allowed_keys(ckpt.config, kind, range(len(queries)), range(len(keys)), layer=layer)
    return queries, keys, None if mask.all() else mask.numpy()


def address_of(ckpt: Checkpoint, sentence: Sentence, kind: Kind, layer: int, head: int, *,
               query: int | None = None) -> tuple[dict[str, str], bool]:
    """The query string under which the page of the model shows this head on this sentence, its target forced, and
    whether the sentence fits in. query: of a decoder, the last one read; by default that of the whole sentence."""
    selection = {"kind": kind, "layer": str(layer), "head": str(head)}
    if sentence.target is None:
        return address_of_step(ckpt.id, _up_to(ckpt, sentence, query), selection=selection)
    choices = dict(enumerate(sentence.labels or ()))
    step = len(choices) - 1 if query is None or kind == "encoder" else query
    return address_of_step(ckpt.id, sentence.text, choices=choices, temperature=0.0, step=step, selection=selection)


def _up_to(ckpt: Checkpoint, sentence: Sentence, query: int | None) -> str:
    """A text up to a query of its decoder, if that reads as the same tokens; else all of it."""
    if query is None or sentence.tgt is None or not ckpt.tokenizer:
        return sentence.text
    ids = list(sentence.tgt[:query + 1])
    text = ckpt.tokenizer.decode(ids)
    return text if ckpt.source_tokenizer.encode(text) == ids else sentence.text


NAMED = 4  # heads of a measure in the table
LARGE_ON_A_WALL = 8  # tokens a side of which a presented matrix has its numbers


def show_roles(page: str, ckpt: Checkpoint, *, dark: bool) -> None:
    """The view: a large map of one measure of every head, beside the head that was clicked."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_role_line"):
        kinds = st.container(width="content")
        sample = choose_sample(page, ckpt)
    if not sample:
        return
    if (ready := ready_roles(page, sample)) is not None:
        roles, place = ready
        with place:
            _show_measured(page, sample, roles, kinds, dark=dark)


def ready_roles(page: str, sample: Sample) -> tuple[HeadRoles, DeltaGenerator] | None:
    """The measures on a sample, taken now if they are not at hand, and the place for what is drawn of them; None while
    that waits for a button, or with a message."""
    if (roles := at_hand(sample)) is not None:
        return roles, st.container()
    place = st.empty()  # which removes the drawing of another sample
    with place:  # one element: in a container, the old drawing would stay until the measurement is done
        roles = measured(page, sample)
    return None if roles is None else (roles, place.container())


def _show_measured(page: str, sample: Sample, roles: HeadRoles, kinds: DeltaGenerator, *, dark: bool) -> None:
    """A whole measurement. kinds: the place of the chooser of its kinds of attention."""
    ckpt = sample.ckpt
    say_cut(sample, roles)
    if not any(measured_names(roles, kind) for kind in roles.values):
        st.info("These texts are too short for anything to be measured: no token has another to look at. Give longer "
                "ones.")
        return
    measure, kind, layer, head = _chosen(page, roles, ckpt)
    if len(ckpt.config.kinds) > 1:
        kinds.segmented_control("Attention", ckpt.config.kinds, key=RoleState.role_kind.key(page), required=True,
                                persist_state="session", format_func=str.capitalize, label_visibility="collapsed")
    with st.container(key=f"{page}_role_first"):
        left, right = st.columns(2, gap="medium")
    with left:
        _show_maps(page, roles, kind, measure, layer, head, about=sample.about(roles), ckpt=ckpt, dark=dark)
    with right, st.container(key=f"{page}_role_best"):
        show_best(page, ckpt, roles, measure, kind, layer, head, dark=dark)
    with behind(page, "role_named", "Heads that stand out") as is_open:
        if is_open:
            _show_named(roles, kind, ckpt.tokenizer if kind == "decoder" else ckpt.source_tokenizer)
    with behind(page, "role_numbers", "Numbers") as is_open:
        if is_open:
            _show_numbers(page, roles, kind, layer, head, f"{origin(ckpt)} · {sample.about(roles)}")
    with st.expander("What the measures show, and what they do not", key=f"{page}_role_words"):
        st.markdown("\n".join(f"- **{figures.markdown_text(BY_NAME[name].title)}.** {BY_NAME[name].explained}"
                              for name in roles.values[kind]))
        st.markdown(f"**Random weights.** {BASELINES['untrained']}\n\n**Uniform.** {BASELINES['even']}")
        st.markdown("Where weight lies is not why a model decides. Switch a head off to see what depends on it.")
        if missing := [f"{BY_NAME[name].title.lower()} ({roles.notes.get(name) or BY_NAME[name].why_not})"
                       for name in roles.values[kind] if name not in measured_names(roles, kind)]:
            st.markdown(f"Not measured here: {figures.markdown_text('; '.join(missing))}.")


def measured_names(roles: HeadRoles, kind: str) -> list[str]:
    """The measures with values."""
    return [name for name in roles.values[kind] if roles.queries[kind][name]]


def _chosen(page: str, roles: HeadRoles, ckpt: Checkpoint) -> tuple[str, Kind, int, int]:
    """The chosen measure, kind, layer and head, in range; by default the head with the largest value."""
    state = RoleState(page)
    first = state.role_layer is None and state.role_head is None
    kind, layer, head = head_in_range(f"{page}_role", ckpt.config)
    names = measured_names(roles, kind)
    measure = state.role = state.role if state.role in names else first_measure(kind, names)
    if first and names:
        layer, head = map(int, np.unravel_index(np.nanargmax(roles.values[kind][measure]),
                                                roles.values[kind][measure].shape))
        state.role_layer, state.role_head = layer, head
    return measure, kind, layer, head


def first_measure(kind: str, names: list[str]) -> str:
    """The measure that is shown until somebody chooses one."""
    preferred = ("alignment", "diagonal") if kind == "cross" else ("previous",)
    return next((name for name in preferred if name in names), names[0] if names else "entropy")


def _pick(page: str, pick: dict) -> None:
    state = RoleState(page)
    state.role, state.role_kind = pick["card"], pick["kind"]
    state.role_layer, state.role_head = pick["layer"], pick["head"]


def _show_named(roles: HeadRoles, kind: Kind, tokenizer: Tokenizer | None) -> None:
    """The notable heads, in words and numbers."""
    rows, quiet = [], []
    for name in measured_names(roles, kind):
        if not BY_NAME[name].share:
            continue
        value, random, even = roles.values[kind][name], roles.untrained[kind][name], roles.even[kind][name]
        heads = named_heads(value, random, even)
        if not heads:
            quiet.append(figures.markdown_text(BY_NAME[name].title.lower()))
            continue
        rows.append([BY_NAME[name].title, _listed(roles, kind, name, tokenizer, heads), f"{np.nanmax(random):.2f}",
                     f"{even:.2f}"])
    if rows:
        st.html(figures.plain_table(
            ["puts weight on", "layer.head (share of its weight)", "random weights, at most", "uniform"], rows,
            label="heads that stand out", numbers=(2, 3), wrap=True))
    st.caption(("Listed: heads" if rows else "None. Heads would be listed here if they were")
               + f" well above both baselines (by at least {MARGIN:.0%} of what is left to 1), strongest first."
               + (f" No head stands out in: {', '.join(quiet)}." if quiet else "")
               + " Uniform: the value of a head that looks at everything equally. A role names where weight lies, not "
                 "what a head is for.")


def _listed(roles: HeadRoles, kind: Kind, name: str, tokenizer: Tokenizer | None,
            heads: list[tuple[int, int]]) -> str:
    """The strongest heads that a measure names; if there are more, their number, and where they rest."""
    value = roles.values[kind][name]
    strongest = ", ".join(f"{label(kind, layer, head)} ({value[layer, head]:.2f})" for layer, head in heads[:NAMED])
    if len(heads) <= NAMED:
        return strongest
    firsts = {getattr(one, "tgt" if kind == "decoder" else "src")[0] for one in roles.sentences}
    token = tokenizer.piece(firsts.pop()) if name == "first" and tokenizer and len(firsts) == 1 else None
    return (f"{len(heads)} of {value.size} heads"
            + (f": a sink on {figures.plain_label(token)}" if token and len(heads) > value.size / 2 else "")
            + f"; strongest {strongest}")


def _show_maps(page: str, roles: HeadRoles, kind: str, measure: str, layer: int, head: int, *, about: str,
               ckpt: Checkpoint, dark: bool) -> None:
    names = measured_names(roles, kind)
    cards = [figures.role_card(name, kind, roles.values[kind][name], roles.untrained[kind][name],
                               roles.even[kind][name], title=BY_NAME[name].title,
                               unit=BY_NAME[name].unit_in(kind), share=BY_NAME[name].share)
             for name in names]
    alt = figures.describe_head_maps(cards, [roles.values[kind][name] for name in names])
    show_head_maps(f"{page}_role_maps", figures.head_maps(
        cards, alt=alt, source=f"{plain_name(ckpt)}, {how_many(len(roles.sentences), 'text')}", listed=True, dark=dark,
        origin=f"{origin(ckpt)} · {about}", chosen=(kind, layer, head), chosen_card=measure), partial(_pick, page))


def _show_numbers(page: str, roles: HeadRoles, kind: Kind, layer: int, head: int, source: str) -> None:
    """All numbers as tables, and as a file."""
    names = measured_names(roles, kind)
    st.html(figures.heads_table(
        {f"{name}{after}": {kind: values[kind][name]} for name in names
         for after, values in (("", roles.values), (", random weights", roles.untrained))},
        caption=f"Means over queries, {kind}. {source}", label="roles of the heads"))
    st.html(figures.plain_table(
        ["measure", f"{kind}, {figures.head_label(layer, head)}", "random weights", "uniform", "queries"],
        [[BY_NAME[name].title, f"{roles.values[kind][name][layer, head]:.4f}",
          f"{roles.untrained[kind][name][layer, head]:.4f}", f"{roles.even[kind][name]:.4f}",
          f"{roles.queries[kind][name]:,}"] for name in names], label="the chosen head", numbers=(1, 2, 3, 4)))
    st.download_button("Download JSON", partial(_as_json, roles), f"roles-{roles.checkpoint}.json",
                       "application/json", key=f"{page}_role_json", icon=":material/download:", on_click="ignore")


def _as_json(roles: HeadRoles) -> bytes:
    return orjson.dumps(roles.summary(), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)
