"""Spaces: token embeddings, states of a layer, or a head's queries and keys as points, and what is nearest to one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import streamlit as st
import torch
from torch import Tensor

from transformer.analysis.sample import Sentence
from transformer.analysis.spaces import (
    EXPLAINED,
    MOST,
    OF_HEADS,
    Projection,
    Side,
    Space,
    embeddings,
    neighbours,
    pca,
    queries_and_keys,
    scores,
    states,
    umap,
)
from transformer.analysis.token_inputs import inputs_of_text
from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.evaluation.held_out import WINDOW
from transformer.model.positions import POSITIONS
from transformer.settings.config import Kind
from transformer.text.word_pieces import labelled
from ui import figures
from ui.choices.head import caption_of, head_controls, head_in_range, origin, plain_name
from ui.choices.held_out_corpus import measurable, texts_of
from ui.choices.text_box import type_text
from ui.page.link import Field, choice, opened, optional, whole
from ui.page.pages import Page, stepper_of
from ui.page.plain_text import say_error
from ui.page.presentation import chart_size, columns, enlarged, presenting
from ui.state.caches import chart, shelf
from ui.state.work_queue import Work, may_begin
from ui.views.heads import prediction
from ui.views.heads.page_layout import behind
from ui.views.heads.prediction import kept, type_target
from ui.views.heads.sample import Sample
from ui.views.stepper.address import address_of_step

SAMPLE = 400     # held-out texts of which the first are read
LISTED = 6       # neighbours
FEW = 60         # tokens to choose from by a click; of more from a list
BESIDE = 4       # tokens of their contexts on each side
SEED = 0
PRESENTED = 0.6   # of the window's height, for the picture
SPACES = {"states": "States", "tokens": "Embeddings", "heads": "Queries and keys"}
PROJECTIONS = {"pca": "PCA", "umap": "UMAP"}
KINDS = "encoder", "decoder", "cross"
SIDES: dict[str, Side] = {"encoder": "src", "decoder": "tgt"}


class Point(NamedTuple):
    """A point of the picture."""

    own: bool  # of the visitor's text
    at: int    # its number among those, or among the others


def _point(text: str) -> Point:
    group, at = text.split("-")
    if group not in ("own", "held"):
        raise ValueError(f"{group} is no group of points")
    return Point(group == "own", int(at))


FIELDS = {
    "space": choice("states", list(SPACES)), "stack": optional(choice(None, list(SIDES))),
    "depth": optional(whole(0, 0, 1_000)), "projection": choice("pca", list(PROJECTIONS)),
    "kind": optional(choice(None, KINDS)), "layer": optional(whole(0, 0, 1_000)), "head": optional(whole(0, 0, 1_000)),
    "point": optional(Field(None, _point, lambda point: f"{'own' if point.own else 'held'}-{point.at}")),
    "points": opened()}


class Place(NamedTuple):
    """What is drawn of a model."""

    space: str
    kind: Kind  # of attention; of states and embeddings, the stack
    depth: int  # layers applied; of queries and keys, the layer
    head: int = 0

    def name(self) -> str:
        """In words, for a title."""
        if self.space == "tokens":
            return f"Token embeddings of the {self.kind}"
        if self.space == "heads":
            return f"Queries and keys, {self.kind}, {figures.head_label(self.depth, self.head)}"
        return f"{self.kind.capitalize()}, " + (f"after layer {self.depth - 1}" if self.depth else "before layer 0")


@dataclass(frozen=True, eq=False)
class Cloud:
    """Vectors that are drawn alike, and the texts that they are of."""

    name: str
    space: Space
    sentences: Sequence[Sentence]
    side: Side = "tgt"
    square: bool = False
    ids: Sequence[int] = ()  # of embeddings

    def where(self, at: int) -> str:
        """Where a vector belongs, in words."""
        if self.ids:
            return f"id {self.ids[at]}"
        text, position = self.space.places[at].tolist()
        return f"position {position}" + f" of text {text}" * (len(self.space.texts) > 1)

    def context(self, at: int) -> str:
        if self.ids:
            return ""
        return " ".join(f"[{figures.plain_label(piece)}]" if place == middle else figures.plain_label(piece)
                        for pieces, middle in [self.space.context(at)] for place, piece in enumerate(pieces))

    @cached_property
    def words(self) -> tuple[list[str], list[str], list[str]]:
        """Of every vector its token, where it is, and its context."""
        numbers = range(len(self.space))
        return [*map(self.space.token, numbers)], [*map(self.where, numbers)], [*map(self.context, numbers)]


class Held(NamedTuple):
    """Held-out text, read, and the axes that are made of it."""

    clouds: list[Cloud]
    projection: Projection


@dataclass(frozen=True, eq=False)
class Scene:
    """All that can be drawn of a place, and the point that is asked about."""

    ckpt: Checkpoint
    place: Place
    held: list[Cloud]  # none where only the visitor's own text is read
    own: list[Cloud]
    projection: Projection
    point: Point

    @property
    def pool(self) -> list[Cloud]:
        """Among what neighbours are looked for."""
        return self.held or self.own

    @property
    def first(self) -> int:
        """The number of the first point of the visitor's own."""
        return sum(len(cloud.space) for cloud in self.held)

    @property
    def asked(self) -> tuple[Cloud, int]:
        """The cloud of the point that is asked about, and its place there."""
        return _at(self.own if self.point.own else self.held, self.point.at)

    def groups(self, places: Tensor) -> list[figures.Points]:
        """What the picture draws, held-out text first."""
        clouds, groups = [*self.held, *self.own], []
        for number, (cloud, part) in enumerate(zip(
                clouds, places.split([len(cloud.space) for cloud in clouds]), strict=True)):
            own, (tokens, wheres, contexts) = number >= len(self.held), cloud.words
            groups.append(figures.Points(cloud.name, own, cloud.square, part.numpy(), tokens,
                                         [f"your text, {where}" for where in wheres] if own else wheres, contexts))
        return groups


def show_spaces(page: str, ckpt: Checkpoint, *, dark: bool) -> None:
    """The view: the picture beside the point that is asked about and what is nearest to it."""
    text, target = _type(page, ckpt)
    place, projection = _choose_place(page, ckpt)
    if not text.strip():
        st.info("Type a text above. Its tokens are marked in the picture.")
        return
    try:
        own_key = (ckpt.id, text, target)
        sentence = kept(page, "own_text", own_key, "Reading", partial(_read_own, ckpt, text, target))
        own = kept(page, "own_clouds", (*own_key, place), "Reading", lambda work: _clouds(
            ckpt, [sentence], place, work, own=True))
        names = [] if place.space == "tokens" else measurable(ckpt)
        sample = Sample(ckpt, names[0], SAMPLE, "") if names else None
        held = _held(page, ckpt, sample, place)
    except (ValueError, OSError) as error:
        say_error(error)
        return
    scene = Scene(ckpt, place, held.clouds if held else [], own, held.projection if held else pca(_values(own)),
                  _chosen(page, own, held.clouds if held else []))
    _choose_token(page, scene)
    near, values = _nearest(scene)
    left, right = columns(page, [3, 2], gap="medium")
    with left, st.container(key=f"{page}_space_picture"):
        drawn = _drawn(scene, own_key, projection)
        _show_map(page, scene, drawn, near, dark=dark)
        _say_what(scene, sample, drawn.share)
    with right, st.container(key=f"{page}_space_point"):
        _show_point(scene, near, values, dark=dark)
    with behind(page, "points", "The points as a table") as is_open:
        if is_open:
            _show_table(scene, drawn)


def _type(page: str, ckpt: Checkpoint) -> tuple[str, str]:
    """Draws the box for a text, and of a model that translates one for what its decoder reads."""
    if ckpt.config.task != "translation":
        return type_text(page, ckpt), ""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_ask_line"):
        with st.container():
            text = type_text(page, ckpt)
        with st.popover("More", key=f"{page}_ask_settings"):
            return text, type_target(page)


def _choose_place(page: str, ckpt: Checkpoint) -> tuple[Place, str]:
    """Draws the choosers of what is drawn, and how."""
    state, stacks = st.session_state, ckpt.config.stacks
    if state.get(f"{page}_stack") not in stacks:
        state[f"{page}_stack"] = next(iter(stacks))
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{page}_space_line"):
        st.markdown("What lies near what?", width="content", help=f"{EXPLAINED}\n\n{OF_HEADS}")
        st.segmented_control("Vectors", list(SPACES), key=f"{page}_space", required=True,
                             format_func=SPACES.__getitem__, label_visibility="collapsed",
                             on_change=partial(_take, page, None))
        space = state[f"{page}_space"]
        if space == "heads":
            place = Place(space, *head_in_range(page, ckpt.config))
            head_controls(page, ckpt.config)
        else:
            if len(stacks) > 1:
                st.segmented_control("Stack", list(stacks), key=f"{page}_stack", required=True,
                                     format_func=str.capitalize, label_visibility="collapsed",
                                     on_change=partial(_take, page, None))
            stack, depth = state[f"{page}_stack"], 0
            if space == "states":
                layers, key = stacks[stack], f"{page}_depth"
                state[key] = (layers + 1) // 2 if state.get(key) is None else min(state[key], layers)
                depth = st.slider("Layers applied", 0, layers, key=key, width=220)
            place = Place(space, stack, depth)
        st.segmented_control("Flattened by", list(PROJECTIONS), key=f"{page}_projection", required=True,
                             format_func=PROJECTIONS.__getitem__, label_visibility="collapsed")
    return place, state[f"{page}_projection"]


def _read_own(ckpt: Checkpoint, text: str, target: str, work: Work) -> Sentence:
    """The ids that the model reads of the visitor's text, and of its translation."""
    if ckpt.config.task == "translation":
        whole = prediction.answer(ckpt, text, target=target, watch=work.watch).whole
    else:
        prediction.check_size(len(ckpt.source_tokenizer.encode(text)), min(prediction.MOST, ckpt.config.max_len),
                              "text")
        whole = inputs_of_text(ckpt, text)
    src, tgt = (None if ids is None else tuple(ids[0].tolist()) for ids in (whole.src, whole.tgt))
    return Sentence(text, None, src, tgt, None)


def _clouds(ckpt: Checkpoint, sentences: Sequence[Sentence], place: Place, work: Work, *, own: bool) -> list[Cloud]:
    """The vectors of some texts at a place."""
    if place.space == "heads":
        queries, keys = queries_and_keys(ckpt, sentences, place.kind, place.depth, place.head, watch=work.watch)
        whose = "your " * own
        return [Cloud(f"{whose}queries", queries, sentences, "src" if place.kind == "encoder" else "tgt"),
                Cloud(f"{whose}keys", keys, sentences, "tgt" if place.kind == "decoder" else "src", square=True)]
    side = SIDES[place.kind]
    if place.space == "tokens":
        ids = list(dict.fromkeys(getattr(sentences[0], side)))
        return [_tokens(ckpt, side, ids, "your text’s tokens")]
    name = f"{place.kind}.{place.depth - 1}.resid_post" if place.depth else f"{place.kind}.0.resid_pre"
    return [Cloud("your text" if own else "held-out text", states(ckpt, sentences, name, watch=work.watch), sentences,
                  side)]


def _tokens(ckpt: Checkpoint, side: Side, ids: list[int], name: str) -> Cloud:
    """The embeddings of some tokens."""
    tokenizer = ckpt.source_tokenizer if side == "src" else ckpt.tokenizer
    pieces = tuple(tokenizer.piece(id) if tokenizer else str(id) for id in ids)
    values = embeddings(ckpt, side)[ids].float().cpu()
    return Cloud(name, Space(values, torch.tensor([(0, at) for at in range(len(ids))]), (pieces,)), (), side, ids=ids)


def _held(page: str, ckpt: Checkpoint, sample: Sample | None, place: Place) -> Held | None:
    """What the points of the visitor's text are seen among; None where there is no other text, or it waits for a
    button."""
    if place.space == "tokens":
        return shelf("spaces", 8).make((ckpt.id, place), "Reading the table", lambda work: _with_axes(
            [_drawn_tokens(ckpt, SIDES[place.kind])]))
    reads = MOST // WINDOW if ckpt.config.task == "text" else SAMPLE
    if sample is None or not may_begin(ckpt, f"{page}_space_read", (ckpt.id,), "Read held-out text too", reads=reads,
                                       more="Until then your text is drawn alone."):
        return None
    return shelf("spaces", 8).make((*sample.key, place), "Reading held-out text", lambda work: _with_axes(
        _clouds(ckpt, sample.sentences(work.watch), place, work, own=False)))


def _with_axes(clouds: list[Cloud]) -> Held:
    return Held(clouds, pca(_values(clouds)))


def _values(clouds: Sequence[Cloud]) -> Tensor:
    return torch.cat([cloud.space.values for cloud in clouds])


def _drawn_tokens(ckpt: Checkpoint, side: Side) -> Cloud:
    """All tokens of a vocabulary, or as many drawn from it as a picture has."""
    size = len(embeddings(ckpt, side))
    if size <= MOST:
        return _tokens(ckpt, side, [*range(size)], f"all {size:,} tokens")
    ids = torch.randperm(size, generator=torch.Generator().manual_seed(SEED))[:MOST].sort().values.tolist()
    return _tokens(ckpt, side, ids, f"{MOST:,} of {size:,} tokens")


def _chosen(page: str, own: list[Cloud], held: list[Cloud]) -> Point:
    """The point that is asked about; the longest token of the visitor's text until one is chosen."""
    point = st.session_state.get(f"{page}_point")
    if point is not None and 0 <= point.at < sum(len(cloud.space) for cloud in (own if point.own else held)):
        return point
    tokens = own[0].words[0]
    return Point(True, max(range(len(tokens)), key=lambda at: len(tokens[at].strip("▁ ")) * tokens[at].isprintable()))


def _take(page: str, point: Point | None) -> None:
    st.session_state[f"{page}_point"] = point


def _choose_token(page: str, scene: Scene) -> None:
    """The tokens of the visitor's text, one of which can be chosen."""
    key, roles = f"{page}_space_token", ("query ", "key ") if scene.place.space == "heads" else ("",)
    labels = [role + figures.markdown_text(figures.plain_label(token))
              for role, cloud in zip(roles, scene.own, strict=True) for token in cloud.words[0]]
    st.session_state[key] = scene.point.at if scene.point.own else None

    def take() -> None:
        if (at := st.session_state[key]) is not None:
            _take(page, Point(True, at))

    if len(labels) <= FEW:
        st.pills("Your tokens", range(len(labels)), key=key, format_func=labels.__getitem__, on_change=take,
                 label_visibility="collapsed", wrap=True)
    else:
        st.selectbox("Your tokens", range(len(labels)), key=key, on_change=take, label_visibility="collapsed",
                     placeholder="Choose a token of your text", index=None, width=320,
                     format_func=lambda at: f"{at}: {labels[at]}")


def _at(clouds: Sequence[Cloud], number: int) -> tuple[Cloud, int]:
    """The cloud of a point counted through all of them, and its number there."""
    for cloud in clouds:
        if number < len(cloud.space):
            return cloud, number
        number -= len(cloud.space)
    raise IndexError(number)


def _nearest(scene: Scene) -> tuple[list[int], list[float]]:
    """What is nearest to the point among held-out text, or in the visitor's own where there is no other: numbers
    counted through those clouds, and the cosine of each, or of queries and keys the score. Of embeddings the numbers
    are ids, among all."""
    ckpt, pool, (cloud, at) = scene.ckpt, scene.pool, scene.asked
    vector = cloud.space.values[at]
    if scene.place.space == "heads":
        queries, keys = pool
        found = (scores(ckpt, queries.space.values, vector[None])[:, 0] if cloud.square else
                 scores(ckpt, vector[None], keys.space.values)[0])
        best = found.topk(min(LISTED, len(found)))
        first = 0 if cloud.square else len(queries.space)
        return [first + one for one in best.indices.tolist()], best.values.tolist()
    if scene.place.space == "tokens":
        among, itself = embeddings(ckpt, cloud.side), cloud.ids[at]
    else:
        among, itself = pool[0].space.values, at if cloud is pool[0] else None
    near = [one for one in neighbours(among, vector, LISTED + 1) if one.at != itself][:LISTED]
    return [one.at for one in near], [one.similarity for one in near]


class Drawn(NamedTuple):
    """The places of all points: of held-out text first, then of the visitor's own."""

    places: Tensor  # (N, 2)
    axes: tuple[str, str]
    share: float | None  # of the variance, of PCA


def _drawn(scene: Scene, key: tuple, how: str) -> Drawn:
    """The picture's points. PCA takes its axes from held-out text, so that what is typed moves no other point.
    key: of the visitor's text."""
    if how == "umap":
        both = _values([*scene.held, *scene.own])
        try:  # one piece, which takes some seconds
            places = shelf("umap", 16).make((*key, scene.place, len(both)), "Placing the points with UMAP",
                                            lambda work: umap(both, SEED))
            return Drawn(places, ("UMAP, first", "UMAP, second"), None)
        except ValueError as error:
            st.info(f"{figures.markdown_text(str(error))}. The picture below is PCA's.")
    found = scene.projection
    places = torch.cat([*([found.points] if scene.held else []), found.of(_values(scene.own))])
    first, second = (f"{name} axis: {figures.some_percent(share)} of the variance"
                     for name, share in zip(("first", "second"), found.variance, strict=True))
    return Drawn(places, (first, second), sum(found.variance))


def _show_map(page: str, scene: Scene, drawn: Drawn, near: list[int], *, dark: bool) -> None:
    first, point, (cloud, at) = scene.first, scene.point, scene.asked
    if scene.place.space == "tokens":  # as far as they are drawn
        near = [scene.held[0].ids.index(id) for id in near if id in scene.held[0].ids]
    key, groups, name = f"{page}_space_map", scene.groups(drawn.places), scene.place.name()
    about = {"axes": drawn.axes, "title": name, "source": origin(scene.ckpt), "room": figures.ROOM}
    if presenting(page):
        about = {"axes": ("", ""), "room": figures.PRESENTED_ROOM}
        st.markdown(f"**{name}**" if drawn.share is None else f"**{name}**: {_held_by(drawn.share)}")
    picture = chart(figures.space_map, groups, chosen=first * point.own + point.at, near=near, dark=dark, **about)

    def take() -> None:
        numbers = st.session_state[key]["selection"].get(figures.PICKED)
        if numbers:
            number = int(numbers[0]["number"])
            _take(page, Point(number >= first, number - first * (number >= first)))

    size: dict[str, Any] = {"height": "stretch"} | chart_size(page, PRESENTED)
    st.vega_lite_chart(enlarged(page, picture, PRESENTED), key=key, on_select=take, selection_mode=figures.PICKED,
                       **size, alt=figures.describe_space_map(
                           groups, axes=drawn.axes, chosen=f"“{figures.plain_label(cloud.space.token(at))}”"))


def _held_by(share: float) -> str:
    return f"two axes with {figures.some_percent(share)} of the variance"


def _say_what(scene: Scene, sample: Sample | None, share: float | None) -> None:
    """What is drawn of which texts, under the picture."""
    place, config = scene.place, scene.ckpt.config
    lines = [f"By {plain_name(scene.ckpt)}{'' if share is None else f': {_held_by(share)}'}."]
    if scene.held and sample:
        space = scene.held[0].space
        what = texts_of(scene.ckpt) if len(space.texts) != 1 else "text"
        lines.append(f"Faint: {how_many(len(space), 'token')} of {len(space.texts):,} {what} {sample.where}.")
    elif place.space != "tokens" and sample is None:
        lines.append("There is no held-out text that this model can read here, so only your own is drawn.")
    if place.space == "heads":
        positions = POSITIONS["none" if place.kind == "cross" else config.positions]
        lines.append("Queries and keys are those after the rotary turn, so where a token stands moves it too."
                     if positions.name == "rotary" else "Nothing turns these queries and keys by position.")
        if positions.attended and positions.name != "rotary":
            lines.append("What positions add to the scores is not in the picture.")
    st.caption(figures.markdown_text(" ".join([*lines, figures.HOW_TO_ZOOM, "A click asks about a point."])))


def _show_point(scene: Scene, near: list[int], values: list[float], *, dark: bool) -> None:
    """The point that is asked about, and what is nearest to it, each with its context."""
    ckpt, place, (cloud, at) = scene.ckpt, scene.place, scene.asked
    name = figures.markdown_text(figures.plain_label(cloud.space.token(at)))
    where = cloud.where(at) if cloud.ids else f"{'your' if scene.point.own else 'held-out'} text, {cloud.where(at)}"
    among = "in held-out text" if scene.held else "in your text"
    if cloud.ids:
        among = f"among all {len(embeddings(ckpt, cloud.side)):,} tokens"
    width = len(cloud.space.values[at])
    if place.space == "heads":
        role, other = ("key", "queries") if cloud.square else ("query", "keys")
        st.markdown(f"The {role} of **{name}** ({where}): the {other} {among} that score highest with it, by q·k/√d "
                    f"over all {width} numbers, before any mask")
    else:
        st.markdown(f"**{name}** ({where}): its nearest {among}, by the cosine over all {width} numbers, the mean "
                    "subtracted")
    if not near:
        st.markdown("There is no other token.")
    elif cloud.ids:
        pieces = _tokens(ckpt, cloud.side, near, "").words[0]
        st.html(figures.bar_table([*map(figures.plain_label, pieces)], {"cosine": values},
                                  caption_of(ckpt, "Nearest embeddings"), corner="token", tokens=False, dark=dark,
                                  signed={"cosine"} if min(values) < 0 else ()))
    else:
        for number, value in zip(near, values, strict=True):
            _show_neighbour(scene, number, value)


def _show_neighbour(scene: Scene, number: int, value: float) -> None:
    """A neighbour in its context, with a link to its text."""
    cloud, at = _at(scene.pool, number)
    pieces, middle = cloud.space.context(at, BESIDE)
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        st.markdown(f"{value:.2f}", width="content")
        st.html(figures.token_chips(labelled(pieces, scene.ckpt.tokenizer), label=f"context at {value:.2f}", small=True,
                                    weights=[float(one == middle) for one in range(len(pieces))]))
        if (link := _link(scene.ckpt, scene.place, cloud, at)) is not None:
            page, params = link
            st.page_link(page.script, label="Open", icon=":material/arrow_forward:", query_params=params,
                         help=f"This text in {page.title}")


def _link(ckpt: Checkpoint, place: Place, cloud: Cloud, at: int) -> tuple[Page, dict[str, str]] | None:
    """The page that shows a text up to a token, and the address; None where its text does not give the same tokens or
    is too long for a link."""
    text, position = cloud.space.places[at].tolist()
    sentence, config, step, choices = cloud.sentences[text], ckpt.config, 0, {}
    selection = {"kind": place.kind, "layer": place.depth, "head": place.head} if place.space == "heads" else {}
    source = sentence.text
    if config.task == "text":
        ids = list(sentence.tgt[:position + 1])
        source = ckpt.tokenizer.decode(ids) if ckpt.tokenizer else " ".join(map(str, ids))
        if ckpt.source_tokenizer.encode(source) != ids:
            return None
    elif cloud.side == "tgt":
        step, choices = position, dict(enumerate(sentence.tgt[1:position + 1]))
    if not config.decoder_layers:
        return stepper_of(config), {"checkpoint": ckpt.id, "text": source, **{
            name: str(value) for name, value in selection.items()}}
    params, is_whole = address_of_step(ckpt.id, source, step=step, choices=choices, temperature=0.0,
                                       selection=selection)
    return (stepper_of(config), params) if is_whole else None


def _show_table(scene: Scene, drawn: Drawn) -> None:
    """The numbers of the picture, the visitor's own points first."""
    rows = [[group.name, figures.plain_label(token), where, f"{x:.4f}", f"{y:.4f}"]
            for group in sorted(scene.groups(drawn.places), key=lambda group: not group.own)
            for token, where, (x, y) in zip(group.tokens, group.wheres, group.places.tolist(), strict=True)]
    st.html(figures.plain_table(["of", "token", "where", *drawn.axes], rows, numbers=(3, 4), label="points"))
