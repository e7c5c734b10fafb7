"""Lessons read from their files, and what is said of a file that is none."""

import pytest

from tests.rows import each_row
from transformer.lessons.lesson import LARGEST, STOPS, LessonError
from transformer.lessons.parsing import parse

HEAD = "---\ntitle: One head\nminutes: 5\ndescription: Where it looks.\n---\n"
STOP = "## First\n- link: /translate?text=Go on.&step=0&layer=1&head=3\n"


def lesson(text: str):
    return parse(text.encode(), "mine", file="mine.md")


def refused(text: str | bytes) -> str:
    with pytest.raises(LessonError) as error:
        parse(text if isinstance(text, bytes) else text.encode(), "mine", file="mine.md")
    return str(error.value)


def test_all_that_a_file_can_say():
    found = lesson(HEAD + "\n## Where it looks\n- link: /translate?text=I like red wine.&step=5\n- question: cell\n"
                   "- ask: Where?\n- query: vin\n- note: Vote first.\n- point: head\n- done: cell\n\nOne sentence.\n"
                   "Another one.\n\n## Next\n- link: /masks\n")
    assert (found.name, found.title, found.minutes, found.sentence) == ("mine", "One head", 5, "Where it looks.")
    first, second = found.stops
    assert (first.title, first.page, dict(first.params)) == (
        "Where it looks", "translate", {"text": "I like red wine.", "step": "5"})
    assert (first.text, first.note, first.point, first.deed) == (
        "One sentence. Another one.", "Vote first.", "head", "cell")
    assert (first.question.kind, first.question.ask, first.question.query) == ("cell", "Where?", "vin")
    assert (second.page, dict(second.params), second.question, second.line) == ("masks", {}, None, 19)
    assert found.guided


def test_a_file_from_another_editor_is_read_the_same():
    text = HEAD + STOP + "Some words.\n"
    assert parse(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), "mine") == lesson(text)
    assert lesson(text.replace("title: One head", 'title: "One head"')).title == "One head"


@each_row(("text", "said"), [
    ("", "line 1: the file has no head"),
    ("## First\n", "line 1: the file has no head"),
    (HEAD, "there is no stop"),
    (HEAD.replace("minutes: 5\n", "") + STOP, "the head has no minutes"),
    (HEAD.replace("5", "soon") + STOP, "line 3: minutes is 'soon'; write a whole number"),
    (HEAD.replace("title", "titel") + STOP, "line 2: 'titel: One head' is not one of title, minutes and description; "
                                            "did you mean “title”?"),
    (HEAD.replace("minutes", "title: Two\nminutes") + STOP, "line 3: title stands there twice"),
    (HEAD + "Hello.\n" + STOP, "line 6: 'Hello.' stands before the first stop"),
    (HEAD + "# First\n", "line 6: a stop begins with “## ”"),
    (HEAD + "## First\nwords\n", "line 6: the stop 'First' has no link"),
    (HEAD + STOP + "- qestion: cell\n", "line 8: 'qestion' is no part of a stop; did you mean “question”?"),
    (HEAD + STOP + "question: cell\n", "line 8: write “- question: cell…” with a dash"),
    (HEAD + STOP + "- question: riddle\n", "line 8: 'riddle' is no kind of question; choose one of next token"),
    (HEAD + STOP + "- ask: Where?\n", "line 8: “ask” belongs to a question"),
    (HEAD + STOP + "- question: cell\n- tolerance: 1\n", "line 9: “tolerance”"),
    (HEAD + STOP + "- question: number\n- tolerance: nan\n", "line 9: tolerance is 'nan'"),
    (HEAD + STOP + "- question: number\n- value: pi\n", "line 9: value is 'pi'; choose one of divisor"),
    (HEAD + STOP + "- link: /write\n", "line 8: link stands there twice"),
    (HEAD + STOP + "- note:\n", "line 8: there is nothing after “note:”"),
    (HEAD + STOP + "- done: dance\n", "line 8: done is 'dance'; choose one of step"),
    (HEAD + STOP + "- done: kind\n", "line 8: “done: kind” needs kind in the link"),
    (HEAD + STOP + "- point: ]<script>\n", "names no part"),
    (HEAD + STOP + "word " * 100, "the text has 499 characters; at most 420"),
])
def test_what_is_wrong_is_said_with_its_line_and_what_to_do(text, said):
    assert said in refused(text)
    assert refused(text).startswith("mine.md, line ")


@each_row(("links", "said"), [
    (["https://example.org/translate", "//example.org/translate", "javascript:alert(1)", "/\\example.org",
      "http:/translate", "data:text/html,x", "http://[broken", "file:///etc/passwd"], "line 7: the link "),
    (["/../etc/passwd", "translate?text=x", "/pages/translate.py", "/Translate", "/a%2Fb", "?text=x",
      "/translate/../heads"], "is no page; a link begins as")])
def test_links_lead_to_pages_of_this_app_alone_each_by_its_name(links, said):
    for link in links:
        assert said in refused(HEAD + f"## First\n- link: {link}\n"), link


def test_a_link_that_says_something_twice_or_breaks_off_is_refused():
    assert "'step' stands twice" in refused(HEAD + "## First\n- link: /translate?step=1&step=2\n")
    assert "write %23 for it" in refused(HEAD + "## First\n- link: /translate?text=C# is a language\n")
    assert "the link cannot be read" in refused(HEAD + "## First\n- link: /translate?" + "&".join(
        f"a{at}=1" for at in range(100)))
    assert dict(lesson(HEAD + "## First\n- link: /write?lesson=x&stop=3&step=1\n").stops[0].params) == {"step": "1"}


@each_row("content", [bytes(range(256)), b"\x89PNG\r\n\x1a\n", b"\xff\xfe#\x00", b"---\0---", b"\xc3"])
def test_a_file_that_is_no_text_is_refused(content):
    assert refused(content) == "mine.md is no text file; save it as plain text in UTF-8"


def test_a_huge_file_thousands_of_stops_and_a_line_of_spaces_are_refused_quickly():
    assert f"more than {LARGEST:,} bytes" in refused(b"a" * (LARGEST + 1))
    assert f"these are 1,000 stops and a lesson has at most {STOPS}" in refused(HEAD + "## A\n- link: /x\n" * 1000)
    with pytest.raises(LessonError):  # in a few milliseconds; to go back at every space would take minutes
        parse((HEAD + "## First\n- " + " " * 60_000 + "x\n").encode(), "mine")


def test_html_and_markdown_stay_text():
    words = "<img src=x onerror=alert(1)> ![a](http://a.example/x) $x$ :red[y]"
    found = lesson(HEAD.replace("One head", words) + f"## {words}\n- link: /masks\n\n{words}\n")
    assert found.title == found.stops[0].title == found.stops[0].text == words
