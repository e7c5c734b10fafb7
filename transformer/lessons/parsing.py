"""The parser of lesson files: a head of three lines between dashes, then stops that begin with ## and a title.

    - name: value

lines under a title are properties of the stop; all other lines are its text. docs/lessons.md explains it to teachers.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from transformer.basics.formatting import quote
from transformer.lessons.lesson import (
    ASK,
    COMPARED,
    DEEDS,
    KINDS,
    LARGEST,
    LINK,
    NOTE,
    NUMBERS,
    RECAP,
    SENTENCES,
    STOPS,
    TITLE,
    Lesson,
    LessonError,
    Question,
    Stop,
)
from transformer.text.lines import lines_of

HEAD = ("title", "minutes", "description")
NAMES = ("link", "question", "ask", "query", "value", "tolerance", "compare", "note", "point", "see", "done", "recap")
ASKING = {"ask": KINDS, "query": ("cell",), "value": ("number",), "tolerance": ("number",), "compare": ("free text",)}
LONGEST_LESSON, LOOSEST = 600, 1e6  # minutes; the largest tolerance
PART = re.compile(r"[a-z][a-z_-]{0,40}")
ITEM = re.compile(r"[-*]\s+([^:\s][^:]{0,39}?)\s*:(?:\s+(.*)|$)")  # in linear time
BARE = re.compile(r"(\w+)\s*:\s")
UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def read_file(path: Path, name: str | None = None) -> Lesson:
    """The lesson in a file. Raises LessonError, and OSError if the file cannot be read."""
    with path.open("rb") as file:
        return parse(file.read(LARGEST + 1), name or path.stem, file=path.name)


def parse(content: bytes, name: str, *, file: str | None = None) -> Lesson:
    """The lesson in a file's bytes. name: its id in links; file: its name in errors. Raises LessonError."""
    return _Reader(name, (file or f"{name}.md")[:80]).lesson(content)


class _Reader:
    def __init__(self, name: str, file: str):
        self.name, self.file = name, file

    def error(self, line: int, what: str) -> LessonError:
        return LessonError(f"{self.file}, line {line}: {what}")

    def lesson(self, content: bytes) -> Lesson:
        lines = list(enumerate(lines_of(self._text(content)), 1))
        head, rest = self._head(lines)
        stops = tuple(self._stop(*part) for part in self._parts(rest))
        if not stops:
            raise self.error(len(lines), "there is no stop; write one that begins with “## ” and its title")
        return Lesson(name=self.name, title=head["title"], minutes=int(head["minutes"]), sentence=head["description"],
                      stops=stops)

    def _text(self, content: bytes) -> str:
        if len(content) > LARGEST:
            raise LessonError(f"{self.file} has more than {LARGEST:,} bytes; make two lessons of it")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\0"
        if UNSEEN.search(text):
            raise LessonError(f"{self.file} is no text file; save it as plain text in UTF-8")
        return text

    def _head(self, lines: list[tuple[int, str]]) -> tuple[dict[str, str], list[tuple[int, str]]]:
        """The three values between the dashes, and the lines after them."""
        ends = [at for at, (_, text) in enumerate(lines) if text.strip() == "---"]
        if len(ends) < 2 or ends[0] != 0:
            raise self.error(1, "the file has no head; begin with a line “---”, then title, minutes and description, "
                                "then “---” again")
        head: dict[str, str] = {}
        for number, text in lines[1:ends[1]]:
            name, colon, value = text.partition(":")
            name, value = name.strip().lower(), _unquoted(value.strip())
            if not text.strip():
                continue
            if not colon or name not in HEAD:
                raise self.error(number, f"{quote(text.strip())} is not one of title, minutes and description"
                                         + _meant(name, HEAD))
            if name in head:
                raise self.error(number, f"{name} stands there twice; keep one")
            head[name] = self._short(number, name, value, TITLE if name == "title" else SENTENCES)
            if name == "minutes" and not (value.isascii() and value.isdigit() and 0 < int(value) <= LONGEST_LESSON):
                raise self.error(number, f"minutes is {quote(value)}; write a whole number up to {LONGEST_LESSON}")
        if missing := [name for name in HEAD if not head.get(name)]:
            raise self.error(ends[1] + 1, f"the head has no {missing[0]}; add a line “{missing[0]}: …”")
        return head, lines[ends[1] + 1:]

    def _parts(self, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, list[tuple[int, str]]]]:
        """Each stop's line, title, and the lines under it."""
        parts: list[tuple[int, str, list[tuple[int, str]]]] = []
        for number, text in lines:
            if re.match(r"#{1,6}\s", text):
                if not text.startswith("## "):
                    raise self.error(number, "a stop begins with “## ”, two signs and a space, and its title")
                parts.append((number, text[3:].strip(), []))
            elif parts:
                parts[-1][2].append((number, text))
            elif text.strip():
                raise self.error(number, f"{quote(text.strip())} stands before the first stop; begin it with “## ”")
        if len(parts) > STOPS:
            raise self.error(parts[STOPS][0], f"these are {len(parts):,} stops and a lesson has at most {STOPS}; make "
                                              "two lessons of it")
        return iter(parts)

    def _stop(self, line: int, title: str, lines: list[tuple[int, str]]) -> Stop:
        if not title:
            raise self.error(line, "the stop has no title; write one after “## ”")
        self._short(line, "the title", title, TITLE)
        items, words = self._items(lines)
        if "link" not in items:
            raise self.error(line, f"the stop {quote(title)} has no link; add a line “- link: /translate?text=…”")
        page, params = self._link(*items["link"])
        text = self._short(line, "the text", " ".join(words), SENTENCES)
        point, see, done = (items.get(name, (0, None)) for name in ("point", "see", "done"))
        for at, part in (point, see):
            if part is not None and not PART.fullmatch(part):
                raise self.error(at, f"{quote(part)} names no part; write a word such as head or candidates")
        at, deed = done
        if deed is not None and deed not in DEEDS:
            raise self.error(at, f"done is {quote(deed)}; choose one of {', '.join(DEEDS)}")
        for name in () if deed is None else DEEDS[deed]:
            if name not in params and name not in ("choices", "pair"):  # which are none to begin with
                raise self.error(at, f"“done: {deed}” needs {name} in the link, to see when it changes")
        note = self._short(items["note"][0], "the note", items["note"][1], NOTE) if "note" in items else ""
        recap = self._short(items["recap"][0], "the recap", items["recap"][1], RECAP) if "recap" in items else ""
        return Stop(title=title, page=page, params=params, line=line, text=text, note=note, recap=recap, point=point[1],
                    see=see[1], deed=deed, question=self._question(items))

    def _items(self, lines: list[tuple[int, str]]) -> tuple[dict[str, tuple[int, str]], list[str]]:
        """The properties, from lines “- name: value”, with their line numbers; and the words of all other lines."""
        items: dict[str, tuple[int, str]] = {}
        words: list[str] = []
        for number, raw in lines:
            text = raw.strip()
            if item := ITEM.match(text):
                name, value = item[1].lower(), (item[2] or "").strip()
                if name not in NAMES:
                    raise self.error(number, f"{quote(item[1])} is no part of a stop" + (
                        _meant(name, NAMES) or f"; use {', '.join(NAMES)}, or write it without the dash"))
                if name in items:
                    raise self.error(number, f"{name} stands there twice; keep one, or begin another stop")
                if not value:
                    raise self.error(number, f"there is nothing after “{name}:”; write it, or leave the line out")
                items[name] = number, value
            elif (bare := BARE.match(text)) and bare[1].lower() in NAMES:
                raise self.error(number, f"write “- {text[:30]}…” with a dash, or another word before the colon")
            elif text:
                words.append(text)
        return items, words

    def _link(self, line: int, link: str) -> tuple[str, dict[str, str]]:
        """The page that a link leads to, and its parameters."""
        self._short(line, "the link", link, LINK)
        try:
            parts = urlsplit(link)
            params = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=60)
        except ValueError:
            raise self.error(line, "the link cannot be read; copy it from the address bar") from None
        if parts.scheme or parts.netloc or link.startswith("//") or "\\" in parts.path:
            raise self.error(line, "the link leads out of this app; write only what follows the host, "
                                   "such as “/translate?text=Go on.”")
        if parts.fragment or link.endswith("#"):
            raise self.error(line, "there is a # in the link; write %23 for it")
        if not re.fullmatch(r"/([a-z][a-z_]{0,40})?", parts.path):
            raise self.error(line, f"{quote(parts.path)} is no page; a link begins as “/translate?text=…”")
        if twice := sorted({name for name, _ in params if sum(name == other for other, _ in params) > 1}):
            raise self.error(line, f"{quote(twice[0])} stands twice in the link; keep one")
        return parts.path[1:] or "home", {name: value for name, value in params if name not in ("lesson", "stop")}

    def _question(self, items: dict[str, tuple[int, str]]) -> Question | None:
        if "question" not in items:
            for name in ASKING:
                if name in items:
                    raise self.error(items[name][0], f"“{name}” belongs to a question; add a line “- question: cell”")
            return None
        line, kind = items["question"][0], items["question"][1].lower()
        if kind not in KINDS:
            raise self.error(line, f"{quote(kind)} is no kind of question; choose one of {', '.join(KINDS)}")
        for name, kinds in ASKING.items():
            if name in items and kind not in kinds:
                raise self.error(items[name][0], f"“{name}” means nothing for a question of the kind {kind}; leave it "
                                                "out")
        given = {name: self._short(items[name][0], name, items[name][1], SENTENCES) for name in ASKING if name in items}
        if given.get("value", NUMBERS[0]) not in NUMBERS:
            raise self.error(items["value"][0], f"value is {quote(given['value'])}; choose one of {', '.join(NUMBERS)}")
        if given.get("compare", "") not in ("", *COMPARED):
            raise self.error(items["compare"][0], "compare can be “output”, the text that the model writes, or “page”, "
                                                  "what stands on the page")
        return Question(kind=kind, ask=given.get("ask", ASK[kind]), query=given.get("query", "newest"),
                        value=given.get("value", "weight"), compare=given.get("compare", ""),
                        tolerance=self._tolerance(items))

    def _tolerance(self, items: dict[str, tuple[int, str]]) -> float:
        line, text = items.get("tolerance", (0, "0.01"))
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value <= LOOSEST:
            raise self.error(line, f"tolerance is {quote(text)}; write a number above 0, such as 0.01")
        return value

    def _short(self, line: int, what: str, text: str, longest: int) -> str:
        if len(text) > longest:
            raise self.error(line, f"{what} has {len(text):,} characters; at most {longest:,} are shown. Please "
                                   "shorten it")
        return text


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _meant(name: str, names: tuple[str, ...]) -> str:
    close = get_close_matches(name, names, 1)
    return f"; did you mean “{close[0]}”?" if close else ""
