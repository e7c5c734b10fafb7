"""Words for the two sides of a translator: its languages, if they are known."""

from typing import NamedTuple


class Sides(NamedTuple):
    """Words for what is read and what is written."""

    source: str  # a heading over it
    target: str
    read: str  # the beginning of a sentence about it
    written: str
    sentence: str  # what to type, as a label
    typed: str  # what to type, within a sentence
    translation: str
    references: str


def sides_of(languages: tuple[str, str] | None) -> Sides:
    """The words for a model."""
    if languages is None:
        return Sides("Source", "Target", "The source", "The target", "A sentence to translate",
                     "a sentence to translate", "Its translation", "Reference translations")
    source, target = languages
    return Sides(source, target, source, target, f"A sentence in {source}", f"a sentence in {source}",
                 f"Its translation into {target}", f"{target} reference translations")
