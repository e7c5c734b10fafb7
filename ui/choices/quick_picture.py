"""The picture of a quick task: what a head will have learned."""

from transformer.settings.quick_tasks import QUICK
from transformer.text.corpus_catalogue import find_source
from ui.figures import pattern


def quick_picture(name: str, *, dark: bool) -> str:
    """The pattern that a head learns in a quick task, as HTML."""
    about, source = QUICK[name], find_source(name)
    text, target = about.example
    assert source is not None and source.links is not None
    return pattern(text, target, source.links(text, target), causal=about.kind == "decoder", dark=dark,
                   label=f"What a head learns for “{about.title}”: {about.watch}")
