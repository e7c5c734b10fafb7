"""What is taken away of the picture of the whole model: files at every level, and the film of its zoom."""

import io
import zipfile
from base64 import b64encode
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import transformer
from tests.attention_view.shapes import IDS, shaped
from tests.labels import labels_of
from transformer.analysis.carried import carried, effects
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.notebook import show
from transformer.attention_view.offline_page import page as offline_page
from transformer.attention_view.shared import CHOICES
from ui.figures import plain_label

from .conftest import INKED, at_step, saved
from .test_attention_view import pdf_words, table_of

LEVELS = CHOICES["level"]
TEXT = "I like red wine."
STEP = 5
PAGES = {"translate": f"/translate?text={quote(TEXT)}&step={STEP}&kind=cross&layer=1&head=0",
         "classify": "/classify?layer=1&head=1"}
ONE_VISITOR = True


@pytest.fixture
def look(reach, page):
    """Opens the picture of the model: `look("translate", "head")` -> its chooser of files, with all that it has."""
    def look(name, level):
        reach(f"{PAGES[name]}&view=model&level={level}&pair=5:2&feature=7")
        page.locator(f".attention-view[data-level={level}]").wait_for()
        view = page.locator(".attention-view")
        saves = view.locator(".options").get_by_label("Save", exact=True)
        if not saves.is_visible():
            view.get_by_role("button", name="Options").click()
        expect(saves.locator("option", has_text="film of the zoom, GIF")).to_be_attached()
        return saves

    return look


def kept(page, saves, kind):
    """The name and the bytes of a file."""
    return saved(page, lambda: saves.select_option(kind))


def test_a_level_is_a_picture_of_each_kind_and_its_numbers_are_those_of_the_library(page, look, shipped):
    """What is in its SVG at every level, tests/attention_view/test_pictures_as_text.py says."""
    saves = look("translate", "head")
    ckpt = shipped("translate")
    step = list(transformer.steps(ckpt, TEXT, max_steps=STEP + 1))[-1]
    name = f"{ckpt.id}-model-head-cross-layer1-head0"
    file, data = kept(page, saves, "svg")
    assert file == f"{name}.svg"
    assert TEXT in data.decode("utf-8") and b"<image" not in data and len(data) < 2_000_000
    file, data = kept(page, saves, "pdf")
    assert file == f"{name}.pdf"
    assert {"q: 6 × 64", "z (weights times v): 6 × 64"} <= set(pdf_words(data))
    file, data = kept(page, saves, "png-dark")
    assert file == f"{name}-dark.png"
    assert Image.open(io.BytesIO(data)).size[0] == 2400
    file, data = kept(page, saves, "csv")
    assert file == f"{name}.csv"
    (names, *rows), said = table_of(data)
    assert any(TEXT in line for line in said)
    rows = [dict(zip(names, row, strict=True)) for row in rows]
    found, effect = carried(step)["decoder"], effects(step)
    mine = [row for row in rows if row["stack"] == "decoder"]
    by_part = {f"{row['layer']}.{row['part']}" if row["layer"] else row["part"]: row for row in mine
               if row["part"] != "head"}
    for at, part in enumerate(found.parts):
        assert float(by_part[part]["norm after"]) == pytest.approx(float(found.norms[0, at]), rel=1e-4)
        assert float(by_part[part]["norm added"]) == pytest.approx(float(found.added[0, at]), rel=1e-4)
    heads = [row for row in mine if row["part"] == "head"]
    assert len(heads) == sum(one.numel() for one in effect.heads.values())
    for row in heads:
        at = int(row["layer"]), int(row["head"])
        assert float(row["norm added"]) == pytest.approx(float(found.heads[row["kind"]][at[0], 0, at[1]]), rel=1e-4)
        assert float(row["direct effect"]) == pytest.approx(float(effect.heads[row["kind"]][at]), rel=1e-3, abs=1e-5)
    total = sum(float(row["direct effect"]) for row in mine if row["part"] != "head")
    assert total == pytest.approx(effect.logit, abs=1e-3)
    assert {row["of"] for row in rows} == {"mean over tokens", labels_of(step)[-2]}
    file, data = kept(page, saves, "zip")
    assert {f"{name}.png", f"{name}.svg"} <= set(zipfile.ZipFile(io.BytesIO(data)).namelist())


@pytest.mark.rare("250 frames; its scenes are tested in node, and one film is made by test_film.py")
@pytest.mark.parametrize("name", ["translate", "classify"])
def test_the_zoom_is_a_film_that_holds_at_every_level_and_one_is_back_where_one_was(page, look, shipped, name):
    saves = look(name, "layer")
    file, data = kept(page, saves, "gif")
    assert file == f"{shipped(name).id}-model-zoom.gif"
    assert page.locator(".attention-view").get_attribute("data-film") == LEVELS[-1]
    with Image.open(io.BytesIO(data)) as film:
        assert film.size == (1280, 720)
        lengths = []
        for at in range(film.n_frames):
            film.seek(at)
            lengths.append(film.info["duration"])
    assert sum(length >= 3000 for length in lengths) == len(LEVELS)
    assert lengths[0] >= 3000 <= lengths[-1]
    expect(page.locator(".attention-view")).to_have_attribute("data-level", "layer")
    expect(page.locator(".attention-view .film")).to_have_count(0)


def test_files_are_within_reach_on_a_phone(page, look):
    page.set_viewport_size({"width": 390, "height": 844})
    saves = look("translate", "stack")
    assert saves.evaluate("""(one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
    }""")
    assert kept(page, saves, "svg")[0].endswith("-model-stack-decoder.svg")


@pytest.mark.parametrize("level", ["whole", "number"])
def test_a_file_opens_at_a_level_and_follows_its_steps(alone, shipped, tmp_path, level):
    path = list(transformer.steps(shipped("translate"), TEXT))
    selection = Selection("cross", 1, 0, view="model", level=level, pair=(len(path) - 1, 2), feature=7)
    (file := tmp_path / "model.html").write_text(offline_page(path[-1], selection), "utf-8")
    page = alone(file)
    view = page.locator(".attention-view")
    expect(view).to_have_attribute("data-level", level)
    for index in (len(path) - 2, len(path) - 3):
        page.keyboard.press("ArrowLeft")
        at_step(page, index, len(path) - 1)
        token, effect_of, heads = view.evaluate("""({ view: { message: { model, arrays } } }) =>
          [model.token, model.effectOf, [...arrays["effects/cross"]]]""")
        assert (token, effect_of) == (labels_of(path[index])[-2], plain_label(path[index].piece))
        np.testing.assert_allclose(heads, effects(path[index]).heads["cross"].flatten(), rtol=1e-3, atol=1e-4)
    page.get_by_role("radio", name="Matrix").click()
    expect(view.locator("h2").first).to_be_visible()


@pytest.mark.parametrize("name", ["paper-base", "Gemma2ForCausalLM"])
def test_a_shape_is_drawn_from_the_whole_down_to_a_number(alone, page, tmp_path, name):
    """Of a preset and of another family; tests/attention_view/test_pictures_as_text.py has all others."""
    ckpt, file = shaped(name, tmp_path), tmp_path / "page.html"
    file.write_text(show(ckpt, text=IDS, live=False).page, "utf-8")
    page.emulate_media(reduced_motion="reduce")
    view = alone(file).locator(".attention-view")
    view.and_(page.locator("[data-level=whole]")).wait_for()
    page.locator("canvas.model").focus()
    seen = {}
    for key, levels in (("+", LEVELS[1:]), ("-", LEVELS[-2::-1])):
        for level in levels:
            page.keyboard.press(key)
            view.and_(page.locator(f"[data-level={level}]")).wait_for()
            assert page.locator("canvas.model").evaluate(INKED) > 10, level  # more than a page without anything
            seen.setdefault(level, page.locator(".model-words").inner_text())
    assert len(set(seen.values())) == len(LEVELS) and "undefined" not in str(seen) and "NaN" not in str(seen)
    drawn = view.evaluate("({ view }) => Object.keys(view.message.arrays).filter((name) => name.startsWith('small/'))")
    assert {*drawn} | {f"small/{kind}" for kind in ckpt.config.kinds if not drawn} >= {
        f"small/{kind}" for kind in ckpt.config.kinds}
    page.emulate_media(reduced_motion="null")


# A notebook's side of the widget: it holds one message, and keeps what the picture asks for.
NOTEBOOK = """([module, base64]) => {
  const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  const kept = { message: new DataView(bytes.buffer), height: 700 };
  window.heard = [];
  const model = {
    get: (name) => kept[name],
    set: (name, value) => window.heard.push([name, value]),
    save_changes: () => {},
    on: () => {},
    off: () => {},
  };
  const text = module.replace("export default", "window.widget =").replace("export const", "const");
  window.widgetReady = () => window.widget.render({ model, el: document.body });
  const script = document.createElement("script");
  script.type = "module";
  script.textContent = `${text}\nwindow.widgetReady();`;
  document.head.append(script);
}"""


def test_a_live_picture_of_a_checkpoint_tells_python_the_level(page, shipped):
    pytest.importorskip("anywidget", reason="pip install anywidget")
    view = show(shipped("translate"), text=TEXT)
    page.goto("about:blank")
    page.evaluate(NOTEBOOK, [view._esm, b64encode(view.message).decode()])
    frame = page.frame_locator("iframe[title=Attention]")
    picture = frame.locator(".attention-view")
    expect(picture).to_have_attribute("data-level", "whole")
    frame.locator("canvas.model").press("+")
    expect(picture).to_have_attribute("data-level", "stack")
    (name, asked), = page.evaluate("window.heard.filter(([name]) => name === '_look')")
    assert (asked["view"], asked["level"]) == ("model", "stack")
    view.set_state({name: asked})
    assert view.selection.level == "stack"
    frame.get_by_role("button", name="Options").click()
    options = frame.locator(".options").get_by_label("Save", exact=True).locator("option").all_text_contents()
    assert "SVG" in options
    assert not [one for one in options if "film" in one or "zip" in one]  # which need the app's server
