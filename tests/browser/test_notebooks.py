"""The live view in notebooks: JupyterLab and marimo, in Chromium."""

import json
import socket
import sys

import pytest
from playwright.sync_api import expect

from tests.waiting import ROOT, listens, start_server, until

from .conftest import at_step, listen_for_others, on_cell, on_tile

pytestmark = pytest.mark.rare("minutes: JupyterLab and marimo")

TEXT = "I like red wine."
OPEN = f"""import transformer
ckpt = transformer.load("translate")
*_, step = transformer.steps(ckpt, "{TEXT}", max_steps=20)
view = transformer.show(step, layer=1, head=3)"""
ASK = 'print("looks at", view.selection.kind, view.selection.layer, view.selection.head, view.selection.pair)'
ASK_STEP = 'print("step", view.step.index, [one.piece for one in view.step.path()])'
SET = 'view.selection = {"kind": "decoder", "layer": 1, "head": 1, "pair": (3, 1)}'
GO = "view.step = step.path()[2]"
HELD = """import torch, transformers
from tokenizers import Tokenizer, models, pre_tokenizers
vocabulary = {word: at for at, word in enumerate("<s> </s> the cat sat on a mat".split())}
words = Tokenizer(models.WordLevel(vocabulary, unk_token="<s>"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>")
torch.manual_seed(1)
config = transformers.GPT2Config(vocab_size=8, n_embd=16, n_layer=2, n_head=2, n_positions=20, eos_token_id=99)
view = transformer.show(transformers.GPT2LMHeadModel(config), tokenizer, "the cat sat")"""


class Picture:
    """A live view in a notebook's page, as its reader drives it."""

    def __init__(self, page, frame):
        self.page, self.frame = page, frame
        self.drawn = frame.locator(".attention-view")
        self.bars = frame.locator(".next-tokens > button:not(.others)")

    def click_head(self, layer, head):
        self.frame.locator("canvas.grid").click(position=on_tile(self.drawn, layer, head))

    def click_cell(self, query, key):
        self.frame.locator("canvas.matrix").click(position=on_cell(self.drawn, query, key))

    def press_button(self, name):
        self.frame.get_by_role("button", name=name).click()

    def shows(self, kind, layer, head):
        expect(self.drawn.locator("h2").first).to_contain_text(f"{kind} attention, layer {layer}, head {head}")

    def is_at(self, index, last=None):
        at_step(self.frame, index, last)


@pytest.fixture(scope="module")
def page(chromium):
    context = chromium.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(60_000)
    listen_for_others(context)
    page = context.new_page()
    yield page
    context.close()


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts a notebook's server in a folder of its own -> its address: `start(folder, "jupyterlab", ...)`."""
    started = []

    def start(folder, *command):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        command = [part.replace("PORT", str(port)) for part in command]
        home = str(tmp_path_factory.mktemp("home"))
        process, _ = start_server([sys.executable, "-m", *command], folder / "log.txt", rf"http://\S+:{port}",
                                  cwd=folder, HOME=home, JUPYTER_CONFIG_DIR=home, IPYTHONDIR=home, PYTHONPATH=str(ROOT),
                                  OMP_NUM_THREADS="1", HEADSUP_HOME=home)
        started.append(process)
        until(lambda: listens(port))
        return f"http://127.0.0.1:{port}"

    yield start
    for process in started:
        process.kill()  # a kernel ends with what started it
        process.wait()


# Runs a cell of the notebook in front, and waits until the kernel has.
RUN = """async (nth) => {
  const { restored, shell, commands } = window.jupyterapp;
  await restored;
  const { content, context, sessionContext } = shell.currentWidget;
  await context.ready;
  await sessionContext.ready;
  content.activeCellIndex = nth;
  await commands.execute("notebook:run-cell");
}"""


class Lab:
    """A notebook in JupyterLab."""

    def __init__(self, page):
        self.page = page

    def run(self, nth):
        """Runs a cell -> what stands under it."""
        self.page.evaluate(RUN, nth)
        return self.page.locator(".jp-Notebook .jp-Cell").nth(nth).locator(".jp-OutputArea-output")

    def hears(self, nth, words):
        """Runs a cell, and waits for what it prints."""
        expect(self.run(nth).first).to_have_text(words)


@pytest.fixture(scope="module")
def lab(page, start, tmp_path_factory):
    """JupyterLab with a notebook of these cells."""
    pytest.importorskip("jupyterlab", reason="pip install jupyterlab ipykernel")
    pytest.importorskip("anywidget", reason="pip install anywidget")
    folder = tmp_path_factory.mktemp("lab")
    cells = [OPEN + "\nview", ASK, ASK_STEP, SET, GO, HELD + "\nview", ASK_STEP, "view.height = 500"]
    (folder / "look.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}, "cells": [
            {"cell_type": "code", "id": f"cell-{at}", "metadata": {}, "outputs": [], "execution_count": None,
             "source": cell} for at, cell in enumerate(cells)]}))
    url = start(folder, "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
                "--ServerApp.port=PORT", "--IdentityProvider.token=", "--ServerApp.password=", "--LabApp.news_url=None",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
    page.goto(f"{url}/lab/tree/look.ipynb")
    page.wait_for_function("window.jupyterapp?.shell.currentWidget?.content?.widgets?.length")
    lab = Lab(page)
    lab.run(0)
    return lab


@pytest.fixture
def picture(lab):
    return Picture(lab.page, lab.page.frame_locator("iframe[title=Attention]").first)


def test_python_hears_what_is_chosen_in_the_picture_and_the_picture_follows_python(lab, picture):
    picture.is_at(7, 7)
    picture.shows("Cross", 1, 3)
    picture.click_head(0, 2)
    picture.shows("Cross", 0, 2)
    lab.hears(1, "looks at cross 0 2 None")
    picture.click_cell(3, 1)
    expect(picture.frame.locator("[data-part=product]")).to_be_visible()
    lab.hears(1, "looks at cross 0 2 (3, 1)")
    lab.run(3)
    picture.shows("Decoder", 1, 1)
    expect(picture.frame.locator("[data-part=product]")).to_be_visible()
    lab.run(4)
    picture.is_at(2)


def test_a_step_is_stepped_and_another_candidate_branches(lab, picture):
    lab.run(0)
    picture.is_at(7, 7)
    picture.press_button("First step (Home)")
    picture.is_at(0, 7)
    lab.hears(2, "step 0 ['▁J']")
    picture.bars.nth(1).click()
    picture.is_at(1)
    lab.hears(2, "step 1 ['▁Je', '▁préfère']")
    picture.press_button("Last step (End)")
    expect(picture.frame.locator(".output .coming")).to_have_text("")
    picture.frame.get_by_title("Go back to this branch").click()
    expect(picture.frame.locator(".output .written")).to_contain_text("J'")
    expect(lab.run(2).first).to_contain_text("['▁J', \"'\", 'aime'")


def test_a_model_in_memory_is_stepped_in_the_picture(lab):
    lab.run(5)
    cell = lab.page.locator(".jp-Notebook .jp-Cell").nth(5)
    picture = Picture(lab.page, cell.frame_locator("iframe[title=Attention]"))
    picture.is_at(0)
    label = picture.bars.nth(2).locator("bdi").text_content()
    picture.bars.nth(2).click()
    picture.is_at(1)
    expect(lab.run(6).first).to_contain_text(f"step 1 ['{label}', ")
    picture.press_button("Step (right arrow)")
    picture.is_at(2)
    picture.shows("Decoder", 0, 0)
    lab.run(7)
    expect(cell.locator("iframe")).to_have_css("height", "500px")


def test_keys_are_the_pictures_while_it_has_the_focus_and_the_notebooks_when_it_has_not(lab, picture):
    cells = lab.page.locator(".jp-Notebook .jp-Cell")
    lab.run(0)
    picture.is_at(7, 7)
    count = cells.count()
    picture.frame.locator(".rows .row").first.click()
    for key in ("a", "b", "d", "d", "x", "ArrowUp", "m", "Home"):  # each of which does something to a cell
        lab.page.keyboard.press(key)
    picture.is_at(0, 7)
    lab.page.keyboard.press("ArrowRight")
    picture.is_at(1, 7)
    assert cells.count() == count
    cells.nth(1).locator(".jp-InputPrompt").click()
    for key in ("ArrowRight", "ArrowLeft", "Home", "1"):
        lab.page.keyboard.press(key)
    picture.is_at(1, 7)
    assert cells.count() == count


def test_it_wears_the_notebooks_colours_and_neither_reaches_the_other(lab, picture):
    frame = lab.page.frame_locator("iframe[title=Attention]").first.locator(".step-view")
    look = """root => [getComputedStyle(document.documentElement).backgroundColor,
        root.stepView.parts.picture.view.theme.dark]"""
    assert frame.evaluate(look) == ["rgb(255, 255, 255)", False]
    lab.page.evaluate("jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    expect(lab.page.locator("body[data-jp-theme-light=false]")).to_be_attached()
    expect(frame.locator("xpath=.")).to_have_css("color-scheme", "dark")
    rules = """(root) => [...root.ownerDocument.adoptedStyleSheets, ...root.ownerDocument.styleSheets].flatMap(
        (sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join()"""
    own, theirs = frame.evaluate(rules), lab.page.locator("body").evaluate(rules)
    assert "attention-view" in own and "jp-" not in own
    assert "jp-" in theirs and "attention-view" not in theirs
    assert frame.evaluate(look) == [lab.page.locator(".jp-Notebook").evaluate(
        "notebook => getComputedStyle(notebook).backgroundColor"), True]


MARIMO = f'''import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    {OPEN.replace(chr(10), chr(10) + "    ")}
    live = mo.ui.anywidget(view)
    live
    return live, mo, step


@app.cell
def _(live, mo):
    seen = live.selection
    mo.md(f"looks at {{seen.kind}} {{seen.layer}} {{seen.head}}, step {{live.step.index}}")
    return


@app.cell
def _(live, mo, step):
    def follow(_):
        live.selection = {{"kind": "decoder", "layer": 1, "head": 1}}
        live.step = step.path()[2]

    mo.ui.button(label="follow", on_click=follow)
    return


if __name__ == "__main__":
    app.run()
'''


def test_marimo_runs_what_reads_the_selection_again_and_the_picture_follows(page, start, tmp_path):
    pytest.importorskip("marimo", reason="pip install marimo")
    pytest.importorskip("anywidget", reason="pip install anywidget")
    (tmp_path / "look.py").write_text(MARIMO)
    page.goto(start(tmp_path, "marimo", "--yes", "run", "look.py", "--headless", "--no-token", "--port", "PORT"))
    picture = Picture(page, page.frame_locator("iframe[title=Attention]"))
    picture.is_at(7, 7)
    picture.shows("Cross", 1, 3)
    assert picture.frame.locator(".scroller").bounding_box()["width"] > 250  # in a narrow page the head is seen
    picture.click_head(0, 2)
    expect(page.get_by_text("looks at cross 0 2, step 7")).to_be_visible()
    picture.press_button("First step (Home)")
    expect(page.get_by_text("looks at cross 0 2, step 0")).to_be_visible()
    picture.bars.nth(1).click()
    expect(page.get_by_text("looks at cross 0 2, step 1")).to_be_visible()
    page.get_by_role("button", name="follow").click()
    picture.shows("Decoder", 1, 1)
    picture.is_at(2)
