"""Flow: through which rows and heads a prediction is made, from the tokens up, down to a share of importance."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from transformer.analysis.flow import EXPLAINED, TOP, Cut, Edge, Flow, Node, flow, update_writes
from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import Candidate
from transformer.model.sites import label
from transformer.settings.config import Kind
from ui import figures
from ui.components.flow import show_flow
from ui.page.link import Field, decimal, optional
from ui.page.plain_text import say_error
from ui.page.presentation import columns
from ui.state.work_queue import Work, may_begin
from ui.views.heads.page_layout import behind
from ui.views.heads.prediction import Prediction, kept

STEPS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30)  # percent
FEW = 40  # heads' edges at most, until somebody chooses a threshold
ALL = 16  # tokens; of more, those alone are drawn that something drawn passes
LISTED, WRITTEN = 6, 6  # parts of a node; tokens or classes at either end
READS = 8  # a text read by the model takes about as long as this times
NODE, EDGE = "node", "edge"


def _node(text: str) -> Node:
    if text == TOP.site:
        return TOP
    kind, layer, site, position = text.split("-")
    if kind not in ("encoder", "decoder", "cross") or site not in ("resid_pre", "resid_mid", "mlp_out", "resid_post"):
        raise ValueError(f"{text} is no node")
    return Node(kind, int(layer), site, int(position))


def _node_id(node: Node) -> str:
    return TOP.site if node == TOP else "-".join(map(str, node))


def _edge(text: str) -> tuple[str, int, int, int, int]:
    kind, *numbers = text.split("-")
    layer, head, source, target = map(int, numbers)
    if kind not in ("encoder", "decoder", "cross"):
        raise ValueError(f"{text} is no edge of a head")
    return kind, layer, head, source, target


def _edge_key(edge: Edge) -> tuple[str, int | None, int | None, int, int]:
    return edge.kind, edge.layer, edge.head, edge.source.position, edge.target.position


def _joined(parts: Sequence) -> str:
    return "-".join(map(str, parts))


FIELDS = {"threshold": optional(decimal(None, STEPS[0], STEPS[-1])), NODE: optional(Field(None, _node, _node_id)),
          EDGE: optional(Field(None, _edge, _joined))}


def show_flow_view(page: str, prediction: Prediction, *, dark: bool) -> None:
    """The picture of the flow to the prediction, beside the node or the edge that is chosen."""
    ckpt, key = prediction.ckpt, (*prediction.key[:-1],)  # the same for every token there
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_flow_line"):
        st.markdown("Which way did the information go?", width="content", help=EXPLAINED)
        slot = st.container(horizontal=True, vertical_alignment="center", width=380, key=f"{page}_threshold_settings")
    if not may_begin(ckpt, f"{page}_flow", key, "Follow the information", reads=READS):
        return
    try:
        found, readable = kept(page, "flow", key, "Following the information", partial(_follow, prediction))
    except ValueError as error:
        say_error(error)
        return
    with slot:
        st.markdown("Hide edges", width="content")
        threshold = _choose_threshold(page, readable)
    cut = found.cut(threshold / 100)
    node, edge = _chosen(page, found, cut)
    with st.container(key=f"{page}_flow_picture"):
        left, right = columns(page, [5, 3], gap="medium")
    with left:
        _show_picture(page, prediction, cut, threshold, node, edge, dark=dark)
        _say_hidden(cut, threshold)
    with right, st.container(key=f"{page}_flow_one"):
        if edge is not None:
            _show_edge(prediction, edge)
        else:
            _show_node(page, prediction, found, node)
    with behind(page, "flow_table", "All drawn edges as a table") as is_open:
        if is_open:
            st.html(figures.plain_table(
                ["by", "from", "to", "share of its node", "share of the flow"],
                [[_by(one), _place(prediction, one.source), _place(prediction, one.target),
                  figures.some_percent(one.share), figures.some_percent(one.importance)] for one in cut.edges],
                numbers=(3, 4), label="edges of the flow"))


def _follow(prediction: Prediction, work: Work) -> tuple[Flow, float]:
    """The flow, and the smallest threshold, in percent, at which its picture can be read."""
    found = flow(prediction.read, prediction.position if prediction.answer.masked else None, watch=work.watch)
    readable = STEPS[-1]
    for step in reversed(STEPS):
        if _heads(found.cut(step / 100)) > FEW:
            break
        readable = step
    return found, readable


def _heads(cut: Cut) -> int:
    return sum(edge.head is not None for edge in cut.edges)


def _choose_threshold(page: str, readable: float) -> float:
    """The smallest importance, in percent, of what is drawn: as chosen, else so that the picture can be read."""
    state, key, widget = st.session_state, f"{page}_threshold", f"{page}_threshold_slider"
    asked = readable if state.get(key) is None else state[key]
    state[widget] = min(STEPS, key=lambda step: abs(step - asked))
    return st.select_slider("Hide what carries less than", STEPS, key=widget, format_func="below {:g}%".format,
                            label_visibility="collapsed", on_change=lambda: state.update({key: state[widget]}))


def _say_hidden(cut: Cut, threshold: float) -> None:
    rest = "" if cut.hidden < 0.9999 else " No way that is left reaches the tokens: move the slider to the left."
    st.markdown(f"**{figures.some_percent(cut.hidden)}** of the flow is hidden: every edge that carries less than "
                f"{threshold:g}%. Kept: {how_many(_heads(cut), 'edge')} of heads.{rest}")


def _chosen(page: str, found: Flow, cut: Cut) -> tuple[Node, Edge | None]:
    """The node and the edge that were chosen, if this flow has them; else what the last update wrote."""
    state = st.session_state
    asked = state.get(f"{page}_{EDGE}")
    edge = next((one for one in cut.edges if _edge_key(one) == asked), None)
    node = state.get(f"{page}_{NODE}")
    if node is None or not (0 <= node.position < len(found.importance.get(node.name, ()))):
        ends = {one: worth for one, worth in cut.nodes.items() if one.name == found.ways[0].below}
        node = max(ends, key=ends.__getitem__, default=TOP)
    return node, edge


def _picked(page: str, id: str) -> None:
    state = st.session_state
    try:
        chosen = {NODE: None, EDGE: _edge(id)} if id.count("-") == 4 else {NODE: _node(id), EDGE: None}
    except ValueError:
        return
    state.update({f"{page}_{name}": value for name, value in chosen.items()})


def _stack(node: Node) -> str:
    return "encoder" if node.kind == "encoder" else "decoder"


def _tokens(prediction: Prediction, stack: str) -> list[str]:
    return prediction.read.labels("src" if stack == "encoder" else "tgt")


def _row(ckpt: Checkpoint, node: Node) -> float:
    """How high a node stands in its stack: each layer's parts above those below."""
    parts = _parts(ckpt, _stack(node))
    assert node.layer is not None
    if node.site == "mlp_out":
        return (node.layer + 1) * parts - 0.5
    inside = {"resid_pre": 0, "resid_mid": 2 if node.kind == "cross" else 1, "resid_post": parts}
    return node.layer * parts + inside[node.site]


def _parts(ckpt: Checkpoint, stack: str) -> int:
    """The parts of a layer, each of which makes a row."""
    return 1 + (stack == "decoder" and "cross" in ckpt.config.kinds) + bool(ckpt.config.d_ff)


def _show_picture(page: str, prediction: Prediction, cut: Cut, threshold: float, node: Node, edge: Edge | None,
                  *, dark: bool) -> None:
    """The component, with a column for each token that something passes."""
    ckpt, config = prediction.ckpt, prediction.ckpt.config
    tokens, left_out = {}, 0
    for stack in config.stacks:
        labels = _tokens(prediction, stack)
        passed = {one.position for one in cut.nodes if one != TOP and _stack(one) == stack}
        places = range(len(labels)) if len(labels) <= ALL else sorted(passed)
        left_out += len(labels) - len(places)
        if places:
            tokens[stack] = [(at, labels[at]) for at in places]
    last = [*config.stacks][-1]
    bands = {stack: [(f"layer {layer}", layer * parts, (layer + 1) * parts) for layer in range(layers)]
             for stack, layers in config.stacks.items() if (parts := _parts(ckpt, stack))}
    answer = prediction.name(prediction.token)
    dots = [_dot(prediction, one, worth, bands[last][-1][2] + 1) for one, worth in cut.nodes.items()]
    threads = [figures.Thread(
        "" if one.head is None else _joined(_edge_key(one)), _node_id(one.source), _node_id(one.target), one.kind,
        "" if one.head is None else _by(one), _words(prediction, one), one.importance) for one in cut.edges]
    show_flow(f"{page}_flow_maps", figures.flow_picture(
        dots, threads, tokens, bands, answer=answer,
        chosen=_node_id(node) if edge is None else _joined(_edge_key(edge)),
        alt=figures.describe_flow(threads, answer=answer, threshold=threshold, hidden=cut.hidden),
        dark=dark),
        partial(_picked, page), target=f"{page}_flow_one")
    if left_out:
        st.caption(f"{left_out:,} tokens are left out: nothing that is drawn comes from them.")


def _dot(prediction: Prediction, node: Node, worth: float, top: int) -> figures.Dot:
    if node == TOP:
        words = f"the prediction “{prediction.name(prediction.token)}”"
        position = None if prediction.classifies else _at(prediction)
        return figures.Dot(_node_id(node), [*prediction.ckpt.config.stacks][-1], top, position, "prediction", words,
                           worth)
    kind = "feed_forward" if node.site == "mlp_out" else "state"
    words = f"{_place(prediction, node)}: {figures.some_percent(worth)} of the flow"
    return figures.Dot(_node_id(node), _stack(node), _row(prediction.ckpt, node), node.position, kind, words, worth)


def _at(prediction: Prediction) -> int:
    """The position whose row is followed."""
    return prediction.position if prediction.answer.masked else len(prediction.read.ids) - 1


def _head_of(edge: Edge) -> tuple[Kind, int, int] | None:
    """The head that an edge stands for; None for another way."""
    if edge.kind in ("residual", "feed_forward", "logits") or edge.layer is None or edge.head is None:
        return None
    return edge.kind, edge.layer, edge.head


def _by(edge: Edge) -> str:
    """What an edge stands for, in a word."""
    if (head := _head_of(edge)) is not None:
        return label(*head)
    return {"residual": "residual", "feed_forward": "feed-forward", "logits": "output"}[edge.kind]


def _words(prediction: Prediction, edge: Edge) -> str:
    source, target = (f"“{_token(prediction, one)}”" for one in (edge.source, edge.target))
    return (f"{_by(edge)}, from {source} to {target}: {figures.some_percent(edge.importance)} of the flow, "
            f"{figures.some_percent(edge.share)} of its node")


def _token(prediction: Prediction, node: Node) -> str:
    if node == TOP:
        return prediction.name(prediction.token)
    return figures.plain_label(_tokens(prediction, _stack(node))[node.position])


def _place(prediction: Prediction, node: Node) -> str:
    """A node in words: where it is, and at which token."""
    if node == TOP:
        return f"prediction “{_token(prediction, node)}”"
    config = prediction.ckpt.config
    stack = f"{_stack(node)} " * (len(config.stacks) > 1)
    what = {"resid_mid": f"layer {node.layer} after {'cross-' * (node.kind == 'cross')}attention",
            "mlp_out": f"layer {node.layer} feed-forward",
            "resid_post": f"after layer {node.layer}",
            "resid_pre": f"after layer {node.layer - 1}" if node.layer else "embedding"}[node.site]
    return f"{stack}{what}, “{_token(prediction, node)}” ({node.position})"


def _show_edge(prediction: Prediction, edge: Edge) -> None:
    """A head's edge: what it carries, and a link to the head."""
    source, target = (f"**{figures.markdown_text(_token(prediction, one))}**" for one in (edge.source, edge.target))
    st.markdown(f"### {_by(edge)}")
    st.markdown(f"**{figures.some_percent(edge.importance)}** of the flow goes from {source} to {target} by this head.")
    st.markdown(f"That is {figures.some_percent(edge.share)} of what the row at {target} is made of after this block.")
    head = _head_of(edge)
    if head is not None and (link := prediction.link(*head)) is not None:
        other, params = link
        st.page_link(other.script, label=f"Open this head in {other.title}", icon=":material/arrow_forward:",
                     query_params=params)


def _show_node(page: str, prediction: Prediction, found: Flow, node: Node) -> None:
    """A node: what its update promotes and suppresses, and what it is made of."""
    worth = float(found.importance[node.name][node.position])
    place = _place(prediction, node)
    st.markdown(f"**{figures.markdown_text(place[0].upper() + place[1:])}**: {figures.some_percent(worth)} of the flow")
    if node != TOP:
        try:
            written = kept(page, "flow_writes", (*prediction.key[:-1], node), "Reading", lambda work: update_writes(
                prediction.read, node, count=_count(prediction)))
        except ValueError as error:
            st.markdown(figures.markdown_text(f"{str(error)[0].upper()}{str(error)[1:]}."))
        else:
            first = (node.layer, node.site) == (0, "resid_pre")
            what = "The embedding alone" if first else "What was added here"
            up, down = ([one for one in ends if one.probability * sign > 0] for ends, sign in (
                (written.promoted, 1), (written.suppressed, -1)))
            st.markdown(f"{what} makes likelier: {_listed(prediction, up)}")
            st.markdown(f"and less likely: {_listed(prediction, down)}")
    if parts := found.edges_into(node):
        st.html(figures.plain_table(
            ["made of", "from", "share"], [[_by(edge), _token(prediction, edge.source),
                                            figures.some_percent(edge.share)] for edge in parts[:LISTED]],
            numbers=(2,), label="what the node is made of"))


def _count(prediction: Prediction) -> int:
    """How many tokens or classes are named at either end."""
    return max(1, min(WRITTEN, prediction.outcomes // 2)) if prediction.classifies else WRITTEN


def _listed(prediction: Prediction, written: list[Candidate]) -> str:
    return " · ".join(f"**{figures.markdown_text(prediction.name(one.id))}** "
                      f"{figures.signed_number(one.probability)}" for one in written) or "nothing"
