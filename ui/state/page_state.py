"""The state of a page: what a session keeps for it, as fields with types.

A class lists the fields of a page or of one of its views; `State(page)` reads and writes them in this session:

    class Switch(PageState):
        heads = Kept([])

    state = Switch("heads")
    state.heads = [*state.heads, head]
    st.button("Reset", on_click=Switch.heads.put, args=["heads", []])
    st.pills("Heads", options, key=Switch.heads.key("heads"))  # a widget whose value this field is

A field of an address (`ui.page.link.Field`) is one too, so that a page has one list of all that it keeps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar, overload

import streamlit as st

V = TypeVar("V")


@dataclass(frozen=True, eq=False)  # two of them are never the same, also where their defaults are
class Kept(Generic[V]):
    """A value that a session keeps for each page, in `st.session_state["<page>_<name>"]`; its default until it is set.

    made: makes the first value, which is kept from then on, in place of a default that everybody would share."""

    default: V
    name: str = field(default="", kw_only=True)
    made: Callable[[], V] | None = field(default=None, kw_only=True)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    @overload
    def __get__(self, state: None, owner: type) -> Self: ...
    @overload
    def __get__(self, state: "PageState", owner: type) -> V: ...
    def __get__(self, state: "PageState | None", owner: type) -> "Self | V":
        return self if state is None else self.of(state.page)

    def __set__(self, state: "PageState", value: V) -> None:
        self.put(state.page, value)

    def __delete__(self, state: "PageState") -> None:
        self.pop(state.page)

    def key(self, page: str) -> str:
        """The key of the value of this page, which is that of its widget if it has one."""
        return f"{page}_{self.name}"

    def of(self, page: str) -> V:
        """The value of this page."""
        key = self.key(page)
        if self.made is not None and key not in st.session_state:
            st.session_state[key] = self.made()
        return st.session_state.get(key, self.default)

    def put(self, page: str, value: V) -> None:
        """Sets the value of this page; of use as what a button does."""
        st.session_state[self.key(page)] = value

    def pop(self, page: str) -> V:
        """The value of this page, which is then its default again."""
        return st.session_state.pop(self.key(page), self.default)

    def known(self, page: str) -> bool:
        """Whether the value of this page has been set."""
        return self.key(page) in st.session_state


def kept(make: Callable[[], V]) -> Kept[V]:
    """A field whose first value is made for each session, such as an empty dict."""
    return Kept[Any](None, made=make)


class PageState:
    """The fields that a session keeps for a page, or for a part of one that has a name of its own."""

    checkpoint: Kept[str | None] = Kept(None)  # the id of the one chosen
    hide = Kept(False)  # what comes next is to be guessed
    presenting = Kept(False)

    def __init__(self, page: str):
        self.page = page
