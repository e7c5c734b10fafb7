"""What a room is told: all that phones and walls may know, and what lecturers know besides. The answer to a question,
and how the votes are split, are in it from the phase in which they are shown and not before."""

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
SEEN_OF_TILE = ("text", "step", "kind", "layer", "head", "view")
MOST_TEXTS = 60  # that are shown to a room


def of_room(store: Store, room: Room) -> dict[str, Any]:
    """What everybody in the room is told."""
    question = now(store, room)
    asked = question if question and question.phase != DRAFT else None
    view, picture, coming = room.view, room.picture, coming_question(store, room)
    if view and (guessing(question) or coming):  # what is shown has the answer in it
        view, picture = {**view, "said": "", "params": {}, "asked": None}, 0
    return {"code": room.code, "rev": room.rev, "mode": room.mode, "gathered": room.gathered, "ends": room.ends,
            "task": room.task, "picture": picture, "view": view, "locked": room.locked,
            "coming": coming, "coming_of": _text_of_stop(room) if coming and coming != COMING else "",
            "question": _question(store, room, asked) if asked else None}


def hides_view(store: Store, room: Room) -> bool:
    """Whether what is shown is not for a room yet."""
    return guessing(now(store, room)) or bool(coming_question(store, room))


def coming_question(store: Store, room: Room) -> str | None:
    """What the stop that the lecturer has come to will ask, until it is asked or shown without that: its page has the
    answer in it."""
    question = now(store, room)
    if question and question.phase == DRAFT:
        return COMING if has_answer(question) else None
    asked = room.view and room.view.get("asked")
    if not asked or not KINDS[asked["about"]].hides_page({}) or asked["stop"] == room.uncovered:
        return None
    known = [(one.view.get("asked") or {}).get("stop") for one in store.questions(room.id)]
    return None if asked["stop"] in known else asked["ask"]


def _text_of_stop(room: Room) -> str:
    """What that stop is about, which nobody sees yet."""
    return room.view["asked"]["view"]["params"].get("text", "") if room.view else ""


def guessing(question: Question | None) -> bool:
    """Whether a room is being asked what it must not see yet."""
    return question is not None and question.phase in (OPEN, CLOSED, SPLIT) and has_answer(question)


def has_answer(question: Question) -> bool:
    """Whether what is shown has an answer in it that is not to be seen: a text of one's own is about what is shown,
    unless the model is going to write it, or the stop asks something else there."""
    asked = question.view.get("asked")
    return kind_of(question.spec).hides_page(question.key) or bool(asked and KINDS[asked["about"]].hides_page({}))


def now(store: Store, room: Room) -> Question | None:
    """The question that is asked."""
    return store.question(room.id, room.question) if room.question is not None else None


def counts(store: Store, room: Room) -> dict[str, Any]:
    """How many are there and have answered, which a wall shows, and where on the page its lecturer is."""
    question = now(store, room)
    return {"tally": store.tally(room.id), "here": store.count_here(room.id),
            "answered": store.count_answers(room.id, question, question.round) if question else 0,
            "scrolled": store.scrolled(room.id)}


def _question(store: Store, room: Room, question: Question) -> dict[str, Any]:
    spec = {name: value for name, value in question.spec.items() if name != "each"}
    found: dict[str, Any] = {"id": question.id, "number": question.number, "round": question.round,
                             "since": question.since, "phase": question.phase, "spec": spec,
                             "own": "each" in question.spec,
                             "beside": question.phase in (OPEN, CLOSED) and not has_answer(question)}
    if question.phase in (SPLIT, ANSWER):
        found |= results(store, room, question)
        found["texts"] = [one["value"] for one in store.answers(room.id, question, question.round)
                          if one["shown"] and isinstance(one["value"], str)][-MOST_TEXTS:]
    if question.phase == ANSWER:
        found["key"] = {name: value for name, value in kind_of(question.spec).key_to_show(question.key).items()
                        if name not in ("each", "switched")}
        switched = question.key.get("switched")
        if switched and switched["votes"] == found["votes"]["counts"]:  # and nobody has voted since
            found["key"]["switched"] = switched["rows"]
    return found


def results(store: Store, room: Room, question: Question) -> dict[str, Any]:
    """How a question's votes are split, the first round beside the second."""
    kind, spec = kind_of(question.spec), question.spec
    rounds = [_answers(store, room, question, round) for round in range(1, question.round + 1)]
    votes = kind.count(spec, rounds[-1], rounds[0])
    found: dict[str, Any] = {"votes": to_show(votes)}
    if question.phase == ANSWER:
        found["summary"] = kind.summary(spec, question.key, votes)
        if "exceptions" in found["summary"]:
            found["summary"]["exceptions"] = found["summary"]["exceptions"][:MOST_EXCEPTIONS]
    if question.round == 2:
        key = question.key if question.phase == ANSWER else None
        found |= {"first": to_show(kind.count(spec, *rounds)), "rounds": kind.compare_rounds(spec, *rounds, key)}
    return found


def votes_of(store: Store, room: Room, question: Question, round: int) -> dict[str, Any]:
    """The votes of one round."""
    return kind_of(question.spec).count(question.spec, _answers(store, room, question, round))


def _answers(store: Store, room: Room, question: Question, round: int) -> list[tuple[int, Any, int | None]]:
    """What counts in a round, as it is scored."""
    return [(one["number"], one["value"], one["sure"]) for one in store.answers(room.id, question, round)]


def own_part(store: Store, room: Room, number: int) -> Mapping[str, Any] | None:
    """What the question asks of this device alone, with the answer once that is shown; None where all are asked the
    same."""
    question = now(store, room)
    if question is None or question.phase == DRAFT or not question.spec.get("each"):
        return None
    each, keys = question.spec["each"], question.key["each"]
    found = {"question": question.id, **each[number % len(each)]}
    return found | {"key": keys[number % len(keys)]} if question.phase == ANSWER else found


def to_lecturer(store: Store, room: Room) -> dict[str, Any]:
    """What a lecturer is told."""
    question = now(store, room)
    found = of_room(store, room) | counts(store, room) | {
        "leader": room.leader, "goto": room.goto, "press": room.press, "devices": store.devices(room.id),
        "tiles": [tile(one) for one in store.views(room.id)[:MOST_TILES]],
        "asked": [{"id": one.id, "number": one.number, "ask": one.spec["ask"], "phase": one.phase}
                  for one in store.questions(room.id)]}
    if question:
        spec = {name: value for name, value in question.spec.items() if name != "each"}
        found["question"] = (found["question"] or {}) | {
            "id": question.id, "number": question.number, "round": question.round, "phase": question.phase,
            "spec": spec, "view": question.view}
        if kind_of(question.spec).moderated:
            found["moderate"] = [{"seq": one["seq"], "number": one["number"], "text": one["value"],
                                  "shown": one["shown"]}
                                 for one in store.answers(room.id, question, question.round)]
    return found


def tile(one: Mapping[str, Any]) -> dict[str, Any]:
    """A view that was handed in, as a tile."""
    page = EVERY_PAGE.get(one["page"])
    return {"id": one["id"], "number": one["number"], "page": one["page"], "title": page.title if page else "",
            "params": {name: one["params"][name][:LONGEST_QUOTED] for name in SEEN_OF_TILE if name in one["params"]},
            "note": one["note"], "shown": one["shown"]}
