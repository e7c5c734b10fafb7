"""What is taken away from a page: pictures in any theme, and all figures as one zip."""

import io
import zipfile
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import expect

FORMING = "/train?view=watch&run=checkpoints/translate"
TRANSLATE = "/translate?text=Go+on.&step=2&kind=cross"
GROUNDS = {"png-light": (255, 255, 255, 255), "png-dark": (11, 14, 20, 255), "png-clear-light": (0, 0, 0, 0),
           "png-clear-dark": (0, 0, 0, 0)}


def kept(page, choose):
    with page.expect_download() as download:
        choose()
    return download.value.suggested_filename, download.value.path().read_bytes()


@pytest.mark.parametrize(("address", "view", "width"), [
    (TRANSLATE, ".attention-view", None), (FORMING, ".forming[data-drawn]", 1240)])
def test_pictures_are_twice_the_size_in_any_theme(visit, address, view, width):
    page = visit(address)
    saves = page.locator(view).get_by_label("Save", exact=True)
    sizes, inks = set(), {}
    for kind, ground in GROUNDS.items():
        name, data = kept(page, lambda kind=kind: saves.select_option(kind))
        assert name.endswith(".png")
        picture = Image.open(io.BytesIO(data)).convert("RGBA")
        assert picture.getpixel((1, 1)) == ground
        assert picture.getpixel((picture.width - 2, picture.height - 2)) == ground
        sizes.add(picture.size)
        title = picture.crop((20, 16, 400, 56))
        inks[kind] = sorted((count, colour) for count, colour in title.getcolors(1 << 20) if colour != ground)[-1][1]
    assert len(sizes) == 1
    if width is None:
        width = float(ElementTree.fromstring(kept(page, lambda: saves.select_option("svg"))[1]).get("width"))
    assert sizes.pop()[0] == pytest.approx(2 * width, abs=1)
    assert inks["png-clear-light"] == inks["png-light"] == (38, 39, 48, 255)
    assert inks["png-clear-dark"] == inks["png-dark"] == (240, 242, 246, 255)


def test_a_pictures_size_is_that_of_no_screen(chromium, app_url, settle):
    sizes = set()
    for ratio in (1, 3):
        context = chromium.new_context(device_scale_factor=ratio, viewport={"width": 1000, "height": 800})
        page = context.new_page()
        page.goto(app_url + FORMING, wait_until="domcontentloaded")
        saves = page.locator(".forming[data-drawn]").get_by_label("Save", exact=True)
        _, data = kept(page, lambda saves=saves: saves.select_option("png-light"))
        sizes.add(Image.open(io.BytesIO(data)).size)
        context.close()
    assert len(sizes) == 1


def test_all_figures_of_a_page_are_one_zip(visit, complaints):
    page = visit(TRANSLATE)
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_attached()
    saves = page.locator(".attention-view").get_by_label("Save", exact=True)
    name, data = kept(page, lambda: saves.select_option("zip"))
    assert name == "headsup-translate.zip"
    with zipfile.ZipFile(io.BytesIO(data)) as files:
        assert files.testzip() is None
        names = files.namelist()
        (picture,) = [one for one in names if one.endswith("-weights.png")]
        Image.open(io.BytesIO(files.read(picture))).verify()
        charts = [one for one in names if one.endswith(".svg")]
        assert len(charts) >= 2
        for one in charts:
            assert ElementTree.fromstring(files.read(one)).tag == "{http://www.w3.org/2000/svg}svg"
    assert not complaints


def test_a_page_of_charts_alone_has_the_zip_in_the_menu_on_top(visit):
    page = visit("/masks")
    titles = page.locator(".js-plotly-plot .gtitle").all_text_contents()
    page.get_by_test_id("stMainMenu").click()
    _, data = kept(page, page.get_by_role("menuitem", name="Save all figures of this page").click)
    expect(page.get_by_test_id("stMainMenuList")).to_have_count(0)
    with zipfile.ZipFile(io.BytesIO(data)) as files:
        assert len(files.namelist()) == len(titles) > 4
        said = "".join(ElementTree.fromstring(files.read("Causal.svg")).itertext())
    assert "Causal" in said
