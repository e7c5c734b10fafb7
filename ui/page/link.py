"""The addresses of pages: read when somebody arrives, written as they change what a page shows.

A page declares the parameters of its address in a table of `Field`s, calls `arrive_at` before its widgets and
`leave_at` after them."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import isnan
from typing import Any, NoReturn, cast, overload
from urllib.parse import quote

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx

from ui.page.pages import EVERY_PAGE, PAGES
from ui.page.presentation import present, presenting
from ui.page.room_sharing import share
from ui.page.saved_view import offer_view_file
from ui.page.unheeded import remember, sentences, unheeded
from ui.state.caches import described
from ui.state.page_state import Kept, PageState, V
from ui.state.patches import forget_pages_folder

LONGEST = 1_500  # characters of the parameters
KEPT = 200  # addresses remembered of a visit
GLOBAL_PARAMS = ("present", "room", "wall", "lesson", "stop")  # in the address of any page, and of no view
PRESENT = {"present": "1"}  # in the address of any page that is presented
OPEN = {"open": True}
# In session state: the checkpoint that was chosen last on any page; page -> the address of an arrival under way;
# owner -> the parameters that it adds to all addresses; a page, and the parameters that its next run shows instead of
# those of its address.
CHOSEN, ARRIVING, ADDED, OPENING = "chosen_checkpoint", "arriving", "address_additions", "opening_view"
ASKED = "asked_of_page"  # in session state: a page, and the address of its arrival until it has written its own
AWAITING = "awaiting_arrival"  # in session state: what is drawn as soon as the page has read its address


class PageEnd(StopException):
    """Ends the run of a page that can draw no more."""


def end_page() -> NoReturn:
    """Ends the page's run, as `st.stop` does, but distinct from a run that is cut short by another."""
    raise PageEnd


@dataclass(frozen=True, eq=False)
class Field(Kept[V]):
    """A parameter of an address, kept for its page. Where `read` raises ValueError, the default is used."""

    read: Callable[[str], V] = str  # pyright: ignore[reportAssignmentType] - the default reads texts
    write: Callable[[Any], str | None] = str  # None: not in the address
    long: bool = False  # left out of an address that would be too long
    widget: bool = True  # False: the page takes it from `arrive_at` and gives it to `leave_at`
    options: Sequence[Any] = ()  # all its values, if they are few
    quiet: bool = False  # left out of the address while it has its default


def number(text: str | float, least: float, most: float) -> float:
    """A number from outside, clamped to its range. Raises ValueError for anything else."""
    try:
        value = float(text)
    except (TypeError, OverflowError):
        raise ValueError(f"{text!r:.40} is no number") from None
    if isnan(value):
        raise ValueError("nan is no number")
    return max(least, min(value, most))


@dataclass(frozen=True, eq=False)
class Part(Field[V]):
    """A parameter that is one part of an object, which is kept as a whole, and not under the parameter's own name.

    whole: its `Kept` field; at: the suffix of the name of the page under which it is kept."""

    whole: Any = None  # declared so, since a `Kept` would be taken for a field of this class
    at: str = ""

    def known(self, page: str) -> bool:
        return self.whole.known(page + self.at)

    def of(self, page: str) -> V:
        return getattr(self.whole.of(page + self.at), self.name)

    def put(self, page: str, value: V) -> None:
        self.whole.put(page + self.at, replace(self.whole.of(page + self.at), **{self.name: value}))


def address_fields(state: type[PageState]) -> dict[str, Field]:
    """The parameters that a page's state has, its own and those of its bases, by name."""
    return {name: field for one in reversed(state.__mro__) for name, field in vars(one).items()
            if isinstance(field, Field)}


def text(default: str) -> Field[str]:
    """A text that somebody types; its widget says when it is too long."""
    return Field(default, long=True)


@overload
def whole(default: int, least: int, most: int) -> Field[int]: ...
@overload
def whole(default: None, least: int, most: int) -> Field[int | None]: ...
def whole(default: int | None, least: int, most: int) -> Field[Any]:
    """A whole number, clamped to its range."""
    return Field(default, lambda value: int(number(value, least, most)))


@overload
def decimal(default: float, least: float, most: float) -> Field[float]: ...
@overload
def decimal(default: None, least: float, most: float) -> Field[float | None]: ...
def decimal(default: float | None, least: float, most: float) -> Field[Any]:
    """A number, clamped to its range."""
    return Field(default, partial(number, least=least, most=most), "{:g}".format)


def choice(default: V, options: Sequence[V] | Mapping[str, V]) -> Field[V]:
    """One of some options, named by its text or by the keys of a mapping."""
    named: dict[str, V] = dict(options) if isinstance(options, Mapping) else {str(option): option for option in options}
    names = {option: name for name, option in named.items()}
    return Field(default, named.__getitem__, names.get, options=[*names])


def wholes(default: list[int], most: int, *, count: int) -> Field[list[int]]:
    """Up to `count` different whole numbers from 0 to `most`, separated by commas; may be empty."""
    def read(value: str) -> list[int]:
        parts = [part for part in value.split(",", 4 * count)[:4 * count] if part.strip()]
        return list(dict.fromkeys(int(number(part, 0, most)) for part in parts))[:count]

    return Field(default, read, lambda value: ",".join(map(str, value)))


def optional(field: Field[V]) -> Field[V | None]:
    """A field that has no value until somebody chooses one."""
    return replace(cast(Field[Any], field), default=None,
                   write=lambda value: None if value is None else field.write(value))


def quiet(field: Field[V]) -> Field[V]:
    """A field that is left out of the address while it has its default."""
    return replace(field, quiet=True)


def apart(field: Field[V]) -> Field[V]:
    """A field without a widget that depends on a text and is left out with it."""
    return replace(field, long=True, widget=False)


def opened() -> Field[bool]:
    """A box, closed by default."""
    return Field(False, OPEN.__getitem__, lambda value: "open" if value else None)


def switch(default: bool) -> Field[bool]:
    return Field(default, {"on": True, "off": False}.__getitem__, lambda value: "on" if value else "off")


def enter(page: str) -> bool:
    """Record that the visitor is on this page; returns whether they were on another before."""
    if forget_pages_folder():
        st.rerun()
    state = st.session_state
    before, state["visited"] = state.get("visited"), page
    return before != page


@contextmanager
def arriving() -> Iterator[None]:
    """Surrounds a page's run. An arrival is complete when a run has ended; if the next run cuts one short before it has
    read the whole address, the arrival is left to the next."""
    coming = st.session_state.setdefault(ARRIVING, {})
    st.session_state[AWAITING] = []  # those of a run that was cut short are gone
    with suppress(PageEnd):
        yield
    _draw_awaiting()  # of a page that ended before it read its address
    coming.clear()


def when_arrived(draw: Callable[[], None]) -> None:
    """Has a bar drawn as soon as the page has read its address, before which nobody knows whether it is presented."""
    st.session_state[AWAITING].append(draw)


def _draw_awaiting() -> None:
    for draw in st.session_state.pop(AWAITING, []):
        draw()


def arrive_at(page: str, fields: Mapping[str, Field]) -> dict[str, Any] | None:
    """Puts the values of an address, after an arrival, into the page's widgets, keyed <page>_<name>, and returns all
    values; returns None where the page goes on as it was."""
    state, widgets = st.session_state, {name: _named(name, field) for name, field in fields.items() if field.widget}
    params = _arrived(page, known=f"{page}_arrived" in state)
    _take_along(page, params)
    if params is None:
        for name in [name for name, field in widgets.items() if not field.known(page)]:
            widgets.pop(name).put(page, state[f"{page}_arrived"][name])  # Streamlit drops widgets that were not drawn
        for name, value in _values(page, widgets).items():
            if value is None and widgets[name].default is not None:  # a message without one, which no browser sends
                widgets[name].put(page, widgets[name].default)
        state.pop(ASKED, None)  # of an arrival that was cut short: whoever goes on asks for something else
        _draw_awaiting()
        return None
    values = read(fields, params)
    state[f"{page}_arrived"] = {name: values[name] for name in widgets}
    for name, field in widgets.items():
        field.put(page, values[name])
    if params:
        state[f"{page}_checkpoint"] = params.get("checkpoint")
        state[ASKED] = page, params
    present(page, PRESENT.items() <= params.items())
    _draw_awaiting()
    return values


def _named(name: str, field: Field) -> Field:
    """A field of a table that is kept under the name it has there."""
    return field if field.name else replace(field, name=name)


def _values(page: str, widgets: Mapping[str, Field]) -> dict[str, Any]:
    """What is kept of these fields; of a whole, its parts are read together."""
    wholes: dict[str, object] = {}
    values = {}
    for name, field in widgets.items():
        if isinstance(field, Part):
            key = field.whole.key(page + field.at)
            if key not in wholes:
                wholes[key] = field.whole.of(page + field.at)
            values[name] = getattr(wholes[key], field.name)
        else:
            values[name] = field.of(page)
    return values


def settle() -> None:
    """Completes an arrival before long work, so that whoever ends the work by another choice has that choice."""
    st.session_state.get(ARRIVING, {}).clear()


def leave_at(page: str, fields: Mapping[str, Field], *, checkpoint: str | None = None, hidden: str = "\0",
             **values: Any) -> None:
    """Writes the page's values into the address. Texts that would make it too long are left out, with a message and a
    file that has them.

    values: of fields without a widget, and replacements for those of widgets. hidden: the prefix of the names of texts
    that are not on the screen; these are left out first, without a message.
    """
    state = st.session_state
    widgets = {name: _named(name, field) for name, field in fields.items() if field.widget}
    kept = state[f"{page}_arrived"] = _values(page, widgets)
    for name, field in widgets.items():
        # Streamlit drops the value of a widget that is not drawn, unless the page sets it again
        if not isinstance(field, Part):  # of which there are no widgets
            with suppress(StreamlitAPIException):  # the value of one that is drawn cannot be set
                field.put(page, kept[name])
    params = whole = write(fields, checkpoint, **kept | values) | (PRESENT if presenting(page) else {})
    share(page, whole)
    if not fits(params):
        params = without_texts(fields, params, hidden)
    if not fits(params):
        offer_view_file(page, whole)
        params = without_texts(fields, params)
    whose, asked = state.pop(ASKED, (None, {}))
    known = {"checkpoint", *GLOBAL_PARAMS}
    found = unheeded(fields, asked, kept | values, known) if whose == page else None
    remember(page, params, None if found is None else sentences(found))
    _put_address(page, params)


def _take_along(page: str, params: Mapping[str, str] | None) -> None:
    """Carries the checkpoint that was chosen last over to a page that is opened without parameters, if it can be shown
    there. One that an address names counts as chosen."""
    state = st.session_state
    if params and "checkpoint" in params:
        state[CHOSEN] = params["checkpoint"]
    if st.query_params or CHOSEN not in state or page not in PAGES:
        return
    about = described(state[CHOSEN])
    if about and PAGES[page].shows(about.config):
        state[f"{page}_checkpoint"] = about.id


def add_to_addresses(owner: str, params: Mapping[str, str]) -> None:
    """Adds these parameters to the address of every page from now on, in place of those that `owner` added before."""
    st.session_state.setdefault(ADDED, {})[owner] = dict(params)


def open_view(page: str, params: Mapping[str, str]) -> None:
    """Has the next run of a page show these parameters, whatever its address says."""
    st.session_state[OPENING] = page, dict(params)


def _with_additions(params: Mapping[str, str]) -> dict[str, str]:
    whole = dict(params)
    for more in st.session_state.get(ADDED, {}).values():
        whole |= more
    return whole


def current_address() -> dict[str, str]:
    """The parameters of the address that the browser asks for in this run."""
    return st.query_params.to_dict()


def came_through_history() -> bool:
    """Whether Back or Forward has led to this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def go_to(page: str, params: Mapping[str, str] | None = None) -> NoReturn:
    """Opens a page and ends this run. With parameters the page follows that address, also if it has had it before."""
    if params is None:
        st.switch_page(EVERY_PAGE[page].script)
    params = _with_additions(params)
    seen: deque = st.session_state.get(f"{page}_addresses", deque())
    while params in seen:
        seen.remove(params)
    st.switch_page(EVERY_PAGE[page].script, query_params=params)


def read(fields: Mapping[str, Field], params: Mapping[str, str]) -> dict[str, Any]:
    """The values of all fields, the default for those that are missing or cannot be read."""
    values = {name: field.default for name, field in fields.items()}
    for name in fields.keys() & params.keys():
        with suppress(ValueError, KeyError, OverflowError):
            values[name] = fields[name].read(params[name])
    return values


def write(fields: Mapping[str, Field], checkpoint: str | None, **values: Any) -> dict[str, str]:
    """The query parameters for a checkpoint and values of fields; a value of None is left out."""
    params = {name: field.write(values[name]) for name, field in fields.items()
              if values.get(name) is not None and not (field.quiet and values[name] == field.default)}
    return {name: value for name, value in {"checkpoint": checkpoint, **params}.items() if value is not None}


def without_texts(fields: Mapping[str, Field], params: Mapping[str, str], begins: str = "") -> dict[str, str]:
    """The parameters without those of long fields whose names begin so."""
    return {name: value for name, value in params.items()
            if not (name in fields and fields[name].long and name.startswith(begins))}


def fits(params: Mapping[str, str]) -> bool:
    """Whether query parameters are short enough for a link."""
    return sum(len(quote(name + value, safe="")) + 2 for name, value in params.items()) <= LONGEST


def _arrived(page: str, *, known: bool) -> dict[str, str] | None:
    """The address of an arrival at this page; None where the page goes on as it was.

    known: the page has been set up before. An address that this page wrote a moment ago, and that a rerun still
    carries, is no arrival. Back and Forward are arrivals, except at an address that another page wrote: that one was on
    its way while the browser went on to this page."""
    entered = enter(page)
    state, params = st.session_state, current_address()
    seen: deque = state.setdefault(f"{page}_addresses", deque(maxlen=KEPT))
    opening = state.pop(OPENING, None)
    if opening and opening[0] == page:
        seen.append(params)
        return opening[1]
    coming = state.setdefault(ARRIVING, {})
    if coming.get(page) == params:
        return params
    back = came_through_history()
    if params not in seen and any(params == other for writer, other in _written() if writer != page):
        return None if known else {}
    if known and (not params or (params in seen and not entered and not back)):
        return None
    seen.append(params)
    coming[page] = params
    return params


def _put_address(page: str, params: dict[str, str]) -> None:
    """Writes the address, after `_arrived`."""
    seen: deque = st.session_state[f"{page}_addresses"]
    params = _with_additions(params)
    _written().append((page, params))
    # The last one seen is the browser's when it asked for this run; a later one may be on its way to it. After Back and
    # Forward, one of the page that was left may have arrived after it.
    back = came_through_history()
    if back or params != current_address() or not seen or params != seen[-1]:
        seen.append(params)
        st.query_params.from_dict(params)


def _written() -> deque:
    """All addresses that the pages of this visit have written, as (page, address), the newest last."""
    return st.session_state.setdefault("addresses", deque(maxlen=KEPT))
