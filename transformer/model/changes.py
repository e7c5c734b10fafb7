"""Changes to what a model computes: interventions, as values that are checked, combined and saved.

`Change` says what is changed where; `Changed` are taps that do it. Nothing is put onto the model.

B texts, T positions, H heads, Tq queries, Tk keys, D width of a head.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor

from transformer.basics.formatting import brief, enumerated, shorten
from transformer.model.sites import NO_TAP, Place, Tap, Taps, find_places
from transformer.settings.config import Kind, ModelConfig

How = Literal["replace", "add", "scale", "freeze", "cut", "force", "uniform"]
HOWS: tuple[How, ...] = get_args(How)
Numbers = int | Iterable[int] | None  # heads or positions; None for all
Edges = tuple[int, int] | Iterable[tuple[int, int]] | None
OF_ATTENTION = ("cut", "force", "uniform")
WORDS = ("zero", "mean", "resample")  # sources that have a name
OF_TEXT = {"text", "target", "rows", "seed", "texts"}  # what a source that is read from a text says
MOST_TEXTS = 200  # of which a mean is taken
LARGEST = 2 ** 31  # no position and no seed is as large
LONGEST_JSON = 4_000  # numbers of a tensor that is saved as JSON
LONGEST_SHOWN = 60  # characters of what was given, in an error


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """One intervention: how, at which sites, and for which heads, positions and keys.

    site: a name of `transformer.model.sites`, with * for several; of "cut", "force" and "uniform" a layer's attention
    ("cross.0", "X0H2") is enough. heads, rows, keys: None stands for all. rows are the positions that are changed, of
    cross-attention's keys and values those of the source. Make one with `replace`, `add`, `scale`, `freeze`, `cut`,
    `force` or `uniform`. Raises ValueError for what makes no sense for any model; `check` does for one model.

    >>> transformer.scale("cross.0.z", 0, heads=2).how
    'scale'
    >>> transformer.cut("cross.0", keys=0).keys
    (0,)
    """

    how: How
    site: str
    heads: tuple[int, ...] | None = None
    rows: tuple[int, ...] | None = None
    keys: tuple[int, ...] | None = None  # of "cut" and "force"
    edges: tuple[tuple[int, int], ...] | None = None  # of "cut": (query, key)
    source: Any = None  # of "replace" and "add"
    factor: float = 1.0  # of "scale" and "add"
    renormalise: bool = True  # of "cut": the rest of the row adds up to 1 again

    def __post_init__(self) -> None:
        if not isinstance(self.how, str) or self.how not in HOWS:
            raise ValueError(f"a change is {_shown(self.how)}; choose {', '.join(HOWS)}")
        if not isinstance(self.site, str) or not self.site:
            raise ValueError(f"the site of a change is {_shown(self.site)}; give its name, such as decoder.0.resid_pre")
        for name in ("heads", "rows", "keys"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if self.edges is not None:
            object.__setattr__(self, "edges", _edges(self.edges))
        object.__setattr__(self, "factor", _factor(self.factor))
        if not isinstance(self.renormalise, bool):
            raise ValueError(f"renormalise is {_shown(self.renormalise)}; give True or False")
        self._check_fields()

    def _check_fields(self) -> None:
        """Raises ValueError for what this kind of change has no use for, or needs."""
        takes = {"replace": {"source"}, "add": {"source", "factor"}, "scale": {"factor"}, "freeze": set(),
                 "cut": {"keys", "edges", "renormalise"}, "force": {"keys"}, "uniform": set()}[self.how]
        for one in fields(self):
            value = getattr(self, one.name)
            unused = one.name not in {"how", "site", "heads", "rows", *takes}
            if unused and value is not one.default and not (isinstance(value, Real) and value == one.default):
                raise ValueError(f"{self.how} takes no {one.name}; leave it out")
        if self.how == "cut" and (self.keys is None) == (self.edges is None):
            raise ValueError("cut takes either keys (with rows, or for all rows) or edges, pairs of a query and a key")
        if self.edges is not None and self.rows is not None:
            raise ValueError("edges name their queries themselves; leave rows out")
        if self.how == "force" and not self.keys:
            raise ValueError("force needs keys: the tokens that are looked at instead")
        if "source" in takes:
            _check_source(self.source)

    def to_json(self) -> dict[str, Any]:
        """Plain values that `from_json` reads back, without what is as by default. Raises ValueError for a source that
        has no such form: a run that was changed itself, or a large tensor."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        plain = {name: [*map(list, value)] if name == "edges" else list(value) if isinstance(value, tuple) else value
                 for name, value in values.items()
                 if name in ("how", "site") or (value is not None and not _is_default(name, value))}
        if isinstance(self.source, Tensor):
            if self.source.numel() > LONGEST_JSON:
                raise ValueError(f"the source has {self.source.numel():,} numbers, and JSON of a change holds at most "
                                 f"{LONGEST_JSON:,}; name the text that it was read from")
            plain["source"] = self.source.tolist()
        elif hasattr(self.source, "as_source"):
            plain["source"] = self.source.as_source()
        return plain

    @classmethod
    def from_json(cls, plain: object) -> "Change":
        """The change that `to_json` has written. Raises ValueError for anything else."""
        if not isinstance(plain, Mapping):
            raise ValueError(f'a change is {type(plain).__name__}; give an object such as {{"how": "scale", "site": '
                             '"cross.0.z", "heads": [1], "factor": 0}')
        known = [one.name for one in fields(cls)]
        if unknown := [name for name in plain if name not in known]:
            raise ValueError(f"a change has no {unknown[0]!r}; it has {', '.join(known)}")
        if missing := [name for name in ("how", "site") if name not in plain]:
            raise ValueError(f"a change has no {missing[0]!r}; how and site are needed")
        values = dict(plain)
        if isinstance(values.get("source"), list | int | float) and not isinstance(values["source"], bool):
            try:
                values["source"] = torch.tensor(values["source"], dtype=torch.float)
            except (TypeError, ValueError, RuntimeError, OverflowError):
                raise ValueError("the source of a change is no table of numbers; give rows of equal length") from None
        return cls(**values)

    def places(self, config: ModelConfig) -> list[Place]:
        """The places of a model that are changed. Raises ValueError for a site, head or position that it has not, and
        for a site that cannot be changed like this."""
        site = "pattern" if self.how in OF_ATTENTION else "z"
        found = find_places(config, self.site, site=site)
        if self.how in OF_ATTENTION and any(place.site != "pattern" for place in found):
            other = next(place for place in found if place.site != "pattern")
            raise ValueError(f"{self.how} is for a pattern, and {other} is none; give a layer's attention, such as "
                             f"{next(iter(config.kinds))}.0")
        for place in found:
            if self.heads is not None and "head" not in place.axes:
                raise ValueError(f"{place} has no heads; leave heads out, or choose z, the output of a head")
            heads = config.groups if place.site in ("k", "v") else config.n_heads
            if self.heads is not None and (wrong := [head for head in self.heads if head >= heads]):
                raise ValueError(f"there is no head {wrong[0]} in {place}; its heads are 0 to {heads - 1}")
            if place.head is not None and self.heads is not None:
                raise ValueError(f"{place} names its head itself; leave heads out")
            edges = [at for edge in self.edges or () for at in edge]
            if wrong := [row for row in (*(self.rows or ()), *(self.keys or ()), *edges) if row >= config.max_len]:
                raise ValueError(f"there is no position {wrong[0]:,}; this model reads {config.max_len:,} tokens")
        return found

    def __str__(self) -> str:
        where = [f"head{'s' * (len(self.heads) > 1)} {enumerated([*map(str, self.heads)])}"] if self.heads else []
        if self.rows is not None:
            where.append(f"row{'s' * (len(self.rows) > 1)} {enumerated([*map(str, self.rows)])}")
        if self.keys is not None:
            where.append(f"key{'s' * (len(self.keys) > 1)} {enumerated([*map(str, self.keys)])}")
        if self.edges is not None:
            where.append(enumerated([f"{query} to {key}" for query, key in self.edges]))
        by = f" by {self.factor:g}" if self.how == "scale" else f" {self.factor:g} times" if self.factor != 1 else ""
        return f"{self.how} {self.site}{by}{', ' * bool(where)}{', '.join(where)}"

    __repr__ = __str__


def _is_default(name: str, value: object) -> bool:
    default = {one.name: one.default for one in fields(Change)}[name]
    return isinstance(value, type(default)) and value == default


def _shown(value: object) -> str:
    """What was given, as an error says it."""
    try:
        return shorten(" ".join(repr(value).split()), LONGEST_SHOWN)
    except ValueError:  # a number of thousands of digits
        return f"of type {type(value).__name__}"


def _factor(given: object) -> float:
    """A number that a tensor can be multiplied by, as it was given if it is a small whole one."""
    if isinstance(given, Real) and not isinstance(given, bool):
        with suppress(OverflowError):
            if isfinite(number := float(given)):
                return int(given) if isinstance(given, Integral) and abs(number) < LARGEST else number
    raise ValueError(f"factor is {_shown(given)}; give a number")


def _listed(given: Any) -> list[Any]:
    """What stands in a list, an array or another collection; nothing for what is none."""
    if isinstance(given, str | bytes | Mapping):
        return []
    try:
        given = given.tolist() if hasattr(given, "tolist") else given
        return [given] if isinstance(given, Integral) else [*given]
    except (TypeError, RuntimeError):
        return []


def _is_place(one: object) -> bool:
    return isinstance(one, Integral) and not isinstance(one, bool) and 0 <= int(one) < LARGEST


def _numbers(name: str, given: object) -> tuple[int, ...] | None:
    """Whole numbers from 0 up, once each; one alone is enough."""
    if given is None:
        return None
    numbers = _listed(given)
    if not numbers or not all(map(_is_place, numbers)):
        raise ValueError(f"{name} is {_shown(given)}; give whole numbers from 0 up, or leave it out for all")
    return tuple(dict.fromkeys(map(int, numbers)))


def _edges(given: object) -> tuple[tuple[int, int], ...]:
    pairs = _listed(given)
    pairs = [pairs] if len(pairs) == 2 and all(map(_is_place, pairs)) else [*map(_listed, pairs)]
    if not pairs or any(len(pair) != 2 or not all(map(_is_place, pair)) for pair in pairs):
        raise ValueError(f"edges is {_shown(given)}; give pairs of positions, a query and a key: [(3, 0), (3, 1)]")
    return tuple(sorted({(int(query), int(key)) for query, key in pairs}))


def _check_source(source: object) -> None:
    """Raises ValueError for what nothing can be read from."""
    if isinstance(source, Mapping):
        if not source.keys() & {"text", "texts", "rows"} or source.keys() - OF_TEXT:
            raise ValueError(f"the source has {', '.join(map(repr, source)) or 'nothing'}; give text (and target), or "
                             "rows of the text itself")
        if "rows" in source and not isinstance(source["rows"], list | tuple):
            raise ValueError(f"the rows of a source are {_shown(source['rows'])}; give a list of positions")
        if "rows" in source:
            _numbers("the source's rows", source["rows"])
        for name in ("text", "target"):
            if not isinstance(source.get(name), str | None):
                raise ValueError(f"the {name} of a source is of type {type(source[name]).__name__}; give one str")
        texts, seed = source.get("texts", ()), source.get("seed", 0)
        if not isinstance(texts, list | tuple) or len(texts) > MOST_TEXTS or (
                "texts" in source and not (texts and all(isinstance(text, str) for text in texts))):
            raise ValueError(f"the texts of a source are a list of 1 to {MOST_TEXTS} str")
        if not _is_place(seed):
            raise ValueError(f"the seed of a source is {_shown(seed)}; give a whole number from 0 up")
    elif isinstance(source, Tensor):
        if not source.numel():
            raise ValueError(f"the source of a change has no numbers, its shape is {tuple(source.shape)}; give those "
                             "that are put there")
        if source.layout != torch.strided or source.is_meta:
            raise ValueError(f"the source of a change is {_shown(source)}; give a tensor that holds all its numbers")
    elif not (hasattr(source, "as_source") or (isinstance(source, str) and source in WORDS)):
        raise ValueError(f"the source is {_shown(source)}; give a run, a tensor, {', '.join(map(repr, WORDS))}, or "
                         '{"text": "..."}')


def _change(how: How, site: str, heads: Numbers, rows: Numbers, keys: Numbers = None, **what: Any) -> Change:
    return Change(how=how, site=site, heads=_numbers("heads", heads), rows=_numbers("rows", rows),
                  keys=_numbers("keys", keys), **what)


def replace(site: str, source: object, *, heads: Numbers = None, rows: Numbers = None) -> Change:
    """Replaces what is at a site by what is there in another run, a tensor, "zero", the "mean" over held-out text, a
    "resample" (the same site at a random place of held-out text), or {"text": "...", "target": "...", "rows": [...]}.

    A tensor has the site's axes, those of the text and of the position may be left out. rows of a source: which of
    *its* positions are taken, one for each of `rows`, or one for all; {"rows": [5]} alone is of the text itself.

    >>> transformer.translate(ckpt, ["I am cold."], change=transformer.replace("cross.0.z", "zero", heads=[0, 1]))
    ["J'ai froid."]
    """
    return _change("replace", site, heads, rows, source=source)


def add(site: str, source: object, *, factor: float = 1.0, heads: Numbers = None, rows: Numbers = None) -> Change:
    """Adds a vector, `factor` times: steering. The source is as for `replace`. Turner et al. 2023, "activation
    addition".

    >>> steer = transformer.add("encoder.1.resid_post", {"text": "I am hot."}, factor=4, rows=[0, 1, 2])
    >>> transformer.start(ckpt, "I am cold.", change=steer).piece
    '▁Je'
    """
    return _change("add", site, heads, rows, source=source, factor=factor)


def scale(site: str, factor: float, *, heads: Numbers = None, rows: Numbers = None) -> Change:
    """Multiplies what is at a site: 0 is off, 1 as it is, 0.5 half. Of a head's output z: Michel et al. 2019,
    equation 2.

    >>> off = transformer.scale("cross.1.z", 0, heads=2)
    >>> transformer.start(ckpt, "I am cold.", change=off).top(1)[0].piece
    '▁J'
    """
    return _change("scale", site, heads, rows, factor=factor)


def freeze(site: str, *, heads: Numbers = None, rows: Numbers = None) -> Change:
    """Keeps a site as it is without any change, so that no other change passes it. Wang et al. 2023, section 3.1,
    "path patching".

    >>> off = transformer.scale("decoder.0.z", 0)
    >>> change = [off, transformer.freeze("decoder.1.mlp_out")]
    >>> transformer.translate(ckpt, ["I am cold."], change=change)
    ["J'ai froid."]
    """
    return _change("freeze", site, heads, rows)


def cut(attention: str, *, edges: Edges = None, keys: Numbers = None, rows: Numbers = None, heads: Numbers = None,
        renormalise: bool = True) -> Change:
    """Cuts edges of a pattern: pairs (query, key), or the keys for all rows, or for some. The rest of each row is as a
    mask leaves it, or, if not `renormalise`, as it was. Where keys are cut for all rows, a row that sees nothing else
    stays as it is; elsewhere it is refused. Geva et al. 2023, "attention knockout".

    >>> unseen = transformer.cut("cross.0", keys=0)
    >>> transformer.start(ckpt, "I am cold.", change=unseen).attentions["cross"][0, :, 0, 0].tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    return _change("cut", attention, heads, rows, keys, edges=None if edges is None else _edges(edges),
                   renormalise=renormalise)


def force(attention: str, keys: Numbers, *, rows: Numbers = None, heads: Numbers = None) -> Change:
    """Makes queries look at these keys and at nothing else, in equal parts. A row that may see none of them stays as it
    is.

    >>> first = transformer.force("cross.0", keys=0, heads=1)
    >>> transformer.start(ckpt, "I am cold.", change=first).attentions["cross"][0, 1, 0].tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    return _change("force", attention, heads, rows, keys)


def uniform(attention: str, *, heads: Numbers = None, rows: Numbers = None) -> Change:
    """Makes queries look equally at all that they may see.

    >>> even = transformer.uniform("encoder.0", heads=1)
    >>> transformer.start(ckpt, "I am cold.", change=even).attentions["encoder"][0, 1, 0].tolist()
    [0.20000000298023224, 0.20000000298023224, 0.20000000298023224, 0.20000000298023224, 0.20000000298023224]
    """
    return _change("uniform", attention, heads, rows)


class Values(NamedTuple):
    """What a change puts at a site: rows of another run, or one row for all."""

    values: Tensor  # with the site's axes; the text's and the position's may be of size 1
    rows: Mapping[int, int] | None = None  # position -> row of values; None: the same position, or the only row
    texts: Tensor | None = None  # (B,), True for those that have the rows which are taken; None: all

    __repr__ = brief


class Ready(NamedTuple):
    """A change at one place, with everything looked up."""

    change: Change
    place: Place
    source: Values | None = None

    __repr__ = brief

    @property
    def heads(self) -> tuple[int, ...] | None:
        """The heads that are changed; None for all."""
        return self.change.heads if self.place.head is None else (self.place.head,)

    @property
    def acts_at(self) -> str:
        """The site at which it acts: edges are cut in the scores, so that the softmax sees a mask."""
        return "scores" if self.change.how == "cut" and self.change.renormalise else self.place.site

    def rows(self, places: Iterable[int]) -> list[int]:
        """Those of some positions at which it acts, as far as the source has them."""
        change, source = self.change, self.source
        named = change.rows if change.edges is None else {query for query, _ in change.edges}
        there = None
        if source is not None:
            known = source.values.shape[self.place.row_axis]
            there = source.rows if source.rows is not None else range(known) if known > 1 else None
        return [at for at in places if (named is None or at in named) and (there is None or at in there)]


class Changed(Taps):
    """Taps that change what passes them."""

    def __init__(self, ready: Sequence[Ready], at: range | None = None):
        self.ready, self.places = ready, at
        self.by_layer: dict[tuple[Kind | None, int | None], list[Ready]] = {}
        for one in ready:
            self.by_layer.setdefault((one.place.kind, one.place.layer), []).append(one)

    def of(self, kind: Kind | None, layer: int | None = None) -> Tap:
        found = self.by_layer.get((kind, layer))
        return NO_TAP if found is None else ChangingTap(found, self.places)

    def at(self, places: range) -> "Changed":
        return Changed(self.ready, places)


class ChangingTap(Tap):
    """The changes of one layer, in the order in which they were given."""

    def __init__(self, ready: Sequence[Ready], places: range | None):
        self.ready, self.places = ready, places
        sites = {one.acts_at for one in ready}
        self.readable, self.by_head = bool(sites & {"scores", "pattern"}), "result" in sites
        self.sites = sites

    def __call__(self, site: str, x: Tensor, scores: Tensor | None = None) -> Tensor:
        if site not in self.sites:
            return x
        for one in self.ready:
            if one.acts_at == site:
                x = self._changed(one, x, scores)
        return x

    def _changed(self, one: Ready, x: Tensor, scores: Tensor | None) -> Tensor:
        """x after one change, where it applies: in its heads and its rows."""
        texts = None if one.source is None else one.source.texts
        if one.source is not None and one.place.site == "pos_embed":  # made once for all texts
            x = x.expand(len(one.source.values), *x.shape[-2:])
        axes = one.place.axes[len(one.place.axes) - x.dim():]  # one text may be without the axis of texts
        row_axis = axes.index("query" if "query" in axes else "position")
        count = x.shape[row_axis]
        of_source = one.place.kind == "cross" and one.place.site in ("k", "v")
        places = range(count) if of_source or self.places is None else self.places
        rows = [place - places.start for place in one.rows(places)]
        if not rows:
            return x
        if one.source is not None and x.dim() < len(one.place.axes):
            one = one._replace(source=one.source._replace(values=one.source.values[0]))
        index: list[slice | list[int]] = [slice(None)] * x.dim()
        index[row_axis] = rows if len(rows) < count else slice(None)
        part = x[tuple(index)]
        new = self._new(one, part, [places[at] for at in rows], row_axis,
                        None if scores is None else scores[tuple(index)])
        if one.heads is not None:
            head_axis = axes.index("head")
            chosen = torch.zeros(x.shape[head_axis], dtype=torch.bool, device=x.device)
            chosen[[*one.heads]] = True
            new = torch.where(chosen.view(-1, *(1,) * (x.dim() - head_axis - 1)), new, part)
        if texts is not None:
            new = torch.where(texts.to(x.device).view(-1, *(1,) * (x.dim() - 1)), new, part)
        if len(rows) == count:
            return new
        out = x.clone()
        out[tuple(index)] = new
        return out

    def _new(self, one: Ready, x: Tensor, places: list[int], row_axis: int, scores: Tensor | None) -> Tensor:
        """What rows x at these places become, in all heads."""
        change = one.change
        if change.how == "scale":
            return x.masked_fill(x.isneginf(), 0) * change.factor + x.masked_fill(~x.isneginf(), 0) \
                if one.place.site == "scores" else x * change.factor
        if change.how in ("cut", "force"):
            wanted = self._edges(change, places, x.shape[-1], x.device)
            if change.how == "cut":
                if one.acts_at == "pattern":
                    return x.masked_fill(wanted, 0.0)
                left = x.masked_fill(wanted, float("-inf"))
                empty = left.isneginf().all(-1, keepdim=True)
                if change.rows is None and change.edges is None:
                    return torch.where(empty, x, left)
                if empty.any():
                    raise ValueError(f"{change} leaves a query nothing to attend to; leave it at least one key, or "
                                     "cut with renormalise=False")
                return left
            assert scores is not None, "a pattern comes with its scores"
            wanted = wanted & ~scores.isneginf()
            share = wanted / wanted.sum(-1, keepdim=True).clamp(min=1)
            return torch.where(wanted.any(-1, keepdim=True), share.to(x.dtype), x)
        if change.how == "uniform":
            assert scores is not None, "a pattern comes with its scores"
            allowed = ~scores.isneginf()
            return (allowed / allowed.sum(-1, keepdim=True)).to(x.dtype)
        new = self._source(one, x, places, row_axis)
        if change.how == "add":
            return x + change.factor * new
        return new.expand_as(x) if one.place.site != "scores" else torch.where(x.isneginf(), x, new)

    def _source(self, one: Ready, x: Tensor, places: list[int], row_axis: int) -> Tensor:
        """The rows that are put there."""
        assert one.source is not None, "the source is looked up before"
        values, taken, _ = one.source
        if taken is not None or values.shape[row_axis] > 1:
            values = values.index_select(row_axis, torch.tensor(
                [place if taken is None else taken[place] for place in places], device=values.device))
        if "key" in one.place.axes and one.place.kind == "decoder":
            values = values[..., : x.shape[-1]]  # a query looks back, so all that it sees is within
        values = values.to(x.device, x.dtype)
        if any(size not in (1, here) for size, here in zip(values.shape, x.shape, strict=True)):
            raise ValueError(f"the source of {one.place} is {tuple(values.shape)} and the site here "
                             f"{tuple(x.shape)}, that is ({', '.join(one.place.axes)}); give a text of the same "
                             "length, or name rows")
        return values

    def _edges(self, change: Change, places: list[int], keys: int, device: torch.device) -> Tensor:
        """Which edges of rows at these places are meant -> (rows, Tk)."""
        meant = torch.zeros(len(places), keys, dtype=torch.bool, device=device)
        if change.edges is not None:
            row = {place: at for at, place in enumerate(places)}
            for query, key in change.edges:
                if query in row and key < keys:
                    meant[row[query], key] = True
        else:
            meant[:, [key for key in change.keys or () if key < keys]] = True
        return meant
