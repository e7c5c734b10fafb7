"""What a link asks for that its page goes on without: said above the page, until its address changes."""

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, Protocol

import streamlit as st

from ui.page.plain_text import code_text, end_of

SAID = "unheeded"  # in session state: a page, the address that it wrote then, and the sentences
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
LONGEST = 40  # characters of a value that is said
MOST = 5  # parameters that are said
ADDED = ("utm_", "fbclid", "gclid")  # by sites on which a link stands: no page has them, and nobody asked for them


class Field(Protocol):
    """A parameter of an address, as of `ui.page.link`."""

    @property
    def default(self) -> Any: ...
    @property
    def read(self) -> Callable[[str], Any]: ...
    @property
    def write(self) -> Callable[[Any], str | None]: ...


def unheeded(fields: Mapping[str, Field], asked: Mapping[str, str], now: Mapping[str, Any],
             known: Collection[str] = ()) -> dict[str, tuple[str | None, str | None]]:
    """The parameters that are not as asked for, by name: the text that was asked for, None where the page has no such
    parameter, and that which it goes on with, None where it goes on with none.

    now: the values of the fields at the end. known: parameters that are not the page's own."""
    found = {}
    for name, text in asked.items():
        if name in known or text == "" or name.startswith(ADDED):
            continue
        if (field := fields.get(name)) is None:
            found[name] = None, None
            continue
        value = now.get(name, field.default)
        written = None if value is None else field.write(value)
        if not _heeded(field, text, value, written):
            found[name] = text, written
    return found


def _heeded(field: Field, text: str, value: Any, written: str | None) -> bool:
    """Whether a page that goes on with `value`, written so, does what the text asks for. Of several choices, those that
    are made without being asked for need not be written."""
    if text == written:
        return True
    with suppress(ValueError, KeyError, OverflowError):
        read = field.read(text)
        if isinstance(read, Mapping) and isinstance(value, Mapping):
            return value.items() <= read.items()
        return read == value and (written is None or _alike(text, written))
    return False


def _alike(asked: str, written: str) -> bool:
    """Whether two texts have the same numbers, where both have nothing else: reading brings a number into its range."""
    one, other = ([*map(float, re.findall(NUMBER, text))] if re.fullmatch(f"\\s*{NUMBER}(?:[,:]{NUMBER})*\\s*", text)
                  else None for text in (asked, written))
    return one is None or other is None or sorted(set(one)) == sorted(set(other))


def sentences(found: Mapping[str, tuple[str | None, str | None]]) -> list[str]:
    """A sentence for each of the first of what `unheeded` has found, as Markdown. The value of what no page has is not
    repeated: it may be a key of somebody's."""
    def named(name: str, text: str) -> str:
        return code_text(f"{name}={end_of(text, LONGEST)}"[:2 * LONGEST])

    told = [f"The link asks for {code_text(name[:LONGEST])}, which this page does not have." if text is None else
            f"The link asks for {named(name, text)}, which cannot be followed." if now is None else
            f"The link asks for {named(name, text)}; this is {named(name, now)}."
            for name, (text, now) in [*found.items()][:MOST]]
    return told + [f"{len(found) - MOST} more could not be followed."] * (len(found) > MOST)


def remember(page: str, address: Mapping[str, str], told: list[str] | None) -> None:
    """Keeps what is said of an arrival; with None, as long as the page's address stays what it was."""
    state = st.session_state
    if told is not None:
        state[SAID] = page, dict(address), told
    elif SAID in state and state[SAID][:2] != (page, dict(address)):
        del state[SAID]


def say_unheeded(page: str) -> None:
    """Draws what is kept of this page, if anything is."""
    of, _, told = st.session_state.get(SAID, (None, {}, []))
    if of == page and told:
        st.warning(" ".join(told))
