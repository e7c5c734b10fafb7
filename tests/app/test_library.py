"""The library's five lines on a page, without a browser: what stands beside each is what it gives."""

import ast
import json
from pathlib import Path

import pandas
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from tests.labels import labels_of

from .page import picture, plain, put

PAGE, TEXT = "library", "I like red wine."
NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "library.ipynb"


def lines(at: AppTest) -> list[str]:
    """The lines of code that have something beside them."""
    return [code.value for code in at.code if code.language == "python"][:-1]


def script(at: AppTest) -> str:
    """All of them, to be copied."""
    return at.code[-1].value


def values(at: AppTest) -> list[object]:
    """What stands beside the lines."""
    texts = [text.value for text in at.text]
    return [*texts[:3], at.dataframe[0].value, *texts[3:]]


def assert_right(at: AppTest, text: str) -> None:
    """The whole script, run as somebody would who pasted it, gives what the page shows."""
    names, results = {}, []
    for node in ast.parse(script(at)).body[1:]:
        code = ast.unparse(node)
        if isinstance(node, ast.Assign):
            exec(f"import transformer\n{code}", names)
            results.append(names[code.partition(" =")[0].split()[-1]])
        else:
            results.append(eval(code, names))
    assert text in [node.value for node in ast.walk(ast.parse(script(at))) if isinstance(node, ast.Constant)]
    assert script(at).splitlines()[2:] == lines(at)
    for result, value in zip(results, values(at), strict=True):
        if isinstance(result, pandas.DataFrame):
            assert value.to_dict("list") == result.to_dict("list")
        else:
            assert value == repr(result)


def test_it_opens_with_the_lines_of_the_notebook_and_what_they_give(visit):
    at = visit(PAGE)
    assert_right(at, TEXT)
    assert not at.error
    cells = ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
             if cell["cell_type"] == "code"]
    five = [ast.dump(ast.parse(cell)) for cell in cells]
    places = [five.index(ast.dump(ast.parse(line))) for line in lines(at)[1:]]
    assert places == list(range(places[0], places[0] + 4)) and lines(at)[0] in cells[places[0] - 1]


@pytest.mark.parametrize("name", ["write", "classify"])
def test_another_checkpoint_and_another_text(visit, shipped, name):
    at = visit(PAGE, text="Go on.\nMy lord", checkpoint=name)
    assert at.selectbox(key="library_checkpoint").value == shipped(name).id
    assert_right(at, "Go on.\nMy lord")
    put(at, "library_text", "We are here.")
    assert_right(at, "We are here.")
    assert at.query_params["text"] == "We are here."


def test_the_picture_is_that_of_the_last_line(visit, shipped):
    header, arrays = picture(visit(PAGE, kind="cross", layer="1", head="3"))
    *_, step = transformer.steps(shipped("translate"), TEXT, max_steps=20)
    assert header["kinds"]["cross"]["queries"] == labels_of(step)[:-1]
    assert arrays["weights"] == pytest.approx(step.attentions["cross"][1, 3].numpy(), abs=1e-6)


def test_nothing_to_read_and_too_long_a_text_are_said_and_the_next_text_is_read(visit):
    at = visit(PAGE, text="a" * 400)
    assert ["400 characters; at most 120" in plain(error.value) for error in at.error] == [True]
    assert not lines(at) and at.text_area(key="library_text").value == "a" * 400
    put(at, "library_text", "")
    assert plain(at.error[0].value) == "there is nothing to read; type a sentence"
    assert not lines(at)
    put(at, "library_text", "Go on.")
    assert_right(at, "Go on.")


@pytest.mark.parametrize("text", [
    '"); import os; os._exit(1) # {name} {text} %s', "'); raise SystemExit # both \"kinds\" of 'quotes'\\",
    "</code><script>alert(1)</script> ![](http://a.example/x)", "a\u202eb\u200bc `x` **y** $z$\nnew\nline\ttab"])
def test_what_is_typed_is_a_text_and_never_code(visit, text):
    at = visit(PAGE, text=text, checkpoint="write")
    assert not at.error
    assert_right(at, text)
    assert all(character.isprintable() for line in lines(at) for character in line)


def test_weights_that_no_name_opens_are_not_on_offer(visit, shipped):
    snapshot = sorted((shipped("write").description.folder / "snapshots").iterdir())[0]
    at = visit(PAGE, checkpoint=transformer.describe(snapshot).id)
    assert transformer.describe(snapshot).id in at.error[0].value and not lines(at)
