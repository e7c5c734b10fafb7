"""Sites: the named places of a model's computation, where it can be read and changed.

Every number that a forward pass makes goes by a site on its way. The model calls `tap("q", q)` there, and goes on with
what the tap returns: by default q itself.

B texts, T positions, H heads, Tq queries, Tk keys, D width of a head.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from re import fullmatch, sub
from typing import Literal, NamedTuple

from torch import Tensor

from transformer.basics.formatting import enumerated
from transformer.model.positions import POSITIONS
from transformer.settings.config import Kind, ModelConfig

LETTERS: dict[Kind, str] = {"encoder": "E", "decoder": "D", "cross": "X"}  # of a head's label: E2H1
NO_NAME = "a site is of type {}; give its name, such as decoder.0.resid_pre"
ROWS, PER_HEAD, MATRIX = (("text", "position", "feature"), ("text", "head", "position", "feature"),
                          ("text", "head", "query", "key"))


class Site(NamedTuple):
    """One kind of place: what is there, and in what shape."""

    name: str
    part: Literal["embedding", "input", "attention", "rest", "end", "output"]  # of a stack, a layer, or the model
    axes: tuple[str, ...]  # the first is the text
    formula: str
    classic: str  # TransformerLens' name in a layer


SITES = {site.name: site for site in (
    Site("embed", "embedding", ROWS, "E[id] · scale", "hook_embed"),
    Site("pos_embed", "embedding", ROWS, "P[position]", "hook_pos_embed"),
    Site("resid_pre", "input", ROWS, "the rows that go into the layer", "hook_resid_pre"),
    Site("q", "attention", PER_HEAD, "norm(x) W_q, turned by rotary positions", "attn.hook_q"),
    Site("k", "attention", PER_HEAD, "norm(x) W_k, turned by rotary positions", "attn.hook_k"),
    Site("v", "attention", PER_HEAD, "norm(x) W_v", "attn.hook_v"),
    Site("scores", "attention", MATRIX, "q kᵀ / √D + bias, −∞ where the mask forbids", "attn.hook_attn_scores"),
    Site("pattern", "attention", MATRIX, "softmax(scores)", "attn.hook_pattern"),
    Site("z", "attention", PER_HEAD, "pattern · v", "attn.hook_z"),
    Site("result", "attention", ("text", "position", "head", "feature"), "z W_o of each head", "attn.hook_result"),
    Site("attn_out", "attention", ROWS, "Σ result + b_o: what attention adds", "hook_attn_out"),
    Site("resid_mid", "attention", ROWS, "the rows after that attention", "hook_resid_mid"),
    Site("mlp_pre", "rest", ROWS, "norm(x) W_up (gated: norm(x) W_gate)", "mlp.hook_pre"),
    Site("mlp_post", "rest", ROWS, "activation(mlp_pre), gated: · norm(x) W_up; the neurons", "mlp.hook_post"),
    Site("mlp_out", "rest", ROWS, "mlp_post W_down: what the feed-forward part adds", "hook_mlp_out"),
    Site("resid_post", "rest", ROWS, "the rows that leave the layer", "hook_resid_post"),
    Site("final", "end", ROWS, "norm(the last resid_post)", "ln_final.hook_normalized"),
    Site("logits", "output", ("text", "position", "token"), "final W_output", "logits"),
)}


class Place(NamedTuple):
    """A site of one model: "decoder.3.pattern", "encoder.embed" or "logits"; of one head, "D3H1.pattern"."""

    kind: Kind | None
    layer: int | None
    site: str
    head: int | None = None

    @property
    def name(self) -> str:
        """The name without the head."""
        return ".".join(str(part) for part in (self.kind, self.layer, self.site) if part is not None)

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of its axes."""
        return SITES[self.site].axes

    @property
    def row_axis(self) -> int:
        """The axis of positions, or of queries."""
        return self.axes.index("query" if "query" in self.axes else "position")

    def __str__(self) -> str:
        return self.name if self.head is None else f"{label(self.kind, self.layer, self.head)}.{self.site}"


class Tap:
    """What stands at the sites of a layer. This one lets everything pass as it is."""

    readable = False  # whether scores and weights have to be made
    by_head = False  # whether each head's output has to be made

    def __call__(self, site: str, x: Tensor, scores: Tensor | None = None) -> Tensor:
        """What the model goes on with in place of x; with a pattern come the scores that it was made of."""
        return x


class Taps:
    """The taps of a whole model. These let everything pass."""

    def of(self, kind: Kind | None, layer: int | None = None) -> Tap:
        """The tap of a layer, of what a stack has once (layer None), or of the logits (both None)."""
        return NO_TAP

    def at(self, places: range) -> "Taps":
        """The same taps for rows at these positions of the text."""
        return self


NO_TAP, NO_TAPS = Tap(), Taps()


def label(kind: Kind | None, layer: int | None, head: int | None) -> str:
    """A head's short label: "E2H1", "D2H1", "X2H1"."""
    return f"{LETTERS[kind or 'decoder']}{layer}H{head}"


@cache
def places(config: ModelConfig) -> dict[str, Place]:
    """All places of a model by name, in the order of computation."""
    found: list[Place] = []

    def add(kind: Kind | None, layer: int | None, part: str) -> None:
        found.extend(Place(kind, layer, site.name) for site in SITES.values() if site.part == part and not (
            (site.name == "pos_embed" and not POSITIONS[config.positions].embedded)
            or (site.name.startswith("mlp_") and not config.d_ff)))

    for stack, layers in config.stacks.items():
        add(stack, None, "embedding")
        for layer in range(layers):
            add(stack, layer, "input")
            add(stack, layer, "attention")
            if stack == "decoder" and "cross" in config.kinds:
                add("cross", layer, "attention")
            add(stack, layer, "rest")
        add(stack, None, "end")
    if config.head != "none":
        add(None, None, "output")
    return {place.name: place for place in found}


def classic_name(place: Place, config: ModelConfig) -> str | None:
    """TransformerLens' name of a place; None where it has none, or the name means something else there: queries and
    keys before they are turned or normalised, and sums before their norm."""
    name, is_cross = SITES[place.site].classic, place.kind == "cross"
    stack = "" if len(config.stacks) == 1 else "encoder_" if place.kind == "encoder" else "decoder_"
    if place.layer is None:
        if place.site == "final" and stack:
            return f"{stack}final_ln.hook_normalized"
        return None if stack and place.site != "logits" else name
    if place.site in ("q", "k") and not is_cross:
        if config.positions == "rotary":
            name = name.replace("hook_", "hook_rot_")
        elif config.qk_norm is not None:
            return None
    if config.norm_position == "post":
        if place.site == "resid_mid":
            return None
        name = name.replace("hook_resid_post", "hook_normalized_resid_post")
    if is_cross:
        name = {"hook_attn_out": "hook_cross_attn_out", "hook_resid_mid": "hook_resid_mid_cross"}.get(
            name, f"cross_{name}")
    return f"{stack}blocks.{place.layer}.{name}"


@cache
def _names(config: ModelConfig) -> dict[str, Place]:
    """Every name of every place: ours and TransformerLens'."""
    names = places(config)
    classic = {name: place for place in names.values() if (name := classic_name(place, config)) is not None}
    return {**classic, **names}


def find_place(config: ModelConfig, name: object, *, site: str = "z") -> Place:
    """The place of a name: ours ("decoder.3.pattern"), TransformerLens' ("blocks.3.attn.hook_pattern"), or a head's
    label with or without a site ("D3H1.pattern", "D3H1").

    site: what a label or a layer ("decoder.3") alone means. Raises ValueError, with the nearest names, for one that the
    model has not.
    """
    if isinstance(name, Place):
        name = str(name)
    if not isinstance(name, str):
        raise ValueError(NO_NAME.format(type(name).__name__))
    if (head := fullmatch(r"([EDX])(\d+)H(\d+)(?:\.(\w+))?", name)) is not None:
        kind = next(one for one, letter in LETTERS.items() if letter == head[1])
        found = places(config).get(f"{kind}.{int(head[2])}.{head[4] or site}")
        if found is not None and int(head[3]) < config.n_heads and "head" in found.axes:
            return found._replace(head=int(head[3]))
    whole = f"{name}.{site}" if fullmatch(r"(encoder|decoder|cross)\.\d+", name) else name
    if (found := _names(config).get(whole)) is not None:
        return found
    raise ValueError(_unknown(config, name))


def several_names(given: str | Place | Iterable[str | Place]) -> tuple[str | Place, ...]:
    """One name or several, of any collection. Raises ValueError for what are none."""
    try:
        names = (given,) if isinstance(given, str | Place) else tuple(given)
    except TypeError:
        raise ValueError(f"sites are of type {type(given).__name__}; give the name of one, or a list of "
                         "names") from None
    if wrong := [name for name in names if not isinstance(name, str | Place)]:
        raise ValueError(NO_NAME.format(type(wrong[0]).__name__))
    return names


def find_places(config: ModelConfig, names: str | Place | Iterable[str | Place], *, site: str = "z") -> list[Place]:
    """The places of one name or several, in which * stands for anything: "decoder.*.pattern". Raises ValueError as
    `find_place` does, and for a name with * that fits no place."""
    return [*_found(config, several_names(names), site)]


@lru_cache(64)
def _found(config: ModelConfig, names: tuple[str | Place, ...], site: str) -> tuple[Place, ...]:
    found: dict[Place, None] = {}
    for name in names:
        if isinstance(name, str) and "*" in name:
            wanted = f"{name}.{site}" if fullmatch(r"\w+\.\*", name) else name
            fitting = [place for known, place in _names(config).items() if fnmatchcase(known, wanted)]
            if not fitting:
                raise ValueError(_unknown(config, name))
            found |= dict.fromkeys(fitting)
        else:
            found[find_place(config, name, site=site)] = None
    order = {name: at for at, name in enumerate(places(config))}
    return tuple(sorted(found, key=lambda place: order[place.name]))


def _unknown(config: ModelConfig, name: str) -> str:
    heads = [label(kind, layer, head) for kind in config.kinds for layer in range(config.layers(kind))
             for head in range(config.n_heads)]
    known = [sub(r"\.\d+\.", ".*.", one) for one in _names(config)] if "*" in name else [*_names(config)]
    near = get_close_matches(name, heads if fullmatch(r"[A-Z]\d+H\d+", name) else dict.fromkeys(known), n=3, cutoff=0.5)
    return f"this model has no site {name!r}; " + (
        f"the nearest {'is' if len(near) == 1 else 'are'} {enumerated(near)}" if near else "`headsup sites` lists them")


@cache
def lines() -> dict[str, str]:
    """Where each site is computed, by its name: "transformer/model/attention.py:89"."""
    folder, found = Path(__file__).parent, {}
    for name in SITES:
        for sign in f'tap("{name}"', f'"{name}"':  # where it is tapped, or is named for the line below
            for file in ("attention.py", "layers.py", "models.py"):
                for number, line in enumerate((folder / file).read_text("utf-8").splitlines(), 1):
                    if sign in line:
                        found.setdefault(name, f"transformer/model/{file}:{number}")
    return found
