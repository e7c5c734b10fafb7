"""A room whose lecturer is the store, which other tests drive over the pages; phones with a browser and without."""

from playwright.sync_api import Page, expect

from tests.rooms.shown import picture_of
from transformer.inference.decoding import next_step, start
from transformer.lessons.lesson import Stop
from transformer.rooms import questions
from transformer.rooms.questions.kind import QuestionRecord
from transformer.rooms.room import Question, new_key
from transformer.rooms.store import Store
from ui.lessons.stop_links import open_stop

FORMS = [*questions.KINDS]
TEXT = "I have never seen such a beautiful sunset."
PARAMS = {"text": TEXT, "step": "4", "kind": "cross", "layer": "1", "head": "2"}
HAND = {"text": "I like red wine", "d_k": "4", "query": "3", "key": "1", "part": "steps"}
NUMBER = {"page": "by_hand", "params": HAND, "of": "product"}  # with the numbers that it is made of
VIEW = {"page": "translate", "params": PARAMS, "title": "Translate", "said": "Step 4", "place": "step 4"}


def opened(page: str = "translate", params: dict[str, str] = PARAMS):
    """A view, as what is asked about it is made of."""
    return open_stop(Stop(title="", page=page, params=params, line=0))


def frames(page: Page) -> None:
    """Waits two frames, for a page that is not Streamlit's."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


class Class:
    """A room, its lecturer, its wall, and the phones in it."""

    def __init__(self, url: str, store: Store, visitor, ckpt) -> None:
        self.url, self.store, self.visitor, self.ckpt = url, store, visitor, ckpt
        self.key = new_key()
        self.room = store.open_room(self.key)
        self.id = self.room.id
        store.lead(self.id, "tab")

    def phone(self, code: str = "") -> Page:
        page = self.visitor(width=320, height=640)
        page.goto(f"{self.url}/r/{code or self.room.code}")
        return page

    def wall(self) -> Page:
        page = self.visitor()
        page.emulate_media(color_scheme="dark")
        page.goto(f"{self.url}/room?wall={self.room.code}")
        expect(page.locator(".join")).to_contain_text(self.room.code)
        return page

    def step(self, index: int):
        step = start(self.ckpt, TEXT)
        for _ in range(index):
            step = next_step(self.ckpt, step)
        return step

    def show(self, index: int = 4, **look) -> None:
        view = VIEW | {"params": PARAMS | {"step": str(index)}, "place": f"step {index}"}
        self.store.publish(self.id, view, picture_of(self.step(index), **look), "tab")

    def ask(self, about: str = "next token", *, page: str = "translate", params: dict[str, str] = PARAMS,
            **more: object) -> tuple[Question, QuestionRecord]:
        """A question that is open."""
        made = questions.make(about, opened(page, params), **more)
        question = self.store.ask(self.id, made.spec, made.key, VIEW)
        self.phase(question, "open")
        return question, made

    def phase(self, question: Question, phase: str) -> None:
        self.store.set_phase(self.id, question.id, phase)

    def put_away(self) -> None:
        self.store.put_away(self.id)

    def answers(self, question: Question, round: int = 1) -> list:
        return [one["value"] for one in self.store.answers(self.id, question, round)]

    def come(self, count: int = 6) -> None:
        """Phones that have no browser."""
        for at in range(count):
            self.store.join(self.id, f"phone {at}")
        self.store.mark_seen((self.id, f"phone {at}") for at in range(count))

    def answer(self, question: Question, made: QuestionRecord, round: int = 1, count: int = 6) -> None:
        """They answer."""
        spec = made.spec
        values = {"choice": lambda at: at % 2, "number": lambda at: 18.0 * at,
                  "draw": lambda at: [float(at == one) for one in range(len(spec["labels"]))],
                  "text": lambda at: "I would say that it looks at the noun, as the adjective has to agree with it."}
        for at in range(count):
            value = values[spec["form"]](at)
            self.store.answer(self.id, question.id, round, f"phone {at}", value, at % 3)
        if spec["form"] == "text":
            for one in self.store.answers(self.id, question, round):
                self.store.show_texts(self.id, [one["seq"]], True)
