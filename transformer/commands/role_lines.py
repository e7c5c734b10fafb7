"""What `roles` prints: for each measure the head that it is largest of."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from transformer.analysis.roles import HeadRoles


def role_lines(roles: "HeadRoles", *, explain: bool) -> list[str]:
    """A line for each kind and measure. explain: and a paragraph on each measure."""
    from transformer.measures.catalogue import BY_NAME

    out = []
    for kind, measures in roles.values.items():
        for name, values in measures.items():
            if roles.queries[kind][name]:
                layer, head = np.unravel_index(np.nanargmax(values), values.shape)
                out.append(f"{kind:>8} {name:<14} most in layer {layer} head {head}: {values[layer, head]:.3f}; "
                           f"uniform {roles.even[kind][name]:.3f} ({BY_NAME[name].unit_in(kind)})")
    out += [f"not measured: {name}, as {why}" for name, why in roles.notes.items()]
    if explain:
        for name in dict.fromkeys(name for measures in roles.values.values() for name in measures):
            out += ["", f"{BY_NAME[name].title} ({name}). {BY_NAME[name].explained}"]
    return out
