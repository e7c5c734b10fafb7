"""The attention view as a widget of a notebook: Python hears what is chosen in it, and it follows what Python sets."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import anywidget
import traitlets

from transformer.analysis.carried import Carried
from transformer.analysis.neurons import Stack
from transformer.attention_view.decoding_parts import bars_of, source_row, target_row
from transformer.attention_view.heads import AttentionSource, Pooled, shape
from transformer.attention_view.message import MODEL, live
from transformer.attention_view.message_fields import Selection, StepView
from transformer.attention_view.model_message import class_bars, has_model, model_message
from transformer.attention_view.offline_page import HEAD, MODEL_VIEW, Page, page
from transformer.attention_view.script_bundle import JS, script
from transformer.attention_view.selected import at_end, in_range, in_words
from transformer.attention_view.shared import CHOICES
from transformer.attention_view.window import window
from transformer.basics.design import document_style
from transformer.inference.decoding import GREEDY, AnyStep, Sampling
from transformer.inference.decoding_tree import FARTHEST, Branch, Choice, DecodingTree, Progress, go
from transformer.inference.word_attention import Words

SELECTION = tuple(field.name for field in fields(Selection))
ENDS = 60  # characters of a branch's name
FRAME = HEAD + f"""<style>{document_style()}
body {{ margin: 0; padding: 4px; }}
</style></head><body>
<script type="module">
SCRIPT
</script></body></html>
"""


def _module() -> str:
    """The module that a notebook loads. The picture is drawn in a frame of its own, so that neither page's styles and
    keys reach the other."""
    frame = FRAME.replace("SCRIPT", script(JS / "outside_app" / "notebook_frame.js", along=[MODEL_VIEW]))
    return f"{script(JS / 'outside_app' / 'notebook.js')}\nexport default widgetOf({json.dumps(frame)});\n"


class View(Page, anywidget.AnyWidget):
    """A live picture: `view.selection` is what is looked at in it, and `view.step` the step, of what steps.

    Both can be observed, `view.observe(print, "selection")`, and set: a step that `start`, `next_step` or its own
    `next` made, or a `Selection`, or some of its parts as a dictionary. Raises ValueError for what is not there.
    """

    _esm = _module()
    message = traitlets.Bytes().tag(sync=True)  # what is drawn
    # what the picture asks for, each with a number that rises
    _move = traitlets.Dict().tag(sync=True)
    _look = traitlets.Dict().tag(sync=True)
    _branch = traitlets.Dict().tag(sync=True)
    height = traitlets.Int(720, help="px").tag(sync=True)
    selection: traitlets.TraitType = traitlets.TraitType(help="what is looked at")
    step: traitlets.TraitType = traitlets.TraitType(None, help="the step looked at; None where nothing steps")

    def __init__(self, source: AttentionSource | AnyStep, selection: Selection, *, sampling: Sampling = GREEDY,
                 exact: bool = True, height: int = 720):
        self._sampling, self._exact = sampling, exact
        self._drawn = source.seen if isinstance(source, AnyStep) else source
        self._tree = _tree_of(source, sampling) if isinstance(source, AnyStep) else None
        self._answered = {"_move": 0, "_look": 0}
        self._texts, self._progress, self._trouble = 1, None, ""
        self._pooled: dict[str, Pooled] = {}
        self._carried: dict[Stack, Carried] = {}
        self._changes = 0  # that are under way
        with self._drawn_once():
            super().__init__(height=height, selection=selection, step=source if self._tree else None)

    def __repr__(self) -> str:
        what = self.step if self.step is not None else f"{', '.join(self._drawn.kinds)} attention"
        return f"View of {what!r}; {self.selection.kind}, layer {self.selection.layer}, head {self.selection.head}"

    @property
    def page(self) -> str:
        """What is looked at, as one page that needs no network."""
        return page(self._drawn if self.step is None else self.step, self.selection, exact=self._exact,
                    sampling=self._sampling)

    # What Python sets.

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Mapping[str, Any]) -> Selection:
        asked = proposal["value"]
        if isinstance(asked, Mapping):
            if unknown := asked.keys() - {*SELECTION}:
                raise ValueError(f"a selection has no {', '.join(map(str, unknown))}; it has {', '.join(SELECTION)}")
            asked = replace(self.selection, **({} if asked.keys() <= {"pair"} else {"pair": None}) | dict(asked))
        elif not isinstance(asked, Selection):
            raise ValueError(f"the selection is of type {type(asked).__name__}; give some of its parts, such as "
                             '{"layer": 1, "head": 3}')
        found, _ = self._in_range(asked)
        for name in SELECTION:
            wanted, there = (_plain(getattr(one, name)) for one in (asked, found))
            if wanted != there and not (name in ("start", "lit") and wanted is not None):
                raise ValueError(f"{name} is {wanted!r}; {self._choices(name, asked)}")
        if found.view == MODEL and not has_model(self._drawn):
            raise ValueError(f"only weights are known here, and not the model around them; choose "
                             f"{' or '.join(view for view in CHOICES['view'] if view != MODEL)} for the view")
        return found

    @traitlets.validate("step")
    def _check_step(self, proposal: Mapping[str, Any]) -> AnyStep | None:
        step = proposal["value"]
        if (step is None) != (self._tree is None):
            raise ValueError("this is a view of a text that was read at once, and has no steps; show(step) has"
                             if self._tree is None else "the step is None; give one that start or next_step made")
        if step is not None and not isinstance(step, AnyStep):
            raise ValueError(f"the step is of type {type(step).__name__}; give one that start or next_step made")
        return step

    @traitlets.observe("step")
    def _follow_step(self, change: Mapping[str, Any]) -> None:
        step, tree = change["new"], self._tree
        if tree is None or tree.step is step:
            return
        if step.same_text(tree.step):
            tree = tree.visit(step)
        else:
            tree, self._texts = _tree_of(step, self._sampling), self._texts + 1
        self._progress = None
        with self._drawn_once():
            self._look_at(tree)

    @traitlets.observe("selection")
    def _follow_selection(self, _: Mapping[str, Any]) -> None:
        self._draw()

    # What the picture asks for.

    @traitlets.observe("_look")
    def _take_look(self, change: Mapping[str, Any]) -> None:
        asked = change["new"]
        self._answered["_look"] = asked["number"]
        with self._drawn_once():
            self.selection, _ = self._in_range(replace(self.selection, **{name: asked[name] for name in SELECTION}))

    @traitlets.observe("_move")
    def _take_move(self, change: Mapping[str, Any]) -> None:
        move = change["new"]
        with self._drawn_once():
            if self._tree is None or move["decoding"] != self._texts:  # of the text before this one
                self._progress, self._answered["_move"] = None, move["number"]
            else:
                self._go(self._tree, move)

    @traitlets.observe("_branch")
    def _take_branch(self, change: Mapping[str, Any]) -> None:
        tree = self._tree
        if tree is not None and change["new"]["branch"] < len(tree.others):
            with self._drawn_once():
                self._look_at(tree.switch(tree.others[change["new"]["branch"]]))

    def _go(self, tree: DecodingTree, move: Mapping[str, Any]) -> None:
        """Go where a move leads, or a portion of the way, after which the picture asks for the next."""
        progress = self._progress or Progress(chosen=self._answered["_move"])
        choices = [Choice(one["number"], one["at"], one["nth"]) for one in move["choices"]]
        trouble = ""
        try:
            tree, self._progress = go(tree, move["index"], choices, self._sampling, progress)
        except ValueError as error:  # of a model that is not ours, which reads no further
            self._progress, trouble = None, str(error)
        if self._progress is None:
            self._answered["_move"] = move["number"]
        self._look_at(tree)
        self._trouble = trouble

    def _look_at(self, tree: DecodingTree) -> None:
        """Take over a place in the decoding, and what of the selection there is there."""
        self._tree, self._trouble = tree, ""
        self._drawn = tree.step.seen
        self.step = tree.step
        self.selection, _ = self._in_range(self.selection)

    # What is drawn.

    def _in_range(self, asked: Selection) -> tuple[Selection, AttentionSource]:
        return in_range(asked, self._drawn, newest=self._tree is not None)

    @contextmanager
    def _drawn_once(self) -> Iterator[None]:
        """All that changes meanwhile is drawn at the end."""
        self._changes += 1
        try:
            yield
        finally:
            self._changes -= 1
            self._draw()

    def _draw(self) -> None:
        if self._changes:
            return
        tree = self._tree
        merged, shown = in_words(self._drawn, self.selection)
        drawn = window(merged, shown.start, last=tree is not None)
        pooled = self._pooled[shown.kind] = Pooled.of(merged, shown.kind, self._pooled.get(shown.kind))
        header: dict[str, Any] = {
            "newest": tree is not None and at_end(drawn, shown.kind), "answered": self._answered["_look"],
            "zips": False, "whole_pieces": not hasattr(self._drawn, "words")}
        coming: Sequence[tuple[str, str]] = ()
        if tree is not None:
            header["step_view"] = self._step_view(tree).sent()
            if not isinstance(merged, Words):
                coming = list(zip(tree.coming, tree.after, strict=True))
        of_model, arrays = model_message(drawn, shown, pooled=self._pooled, before=self._carried)
        if of_model:
            header["model"] = of_model["model"] | class_bars(self._drawn)
        self.message = live(drawn, shown, pooled, coming=coming, more=arrays, **header)

    def _step_view(self, tree: DecodingTree) -> StepView:
        step, tip = tree.step, tree.branch.tip
        translates = step.src is not None
        rows = [source_row(tree, label="Source"), target_row(tree, label="Target")] if translates else [
            target_row(tree, label="Tokens", name="tokens")]
        written, whole = ((one.output if translates else one.whole) for one in (step, tip))
        bars = bars_of(tree, self._sampling)
        ends = [branch.tip.output[-ENDS:].replace("\n", "↵") for branch in (tree.branch, *tree.others)]
        coming = whole[len(written):] if whole.startswith(written) else ""
        return StepView(rows=rows, bars=replace(bars, note=self._trouble or bars.note),
                        text={"label": "The text so far", "written": written, "coming": coming},
                        said=f"Step {step.index}: {step.piece.replace('▁', ' ')}", branches=ends if tree.others else (),
                        steps={"page": "", "index": tree.index, "last": tree.last, "decoding": self._texts,
                               "answered": self._answered["_move"], "farthest": FARTHEST,
                               "going": self._progress is not None})

    def _choices(self, name: str, asked: Selection) -> str:
        """What a part of the selection can be."""
        if name == "kind":
            return f"choose from {', '.join(self._drawn.kinds)}"
        if name in ("layer", "head"):
            count = shape(self._drawn, asked.kind)[name == "head"]
            return f"there are {count}, counted from 0"
        if name == "pair":
            queries, keys = map(len, self._drawn.axes(asked.kind))
            return f"there are {queries} queries and {keys} keys, counted from 0"
        return f"choose from {', '.join(CHOICES[name])}, of which some need a single head, or all pieces"


def _tree_of(step: AnyStep, sampling: Sampling) -> DecodingTree:
    """The decoding that a step is of, looked at there."""
    branch = Branch(step)
    return DecodingTree(replace(branch, choices=branch.departures(sampling)), step.index)


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
