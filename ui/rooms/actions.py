"""Actions of devices and lecturers on a room. A message that came over http is checked here, whoever sent it."""

from collections.abc import Callable, Mapping
from typing import Any

from transformer.basics.formatting import quote
from transformer.lessons.lesson import Stop
from transformer.lessons.opened_link import Opened
from transformer.rooms.ablation import ablate
from transformer.rooms.questions import KINDS, kind_of, make, offers
from transformer.rooms.questions.kind import QuestionRecord, check_sure
from transformer.rooms.room import CLOSED, DRAFT, MOST_DEVICES, OPEN, Question, Room, RoomError
from transformer.rooms.store import Store
from transformer.text.lines import lines_of
from ui.lessons.stop_links import open_stop
from ui.page.link import GLOBAL_PARAMS
from ui.page.pages import EVERY_PAGE
from ui.rooms.visible_state import results, votes_of
from ui.state.event_log import event

LONGEST_NOTE, LONGEST_TASK, LONGEST_ASK = 200, 300, 200  # characters
LONGEST_SENTENCES = 12_000
LONGEST_PART = 120
MOST_PARAMS, LONGEST_PARAMS = 60, 3_000
STOP = "stop"  # names the question of the stop that the lecturer is at
REMOTE = ("ArrowRight", "ArrowLeft", "Home", "End", "PageDown", "PageUp", "p", "h")  # keys of a lecturer's remote


def take_answer(store: Store, room: Room, device: str, message: Mapping[str, Any]) -> object:
    """Write down what a device answers, once it is checked -> the answer as it counts. Raises ValueError."""
    question = store.question(room.id, _whole(message, "question"))
    value = kind_of(question.spec).check(question.spec, message.get("value"), store.join(room.id, device))
    store.answer(room.id, question.id, _whole(message, "round"), device, value, check_sure(message.get("sure")))
    return value


def take_view(store: Store, room: Room, device: str, message: Mapping[str, Any]) -> None:
    """Keep a view that a device hands in. Raises ValueError for what no page can show, and where no task is set."""
    if not room.task:
        raise RoomError("the lecturer is not asking for views now")
    page, params = view_of(message)
    _open({"page": page, "params": params})
    store.hand_in(room.id, device, page, params, _text(message, "note", LONGEST_NOTE))


def view_of(message: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The page and the parameters of a view that was sent. Raises RoomError for none."""
    page, params = message.get("page"), message.get("params")
    if not (isinstance(page, str) and page in EVERY_PAGE and isinstance(params, dict) and len(params) <= MOST_PARAMS
            and all(isinstance(value, str) for value in params.values())
            and sum(len(name) + len(value) for name, value in params.items()) <= LONGEST_PARAMS):
        raise RoomError("this is not a view of any page here")
    return page, {name: value for name, value in params.items() if name not in GLOBAL_PARAMS}


def do(store: Store, room: Room, message: Mapping[str, Any]) -> dict[str, Any]:
    """Do what a lecturer asks for, an action named by `do` -> what there is to reply. Raises ValueError for what cannot
    be done."""
    name = message.get("do")
    if not isinstance(name, str) or name not in ACTIONS:
        raise RoomError(f"a lecturer can do {', '.join(ACTIONS)}")
    return ACTIONS[name](store, room, message) or {}


def _offers(store: Store, room: Room, message: Mapping[str, Any]) -> dict[str, Any]:
    """What can be asked about what is shown now, and why not the rest."""
    listed = [{"about": one.kind.name, "title": one.kind.title, "ask": one.question.spec["ask"] if one.question else "",
               "why": one.why and f"{one.why[0].upper()}{one.why[1:]}.", "ways": [*one.kind.ways],
               "on_page": one.kind.on_page, "takes_sentences": one.kind.takes_sentences}
              for one in offers(_opened(room))]
    stop = room.view and room.view.get("asked")
    return {"offers": [*([{**stop, "about": STOP, "title": "This stop’s question", "why": None}] if stop else []),
                       *listed]}


def ask(store: Store, room: Room, message: Mapping[str, Any]) -> dict[str, Any]:
    """Ask a new question about what is shown now, as a draft, or open it at once."""
    about, shown = message.get("about"), room.view or {}
    stop = shown.get("asked")
    if about == STOP and stop:  # with the answer that a visitor alone has there
        made = make(stop["about"], _open(stop["view"]), ask=stop["ask"], **stop["options"])
        view = {**shown, **stop["view"]}
    else:
        made, view = _made(room, message), shown
    question = store.ask(room.id, made.spec, made.key, view, OPEN if message.get("open") is True else DRAFT)
    return {"question": question.id}


def _made(room: Room, message: Mapping[str, Any]) -> QuestionRecord:
    """The question that a lecturer has put together."""
    about = message.get("about")
    if not isinstance(about, str) or about not in KINDS:
        raise RoomError(f"a question is about {', '.join(KINDS)}")
    of, sentences = _text(message, "of", 40) or None, _text(message, "sentences", LONGEST_SENTENCES)
    own = [line.strip() for line in lines_of(sentences) if line.strip()]
    return make(about, _opened(room), ask=_text(message, "ask", LONGEST_ASK) or None, of=of,
                query=_text(message, "query", 40) or "newest", sentences=own or None, seed=room.rev)


def _opened(room: Room) -> Opened:
    if room.view is None:
        raise RoomError("nothing is shown to the room yet; open a page with a model")
    return _open(room.view)


def _open(view: Mapping[str, Any]) -> Opened:
    """Open a view's link. Raises ValueError where it leads nowhere."""
    params = {name: value for name, value in view["params"].items() if name not in GLOBAL_PARAMS}
    return open_stop(Stop(title="", page=view["page"], params=params, line=0))


def _switch_off(store: Store, room: Room, message: Mapping[str, Any]) -> None:
    """Switch off the head that most chose, the right one and a random one, each in turn. The result is part of the
    answer for as long as the votes stay the same."""
    question = _current_question(store, room)
    votes = votes_of(store, room, question).get("counts", ())
    rows = ablate(QuestionRecord(dict(question.spec), dict(question.key)), _open(question.view), votes)
    store.set_key(room.id, question.id, {**question.key, "switched": {"votes": votes, "rows": rows}})


def _current_question(store: Store, room: Room) -> Question:
    if room.question is None:
        raise RoomError("no question is open now")
    return store.question(room.id, room.question)


def _uncover(store: Store, room: Room, message: Mapping[str, Any]) -> None:
    if room.view and room.view.get("asked"):
        store.uncover(room.id, room.view["asked"]["stop"])


def _peek(store: Store, room: Room, message: Mapping[str, Any]) -> dict[str, Any]:
    """The votes so far, for the lecturer alone."""
    question = _current_question(store, room)
    return results(store, room, question) | {"question": question.id, "round": question.round}


def _press(store: Store, room: Room, message: Mapping[str, Any]) -> None:
    if message.get("key") not in REMOTE:
        raise RoomError(f"a remote presses {', '.join(REMOTE)}")
    store.press(room.id, message["key"])


def _scroll(store: Store, room: Room, message: Mapping[str, Any]) -> None:
    """Keep where on its page the lecturer is: so far into a part of it, or at its top."""
    page, at = message.get("page"), message.get("at")
    if at is not None:
        into = at.get("into") if isinstance(at, dict) else None
        if not isinstance(into, int | float) or not 0 <= into <= 1:
            raise RoomError("at is null, or a part of the page and how far into it, from 0 to 1")
        at = {"part": _text(at, "part", LONGEST_PART), "into": into}
    if page not in EVERY_PAGE:
        raise RoomError(f"page is one of {', '.join(EVERY_PAGE)}")
    store.scroll(room.id, {"page": page, "at": at})


def _show(store: Store, room: Room, message: Mapping[str, Any]) -> None:
    """Open a view on the lecturer's own computer, which the room then sees."""
    page, params = view_of(message)
    store.go_to(room.id, {"page": page, "params": params})


def _show_texts(store: Store, room: Room, message: Mapping[str, Any]) -> None:
    """Show the texts that the lecturer has before them, and none that has come meanwhile."""
    seqs = message.get("seqs")
    if not isinstance(seqs, list) or len(seqs) > MOST_DEVICES:
        raise RoomError("seqs lists the texts to show")
    store.show_texts(room.id, [_whole({"seq": seq}, "seq") for seq in seqs], True)


def _end(store: Store, room: Room, message: Mapping[str, Any]) -> None:
    store.end(room.id)
    event("room ended", rooms=store.count())


Action = Callable[[Store, Room, Mapping[str, Any]], dict[str, Any] | None]
ACTIONS: dict[str, Action] = {
    "offers": _offers, "ask": ask, "press": _press, "scroll": _scroll, "switch off": _switch_off, "show": _show,
    "mode": lambda store, room, message: store.set_mode(room.id, message.get("mode", "")),
    "phase": lambda store, room, message: store.set_phase(room.id, _current_question(store, room).id,
                                                          message.get("phase", "")),
    "gather": lambda store, room, message: store.gather(room.id),
    "lock": lambda store, room, message: store.lock(room.id, message.get("on") is True),
    "again": lambda store, room, message: store.ask_again(room.id, _current_question(store, room).id),
    "reset": lambda store, room, message: store.reset(room.id, _current_question(store, room).id),
    "put away": lambda store, room, message: store.put_away(room.id),
    "uncover": _uncover, "peek": _peek,
    "back to": lambda store, room, message: store.set_phase(room.id, _whole(message, "question"), CLOSED),
    "text": lambda store, room, message: store.show_texts(room.id, [_whole(message, "seq")], message.get("on") is True),
    "texts": _show_texts,
    "task": lambda store, room, message: store.set_task(room.id, _text(message, "task", LONGEST_TASK)),
    "tile": lambda store, room, message: store.show_view(room.id, _whole(message, "id")),
    "drop tile": lambda store, room, message: store.drop_view(room.id, _whole(message, "id")),
    "out": lambda store, room, message: store.remove_device(room.id, _whole(message, "number"),
                                                            message.get("on") is True),
    "out new": lambda store, room, message: store.remove_new_devices(room.id),
    "extend": lambda store, room, message: store.extend(room.id),
    "end": _end}


def _whole(message: Mapping[str, Any], name: str) -> int:
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2 ** 53:
        raise RoomError(f"{name} is a whole number")
    return value


def _text(message: Mapping[str, Any], name: str, longest: int) -> str:
    """A text without invisible characters. Raises RoomError for a longer one."""
    value = message.get(name, "")
    if not isinstance(value, str) or len(value) > longest:
        raise RoomError(f"{quote(name)} is a text of at most {longest} characters")
    return "".join(one for one in value if one.isprintable() or one == "\n").strip()
