"""The state of a room that phones and walls are sent, and what lecturers are sent besides. The votes on a question and
its answer are part of it from the phase in which they are shown, and not before."""

from collections.abc import Mapping
from typing import Any

from transformer.rooms.questions import KINDS, kind_of
from transformer.rooms.questions.kind import to_show
from transformer.rooms.room import ANSWER, CLOSED, DRAFT, OPEN, SPLIT, Question, Room
from transformer.rooms.store import Store
from ui.page.pages import EVERY_PAGE

MOST_EXCEPTIONS = 12  # sentences that most took otherwise than the model
COMING = "A question is coming."
MOST_TILES, LONGEST_QUOTED = 60, 160  # views that were handed in; characters of a text in one
TILE_PARAMS = ("text", "step", "kind", "layer", "head", "view")
MOST_TEXTS = 60  # that are shown to a room


def of_room(store: Store, room: Room) -> dict[str, Any]:
    """The state that everybody in the room is sent."""
    question = current_question(store, room)
    asked = question if question and question.phase != DRAFT else None
    view, picture, coming = room.view, room.picture, coming_question(store, room)
    if view and (is_guessed(question) or coming):  # what is shown has the answer in it
        view, picture = {**view, "said": "", "params": {}, "asked": None}, 0
    return {"code": room.code, "rev": room.rev, "mode": room.mode, "gathered": room.gathered, "ends": room.ends,
            "task": room.task, "picture": picture, "view": view, "locked": room.locked,
            "coming": coming, "coming_of": _text_of_stop(room) if coming and coming != COMING else "",
            "question": _question(store, room, asked) if asked else None}


def hides_view(store: Store, room: Room) -> bool:
    """Whether the room must not see yet what the lecturer shows."""
    return is_guessed(current_question(store, room)) or bool(coming_question(store, room))


def coming_question(store: Store, room: Room) -> str | None:
    """The question that is coming: of the stop that the lecturer has come to, whose page has the answer in it, until it
    is asked or shown without being asked."""
    question = current_question(store, room)
    if question and question.phase == DRAFT:
        return COMING if has_answer(question) else None
    asked = room.view and room.view.get("asked")
    if not asked or not _tells(asked) or asked["stop"] == room.uncovered:
        return None
    known = [(one.view.get("asked") or {}).get("stop") for one in store.questions(room.id)]
    return None if asked["stop"] in known else asked["ask"]


def _text_of_stop(room: Room) -> str:
    """The text that this stop is about, which nobody sees yet."""
    return room.view["asked"]["view"]["params"].get("text", "") if room.view else ""


def is_guessed(question: Question | None) -> bool:
    """Whether a room is asked something whose answer it must not see yet."""
    return question is not None and question.phase in (OPEN, CLOSED, SPLIT) and has_answer(question)


def has_answer(question: Question) -> bool:
    """Whether the page that is shown has an answer in it: that of the question, or of the stop that it is on."""
    asked = question.view.get("asked")
    return kind_of(question.spec).hides_page(question.key) or bool(asked and _tells(asked))


def _tells(asked: Mapping[str, Any]) -> bool:
    """Whether the page of a stop has the answer to what the stop asks."""
    return KINDS[asked["about"]].hides_page(asked.get("options", {}))


def current_question(store: Store, room: Room) -> Question | None:
    """The question that is asked, or is a draft."""
    return store.question(room.id, room.question) if room.question is not None else None


def counts(store: Store, room: Room) -> dict[str, Any]:
    """How many devices are there and have answered, and where on the page the lecturer is: a wall shows both."""
    question = current_question(store, room)
    return {"tally": store.tally(room.id), "here": store.count_here(room.id),
            "answered": store.count_answers(room.id, question, question.round) if question else 0,
            "scrolled": store.scrolled(room.id)}


def _question(store: Store, room: Room, question: Question) -> dict[str, Any]:
    spec = {name: value for name, value in question.spec.items() if name != "each"}
    state: dict[str, Any] = {"id": question.id, "number": question.number, "round": question.round,
                             "since": question.since, "phase": question.phase, "spec": spec,
                             "own": "each" in question.spec,
                             "beside": question.phase in (OPEN, CLOSED) and not has_answer(question)}
    if question.phase in (SPLIT, ANSWER):
        state |= results(store, room, question)
        state["texts"] = [one["value"] for one in store.answers(room.id, question, question.round)
                          if one["shown"] and isinstance(one["value"], str)][-MOST_TEXTS:]
    if question.phase == ANSWER:
        state["key"] = {name: value for name, value in kind_of(question.spec).key_to_show(question.key).items()
                        if name not in ("each", "switched")}
        switched = question.key.get("switched")
        if switched and switched["votes"] == state["votes"]["counts"]:  # and nobody has voted since
            state["key"]["switched"] = switched["rows"]
    return state


def results(store: Store, room: Room, question: Question) -> dict[str, Any]:
    """The votes on a question, the first round beside the second, and their summary with the answer."""
    kind, spec = kind_of(question.spec), question.spec
    rounds = [_answers(store, room, question, round) for round in range(1, question.round + 1)]
    votes = kind.count(spec, rounds[-1], rounds[0])
    result: dict[str, Any] = {"votes": to_show(votes)}
    if question.phase == ANSWER:
        result["summary"] = kind.summary(spec, question.key, votes)
        if "exceptions" in result["summary"]:
            result["summary"]["exceptions"] = result["summary"]["exceptions"][:MOST_EXCEPTIONS]
    if question.round == 2:
        key = question.key if question.phase == ANSWER else None
        first, second = rounds
        result |= {"first": to_show(kind.count(spec, first, second)),
                   "rounds": kind.compare_rounds(spec, first, second, key)}
    return result


def votes_of(store: Store, room: Room, question: Question) -> dict[str, Any]:
    """The votes of the last round."""
    return kind_of(question.spec).count(question.spec, _answers(store, room, question, question.round))


def _answers(store: Store, room: Room, question: Question, round: int) -> list[tuple[int, Any, int | None]]:
    """The answers that count in a round, as they are scored."""
    return [(one["number"], one["value"], one["sure"]) for one in store.answers(room.id, question, round)]


def own_part(store: Store, room: Room, number: int) -> Mapping[str, Any] | None:
    """The part of a question that is for this device alone, with its key once that is shown; None where all are asked
    the same."""
    question = current_question(store, room)
    if question is None or question.phase == DRAFT or not question.spec.get("each"):
        return None
    each, keys = question.spec["each"], question.key["each"]
    part = {"question": question.id, **each[number % len(each)]}
    return part | {"key": keys[number % len(keys)]} if question.phase == ANSWER else part


def to_lecturer(store: Store, room: Room) -> dict[str, Any]:
    """The state that a lecturer is sent."""
    question = current_question(store, room)
    state = of_room(store, room) | counts(store, room) | {
        "leader": room.leader, "goto": room.goto, "press": room.press, "devices": store.devices(room.id),
        "tiles": [tile(one) for one in store.views(room.id)[:MOST_TILES]],
        "asked": [{"id": one.id, "number": one.number, "ask": one.spec["ask"], "phase": one.phase}
                  for one in store.questions(room.id)]}
    if question:
        state["question"] = (state["question"] or _question(store, room, question)) | {"view": question.view}
        if kind_of(question.spec).moderated:
            state["moderate"] = [{"seq": one["seq"], "number": one["number"], "text": one["value"],
                                  "shown": one["shown"]}
                                 for one in store.answers(room.id, question, question.round)]
    return state


def tile(one: Mapping[str, Any]) -> dict[str, Any]:
    """A view that was handed in, as the tile that shows it."""
    page = EVERY_PAGE.get(one["page"])
    return {"id": one["id"], "number": one["number"], "page": one["page"], "title": page.title if page else "",
            "params": {name: one["params"][name][:LONGEST_QUOTED] for name in TILE_PARAMS if name in one["params"]},
            "note": one["note"], "shown": one["shown"]}
