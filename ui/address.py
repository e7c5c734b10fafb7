"""The address bar of a page whose picture is decided by its widgets alone: read on arrival, written back after."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite

import streamlit as st
from streamlit.errors import StreamlitAPIException

from ui.arrival import arrived, put_address
from ui.components.attention_view import look_param
from ui.walk import LOOK, fits_a_link


@dataclass(frozen=True)
class Field:
    """One widget's value in the address: what it is without one, and how a text becomes one. `read` raises ValueError
    for what it cannot read, which falls back to the default."""

    default: object
    read: Callable[[str], object] = str
    write: Callable[[object], str | None] = str  # None: not in the address
    long: bool = False  # left out of an address that would be too long


def text(default: str) -> Field:
    """A text that somebody types; its field says where it is too long."""
    return Field(default, long=True)


def whole(default: int, least: int, most: int) -> Field:
    """A whole number, brought into its range."""
    return Field(default, partial(_within, least=least, most=most))


def choice(default: object, options: list) -> Field:
    """One of some options, by its text."""
    names = {str(option): option for option in options}

    def read(value: str) -> object:
        if value not in names:
            raise ValueError(value)
        return names[value]

    return Field(default, read)


def wholes(default: list[int], most: int, *, count: int) -> Field:
    """Up to `count` different whole numbers from 0 to `most`, in a list with commas; it may be empty."""
    def read(value: str) -> list[int]:
        found = [_within(part, least=0, most=most) for part in value.split(",", 4 * count)[:4 * count] if part.strip()]
        return list(dict.fromkeys(found))[:count]

    return Field(default, read, lambda value: ",".join(map(str, value)))


def looks(prefix: str = "") -> dict[str, Field]:
    """What of the attention is looked at, as `ui.components.attention_view` keeps it."""
    return {f"{prefix}{name}": Field(None, lambda value: value[:100], partial(look_param, name)) for name in LOOK}


def optional(field: Field) -> Field:
    """The same without a value until somebody chooses one."""
    return replace(field, default=None, write=lambda value: None if value is None else field.write(value))


def quiet(field: Field) -> Field:
    """The same, and not in the address while it is as it is to begin with."""
    return replace(field, write=lambda value: None if value == field.default else field.write(value))


def opened() -> Field:
    """A box that is closed until somebody opens it."""
    return Field(False, {"open": True}.__getitem__, lambda value: "open" if value else None)


def switch(default: bool) -> Field:
    return Field(default, {"on": True, "off": False}.__getitem__, lambda value: "on" if value else "off")


def _within(value: str, *, least: int, most: int) -> int:
    number = float(value)
    if not isfinite(number):
        raise ValueError(value)
    return int(max(least, min(number, most)))


def arrive_at(page: str, fields: Mapping[str, Field]) -> None:
    """Put the values of an address that somebody has just come by into the page's widgets, keyed <page>_<name>."""
    state = st.session_state
    params = arrived(page, known=f"{page}_arrived" in state)
    if params is None:
        for name, field in fields.items():  # Streamlit drops what belongs to a widget that was not drawn
            key = f"{page}_{name}"
            if key not in state:
                state[key] = state[f"{page}_arrived"][name]
            elif state[key] is None and field.default is not None:  # a browser cannot leave it without a value
                state[key] = field.default
        return
    found = {}
    for name, field in fields.items():
        try:
            found[name] = field.read(params[name]) if name in params else field.default
        except (ValueError, KeyError, OverflowError):
            found[name] = field.default
        state[f"{page}_{name}"] = found[name]
    state[f"{page}_arrived"] = found
    state[f"{page}_checkpoint"] = params.get("checkpoint")


def leave_at(page: str, fields: Mapping[str, Field], *, checkpoint: str | None = None, hidden: str = "\0") -> None:
    """Write the page's values into the address bar; texts that make it too long stay out of it, with a word on it.
    hidden: how the names begin of texts that are not on the screen, which are the first to stay out, without a word."""
    state = st.session_state
    found = state[f"{page}_arrived"] = {name: state[f"{page}_{name}"] for name in fields}
    for name, value in found.items():
        # of a widget that is not drawn Streamlit keeps only what the page last put there, unless it does so again
        with suppress(StreamlitAPIException):  # of one that is, nothing may be put
            state[f"{page}_{name}"] = value
    params = {"checkpoint": checkpoint} if checkpoint else {}
    written = {name: field.write(state[f"{page}_{name}"]) for name, field in fields.items()}
    params |= {name: value for name, value in written.items() if value is not None}
    if not fits_a_link(params):
        params = {name: value for name, value in params.items()
                  if not (name in fields and fields[name].long and name.startswith(hidden))}
    if not fits_a_link(params):
        st.caption("What is typed here is too long for a link: the address leaves it out.")
        params = {name: value for name, value in params.items() if not (name in fields and fields[name].long)}
    put_address(page, params)
