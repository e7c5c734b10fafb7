"""The wall of a room, which nobody can scroll: each form of question in each phase, on two projectors. The lecturer is
the store."""

import pytest
from playwright.sync_api import expect

from transformer.rooms import questions
from transformer.rooms.ablation import ablate

from .rooms import FORMS, NUMBER, PARAMS, TEXT, VIEW, frames, opened

SIZES = [(1440, 900), (1280, 720)]

# What stands on the cover, and lies outside of what is seen of it.
CUT = """cover => {
    const seen = cover.getBoundingClientRect();
    const walk = document.createTreeWalker(cover, NodeFilter.SHOW_TEXT);
    const cut = [];
    while (walk.nextNode()) {
        const node = walk.currentNode;
        if (!node.textContent.trim() || node.parentElement.closest(".unseen") ||
            !node.parentElement.checkVisibility()) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects())
            if (box.bottom > seen.bottom + 1 || box.right > seen.right + 1 || box.left < seen.left - 1)
                cut.push(node.textContent);
    }
    return cut;
}"""
SIZE = "cover => parseFloat(getComputedStyle(cover).fontSize)"

# The contrast of what a selector finds with what lies behind it: of bars their own colour, of words that of the type.
CONTRAST = """([cover, selector, of]) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const channels = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (rgb) => {
        const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = rgb.map((one) => linear(one / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
            const [r, g, b, alpha] = channels(getComputedStyle(at).backgroundColor);
            if (alpha === 255) return [r, g, b];
        }
    };
    const found = cover.querySelector(selector);
    const mine = channels(getComputedStyle(found)[of]).slice(0, 3);
    const ground = behind(of === "color" ? found : found.parentElement);
    const [low, high] = [light(mine), light(ground)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}"""


def shown(page, phase: str, sizes=SIZES) -> list[float]:
    """Nothing is cut in this phase at any size; the size of the type at each, by the height of the screen."""
    cover = page.locator(f".cover[data-phase={phase}]")
    expect(cover).to_be_visible()
    found = []
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function("height => innerHeight === height", arg=height)
        frames(page)
        found.append(cover.evaluate(SIZE) / height)
        assert cover.evaluate(CUT) == [], (phase, width, height)
    return found


def put_away(room, page):
    """What was asked, from the wall too."""
    room.put_away()
    expect(page.locator(".cover[data-phase]")).to_have_count(0)


@pytest.mark.parametrize("forms", [FORMS[:1], pytest.param(FORMS[1:], marks=pytest.mark.rare(
    "half a minute: all other kinds of question"))], ids=["one", "others"])
def test_nothing_of_any_question_is_cut_on_the_wall(forms, room):
    page = room.wall()
    for about in forms:
        question, made = room.ask(about, **NUMBER) if about == "number" else room.ask(about)
        expect(page.locator(".cover .count")).to_contain_text("0 of ")
        room.come()  # a device is there for 45 seconds, and on a slow machine the question takes longer to appear
        expect(page.locator(".cover .count")).to_have_text("0 of 6 have answered")
        sizes = [shown(page, "open", SIZES[1:])]
        room.answer(question, made)
        for phase, where in (("split", SIZES[1:]), ("answer", SIZES)):  # that with most on it, on each projector
            room.phase(question, phase)
            sizes.append(shown(page, phase, where))
        if about not in ("text", "own sentence"):
            expect(page.locator(".cover .quoted").first).to_be_visible()
        if about == "head":
            votes = [3, 3, *[0] * (len(made.spec["choices"]) - 2)]
            switched = {"votes": votes, "rows": ablate(made, opened(), votes)}
            room.store.set_key(room.id, question.id, made.key | {"switched": switched})
            expect(page.locator(".cover .switched li").first).to_be_visible()
            shown(page, "answer")
        assert min(min(one) for one in sizes) >= 0.025
        room.store.ask_again(room.id, question.id)
        room.answer(question, made, round=2)
        room.phase(question, "answer")
        expect(page.locator(".cover .kicker")).to_contain_text("second round")
        shown(page, "answer", SIZES[1:])
        put_away(room, page)


@pytest.mark.rare("sizes and colours of one page, which seldom change")
def test_short_is_large_long_is_whole_and_colours_are_told_apart_on_the_wall(room):
    page = room.wall()
    room.come()
    room.ask("text", ask="What do you think?")
    large = shown(page, "open")
    put_away(room, page)
    params = PARAMS | {"text": " ".join([TEXT] * 6)[:280]}
    question, made = room.ask("number", params=params)
    room.answer(question, made)
    for phase in ("open", "split", "answer"):
        room.phase(question, phase)
        long = shown(page, phase)
    assert all(one > 0.06 for one in large)
    assert all(one >= other for one, other in zip(large, long, strict=True))
    put_away(room, page)
    question, made = room.ask()
    room.answer(question, made)
    room.store.ask_again(room.id, question.id)
    room.answer(question, made, round=2)
    room.phase(question, "answer")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        shown(page, "answer")
        cover = page.locator(".cover").element_handle()
        for selector in (".model .line i", ".room .line i", ".before .line i"):
            assert page.evaluate(CONTRAST, [cover, selector, "backgroundColor"]) >= 3, selector
        for selector in (".mark", ".kicker", ".said"):
            assert page.evaluate(CONTRAST, [cover, selector, "color"]) >= 4.5, selector


HOSTILE = ["unbreakable" * 27, "and so on " * 30, "مرحبا بالعالم، هذه جملة طويلة " * 6, "👩‍👩‍👧‍👦🏳️‍🌈" * 20, "",
           "<b>ok</b>"]
# What a phone shows and is wider than it, or is printed over something else.
SPILT = """() => {
  const found = [...document.querySelectorAll("main *")].filter((one) => one.checkVisibility())
    .filter((one) => !one.closest(".unseen") && one.getBoundingClientRect().right > innerWidth + 1);
  const choices = [...document.querySelectorAll(".choices > *, .results > *")].map((one) => [one,
    one.getBoundingClientRect()]);
  const over = choices.filter(([one, { top, height }], at) => one.scrollHeight > height + 1 ||
    (at && !one.closest(".short") && top < choices[at - 1][1].bottom - 1));
  return [...found, ...over.map(([one]) => one)].map((one) => `${one.className}: ${one.textContent.slice(0, 30)}`);
}"""


@pytest.mark.rare("what no model of ours can be asked: names of classes and words of other models")
def test_choices_of_any_length_and_script_are_whole_on_wall_and_phone(room):
    page, phone = room.wall(), room.phone()
    question, made = room.ask(ask="w" * 60 + " " + "which of these? " * 8)
    room.put_away()
    spec = made.spec | {"choices": HOSTILE, "pieces": False}
    key = made.key | {"values": [0.3, 0.25, 0.2, 0.15, 0.06, 0.04], "right": 1}
    question = room.store.ask(room.id, spec, key, VIEW)
    room.phase(question, "open")
    sizes = [(1280, 720), (1024, 768)]
    expect(phone.locator("button.choice")).to_have_count(len(HOSTILE))
    assert phone.evaluate(SPILT) == []
    assert min(box["height"] for one in phone.locator("button.choice").all() if (box := one.bounding_box())) >= 44
    shown(page, "open", sizes)
    phone.locator("button.choice").nth(4).click()
    expect(phone.get_by_text("Sent", exact=False).first).to_be_visible()
    for phase in ("closed", "split", "answer"):
        room.phase(question, phase)
        shown(page, phase, sizes)
        expect(phone.locator(f"[data-phase={phase}]")).to_be_visible()
        assert phone.evaluate(SPILT) == [], phase


@pytest.mark.rare("one kind of question beside a page")
def test_who_writes_about_a_page_goes_on_seeing_it(room):
    page, phone = room.wall(), room.phone()
    room.show(4)
    head = page.locator("[data-part=head]")
    head.wait_for()
    room.come()
    ask = "What does it look at, and why?"
    made = questions.make("text", opened(), ask=ask, compare=False)
    question = room.store.ask(room.id, made.spec, made.key, VIEW)
    for phase in ("draft", "open", "closed"):
        room.phase(question, phase)
        if phase != "draft":
            expect(page.locator(f".cover.beside[data-phase={phase}] .ask")).to_have_text(ask)
            assert page.locator(".cover").bounding_box()["height"] < 90  # px
        expect(head).to_be_in_viewport()
        expect(page.locator(".cover:not(.beside)")).to_have_count(0)
    room.phase(question, "open")
    expect(phone.get_by_role("textbox")).to_be_visible()
    expect(phone.locator(".picture-of-view canvas").first).to_be_visible()
    room.answer(question, made)
    room.phase(question, "split")
    expect(page.locator(".cover:not(.beside) .texts li").first).to_be_in_viewport()
    room.put_away()
    room.ask("text")  # what the model will write, which the page says
    expect(page.locator(".cover[data-phase=open]:not(.beside)")).to_be_visible()
    room.put_away()
    stop = {"stop": "a/2", "about": "number", "ask": "How much?", "view": {"page": "translate", "params": PARAMS}}
    question = room.store.ask(room.id, made.spec, made.key, VIEW | {"asked": stop})  # where the page answers the stop
    room.phase(question, "open")
    expect(page.locator(".cover[data-phase=open]:not(.beside) .ask")).to_have_text(ask)


def test_a_draft_a_stop_a_pause_and_the_end_are_said_on_wall_and_phone(room):
    page, phone = room.wall(), room.phone()
    made = questions.make("next token", opened())
    room.store.ask(room.id, made.spec, made.key, VIEW)
    for one in (page.locator(".cover"), phone.locator("main .calm")):
        expect(one.get_by_role("heading")).to_have_text("A question is coming.")
        expect(one).not_to_contain_text("Think first")
    room.put_away()
    asked = {"stop": "a/2", "about": "next token", "ask": "What does it write next?",
             "view": {"page": "translate", "params": PARAMS}}
    room.store.publish(room.id, VIEW | {"stop": "What comes next?", "asked": asked}, None, "tab")
    expect(page.locator(".cover")).to_contain_text("Think first")
    for one in (page.locator(".cover"), phone.locator("main .calm")):  # what it is about, which is on no screen
        expect(one.locator(".quoted")).to_contain_text(TEXT)
    expect(page.locator(".about")).to_have_text("What comes next?")
    expect(phone.locator("main .calm")).to_contain_text("Think first. You will be asked in a moment.")
    room.store.set_mode(room.id, "paused")
    expect(page.locator(".cover.pause")).to_have_text("Look up.")
    expect(phone.locator("main .calm")).to_have_text("Look up.")
    room.store.end(room.id)
    expect(page.locator(".cover.pause")).to_have_text("The room has ended. Thank you for taking part.")
    expect(phone.get_by_role("heading", name="This room has ended.")).to_be_visible()
