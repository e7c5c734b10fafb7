"""A room in real browsers: a lecturer, the wall, phones, a remote and a colleague, with all that happens in a class."""

import re
from contextlib import suppress
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from playwright.sync_api import TimeoutError as TooLate
from playwright.sync_api import expect

from tests.browser.test_lesson_stops import ABOUT, HEIGHT, OUTSIDE, WIDTH, stops
from transformer.rooms.room import NoRoom, new_key
from transformer.rooms.store import Store
from ui.access.visitors import LECTURER

from .conftest import choose, expect_filled

ON_WALL = f"""([page, [selectors, width, height]]) => {{
  const foot = parseFloat(document.documentElement.style.getPropertyValue("--foot"));
  return location.pathname === `/${{page}}` && !({OUTSIDE})([selectors, width, height - foot]).length;
}}"""
PHONE = {"width": 390, "height": 844}
TEXT = "I like red wine."


class Room:
    """A lecturer's tab in a room, which was opened by pressing the button or stands open already, and ways in for
    everybody else."""

    def __init__(self, visitor, url: str, home, *, pressing: bool) -> None:
        self.tab, self.url, self.store = visitor, url, Store(home / "rooms.sqlite")
        self.lecturer = self.tab(1280, 720)
        if not pressing:
            self.key = new_key()
            self.code = self.store.open_room(self.key).code
            self.lecturer.context.add_cookies([{"name": LECTURER, "value": self.key, "url": url}])
            return
        self.lecturer.goto(f"{url}/room")
        self.lecturer.get_by_role("button", name="Open a room").click()
        self.code = self.bar.locator(".code").inner_text()
        expect(self.bar.get_by_text("The room sees this tab")).to_be_visible()
        self.key = next(one["value"] for one in self.lecturer.context.cookies() if one["name"] == LECTURER)

    @property
    def bar(self):
        return self.lecturer.locator(".st-key-room .room-bar")

    @property
    def id(self) -> str:
        return self.store.with_code(self.code).id

    def answers(self) -> list:
        """To the first round of what is asked."""
        return self.store.answers(self.id, self.store.question(self.id, self.store.room(self.id).question), 1)

    def phone(self):
        page = self.tab(**PHONE)
        page.goto(f"{self.url}/r/{self.code.lower()}")
        expect(page.get_by_text(self.code).first).to_be_visible()
        return page

    def wall(self):
        page = self.tab(1280, 720)
        page.goto(f"{self.url}/room?wall={self.code}")
        expect(page.locator(".join")).to_contain_text(self.code)
        return page

    def show(self, page="translate", **params) -> None:
        query = "&".join(f"{name}={value}" for name, value in params.items())
        self.lecturer.goto(f"{self.url}/{page}?{query}")
        expect(self.lecturer.locator(".step-view .head, .step-view canvas").first).to_be_visible()
        expect(self.bar.locator(".code")).to_be_visible()
        expect(self.bar).not_to_contain_text("Nothing is shown")  # which the server hears after the page is there

    def ask(self, what: str = "What comes next?") -> None:
        self.bar.get_by_role("button", name="Ask…").click()
        self.bar.get_by_role("button", name=what, exact=True).click()
        self.phase("Open")

    def phase(self, name: str) -> None:
        radio = self.bar.get_by_role("radio", name=name, exact=True)
        radio.click()
        expect(radio).to_have_attribute("aria-checked", "true")


@pytest.fixture
def open_room(visitor, app):
    """Opens a room, which ends with the test; pressing: by its button, and the lecturer stands on the page of rooms."""
    _, url, home = app
    opened = []

    def open_room(*, pressing=False) -> Room:
        opened.append(Room(visitor, url, home, pressing=pressing))
        return opened[-1]

    yield open_room
    for one in opened:
        with suppress(NoRoom):  # it may have ended already
            one.store.end(one.id)


def step(place: int):
    """What a page's address says at a step."""
    return re.compile(rf"[?&]step={place}(&|$)")


def test_a_room_from_the_first_phone_to_the_last_vote(open_room):
    """The lecturer shows, the wall and three phones see it; all answer; the answer is the model's."""
    room = open_room(pressing=True)
    expect_filled(room.lecturer, "present_to_allOpen the wall")
    wall, phones = room.wall(), [room.phone() for _ in range(3)]
    expect(room.bar.locator(".here")).to_have_text("3 here")
    room.show(text=TEXT, step=3)
    for page in phones:
        expect(page.get_by_text("step 3", exact=True)).to_be_visible()
        expect(page.get_by_text("J'aime le", exact=False).first).to_be_visible()
    wall.wait_for_url(step(3))
    expect(wall.locator(".step-view .controls")).to_be_hidden()  # nobody steps there
    room.lecturer.keyboard.press("ArrowRight")
    for page in phones:
        expect(page.get_by_text("step 4", exact=True)).to_be_visible()
    wall.wait_for_url(step(4))

    expect_filled(room.lecturer, "Ask…")
    room.ask()
    expect_filled(room.lecturer, "Closed")
    for at, page in enumerate(phones):
        choices = page.locator("button.choice")
        expect(choices).to_have_count(4)
        choices.nth(at % 2).click()
        expect(page.get_by_text("Sent", exact=False).first).to_be_visible()
    expect(wall.locator(".cover .count")).to_have_text("3 of 3 have answered")
    assert wall.locator(".cover .track").count() == 0  # the votes stay hidden
    phones[0].locator("button.choice").nth(1).click()  # a change of mind
    room.phase("Closed")
    expect_filled(room.lecturer, "Votes")
    expect(phones[0].locator(".own-answer")).to_be_visible()
    room.phase("Votes")
    expect_filled(room.lecturer, "Answer")
    assert sorted(one["value"] for one in room.answers()) == [0, 1, 1]
    expect(wall.locator(".cover")).to_contain_text("2 · 67%")
    assert "83" not in phones[0].locator("main").inner_text()
    room.phase("Answer")
    for page in (wall.locator(".cover"), phones[0].locator("main")):
        expect(page).to_contain_text("The model gives")
        expect(page).to_contain_text("translate@")
    expect_filled(room.lecturer, "Done")
    room.bar.get_by_role("button", name="Done").click()
    expect(phones[0].get_by_text("step 4", exact=True)).to_be_visible()
    expect_filled(room.lecturer, "Ask…")

    room.bar.get_by_role("link", name="Manage the room").click()
    room.lecturer.wait_for_url("**/room*")
    choose(room.lecturer, "translate")
    room.lecturer.wait_for_url(step(4))  # where the lecturer was
    room.bar.get_by_role("radio", name="Pause").click()
    expect(phones[0].get_by_role("heading", name="Look up.")).to_be_visible()


@pytest.mark.rare("scrolling of one page alone")
def test_the_wall_scrolls_along_with_the_lecturer(open_room):
    room = open_room(pressing=True)
    wall = room.wall()
    room.lecturer.goto(f"{room.url}/by_hand?part=slips&mask=causal")
    late = [page.locator("h2", has_text="4 · Masking") for page in (room.lecturer, wall)]
    expect(late[1]).to_be_attached()
    expect(late[1]).not_to_be_in_viewport()
    late[0].scroll_into_view_if_needed()
    room.lecturer.mouse.move(600, 400)
    room.lecturer.mouse.wheel(0, 300)
    expect(late[1]).to_be_in_viewport()
    room.lecturer.mouse.wheel(0, -9_000)
    expect(wall.get_by_role("heading", name="1 · Softmax over the wrong axis")).to_be_in_viewport()


@pytest.mark.rare("tests/js/room_wire.test.js has the connection, tests/rooms what is told")
def test_who_comes_late_loads_again_or_loses_the_network_is_where_the_room_is(open_room):
    room = open_room()
    early = room.phone()
    room.show(text=TEXT, step=2)
    room.ask()
    late = room.phone()
    expect(late.locator("button.choice")).to_have_count(4)
    early.locator("button.choice").first.click()
    expect(early.get_by_text("Sent", exact=False).first).to_be_visible()
    early.reload()
    expect(early.locator("button.choice[aria-pressed=true]")).to_have_count(1)  # what was answered is still there
    early.context.set_offline(True)
    expect(early.get_by_text("No connection: trying again", exact=False)).to_be_visible()
    early.locator("button.choice").nth(2).click()
    expect(early.get_by_text("No connection. Your answer is kept on this page", exact=False).first).to_be_visible()
    early.context.set_offline(False)
    expect(early.get_by_text("Sent", exact=False).first).to_be_visible()
    expect(early.get_by_text("Connected", exact=False).first).to_be_visible()
    assert [one["value"] for one in room.answers()] == [2]
    early.context.set_offline(True)
    expect(early.get_by_text("No connection", exact=False).first).to_be_visible()
    room.bar.get_by_role("button", name="Done").click()
    room.lecturer.keyboard.press("Escape")
    room.show(text=TEXT, step=5)
    early.context.set_offline(False)
    expect(early.get_by_text("step 5", exact=True)).to_be_visible()
    expect(late.get_by_text("step 5", exact=True)).to_be_visible()
    room.lecturer.reload()  # the lecturer's own lid
    expect(room.bar.get_by_text("The room sees this tab")).to_be_visible()
    room.lecturer.locator(".step-view canvas").first.wait_for()
    room.lecturer.keyboard.press("ArrowLeft")
    expect(late.get_by_text("step 4", exact=True)).to_be_visible()


def come(room, desk) -> None:
    """Another phone comes, and `desk` is drawn anew."""
    desk.locator(".line").first.evaluate("line => line.title = 'before'")
    room.store.join(room.id, uuid4().hex)
    expect(desk.locator("[title=before]")).to_have_count(0)


@pytest.mark.rare("half a minute: every control of the lecturer, drawn anew under their hands")
def test_the_lecturers_hands_are_not_disturbed_while_others_come(open_room):
    """A click needs what it began on, a field what was typed into it, also where it has been left for the next or for
    the button, and the keyboard its place; and every phone that comes draws the strip anew."""
    room = open_room()
    room.show(text=TEXT, step=2)
    asks = room.bar.get_by_role("button", name="Ask…")
    asks.hover()
    room.lecturer.mouse.down()
    with room.lecturer.expect_response(re.compile("/lead\\?")):
        room.store.join(room.id, "phone 1")
    room.lecturer.mouse.up()
    expect(room.bar.locator(".here")).to_have_text("1 here")
    expect(room.bar.locator(".offers")).to_be_visible()
    room.lecturer.goto(f"{room.url}/room")
    desk, keys = room.lecturer.locator(".room-bar.page .desk"), room.lecturer.keyboard
    desk.get_by_role("button", name="Ask…").click()
    sentences, about = desk.get_by_label("Sentences, one per line"), desk.get_by_role("combobox").first
    sentences.fill("Go on.\nHe is tall.")
    about.select_option(index=1)
    way = about.input_value()
    task = desk.get_by_label("A task for everybody")
    task.press_sequentially("Find a head")
    with room.lecturer.expect_response(re.compile("/lead\\?")):
        room.store.join(room.id, "phone 2")
    keys.type(" that looks at the verb")
    keys.press("Tab")
    expect(desk.get_by_role("heading", name="2 phones")).to_be_visible()  # which waited for the field
    come(room, desk)
    expect(sentences).to_have_value("Go on.\nHe is tall.")
    expect(about).to_have_value(way)
    expect(task).to_have_value("Find a head that looks at the verb")
    expect(desk.get_by_role("button", name="Set the task")).to_be_focused()
    keys.press("Enter")
    desk.get_by_role("button", name="Remove the task").click()
    expect(desk.get_by_role("button", name="Set the task")).to_be_visible()
    expect(task).to_have_value("")
    for desk in (room.bar, room.lecturer.locator(".room-bar.page")):
        for control in desk.locator("button:enabled, a, summary").filter(visible=True).all():
            control.focus()
            come(room, desk)
            expect(control).to_be_focused()


@pytest.mark.rare("one form of the lecturer, of which tests/rooms has the refusals")
def test_sentences_that_cannot_be_asked_stay_to_be_mended_and_what_is_refused_is_said(open_room):
    room = open_room()
    room.show(text=TEXT, step=2)
    room.lecturer.goto(f"{room.url}/room")
    room.lecturer.set_viewport_size(PHONE)
    desk = room.lecturer.locator(".room-bar.page .desk")
    desk.get_by_role("button", name="Ask…").click()
    sentences, words = (desk.get_by_label(name) for name in ("Sentences, one per line", "A sentence for each phone In"))
    asks = desk.get_by_role("button", name="A sentence for each phone")
    expect(words).to_be_visible()
    assert words.bounding_box()["width"] > 0.8 * PHONE["width"]
    sentences.fill("x" * 201)
    asks.press("Enter")
    expect(desk.get_by_role("alert")).to_contain_text("A sentence has 201 characters")
    asks.press("Escape")
    expect(desk.locator(".offers")).to_have_count(0)
    expect(desk.locator(".error")).to_be_empty()
    desk.get_by_role("button", name="Ask…").click()
    words.fill("What comes first?")
    sentences.fill("Go on.\n" + "x" * 201)
    asks.press("Enter")
    expect(desk.get_by_role("alert")).to_contain_text("A sentence has 201 characters")
    expect(desk.get_by_role("alert")).to_be_in_viewport(ratio=1)
    expect(asks).to_be_focused()
    expect(words).to_have_value("What comes first?")
    sentences.fill("Go on.\nHe is tall.")
    asks.press("Enter")
    expect(desk.get_by_role("radio", name="Open", exact=True)).to_be_focused()
    expect(desk).to_contain_text("What comes first?")
    expect(desk.locator(".error")).to_be_empty()
    room.lecturer.route("**/do", lambda route: route.fulfill(status=409, json={"error": "not now"}))
    desk.get_by_role("radio", name="Closed", exact=True).click()
    expect(desk.get_by_role("alert")).to_have_text("Not now.")


@pytest.mark.rare("a second journey through a room, with three browsers")
def test_looking_around_finding_a_view_for_the_wall_and_being_brought_back(open_room):
    room = open_room(pressing=True)
    wall, phone, desk = room.wall(), room.phone(), room.lecturer.locator(".room-bar.page")
    desk.get_by_label("A task for everybody").fill("Find a head that looks at the verb")
    desk.get_by_role("button", name="Set the task").click()
    expect(phone.get_by_text("Find a head that looks at the verb", exact=True)).to_be_visible()
    room.show(text=TEXT, step=3)
    wall.wait_for_url(step(3))
    look = phone.get_by_role("link", name="Look around")
    expect(look).to_have_attribute("href", step(3))
    look.click()
    phone.wait_for_url(step(3))  # the real page, at this very view
    strip = phone.locator(".st-key-room .room-bar")
    expect(strip).to_contain_text("The lecturer is on Translate, step 3.")
    room.lecturer.keyboard.press("ArrowRight")
    expect(strip).to_contain_text("The lecturer is on Translate, step 4.")
    wall.wait_for_url(step(4))
    phone.wait_for_url(step(3))  # whoever looks around stays where they are
    assert strip.bounding_box()["height"] < 60  # one line, which opens
    strip.get_by_text("Task: Find a head").click()
    note = strip.get_by_label("A few words on what you found")
    note.press_sequentially("=HERE")
    with phone.expect_response(re.compile("/state\\?")):
        room.store.join(room.id, "another phone")
    phone.keyboard.type(" <b>")  # while others come
    expect(note).to_have_value("=HERE <b>")
    strip.get_by_role("button", name="Show the lecturer").click()
    expect(strip).to_contain_text("The lecturer has it.")
    room.lecturer.goto(f"{room.url}/room")
    tile = desk.locator(".tiles li")
    expect(tile).to_contain_text("=HERE <b>")
    tile.get_by_role("button", name="Open on the wall").click()
    wall.wait_for_url(step(3))
    room.bar.get_by_role("button", name="Bring everyone here").click()
    phone.wait_for_url(re.compile(f"/r/{room.code}$"))


@pytest.mark.rare("a third journey through a room, with four browsers")
def test_the_phone_is_a_remote_a_colleague_takes_over_and_the_end_leaves_nothing(open_room):
    room = open_room()
    room.show(text=TEXT, step=2)
    remote = room.tab(**PHONE)
    remote.goto(f"{room.url}/lead#{room.key}")
    expect(remote.get_by_text("Shown now: Translate, step 2")).to_be_visible()
    assert room.key not in remote.url
    remote.get_by_role("button", name="Step ▶").click()
    room.lecturer.wait_for_url(step(3))
    expect(remote.get_by_text("Shown now: Translate, step 3")).to_be_visible()
    expect(remote.get_by_role("button", name="Next stop")).to_have_count(0)  # where no lesson runs
    hides = [tab.get_by_role("button", name="Hide what comes next") for tab in (remote, room.lecturer)]
    hides[0].click()
    for button in hides:
        expect(button).to_have_attribute("aria-pressed", "true")
    expect(room.lecturer.locator(".step-view [data-part=target] .predicted")).to_have_count(0)
    hides[1].click()
    for button in hides:
        expect(button).to_have_attribute("aria-pressed", "false")
    expect(room.lecturer.locator(".step-view [data-part=target] .predicted")).to_be_visible()

    colleague = room.tab(1280, 720)
    colleague.goto(f"{room.url}/lead?desk=1#{room.key}")
    colleague.wait_for_url(re.compile("/room$"))
    phone = room.phone()
    colleague.goto(f"{room.url}/write?text=ROMEO:&step=2")
    colleague.locator(".step-view canvas").first.wait_for()
    expect(phone.get_by_text("step 3", exact=True)).to_be_visible()  # one tab leads, and it is not this one
    colleague.get_by_role("button", name="Show this tab to the room").click()
    expect(phone.get_by_role("heading", name="Write")).to_be_visible()
    room.bar.get_by_role("button", name="Show this tab to the room").click()  # and back, where nothing has changed
    expect(phone.get_by_role("heading", name="Translate")).to_be_visible()
    room.lecturer.goto(f"{room.url}/room")
    room.lecturer.get_by_role("button", name="Remove all new phones").click()
    room.lecturer.get_by_role("button", name="press again", exact=False).click()
    expect(phone.get_by_text("this room is closed to new phones", exact=False).first).to_be_visible()
    end = room.lecturer.get_by_role("button", name="End the room")
    end.click()
    room.lecturer.get_by_role("button", name="press again", exact=False).click()
    expect(phone.get_by_text("has ended", exact=False).first).to_be_visible()
    expect(remote.get_by_text("The room has ended. Everything in it is deleted.")).to_be_visible()
    remote.reload()
    expect(remote.get_by_text("The room has ended. Everything in it is deleted.")).to_be_visible()
    expect(remote.get_by_role("link", name="Open another room")).to_be_visible()
    expect(room.lecturer.get_by_role("button", name="Open a room")).to_be_visible()


@pytest.mark.rare("a race, on a page that nobody drives")
def test_the_wall_ends_where_the_room_is_however_quickly_it_goes_on_and_nobody_drives_it(open_room):
    room, tokens = open_room(), ["J", "'", "aime", "le", "vin", "rouge", "."]
    wall = room.wall()
    room.store.lead(room.id, "tab")
    for places in ([2], [5, 0, 3], [1, 6, 2, 4, 0]):
        for place in places:
            params = {"text": TEXT, "step": str(place), "temperature": "0", "kind": "cross", "layer": "1", "head": "3"}
            room.store.publish(room.id, {"page": "translate", "params": params, "title": "Translate"}, None, "tab")
        wall.wait_for_url(step(place))
        predicted = wall.locator(".step-view [data-part=target] .predicted")
        expect(predicted).to_have_text(re.compile(re.escape(tokens[place])))
        for key in ("ArrowRight", "End", "Escape", "2", "Enter"):
            wall.keyboard.press(key)
        wall.mouse.click(300, 300)
    assert step(0).search(wall.url)


def test_a_stop_of_a_lesson_is_asked(open_room):
    room = open_room()
    phone = room.phone()
    room.lecturer.goto(f"{room.url}/translate?lesson=query-and-key&stop=2")
    expect(room.lecturer.locator(".lesson-bar")).to_contain_text("2 of")
    expect(phone.get_by_text("Think first. You will be asked in a moment.")).to_be_visible()  # the page has the answer
    lesson = room.lecturer.locator(".lesson-bar")
    expect(room.bar.get_by_role("button", name="Room", exact=True)).to_be_visible()
    boxes = [one.bounding_box() for one in (lesson, room.bar)]
    assert {(one["y"], one["height"]) for one in boxes} == {(720 - 44, 44)}  # one line, and the page has the rest
    for bar, name, hidden in ((lesson, "Lesson", "Leave"), (room.bar, "Room", "Show it without asking")):
        expect(bar.get_by_role("button", name=hidden)).to_have_count(0)
        bar.get_by_role("button", name=name, exact=True).press("Enter")
        expect(bar.get_by_role("button", name=hidden)).to_be_in_viewport(ratio=1)
        assert bar.bounding_box()["height"] == 44
    room.lecturer.keyboard.press("Escape")
    expect(room.bar.get_by_role("button", name="Room", exact=True)).to_be_focused()
    room.bar.get_by_role("button", name="Ask this stop’s question").click()
    expect(phone.get_by_role("heading", name="The model has written", exact=False)).to_be_visible()
    expect(phone.locator("button.choice")).to_have_count(4)
    choices = room.lecturer.locator(".lesson-bar button.choice")
    expect(room.lecturer.locator(".lesson-bar")).to_contain_text("The room is being asked.")
    expect(choices).to_have_count(0)
    room.phase("Answer")
    expect(choices).to_have_count(4)
    room.lecturer.get_by_role("button", name="Present").click()
    expect(room.lecturer.locator(".cover")).to_contain_text("The model gives")
    expect(room.lecturer.locator(".lesson-bar")).to_be_hidden()  # what was asked has the screen
    folded = room.bar.get_by_role("button", name="Room", exact=True)
    folded.click()
    room.bar.get_by_role("link", name="Manage the room").click(trial=True)  # which lies over it
    folded.click()
    room.bar.get_by_role("button", name="Done").click()
    line = room.lecturer.locator(".lesson-bar")
    expect(line.get_by_role("button", name="Next stop")).to_be_visible()
    expect(line.locator(".choice")).to_have_count(0)
    assert line.bounding_box()["height"] < 60


@pytest.mark.rare("the keyboard in one strip")
def test_a_question_is_asked_by_keyboard_once_something_is_shown_and_the_arrows_step_nothing(open_room):
    room = open_room(pressing=True)
    desk = room.lecturer.locator(".room-bar.page")
    expect(desk.get_by_role("button", name="Ask…")).to_be_disabled()
    expect(desk).to_contain_text("Nothing is shown to the room yet; open a page with a model.")
    room.show(text=TEXT, step=3)
    keys, asks = room.lecturer.keyboard, room.bar.get_by_role("button", name="Ask…")
    asks.press("Enter")
    expect(room.bar).to_contain_text("Everyone can see the answer now")
    room.lecturer.set_viewport_size(PHONE)
    expect(room.bar.get_by_text("Everyone can see the answer now")).to_be_in_viewport(ratio=1)
    room.lecturer.set_viewport_size({"width": 1280, "height": 720})
    keys.press("Escape")
    expect(room.bar.locator(".offers")).to_have_count(0)
    expect(asks).to_be_focused()
    keys.press("Enter")
    room.bar.get_by_role("button", name="What comes next?").press("Enter")
    phase = {name: room.bar.get_by_role("radio", name=name, exact=True) for name in ("Draft", "Open", "Closed")}
    expect(phase["Open"]).to_be_focused()
    keys.press("ArrowRight")
    expect(phase["Closed"]).to_be_focused()
    expect(phase["Draft"]).to_have_attribute("aria-checked", "true")  # nothing is chosen by passing
    keys.press("ArrowLeft")
    keys.press("Enter")
    expect(phase["Open"]).to_have_attribute("aria-checked", "true")
    expect(phase["Open"]).to_be_focused()
    assert step(3).search(room.lecturer.url)
    room.lecturer.goto(f"{room.url}/room")  # there before the server has heard which tab it is in
    desk.get_by_role("button", name="Done").click()
    expect(desk.get_by_role("button", name="Ask…")).to_be_enabled()
    expect(desk).not_to_contain_text("Nothing is shown")


@pytest.mark.rare("tests/rooms has what is let through")
def test_what_is_found_is_said_and_texts_are_let_through_together(open_room):
    room = open_room()
    phones = [room.phone() for _ in range(2)]
    room.show(text=TEXT, step=3)
    room.lecturer.get_by_role("button", name="Present").click()
    room.ask("In your own words")
    for at, page in enumerate(phones):
        page.locator("main textarea").fill(f"thought {at}")
        page.get_by_role("button", name="Send").click()
    expect(room.bar.get_by_role("link", name="2 found")).to_be_visible()
    room.phase("Votes")
    expect(room.bar.locator(".texts")).to_have_count(0)  # everybody sees this screen
    room.lecturer.keyboard.press("Escape")
    expect(room.bar.locator(".texts li")).to_have_count(2)
    expect(room.bar.get_by_role("link", name="found")).to_have_count(0)
    room.bar.get_by_role("button", name="Show all").click()
    expect(room.bar.get_by_role("radio", name="Shown 2")).to_be_visible()
    for page in phones:
        expect(page.locator("main")).to_contain_text("thought 1")


@pytest.mark.rare("minutes: every stop of every lesson on the wall")
@pytest.mark.timeout(1200)
def test_the_wall_shows_whole_what_each_stop_of_each_lesson_is_about(open_room):
    room = open_room(pressing=True)
    wall, missed = room.wall(), []
    for lesson, at, stop in stops():
        query = urlencode({**stop.params, "lesson": lesson, "stop": at, "present": 1})
        room.lecturer.goto(f"{room.url}/{stop.page}?{query}")
        asked = stop.question
        if asked and (asked.kind != "free text" or asked.compare):  # which covers the wall until it has been asked
            room.bar.get_by_role("button", name="Ask this stop’s question").click()
            room.phase("Answer")
            room.bar.get_by_role("button", name="Done").click()
        try:
            wall.wait_for_function(ON_WALL, arg=[stop.page, [ABOUT[stop.page](stop.params, stop.see), WIDTH, HEIGHT]])
        except TooLate:
            foot = wall.evaluate("parseFloat(document.documentElement.style.getPropertyValue('--foot'))")
            cut = wall.evaluate(OUTSIDE, [ABOUT[stop.page](stop.params, stop.see), WIDTH, HEIGHT - foot])
            missed.append(f"{lesson} {at}: {cut}, with a foot of {foot} px, at {wall.url}")
    assert missed == []
