"""What `contexts` prints: for each band its queries, and the tokens that each looks at."""

from typing import TYPE_CHECKING

from transformer.basics.formatting import how_many

if TYPE_CHECKING:
    from transformer.analysis.head_contexts import HeadContexts

AROUND, NAMED = 8, 3  # tokens of the text before a query, itself included; tokens that it looks at


def context_lines(found: "HeadContexts") -> list[str]:
    """A line for each context, under the line of its band."""
    out = [f"{found.label} of {found.ckpt.id} by {found.measure}, in {how_many(len(found.sentences), 'text')}"]
    if not found.contexts:
        out.append("no query of these texts can be measured by it")
    band = None
    for one in found.contexts:
        if one.band != band:
            band, edges = one.band, found.edges[one.band - 1]
            out.append(f"band {band} of 5: {edges[0]:.3f} to {edges[1]:.3f}" if edges else f"band {band} of 5")
        queries, keys = found.sides(one)
        at = one.row.query
        before = "".join(queries[max(0, at - AROUND + 1):at])
        looks = ", ".join(f"{keys[key]!r} {weight:.2f}" for key, weight in [*one.looks_at.items()][:NAMED])
        out.append(f"  {one.score:.3f}  text {one.row.text}, token {at}: after {before!r}, {queries[at]!r} looks at "
                   f"{looks}")
    return out
