"""Lessons: the page that lists them, and the bar that goes with every page."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import ui.page.link
from tests.markup import Markup
from transformer.basics.paths import ROOT
from transformer.checkpoints.openings import OPENINGS
from transformer.lessons.answers import check_stop
from transformer.lessons.lesson import LARGEST
from transformer.lessons.parsing import parse, read_file
from transformer.rooms.room import new_key
from ui.access import visitors
from ui.figures import markdown_text
from ui.lessons.catalogue import find
from ui.lessons.progress import LessonProgress, check_lesson
from ui.lessons.stop_links import fields_of
from ui.page import room_sharing
from ui.page.pages import EVERY_PAGE

from .page import components, go, html_of, plain, press, step_view_of, words

PAGE = "lessons"
HEAD = "---\ntitle: Mine\nminutes: 5\ndescription: My own.\n---\n"
ALIGNS = OPENINGS["translation"]
GUESS = ("## Guess\n- link: /translate?text=I like red wine.&step=4&kind=cross"
         f"&layer={ALIGNS.layer}&head={ALIGNS.head}\n- question: next token\n")
LESSON = HEAD + GUESS
SHIPPED = sorted(path.stem for path in (ROOT / "lessons").glob("*.md"))


def own(at: AppTest, text: str | bytes, file: str = "mine.md") -> AppTest:
    """As after an upload, which no test without a browser can make."""
    name = f"own/{file.removesuffix('.md')}"
    content = text if isinstance(text, bytes) else text.encode()
    at.session_state["lessons_own"] = {name: parse(content, name, file=file)}
    return at.run()


def bar(at: AppTest) -> dict | None:
    """What the bar is sent; None where there is none."""
    found = components(at, "lesson_bar")
    return json.loads(found[0].json) if found else None


def act(at: AppTest, number: int, to: int, *, leave: bool = False, **answers: object) -> AppTest:
    """What the bar sends; answers: stop0="...", from 0."""
    sent = {"number": number, "lesson": bar(at)["lesson"], "to": to, "leave": leave,
            "answers": {name.removeprefix("stop"): value for name, value in answers.items()}}
    at.session_state["lesson_bar"] = {"act": sent}
    return at.run()


def test_it_lists_what_comes_with_the_app_and_offers_no_bar(visit):
    at = visit(PAGE)
    assert {one.value for one in at.header} > {read_file(ROOT / "lessons" / f"{name}.md").title for name in SHIPPED}
    assert len(SHIPPED) == 9 and bar(at) is None


@pytest.mark.parametrize("name", SHIPPED)
def test_every_stop_of_the_lessons_that_come_with_the_app_can_be_given(name, visit):
    visit("home")
    lesson = read_file(ROOT / "lessons" / f"{name}.md")
    assert [(one.stop.title, one.problem) for one in check_lesson(lesson) if one.problem] == []
    if name == "tour":
        assert len(lesson.stops) == 8 and all(stop.point for stop in lesson.stops)
    else:
        assert any(stop.question for stop in lesson.stops)


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_the_parameters_that_a_link_is_checked_against_are_those_that_the_page_reads(page, visit, monkeypatch):
    read = {}
    arrive_at = ui.page.link.arrive_at
    monkeypatch.setattr("ui.page.link.arrive_at", lambda name, fields: (read.setdefault(name, fields) and None)
                        or arrive_at(name, fields))
    monkeypatch.setattr("ui.views.stepper.address.arrive_at", ui.page.link.arrive_at)
    visit(page)
    assert {*fields_of(page)} == {*read.get(page, {})}


def test_a_stop_that_does_not_open_is_found(visit, accepted):
    links = ("/masks", "/nowhere", "/translate?colour=red", "/by_hand?part=everything",
             "/translate?checkpoint=other@12345678", "/translate?text=Go on.&step=99", "/translate?checkpoint=write",
             "/?text=x", "/by_hand?text=")
    at = own(visit(PAGE), HEAD + "".join(f"## {link}\n- link: {link}\n\n" for link in links))
    assert "8 of 9 stops cannot be given" in at.warning[0].value
    rows = Markup(html_of(at, "check of Mine")).root.xpath("//tbody/tr")
    accepted("lessons.check", "\n".join(" | ".join(cell.text_content()[:70] for cell in row) for row in rows))
    assert at.button(key="lessons_start_own/mine").disabled


def test_an_own_lesson_is_checked_started_and_removed(visit):
    at = own(visit(PAGE), LESSON)
    assert at.success and "own/mine" in at.session_state["lessons_checked"]
    press(at, "lessons_start_own/mine")
    assert bar(at)["name"] == "Mine"
    at = own(visit(PAGE), LESSON)
    press(at, "lessons_remove_own/mine")
    assert "Mine" not in {one.value for one in at.run().header}


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"<script>alert(1)</script>", b"a" * (LARGEST + 1),
                                     HEAD.encode() + b"## A\n- link: https://example.org/\n"])
def test_a_file_that_is_no_lesson_is_said_and_nothing_is_kept(visit, content, monkeypatch):
    at = visit(PAGE)
    sent = SimpleNamespace(name="<b>bad</b>.md", getvalue=lambda: content)

    def script() -> None:
        import streamlit as st

        from ui.lessons.lesson_list import _open, show_own

        st.session_state["lessons_sent"] = st.session_state["upload"]
        _open("lessons", "lessons_sent")
        show_own("lessons")

    at = AppTest.from_function(script)
    at.session_state["upload"] = sent
    at.run()
    assert plain(at.error[0].value).startswith("<b>bad</b>.md") and not at.session_state["lessons_own"]
    good = SimpleNamespace(name=sent.name, getvalue=lambda: LESSON.encode())
    for at.session_state["upload"] in (good, sent, SimpleNamespace()):
        at.run()
    assert not at.exception and len(at.session_state["lessons_own"]) == 1


def test_markdown_in_a_file_stays_text(visit):
    words = "![a](http://a.example/x.png) **b** :red[c] <script>d</script>"
    at = own(visit(PAGE), HEAD.replace("Mine", words).replace("My own.", words) + "## A\n- link: /masks\n")
    assert words in {plain(one.value) for one in at.header} & {plain(one.value) for one in at.markdown}
    assert words not in {one.value for one in at.markdown}


def test_the_newest_files_of_a_visitor_are_kept(visit):
    def script() -> None:
        import streamlit as st

        from ui.lessons.catalogue import take_in

        for at in range(20):
            take_in(f"lesson {at}.md", st.session_state["content"])

    at = AppTest.from_function(script)
    at.session_state["content"] = LESSON.encode()
    at.run()
    assert list(at.session_state["lessons_own"]) == [f"own/lesson-{number}" for number in range(12, 20)]


@pytest.mark.parametrize(("shared", "teacher", "listed"), [(False, False, True), (True, False, False),
                                                           (True, True, True)])
def test_the_folder_is_for_whoever_runs_the_server(visit, home, monkeypatch, cookies, shared, teacher, listed):
    (home / "lessons").mkdir(parents=True)
    (home / "lessons" / "ours.md").write_text(LESSON, "utf-8")
    (home / "lessons" / "broken.md").write_text("nothing", "utf-8")
    if shared:
        monkeypatch.setenv("HEADSUP_SHARED", "1")
    if teacher:
        cookies[visitors.TEACHER] = visitors.teacher_cookie()
    at = visit(PAGE)
    assert ("Mine" in {one.value for one in at.header}) == listed
    assert bool(at.error) == listed
    at = visit("translate", lesson="folder/ours", stop="1")
    assert (bar(at) is not None) == listed


@pytest.mark.parametrize("name", ["../../etc/passwd", "folder/../x", "own/other", "nothing", "tour\0", "a" * 500, ""])
def test_a_name_in_a_link_that_is_no_lesson_opens_none_and_is_said(visit, name):
    at = visit("translate", lesson=name, stop="2")
    for _ in range(2):  # it is read after the next press too
        assert bar(at) is None and not at.error
        assert ("no lesson" in words(at, "warning")) == bool(name)
        at = at.run()


def test_a_link_reopens_a_lesson_at_a_stop_that_is_there_with_the_picture_that_it_shows(visit):
    look = {"lesson": "query-and-key", "text": "Go on."}
    for stop in ("-1", "0", "999999", "x", "², 1", "9" * 40):
        assert 0 <= bar(visit("translate", stop=stop, **look))["at"] <= 13, stop
    at = visit("translate", stop="3", step="1", **look)
    assert (bar(at)["at"], at.session_state["translate_text"]) == (2, "Go on.")
    assert at.query_params["lesson"] == "query-and-key" and at.query_params["stop"] == "3"


def answering(visit, text: str = LESSON) -> AppTest:
    at = own(visit("translate"), text)
    at.query_params.update({"lesson": "own/mine", "stop": "1", "text": "I like red wine.", "step": "4",
                            "kind": "cross", "layer": str(ALIGNS.layer), "head": str(ALIGNS.head)})
    return at.run()


def test_the_bar_is_made_for_a_projector_while_its_page_is_presented_and_no_longer(visit):
    """In the very run that opens the address: no other may follow."""
    stop = {"part": "vectors", "lesson": "why-it-works", "stop": "3"}
    at = visit("by_hand", present="1", **stop)
    assert bar(at)["large"]
    assert not bar(go(at, "by_hand", **stop))["large"]
    at = visit("lessons", present="1", lesson="why-it-works", stop="1")
    assert bar(at)["large"] and at.query_params["present"] == "1"
    at = go(visit("lessons", present="1"), "lessons", lesson="why-it-works", stop="2")
    assert not bar(at)["large"] and "present" not in at.query_params


def test_a_guess_is_hidden_until_it_is_answered_with_the_models_number(visit):
    at = answering(visit)
    assert at.session_state["translate_hide"] is True
    step_view = step_view_of(at)
    assert (step_view["text"]["written"], step_view["text"]["coming"]) == ("J'aime le", "")
    assert "vin" not in step_view["said"] and not step_view["branches"] and "reference" not in step_view["text"]
    tokens = bar(at)["question"]["choices"]
    assert "vin" in tokens and "verdict" not in bar(at)["question"]
    act(at, 1, 0, stop0=tokens.index("vin"))
    question = bar(at)["question"]
    assert question["right"] and question["verdict"] == "Right: the model predicts vin, 98.6%."
    assert at.session_state["translate_hide"] is False
    assert step_view_of(at)["text"]["written"] == "J'aime le vin"
    act(at, 2, 0, stop0=(tokens.index("vin") + 1) % 4)
    assert bar(at)["question"]["right"]  # the first answer counts


def test_a_cell_clicked_in_the_row_asked_about_is_the_answer(visit):
    at = answering(visit, LESSON.replace("next token", "cell"))
    assert bar(at)["question"]["row"] == "le"
    for pair, said in (((1, 3), None), ((4, -2), None), ((4, 99), None), (
            (4, 2), "red has < 0.01 of this row. Most is on wine, 0.998.")):
        at.session_state["translate_selection"] = replace(at.session_state["translate_selection"], pair=pair)
        at.run()
        assert bar(at)["question"].get("verdict") == said


def test_nothing_is_judged_while_a_room_is_asked(visit, cookies, home):
    home.mkdir(exist_ok=True)
    rooms, key = room_sharing.store(), new_key()
    room = rooms.open_room(key)
    rooms.lead(room.id, "a" * 16)
    cookies[visitors.LECTURER] = key
    at = answering(visit, LESSON.replace("next token", "cell"))
    at.session_state["room_tab"] = "a" * 16
    question = rooms.ask(room.id, {"about": "text", "form": "text", "ask": "What?"}, {}, {})
    for phase, pair, judged in (("open", (4, 3), False), ("answer", (4, 3), False), ("answer", (4, 2), True)):
        rooms.set_phase(room.id, question.id, phase)
        at.session_state["translate_selection"] = replace(at.session_state["translate_selection"], pair=pair)
        at.run()
        assert ("verdict" in bar(at)["question"]) is judged, phase  # nor the click, once the answer is shown


def test_free_text_is_kept_and_compared(visit):
    at = answering(visit, LESSON.replace("next token", "free text\n- compare: output"))
    assert at.session_state["translate_hide"] is True  # what it is compared with
    act(at, 1, 0, stop0="<b>J'aime</b>")
    assert bar(at)["question"]["given"] == "<b>J'aime</b>"
    assert bar(at)["question"]["verdict"] == "The model writes: J'aime le vin rouge."


def test_a_question_without_an_answer_says_so_and_is_checked_once_a_run(visit, monkeypatch):
    at = answering(visit, LESSON.replace("step=4", "step=0").replace("I like red wine.", "I am cold.")
                   + "- ask: What?\n")
    assert "problem" not in bar(at)["question"]
    at, checked = answering(visit, LESSON.replace(f"head={ALIGNS.head}", "head=99")), []
    assert bar(at)["question"]["problem"].startswith("This question has no answer here: head is '99'")
    monkeypatch.setattr("ui.lessons.progress.check_stop",
                        lambda *given: checked.append(given) or check_stop(*given))
    at.run()
    assert len(checked) == 1


FORGED = [
    None, 1, "x", {}, {"act": None}, {"act": {"number": "1", "to": 1}}, {"act": {"number": 1, "to": -5}},
    {"act": {"number": 1, "to": float("nan")}}, {"act": {"number": True, "to": 1}},
    {"act": {"number": 1, "to": 0, "lesson": "other", "answers": {"0": 1}}},
    {"act": {"number": 1, "to": 0, "lesson": "own/mine", "answers": {"0": 99, "-1": 1, "x": 1, "7": 1}}},
    {"act": {"number": 1, "to": 0, "lesson": "own/mine", "answers": {"0": {"a": 1}}}},
    {"act": {"number": 1, "to": 0, "lesson": "own/mine", "answers": [1, 2]}},
    {"act": {"number": 1, "to": 0, "lesson": "own/mine", "answers": {"0": True}}}]


def test_what_no_bar_sends_changes_nothing_and_leaving_takes_the_lesson_out_of_the_address(visit):
    at = answering(visit)
    for number, sent in enumerate(FORGED, 1):
        if isinstance(sent, dict) and isinstance(sent.get("act"), dict) and sent["act"]["number"] is not True:
            sent = {"act": sent["act"] | {"number": type(sent["act"]["number"])(number)}}
        at.session_state["lesson_bar"] = sent
        at.run()
        assert bar(at)["at"] == 0 and "given" not in bar(at)["question"], sent
    act(at, len(FORGED) + 1, 0, leave=True)
    assert bar(at) is None and "lesson" not in at.query_params
    assert at.session_state["translate_hide"] is False


def test_the_tour_is_offered_where_no_lesson_is_under_way():
    def script() -> None:
        from ui.lessons.lesson_list import offer_tour

        offer_tour()

    at = AppTest.from_function(script).run()
    (offer,) = at.get("bidi_component")
    assert json.loads(offer.proto.json) == {"count": 8, "minutes": 3}
    at.session_state["lesson"] = LessonProgress(read_file(ROOT / "lessons" / "tour.md"))
    assert not at.run().get("bidi_component")


def test_the_results_stand_on_the_page_of_lessons_and_those_of_the_tour_are_its_recaps(visit):
    at, tour = visit(PAGE), find("tour")
    at.session_state["lesson_results"] = LessonProgress(tour)
    at.run()
    said = words(at, "markdown")
    assert len(tour.stops) == 8
    assert all(stop.recap and plain(markdown_text(stop.recap)) in said for stop in tour.stops)
    (link,) = [one for one in at.get("page_link") if "own sentence" in one.proto.label]
    assert link.proto.page == "translate"
    at, lesson = visit(PAGE), parse(LESSON.encode(), "own/mine")
    right = check_lesson(lesson)[0].answer.right
    at.session_state["lesson_results"] = LessonProgress(lesson, answers={0: right})
    at.run()
    assert "1 of 1 right, 1 of 1 questions answered" in words(at, "markdown")
    assert any("vin, 98.6%" in one.value for one in at.get("html"))
