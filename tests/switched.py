"""Switched heads as changes, made of the tables (layers, heads) that tests draw."""

from collections.abc import Mapping, Sequence

from transformer.model.changes import Change, Changed, Ready, scale, uniform
from transformer.model.sites import Place, Tap

Table = Sequence[Sequence[float]]


def switched(scales: Mapping[str, Table] | None = None, uniforms: Mapping[str, Table] | None = None) -> list[Change]:
    """Changes that multiply the output of heads, and make others look equally at all that they may see."""
    scaled = [scale(f"{kind}.{layer}.z", float(factor), heads=head) for kind, table in (scales or {}).items()
              for layer, row in enumerate(table) for head, factor in enumerate(row)]
    return scaled + [uniform(f"{kind}.{layer}", heads=head) for kind, table in (uniforms or {}).items()
                     for layer, row in enumerate(table) for head, chosen in enumerate(row) if chosen]


def tap(scales: Sequence[float] = (), uniforms: Sequence[bool] = (), kind: str = "decoder") -> Tap:
    """The tap of one attention whose heads are switched so."""
    changes = switched({kind: [[*scales]]}, {kind: [[*uniforms]]})
    ready = [Ready(one, Place(kind, 0, "z" if one.how == "scale" else "pattern")) for one in changes]
    return Changed(ready).of(kind, 0)
