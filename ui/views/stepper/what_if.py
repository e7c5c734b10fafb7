"""What if: changes to a model while a text is decoded, beside the same text as it is."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from re import fullmatch
from typing import Any

import orjson
import streamlit as st

from transformer.attention_view.message_fields import Selection
from transformer.attention_view.window import Window, window
from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Changes, parsed
from transformer.inference.decoding import Step
from transformer.inference.forward import Batch
from transformer.inference.prompts import prompt, prompt_pair
from transformer.inference.reading import Reading
from transformer.inference.sampling import Sampling
from transformer.model.changes import Change, cut, force, replace, scale, uniform
from transformer.model.sites import label
from transformer.settings.config import KINDS, Kind
from transformer.text.word_pieces import labelled
from ui import figures
from ui.components.attention_view import Selected
from ui.page.link import Field, address_fields, apart
from ui.page.plain_text import say_error
from ui.page.what_if_words import CELL, HEAD
from ui.state.page_state import Kept
from ui.state.work_queue import heavy

MOST = 12  # changes at once
LIKELIEST = 3  # candidates that are named
LONGEST = 60  # tokens of the two texts that are drawn
LABEL = 80  # characters of a change in words
LETTERS = {"E": "encoder", "D": "decoder", "X": "cross"}  # of a head's label


# What a button, or an entry of the menu at a cell or a head, does: (kind, layer, head, query, key) -> the change.
DOES: dict[str, Callable[[Kind, int, int, int, int], Change]] = {
    "cut": lambda kind, layer, head, query, key: cut(label(kind, layer, head), edges=(query, key)),
    "only": lambda kind, layer, head, query, key: force(label(kind, layer, head), key, rows=query),
    "cut_all": lambda kind, layer, head, query, key: cut(f"{kind}.*", edges=(query, key)),
    "uniform": lambda kind, layer, head, query, key: uniform(label(kind, layer, head)),
    "off": lambda kind, layer, head, query, key: scale(label(kind, layer, head), 0),
    "layer": lambda kind, layer, head, query, key: scale(f"{kind}.{layer}.z", 0)}


def _read(text: str) -> list[dict[str, Any]]:
    return [change.to_json() for change in parsed(text)][:MOST]


class WhatIf(Selected):
    """What is kept of the changes."""

    # as the plain values that a link and the command line take
    change = apart(Field([], _read, lambda changes: orjson.dumps(changes).decode() if changes else None))
    fitting: Kept[tuple[str, str | tuple[str, str], list[dict[str, Any]], Changes] | None] = Kept(None)
    whatif = Kept(False)  # the menu is open


FIELDS = address_fields(WhatIf)


def changes_of(page: str) -> list[dict[str, Any]]:
    """The changes that are made on a page."""
    return WhatIf(page).change or []


def fitting(page: str, ckpt: Checkpoint, text: str | tuple[str, str]) -> Changes:
    """The changes of a page for a model and a text; those that do not fit the one, or act on nothing of the other, are
    taken off, with a sentence."""
    state = WhatIf(page)
    known = state.fitting
    if known is not None and known[0] == ckpt.id and known[1:3] == (text, changes_of(page)):
        return known[3]  # what they take from elsewhere may have been long in coming
    kept, found, lengths = [], [], _lengths(ckpt, text) if changes_of(page) else []
    reads = any(source in ("mean", "resample") or (isinstance(source, dict) and "texts" in source)
                for source in (plain.get("source") for plain in changes_of(page)))
    with heavy("Reading held-out text") if reads else nullcontext() as work:
        for plain in changes_of(page):
            try:
                one = Changes.of(ckpt, plain, watch=work.watch if work else lambda: None)
                one.check_hits(lengths, ahead=bool(ckpt.config.decoder_layers))
            except ValueError as error:
                say_error(error)
            else:
                found.append(one)
                kept.append(plain)
    state.change, changes = kept, Changes.joined(ckpt, found)
    state.fitting = ckpt.id, text, kept, changes
    return changes


def _lengths(ckpt: Checkpoint, text: str | tuple[str, str]) -> list[tuple[int, int]]:
    """The tokens of a text, as changes count them; none for one that cannot be read, which is said elsewhere."""
    try:
        src, tgt = prompt(ckpt, text) if isinstance(text, str) else (prompt_pair(ckpt, text)[0], None)
    except ValueError:
        return []
    return Batch.of(src, tgt).lengths


def forget_places(page: str) -> None:
    """Takes off the changes that name tokens of a text which is no longer there."""
    WhatIf(page).change = [
        plain for plain in changes_of(page) if not plain.keys() & {"rows", "keys", "edges", "source"}]


def _change(page: str, *changes: Change) -> None:
    """Makes changes too, and closes the menu, which stands over what they change."""
    state = WhatIf(page)
    state.change = [*changes_of(page), *(change.to_json() for change in changes)][-MOST:]
    state.whatif = False


def take(page: str, asked: Mapping[str, Any]) -> None:
    """Makes the change that was asked for at a cell or a head, or opens the menu: {does, kind, layer, head, query, key,
    pair}, of which the pair is as it is drawn."""
    state, does, kind = WhatIf(page), asked.get("does"), asked.get("kind")
    if does == "more":  # the menu with all that there is, of what was pressed
        state.select(kind=kind, layer=asked["layer"], head=asked["head"], of="head", pair=asked.get("pair"))
        state.whatif = True
    elif isinstance(does, str) and does in DOES and kind in KINDS:
        layer, head, query, key = (asked[name] for name in ("layer", "head", "query", "key"))
        _change(page, DOES[does](kind, layer, head, query, key))


def _set_strength(page: str, site: str, key: str) -> None:
    """Puts a knob's value in the place of the one it had."""
    value = st.session_state[key]
    others = [plain for plain in changes_of(page) if (plain["how"], plain["site"]) != ("scale", site)]
    WhatIf(page).change = others + ([] if value == 1 else [scale(site, value).to_json()])


def _undo(page: str, at: int | None = None) -> None:
    WhatIf(page).change = [] if at is None else [
        plain for place, plain in enumerate(changes_of(page)) if place != at]


def offer_way_back(page: str) -> None:
    """A button that takes all changes off, where no text can be shown under them."""
    st.button("Undo all changes", key=f"{page}_undo_all", on_click=partial(_undo, page))


def _place(site: str) -> str:
    """A head, the heads of a layer or of a kind, or what goes into a layer, in words; another site by its name."""
    if rows := fullmatch(r"(encoder|decoder)\.(\d+)\.resid_pre", site):
        return f"what goes into {rows[1]} layer {rows[2]}"
    site = site.removesuffix(".z").removesuffix(".pattern")
    if head := fullmatch(r"([EDX])(\d+)H(\d+)", site):
        return f"{LETTERS[head[1]]}, {figures.head_label(int(head[2]), int(head[3]))}"
    if layer := fullmatch(r"(encoder|decoder|cross)\.(\d+|\*)", site):
        return f"all heads of {layer[1]}" + f" layer {layer[2]}" * (layer[2] != "*")
    return site


def say(plain: dict[str, Any], step: Step | Reading) -> str:
    """A change in words, with the tokens of the text that it is made in."""
    where = _place(plain["site"])
    kind = LETTERS.get(plain["site"][0], plain["site"].split(".")[0])
    queries, keys = step.axes(kind) if kind in step.kinds else ([], [])

    def token(places: Sequence[int], of: Sequence[str]) -> str:
        return ", ".join(f"“{figures.plain_label(of[at])}”" if at < len(of) else str(at) for at in places)

    if "edges" in plain:
        return f"{where}: cut " + "; ".join(f"{token([query], queries)} to {token([key], keys)}"
                                           for query, key in plain["edges"])
    rows = token(plain["rows"], queries) if "rows" in plain else ""
    if plain["how"] == "force":
        return f"{where}: {rows or 'all'} to {token(plain['keys'], keys)} only"
    if not isinstance(source := plain.get("source"), dict):
        source = {}
    if "text" in source:
        return f"{rows or where} with the vector of another text, “{source['text']}”"
    if plain["how"] == "replace" and "rows" in source:
        return f"{rows} with the vector of {token(source['rows'], queries)}"
    if plain["how"] == "scale":
        return f"{where} off" if plain.get("factor", 1) == 0 else f"{where} times {plain.get('factor', 1):g}"
    return f"{where} {plain['how']}" + f" {rows}" * bool(rows)


def offer(page: str, step: Step | Reading, selection: Selection) -> None:
    """The button that opens the menu, and the list of what is changed, each with its undo."""
    changed = changes_of(page)
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_whatif_line"):
        menu = st.popover("What if…", icon=":material/science:", key=WhatIf.whatif.key(page), on_change="rerun")
        if menu.open:
            with menu:
                _menu(page, step, selection)
        for at, plain in enumerate(changed):
            words = say(plain, step)
            st.button(figures.markdown_text(words if len(words) <= LABEL else f"{words[:LABEL]}…"),
                      icon=":material/close:", key=f"{page}_undo_{at}", on_click=partial(_undo, page, at),
                      help="Undo this change")
        if len(changed) > 1:
            st.button("Undo all", key=f"{page}_undo_all", type="tertiary", on_click=partial(_undo, page))


def say_unreached(tip: Step) -> None:
    """Says which changes have acted on nothing of a text as far as it is decoded, and why."""
    so_far = "" if tip.ended else " so far"
    for change, why in tip.missed:
        st.caption(figures.markdown_text(f"“{say(change.to_json(), tip)}” changes nothing{so_far}: "
                                         f"{why.partition(';')[0]}."))


def _menu(page: str, step: Step | Reading, selection: Selection) -> None:
    """What can be done to the cell, the row, the head, the layer and the tokens that are looked at."""
    kind, layer, head = selection.kind, selection.layer, selection.head
    queries, keys = step.axes(kind)
    weights = step.attended(kind, slice(layer, layer + 1), slice(head, head + 1))[1][0, 0]
    query, key = _pair(step, selection) or (len(queries) - 1, int(weights[-1].argmax()))
    one, name = label(kind, layer, head), f"{kind}, {figures.head_label(layer, head)}"
    looks, seen = (figures.markdown_text(figures.plain_label(token)) for token in (queries[query], keys[key]))
    visible = [at for at, allowed in enumerate(step.mask(kind, layer)[query].tolist()) if allowed]

    def button(text: str, do: Callable[[], None], name: str) -> None:
        st.button(text, key=f"{page}_do_{name}", on_click=do, width="stretch")

    def offered(name: str) -> None:
        change = DOES[name](kind, layer, head, query, key)
        button((CELL | HEAD)[name].format(layer=layer), partial(_change, page, change), name)

    st.markdown(f"“**{looks}**” to “**{seen}**”, {name}")
    with st.container(horizontal=True):
        if len(visible) > 1:
            offered("cut")
        offered("only")
        if len(visible) > 1:
            offered("cut_all")
    others = [at for at in visible if at != key]
    if others:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.selectbox("Look there instead", others, key=f"{page}_instead",
                                  format_func=lambda at: figures.plain_label(keys[at]))
            button("Look there", partial(_change, page, force(one, chosen if chosen in others else others[0],
                                                              rows=query)), "there")
    strength, factor = f"{page}_strength_{one}", next(
        (plain.get("factor", 1) for plain in changes_of(page) if (plain["how"], plain["site"]) == ("scale", one)), 1)
    st.session_state[strength] = float(factor)
    st.slider(f"Strength of {name}", 0.0, 2.0, step=0.25, key=strength,
              on_change=partial(_set_strength, page, one, strength))
    with st.container(horizontal=True):
        for does in HEAD:
            offered(does)
    stack = "decoder" if kind == "decoder" else "encoder"  # where the key's vector is made
    of = step.axes("encoder")[0] if stack == "encoder" else queries
    at = key if stack == "encoder" else query
    earlier = [other for other in range(len(of)) if other != at and (stack == "encoder" or other < at)]
    if earlier and at < len(of):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            other = st.selectbox(f"In place of {figures.plain_label(of[at])}", earlier, key=f"{page}_vector",
                                 format_func=lambda place: figures.plain_label(of[place]))
            other = other if other in earlier else earlier[0]
            button("Use its vector", partial(_change, page, replace(f"{stack}.0.resid_pre", {"rows": [other]},
                                                                    rows=at)), "vector")
    st.caption("Also at a cell or a head itself: right button, long press or menu key.")


def _pair(step: Step | Reading, selection: Selection) -> tuple[int, int] | None:
    """The places of the query and the key that are looked at, in the whole text; None where words are drawn."""
    if selection.pair is None or selection.tokens == "words" or selection.special != "shown":
        return None
    drawn = window(step, selection.start, last=isinstance(step, Step))
    first = [places.start for places in drawn.places[selection.kind]] if isinstance(drawn, Window) else [0, 0]
    return selection.pair[0] + first[0], selection.pair[1] + first[1]


def show_both(page: str, before: Sequence[Step], step: Step, path: Sequence[Step], sampling: Sampling) -> None:
    """The text as it is beside the one under changes, the first difference marked, and the candidates of both there,
    or at the step looked at where they have not parted yet. While what comes next is to be guessed, nothing of it."""
    hidden = bool(WhatIf(page).hide)
    if hidden:
        before, path = before[:step.index], path[:step.index]
    differs = next((at for at, (one, other) in enumerate(zip(before, path, strict=False)) if one.id != other.id), None)
    at = max(0, min(step.index, len(before) - 1 if differs is None else differs))
    columns = st.columns(2, gap="medium")
    for column, name, steps in ((columns[0], "As it is", before), (columns[1], "Changed", path)):
        shown = steps[max(0, at - LONGEST // 2):][:LONGEST]
        mark = None if differs is None or not shown else differs - shown[0].index
        likeliest = "" if hidden or at >= len(steps) else " · ".join(
            f"{figures.plain_label(one.piece)} {figures.some_percent(one.probability)}"
            for one in steps[at].top(LIKELIEST, sampling.unfiltered))
        with column, st.container(key=f"{page}_{'before' if steps is before else 'after'}", gap=None):
            st.markdown(f"**{name}**, token {at}: {figures.markdown_text(likeliest)}" if likeliest else f"**{name}**")
            tokens = labelled([one.piece for one in shown], step.ckpt.tokenizer)
            st.html(figures.token_chips(tokens, label=f"tokens {name.lower()}", small=True,
                                        predicted=mark))
    if differs is None and not hidden:
        st.caption(f"All {how_many(len(before), 'token')} stay the same.")
