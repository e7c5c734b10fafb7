"""The page of a phone in a room, as everybody in a class sees it. The lecturer is the store, which other tests drive
over the pages."""

import re

import pytest
from playwright.sync_api import Page, expect

from .rooms import NUMBER

NARROW = "document.documentElement.scrollWidth <= innerWidth"


def seen(page: Page, words: str | re.Pattern):
    """What stands on the page, besides what is only said aloud."""
    return page.locator("main > :not(.unseen)").get_by_text(words).first


def sent(page: Page) -> None:
    expect(seen(page, "Sent. You can change it until the lecturer closes the question.")).to_be_visible()


def test_a_code_is_typed_and_the_phone_follows_the_lecturer(room):
    page = room.phone("ZZZZZ")
    expect(page.get_by_role("alert")).to_contain_text("There is no room ZZZZZ")
    field = page.get_by_label("The code of the room")
    field.fill("k0mma")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("alert")).to_contain_text("No code has 0 or A in it.")
    field.fill(f"{room.room.code[:2]} {room.room.code[2:]}".lower())
    field.press("Enter")
    expect(seen(page, "The lecturer has not shown anything yet.")).to_be_visible()
    expect(seen(page, "Connected")).to_be_visible()
    room.show(4)
    expect(page.get_by_role("heading", name="Cross attention, layer 1, head 2")).to_be_visible()
    expect(seen(page, "step 4")).to_be_visible()
    matrix = page.locator("canvas.matrix")
    matrix.focus()
    page.keyboard.press("ArrowRight")
    readout = page.locator(".readout")
    expect(readout).to_contain_text("looks at")
    query, key, weight = (float(readout.get_attribute(f"data-{name}")) for name in ("query", "key", "weight"))
    assert weight == pytest.approx(float(room.step(4).attentions["cross"][1, 2, int(query), int(key)]), abs=2e-5)
    box = matrix.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)
    expect(readout).to_have_attribute("data-query", "4")
    room.show(2, head=3)
    expect(page.get_by_role("heading", name="Cross attention, layer 1, head 3")).to_be_visible()
    expect(seen(page, "step 2")).to_be_visible()
    assert page.evaluate(NARROW)
    room.show(4, view="lines")
    expect(page.locator(".readout")).to_have_text("Tap a token to see its lines alone.")
    matrix.click(position={"x": matrix.bounding_box()["width"] - 20, "y": 45})
    expect(page.locator(".readout")).to_contain_text(re.compile(r"I.* \(0\).* is looked at by .* \(head \d\)"))
    room.show(4, hide=True)
    expect(seen(page, "What comes next? (hidden)")).to_be_visible()
    assert "jamais" not in page.locator(".rows").inner_text().split("Target")[1].replace("Je n'ai jamais", "")
    expect(page.locator(".candidates li")).to_have_count(0)
    view = {"page": "positions", "params": {}, "title": "<b>Positions</b>", "said": "Sines of 24 tokens.", "place": ""}
    room.store.publish(room.id, view, None, "tab")
    expect(seen(page, "The lecturer shows <b>Positions</b>. Look at the wall, or look around.")).to_be_visible()
    assert page.locator("main b").count() == 0


def test_a_double_tap_is_one_answer_which_is_changed_until_it_is_closed_and_given_again_in_a_second_round(room):
    page = room.phone()
    question, made = room.ask()
    right = made.key["right"]
    wrong = (right + 1) % len(made.spec["choices"])
    choices = page.locator("button.choice")
    choices.nth(wrong).dblclick()
    sent(page)
    page.get_by_role("button", name="fairly sure").click()
    expect(page.get_by_role("button", name="fairly sure")).to_have_attribute("aria-pressed", "true")
    sent(page)
    assert room.answers(question) == [wrong]
    assert [(one["value"], one["sure"]) for one in room.store.log(room.id)] == [(wrong, None), (wrong, 1)]
    page.reload()
    expect(choices.nth(wrong)).to_have_attribute("aria-pressed", "true")
    sent(page)
    choices.nth(right).click()
    expect(choices.nth(right)).to_have_attribute("aria-pressed", "true")
    sent(page)
    assert room.answers(question) == [right]
    assert page.locator(".results").count() == 0
    room.phase(question, "closed")
    expect(seen(page, "Your answer:")).to_be_visible()
    expect(choices).to_have_count(0)
    room.phase(question, "split")
    expect(page.locator(".result.mine")).to_contain_text("1 · 100%")
    assert page.locator(".result.right").count() == 0
    room.phase(question, "answer")
    expect(seen(page, "You were right.")).to_be_visible()
    expect(page.locator(".result.right")).to_contain_text("your answer")
    expect(page.locator(".proof")).to_contain_text(made.key["proof"]["checkpoint"])
    assert page.evaluate(NARROW)
    room.store.ask_again(room.id, question.id)
    expect(seen(page, "Question 1 · second round · open")).to_be_visible()
    expect(page.locator("button.choice[aria-pressed=true]")).to_have_count(0)
    choices.nth(wrong).click()
    sent(page)
    assert room.answers(question, 2) == [wrong]
    room.phase(question, "split")
    expect(page.locator("p.legend")).to_contain_text("first round")
    expect(seen(page, "Of the 1 who answered twice, 1 changed their answer.")).to_be_visible()
    room.store.reset(room.id, question.id)
    expect(page.locator("button.choice[aria-pressed=true]")).to_have_count(0)
    expect(seen(page, "Tap your answer")).to_be_visible()  # begun anew


def test_numbers_are_typed_as_people_do_and_bars_drawn_with_keys_and_a_pointer(room):
    page = room.phone()
    question, _ = room.ask("number")
    field = page.get_by_role("textbox", name="Your answer in percent")
    field.fill("a lot")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Type a number from 0 to 100.")
    field.fill("40,5")
    expect(seen(page, "Not sent yet.")).to_be_visible()
    field.press("Enter")
    sent(page)
    assert room.answers(question) == [40.5]
    page.reload()
    expect(field).to_have_value("40.5")
    question, made = room.ask("number", **NUMBER)
    assert made.key["right"] < 0
    field = page.get_by_role("textbox", name="Your answer", exact=True)
    field.fill(f"{made.key['right']:.2f}".replace("-", "−").replace(".", ","))
    for _, numbers in made.spec["given"]["rows"]:
        for number in numbers:
            expect(page.get_by_role("cell", name=number, exact=True).first).to_be_visible()
    field.press("Enter")
    sent(page)
    room.phase(question, "answer")
    expect(seen(page, re.compile("Right"))).to_be_visible()
    assert page.evaluate(NARROW)
    room.put_away()
    question, made = room.ask("row")
    sliders = page.get_by_role("slider")
    expect(sliders).to_have_count(len(made.spec["labels"]))
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    sliders.first.focus()
    page.keyboard.press("End")
    expect(sliders.first).to_have_attribute("aria-valuetext", "100% of all")
    box = sliders.nth(1).bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 40, box["y"] + 25, steps=4)
    page.mouse.up()
    expect(sliders.nth(1)).to_have_attribute("aria-valuenow", "100")
    expect(sliders.first).to_have_attribute("aria-valuetext", "50% of all")
    page.get_by_role("button", name="Send").click()
    sent(page)
    assert room.answers(question)[0][:3] == [0.5, 0.5, 0.0]
    room.phase(question, "answer")
    expect(seen(page, re.compile("Your bars and the model’s have .* in common"))).to_be_visible()
    assert page.evaluate(NARROW)


def test_each_phone_has_a_sentence_of_its_own_and_what_others_write_is_text_once_it_is_shown(room):
    phones = [room.phone() for _ in range(2)]
    for page in phones:
        expect(seen(page, "Connected")).to_be_visible()
    question, made = room.ask("own sentence", sentences=["I am cold.", "We can go home.", "He saw a dog."])
    texts = [one["text"] for one in made.spec["each"]]
    shown = []
    for page in phones:
        expect(seen(page, "Your sentence")).to_be_visible()
        shown.append(page.locator(".quoted bdi").first.inner_text())
        page.locator("button.choice").first.click()
        sent(page)
    assert len(set(shown)) == 2
    assert set(shown) <= set(texts)
    room.phase(question, "answer")
    for page, text in zip(phones, shown, strict=True):
        key = made.key["each"][texts.index(text)]
        said = "You were right." if key["right"] == 0 else "The right answer is"
        expect(page.locator(".own-answer")).to_contain_text(said)
        expect(page.locator(".result.right")).to_have_count(1)
    room.put_away()
    question, _ = room.ask("text")
    hostile = "<img src=x onerror=\"document.title='taken'\">"
    phones[0].get_by_role("textbox").fill(hostile)
    phones[0].get_by_role("button", name="Send").click()
    sent(phones[0])
    room.phase(question, "split")
    expect(seen(phones[1], "The lecturer is reading what was written.")).to_be_visible()
    assert phones[1].get_by_text(hostile).count() == 0
    room.store.show_texts(room.id, [room.store.answers(room.id, question, 1)[0]["seq"]], True)
    expect(seen(phones[1], hostile)).to_be_visible()
    assert phones[1].title() == f"Room {room.room.code} · Heads Up"


def test_the_lecturer_lets_go_and_calls_back_and_who_comes_back_is_told_where_the_room_is(room):
    page = room.phone()
    expect(seen(page, "The lecturer has not shown anything yet.")).to_be_visible()
    room.store.set_task(room.id, "Find a head that looks back.")
    look = page.get_by_role("link", name="Look around")
    expect(look).to_have_attribute("href", f"{room.url}/?room={room.room.code}")
    expect(seen(page, "The lecturer has not shown anything yet.")).to_be_hidden()
    room.show(4)
    expect(look).to_have_attribute("href", re.compile(f"^{room.url}/translate[?](?=.*step=4).*room={room.room.code}"))
    room.store.set_task(room.id, "")
    room.store.set_mode(room.id, "free")
    expect(seen(page, "Look around on your own; the lecturer will call you back.")).to_be_visible()
    room.store.set_task(room.id, "Find a head that looks back.")
    expect(seen(page, "Find a head that looks back.")).to_be_visible()
    expect(seen(page, "press “Show the lecturer” on the page you found")).to_be_visible()
    page.evaluate("window.scrollTo(0, 400)")
    room.store.gather(room.id)
    expect(seen(page, "The lecturer has called everybody back.")).to_be_visible()
    assert page.evaluate("window.scrollY") == 0
    room.store.set_mode(room.id, "paused")
    expect(page.get_by_role("heading", name="Look up.")).to_be_visible()
    expect(look).to_be_hidden()
    room.store.set_mode(room.id, "follow")
    look.click(no_wait_after=True)
    page.wait_for_url("**/translate?**", wait_until="commit")
    room.show(5)
    page.goto(f"{room.url}/r/{room.room.code}")
    expect(seen(page, "You are back. The lecturer is at Translate, step 5.")).to_be_visible()


def test_what_is_kept_is_said_and_deleted_and_so_is_a_locked_door_and_the_end(room):
    page = room.phone()
    room.ask()
    page.locator("button.choice").first.click()
    sent(page)
    page.get_by_role("button", name="What is kept").click()
    expect(seen(page, re.compile(r"kept under the number 1, not a name, until .*; then they"))).to_be_visible()
    page.get_by_role("button", name="Delete mine now").click()
    expect(seen(page, "Deleted: ")).to_be_visible()
    expect(page.locator("button.choice[aria-pressed=true]")).to_have_count(0)
    assert room.store.log(room.id) == []
    room.store.lock(room.id, True)
    late = room.phone()
    expect(late.get_by_role("heading", name="Not let in")).to_be_visible()
    expect(seen(late, "This room is closed to new phones")).to_be_visible()
    room.store.remove_device(room.id, 0)
    expect(seen(page, "The lecturer has removed this device from the room.")).to_be_visible()
    room.store.end(room.id)
    for one in (page, late):
        one.reload()
    expect(page.get_by_role("heading", name="This room has ended.")).to_be_visible()
    expect(seen(page, "What you answered has been deleted.")).to_be_visible()
    expect(late.get_by_role("alert")).to_contain_text("There is no room")
