"""docs/library.ipynb runs from its first cell to its last without a network, and shows what its text says."""

import ast
import json
import socket
import tempfile
from pathlib import Path

import pytest

import transformer

pytestmark = pytest.mark.slow

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "library.ipynb"
CELLS = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]


def shown(source: str, names: dict[str, object]) -> object:
    """Run a cell -> the value of its last line where that is an expression, which a notebook displays."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The names that the cells leave behind, and what each displays."""
    def refuse(*_: object) -> None:
        raise AssertionError("a cell asks the network for something")

    names, values = {}, []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        patch.setenv("HEADSUP_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(socket.socket, "connect", refuse)
        for cell in CELLS:
            if cell["cell_type"] == "code":
                values.append(shown("".join(cell["source"]), names))
                assert len(repr(values[-1])) < 5_000, "a cell displays one line, or one table"
    return names, values


def test_it_is_small_and_without_outputs():
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in CELLS
               if cell["cell_type"] == "code")
    assert NOTEBOOK.stat().st_size < 20_000


def test_every_cell_runs_tables_are_tables_a_run_is_trained_and_a_model_goes_out_and_comes_back(ran):
    names, values = ran
    kinds = {type(value).__name__ for value in values}
    assert {"Step", "DataFrame", "Chart"} <= kinds and kinds & {"View", "Picture"}
    assert names["step"].output == "J'aime le vin rouge."
    assert {"kind", "layer", "head", "measure", "unit", "trained", "untrained"} <= set(names["roles"].columns)
    assert names["speech"].logits.shape == (len(names["classifier"].classes),)
    curve = names["curve"]
    assert curve.step[curve.validation_loss.idxmin()] == transformer.describe("translate").step
    assert (names["run"] / "best" / "model.safetensors").is_file()
    (difference,) = [value for value in values if hasattr(value, "is_floating_point") and value.dim() == 0]
    assert difference < 1e-4
