"""What devices and lecturers do with a room, asked over http: every request is checked here, whoever sends it."""

from collections.abc import Callable, Mapping
from typing import Any

from transformer.formatting import quote
from transformer.lessons.lesson import Stop
from transformer.lessons.opened_link import Opened
from transformer.rooms.ablation import ablate
from transformer.rooms.questions import KINDS, kind_of, make, offers
from transformer.rooms.questions.kind import QuestionRecord, check_sure
from transformer.rooms.room import CLOSED, DRAFT, MODES, MOST_DEVICES, OPEN, PHASES, Question, Room, RoomError
from transformer.rooms.store import Store
from ui.lessons.stop_links import open_stop
from ui.page.pages import EVERY_PAGE
from ui.rooms.visible_state import results, votes_of
from ui.state.event_log import event

LONGEST_NOTE, LONGEST_TASK, LONGEST_ASK = 200, 300, 200  # characters
LONGEST_SENTENCES = 12_000
LONGEST_PART = 120
EVERYWHERE = ("present", "room", "wall", "lesson", "stop")  # in the address of any page
MOST_PARAMS, LONGEST_PARAMS = 60, 3_000
STOP = "stop"  # what the stop of a lesson asks
REMOTE = ("ArrowRight", "ArrowLeft", "Home", "End", "PageDown", "PageUp", "p", "h")  # keys of a lecturer's remote


def take_answer(store: Store, room: Room, device: str, sent: Mapping[str, Any]) -> object:
    """What a device answers, checked and written down; returns it as it counts. Raises RoomError, NotIn or
    ValueError."""
    question = store.question(room.id, _whole(sent, "question"))
    value = kind_of(question.spec).check(question.spec, sent.get("value"), store.join(room.id, device))
    store.answer(room.id, question.id, _whole(sent, "round"), device, value, check_sure(sent.get("sure")))
    return value


def take_found(store: Store, room: Room, device: str, sent: Mapping[str, Any]) -> None:
    """A view that a device hands in. Raises ValueError for what no page can show, and where nothing is looked for."""
    if not room.task:
        raise RoomError("the lecturer is not asking for views now")
    page, params = view_of(sent)
    _open({"page": page, "params": params})
    store.hand_in(room.id, device, page, params, _text(sent, "note", LONGEST_NOTE))


def view_of(sent: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The page and the parameters of a view that was sent. Raises RoomError for none."""
    page, params = sent.get("page"), sent.get("params")
    known = isinstance(page, str) and page in EVERY_PAGE and isinstance(params, dict) and len(params) <= MOST_PARAMS
    if not known or not all(isinstance(value, str) for value in params.values()) or sum(
            len(name) + len(value) for name, value in params.items()) > LONGEST_PARAMS:
        raise RoomError("this is not a view of any page here")
    return page, {name: value for name, value in params.items() if name not in EVERYWHERE}


def do(store: Store, room: Room, sent: Mapping[str, Any]) -> dict[str, Any]:
    """One thing that a lecturer does, named by `do`; returns what there is to say. Raises ValueError for what cannot
    be done."""
    name = sent.get("do")
    if not isinstance(name, str) or name not in DEEDS:
        raise RoomError(f"a lecturer can do {', '.join(DEEDS)}")
    return DEEDS[name](store, room, sent) or {}


def _offers(store: Store, room: Room, sent: Mapping[str, Any]) -> dict[str, Any]:
    """What can be asked about what is shown now, and why not the rest."""
    listed = [{"about": one.kind.name, "title": one.kind.title, "ask": one.question.spec["ask"] if one.question else "",
               "why": one.why and f"{one.why[0].upper()}{one.why[1:]}.", "ways": [*one.kind.ways],
               "on_page": one.kind.on_page, "takes_sentences": one.kind.takes_sentences}
              for one in offers(_opened(room))]
    stop = room.view and room.view.get("asked")
    return {"offers": [*([{**stop, "about": STOP, "title": "This stop’s question", "why": None}] if stop else []),
                       *listed]}


def ask(store: Store, room: Room, sent: Mapping[str, Any]) -> dict[str, Any]:
    """A new question about what is shown now, as a draft, or opened at once."""
    about, stop = sent.get("about"), room.view and room.view.get("asked")
    if about == STOP and stop:  # with the answer that a visitor alone has there
        made = make(stop["about"], _open(stop["view"]), ask=stop["ask"], **stop["options"])
        view = {**room.view, **stop["view"]}
    else:
        made, view = _made(room, sent), room.view or {}
    question = store.ask(room.id, made.spec, made.key, view, OPEN if sent.get("open") is True else DRAFT)
    return {"question": question.id}


def _made(room: Room, sent: Mapping[str, Any]) -> QuestionRecord:
    """A question as a lecturer puts it together."""
    about = sent.get("about")
    if not isinstance(about, str) or about not in KINDS:
        raise RoomError(f"a question is about {', '.join(KINDS)}")
    of, sentences = _text(sent, "of", 40) or None, _text(sent, "sentences", LONGEST_SENTENCES)
    own = [line.strip() for line in sentences.splitlines() if line.strip()]
    return make(about, _opened(room), ask=_text(sent, "ask", LONGEST_ASK) or None, of=of,
                query=_text(sent, "query", 40) or "newest", sentences=own or None, seed=room.rev)


def _opened(room: Room) -> Opened:
    if room.view is None:
        raise RoomError("nothing is shown to the room yet; open a page with a model")
    return _open(room.view)


def _open(view: Mapping[str, Any]) -> Opened:
    """What a view's link opens. Raises ValueError where it leads nowhere."""
    params = {name: value for name, value in view["params"].items() if name not in EVERYWHERE}
    return open_stop(Stop(title="", page=view["page"], params=params, line=0))


def _switch_off(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    """The head that most chose, the right one and a random one, each switched off in turn: part of the answer for as
    long as those are the votes."""
    question = _asked(store, room)
    votes = votes_of(store, room, question, question.round).get("counts", ())
    rows = ablate(QuestionRecord(dict(question.spec), dict(question.key)), _open(question.view), votes)
    store.set_key(room.id, question.id, {**question.key, "switched": {"votes": votes, "rows": rows}})


def _asked(store: Store, room: Room) -> Question:
    if room.question is None:
        raise RoomError("no question is open now")
    return store.question(room.id, room.question)


def _uncover(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    if room.view and room.view.get("asked"):
        store.uncover(room.id, room.view["asked"]["stop"])


def _peek(store: Store, room: Room, sent: Mapping[str, Any]) -> dict[str, Any]:
    """How the votes are split so far, for the lecturer alone."""
    question = _asked(store, room)
    return results(store, room, question) | {"question": question.id, "round": question.round}


def _phase(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    if sent.get("phase") not in PHASES:
        raise RoomError(f"a question is in one of the phases {', '.join(PHASES)}")
    store.set_phase(room.id, _asked(store, room).id, sent["phase"])


def _mode(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    if sent.get("mode") not in MODES:
        raise RoomError(f"a room is in one of the modes {', '.join(MODES)}")
    store.set_mode(room.id, sent["mode"])


def _press(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    if sent.get("key") not in REMOTE:
        raise RoomError(f"a remote presses {', '.join(REMOTE)}")
    store.press(room.id, sent["key"])


def _scroll(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    """Where on its page the lecturer is: so far into a part of it, or at its top."""
    page, at = sent.get("page"), sent.get("at")
    if at is not None:
        into = at.get("into") if isinstance(at, dict) else None
        if not isinstance(into, int | float) or not 0 <= into <= 1:
            raise RoomError("at is null, or a part of the page and how far into it, from 0 to 1")
        at = {"part": _text(at, "part", LONGEST_PART), "into": into}
    if page not in EVERY_PAGE:
        raise RoomError(f"page is one of {', '.join(EVERY_PAGE)}")
    store.scroll(room.id, {"page": page, "at": at})


def _show(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    """Open a view on the lecturer's own computer, which the room then sees."""
    page, params = view_of(sent)
    store.go_to(room.id, {"page": page, "params": params})


def _show_texts(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    """Those that the lecturer has before them, and none that has come meanwhile."""
    seqs = sent.get("seqs")
    if not isinstance(seqs, list) or len(seqs) > MOST_DEVICES:
        raise RoomError("seqs lists the texts to show")
    store.show_texts(room.id, [_whole({"seq": seq}, "seq") for seq in seqs], True)


def _end(store: Store, room: Room, sent: Mapping[str, Any]) -> None:
    store.end(room.id)
    event("room ended", rooms=store.count())


Deed = Callable[[Store, Room, Mapping[str, Any]], dict[str, Any] | None]
DEEDS: dict[str, Deed] = {
    "mode": _mode, "phase": _phase, "press": _press, "scroll": _scroll, "offers": _offers, "ask": ask,
    "switch off": _switch_off, "show": _show,
    "gather": lambda store, room, sent: store.gather(room.id),
    "lock": lambda store, room, sent: store.lock(room.id, sent.get("on") is True),
    "again": lambda store, room, sent: store.ask_again(room.id, _asked(store, room).id),
    "reset": lambda store, room, sent: store.reset(room.id, _asked(store, room).id),
    "put away": lambda store, room, sent: store.put_away(room.id),
    "uncover": _uncover, "peek": _peek,
    "back to": lambda store, room, sent: store.set_phase(room.id, _whole(sent, "question"), CLOSED),
    "text": lambda store, room, sent: store.show_texts(room.id, [_whole(sent, "seq")], sent.get("on") is True),
    "texts": _show_texts,
    "task": lambda store, room, sent: store.set_task(room.id, _text(sent, "task", LONGEST_TASK)),
    "tile": lambda store, room, sent: store.show_view(room.id, _whole(sent, "id")),
    "drop tile": lambda store, room, sent: store.drop_view(room.id, _whole(sent, "id")),
    "out": lambda store, room, sent: store.remove_device(room.id, _whole(sent, "number"), sent.get("on") is True),
    "out new": lambda store, room, sent: store.remove_new_devices(room.id),
    "extend": lambda store, room, sent: store.extend(room.id),
    "end": _end}


def _whole(sent: Mapping[str, Any], name: str) -> int:
    value = sent.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2 ** 53:
        raise RoomError(f"{name} is a whole number")
    return value


def _text(sent: Mapping[str, Any], name: str, longest: int) -> str:
    """A text without what is not seen. Raises RoomError for a longer one."""
    value = sent.get(name, "")
    if not isinstance(value, str) or len(value) > longest:
        raise RoomError(f"{quote(name)} is a text of at most {longest} characters")
    return "".join(one for one in value if one.isprintable() or one == "\n").strip()
