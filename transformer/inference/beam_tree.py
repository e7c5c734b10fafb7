"""One sentence's beam search kept as a tree: what went on, what ended, what lost, and the Step behind every node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp

from transformer.basics.formatting import in_percent, quote
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.beam_search import STRONGEST, WIDEST, Considered, check_translates, penalised, search
from transformer.inference.decoding import Step, next_step, start
from transformer.inference.prompts import prompt
from transformer.inference.validation import check_number, check_whole


@dataclass(frozen=True)
class Node:
    """A token that the search considered at a step; the root is the start token."""

    place: int  # in Tree.nodes
    parent: int | None
    depth: int  # tokens written, this one included; 0 at the root
    rank: int  # among those considered at this depth, by total, 0 the best
    id: int
    piece: str
    log_probability: float  # of this token after those before it, natural logarithm
    total: float  # of all tokens as far as this one
    penalised: float  # the total over the length penalty
    state: str  # "kept": went on; "ended"; "pruned"; "open": the search stopped before it could go on
    best: bool  # on the way to the best hypothesis

    def __repr__(self) -> str:
        return (f"Node {self.place}: {quote(self.piece)} {in_percent(exp(self.log_probability))} "
                f"at depth {self.depth}, {'best' if self.best else self.state}, total {self.total:.2f}")


@dataclass(frozen=True, eq=False)
class Tree:
    """A beam search that is over. Its nodes never change; the steps of nodes are made when asked for."""

    ckpt: Checkpoint
    text: str
    width: int
    length_penalty: float
    nodes: tuple[Node, ...]  # depth by depth, by rank within one
    _read: dict[int, Step] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return (f"Tree of {quote(self.text)}, width {self.width}: {len(self.nodes)} nodes, best "
                f"{quote(self.output(self.best))}")

    @property
    def depth(self) -> int:
        return self.nodes[-1].depth

    @property
    def best(self) -> Node:
        """The last node of the best hypothesis."""
        return next(node for node in reversed(self.nodes) if node.best)

    def hypotheses(self) -> list[Node]:
        """The last nodes of all that ended, best first; one cut at max_steps ended without the end token."""
        ended = [node for node in self.nodes if node.state == "ended"]
        return sorted(ended, key=lambda node: (node.penalised, self._written(node)), reverse=True)

    def path(self, node: Node) -> list[Node]:
        """From the first token written to this node; [] for the root."""
        nodes = []
        while node.parent is not None:
            nodes.append(node)
            node = self.nodes[node.parent]
        return nodes[::-1]

    def ids(self, node: Node) -> list[int]:
        """All ids written as far as this node, an end token included."""
        return [before.id for before in self.path(node)]

    def output(self, node: Node) -> str:
        """The text written as far as this node."""
        return self.ckpt.tokenizer.decode(self.ids(node))

    def step(self, node: Node) -> Step:
        """The step that predicts this node's token, on the path that leads to it: its attention, logits and the rest
        come from the decoding that `transformer.steps` does. The root gives step 0, with its likeliest token."""
        if node.parent is None:
            return self._reading(node)
        return replace(self._reading(self.nodes[node.parent]), id=node.id)

    def find(self, ids: Sequence[int]) -> Node | None:
        """The node that has written these ids, if the search considered it; the root for none."""
        here = self.nodes[0]
        for id in ids:
            here = self._after.get((here.place, id))
            if here is None:
                return None
        return here

    @cached_property
    def _after(self) -> dict[tuple[int | None, int], Node]:
        return {(node.parent, node.id): node for node in self.nodes}

    def _written(self, node: Node) -> list[int]:
        ids = self.ids(node)
        return ids[:-1] if self.ckpt.config.ends(ids[-1]) else ids

    def _reading(self, node: Node) -> Step:
        """The step after this node's token has been read; made once, so nodes share what they have in common."""
        missing = []
        while node.place not in self._read and node.parent is not None:
            missing.append(node)
            node = self.nodes[node.parent]
        if node.place not in self._read:
            self._read[node.place] = start(self.ckpt, self.text)
        step = self._read[node.place]
        for node in reversed(missing):
            step = self._read[node.place] = next_step(self.ckpt, step, node.id)
        return step


def beam_tree(ckpt: Checkpoint, text: str, *, width: int = 4, max_steps: int = 200,
              length_penalty: float = 0.6, watch: Callable[[], None] = lambda: None) -> Tree:
    """The beam search that `translate(beam=width)` does for one text, with all it considered: 2 * width tokens a step.

    length_penalty is alpha of Wu et al. 2016, equation 14. watch is called before each step, and may raise to end the
    search. Raises ValueError for a text too long or empty, a width outside 1 to 64, or a checkpoint that does not
    translate.

    >>> tree = transformer.beam_tree(ckpt, "I am cold.", width=2)
    >>> tree.width
    2
    """
    check_translates(ckpt)
    check_whole("width", width, 1, WIDEST)
    check_whole("max_steps", max_steps, 1)
    check_number("length_penalty", length_penalty, 0, STRONGEST)
    config, (src, _) = ckpt.config, prompt(ckpt, text)
    assert src is not None
    piece = ckpt.tokenizer.piece
    nodes = [Node(0, None, 0, 0, config.start_id, piece(config.start_id), 0.0, 0.0, 0.0, "kept", False)]
    beams: list[int | None] = [0, *[None] * (width - 1)]  # the node of each beam; None where none was begun

    def grow(_: int, considered: list[Considered]) -> None:
        nonlocal beams
        depth, new = nodes[-1].depth + 1, []
        for rank, (beam, id, log_probability, total, state) in enumerate(considered):
            begun = total > float("-inf")
            if state == "kept":
                new.append(len(nodes) if begun else None)
            if begun:
                score = penalised(total, depth, length_penalty)
                nodes.append(Node(len(nodes), beams[beam], depth, rank, id, piece(id), log_probability, total, score,
                                  state, False))
        beams = new

    search(ckpt, src, beam=width, max_steps=max_steps,
           length_penalty=length_penalty, trace=grow, watch=watch)
    last = nodes[-1].depth
    tree = Tree(ckpt, text, width, length_penalty, tuple(nodes))
    on_best = {0, *(node.place for node in tree.path(tree.hypotheses()[0]))}
    return replace(tree, nodes=tuple(
        replace(node, best=node.place in on_best,
                state="open" if node.state == "kept" and node.depth == last else node.state) for node in nodes))
