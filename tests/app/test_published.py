"""Several training steps of somebody else's model on the pages, as those of our runs: added, compared, watched."""

import shutil

import pytest
import torch

import transformer
from tests.messages import unpacked
from transformer.checkpoint import describe, save, snapshots
from transformer.config import ModelConfig
from transformer.huggingface.exporting import export_model
from transformer.model.models import Transformer
from ui.access import visitors

from .page import components, press, put

SETTINGS = {"d_model": 16, "n_heads": 2, "d_ff": 24, "max_len": 40, "vocab_size": 50, "encoder_layers": 0,
            "decoder_layers": 2, "pad_id": None, "positions": "learned", "activation": "gelu_tanh",
            "embedding_scale": False}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A folder with Hugging Face folders of three steps, without tokenizers."""
    place = tmp_path_factory.mktemp("theirs") / "mine"
    for step in (0, 40, 1000):
        model = Transformer(ModelConfig(**SETTINGS), generator=torch.Generator().manual_seed(step))
        save(place / "ours", model, tokenizer=None)
        export_model(transformer.load(place / "ours"), place / f"checkpoint-{step}")
    return place


@pytest.fixture
def add(visit):
    """add(text): type it where a folder or a name is asked for, and press the button."""
    def add(text):
        at = visit("checkpoints", view="add")
        put(at, "checkpoints_source_0", str(text))
        press(at, "checkpoints_import")
        return at

    return add


@pytest.fixture
def mine(add, theirs, home):
    """The folder of a checkpoint with three steps, added on the page."""
    add(", ".join(str(theirs / f"checkpoint-{step}") for step in (1000, 0, 40)))
    return home / "imports" / "mine"


def received(at):
    """The header of what attention as it forms was sent."""
    (view,) = components(at, "training_screen")
    return unpacked(view.bytes)[0]


def test_several_folders_are_added_as_steps_of_one(mine, add, theirs, home):
    assert [describe(path).step for path in (*snapshots(mine), mine)] == [0, 40, 1000]
    assert [path.name for path in home.glob("imports/*")] == ["mine"]
    at = add(f"{theirs / 'checkpoint-0'},{theirs / 'checkpoint-40'} ,{theirs / 'checkpoint-1000'}")
    assert at.success[0].value.startswith("Already here")
    at = add(f"0={theirs / 'checkpoint-40'}, {theirs / 'checkpoint-1000'}")  # other steps than those it came with
    assert at.success[0].value.startswith("Added") and [path.name for path in snapshots(home / "imports" / "mine-2")]


def test_a_folder_with_a_comma_in_its_name_is_one_step_alone_and_is_not_watched(add, theirs, home, tmp_path, visit):
    add(shutil.copytree(theirs / "checkpoint-0", tmp_path / "a, b"))
    assert [path.name for path in home.glob("imports/*")] == ["a-b"]
    options = visit("train", view="watch").selectbox(key="train_run").options
    assert not any(name.startswith("imports/") for name in options)


@pytest.mark.parametrize("text", ["{0}, {0}/nowhere", "{0}/checkpoint-0, {0}/ours", "a/b@../x, a/b@step1",
                                  "~nobody-at-all/x, y", ", ".join(["/" + "x" * 200] * 9)])
def test_what_cannot_be_steps_is_said(add, theirs, home, text):
    at = add(text.format(theirs))
    assert at.error[0].value.startswith("Refused: ") and not list(home.glob("imports/*"))


def test_the_teacher_of_a_shared_server_names_no_folders(add, theirs, home, monkeypatch, cookies):
    monkeypatch.setenv("HEADSUP_SHARED", "1")
    cookies[visitors.TEACHER] = visitors.teacher_cookie()
    for text in ("{0}/checkpoint-0, {0}/checkpoint-40", "0={0}/checkpoint-0, a/b@step1",
                 "a/b@step1, 1=2={0}/checkpoint-0"):
        assert "models are imported by name" in add(text.format(theirs)).error[0].value
    assert not list(home.glob("imports/*"))


def test_a_step_is_on_offer_to_be_compared_and_its_card_opens(mine, visit):
    at = visit("checkpoints", checkpoint=describe(mine).id, view="compare", against="step")
    assert not at.error and at.selectbox(key="checkpoints_step").options == ["0", "40"]
    assert visit("checkpoints", checkpoint=describe(mine / "snapshots" / "40").id).query_params["view"] == "card"
    links = [element.proto for element in visit("checkpoints", checkpoint=describe(mine).id).get("page_link")]
    assert [link.query_string for link in links if link.label == "Attention as it formed"] == [
        "view=watch&run=imports%2Fmine"]


def test_a_text_of_the_readers_is_read_by_every_step(mine, visit):
    at = visit("train", view="watch", run="imports/mine", text="5 6 7 8")
    first = received(at)
    assert first["steps"] == [0, 40, 1000] and first["sentences"][0]["target"] == ["5", "6", "7", "8"]
    assert first["called"] == ["training loss", "loss on this text"] and first["training"] == [] and not at.error
    assert [step for step, _ in first["validation"]] == first["steps"]
    assert first["sent"] == {"1/decoder": [0, 40, 1000]}
    put(at, "train_text", "9 9 1")
    other = received(at)
    assert other["sentences"][0]["target"] == ["9", "9", "1"] and other["sent"] == first["sent"]
    assert other["of"] != first["of"] and at.query_params["text"] == "9 9 1"
    put(at, "train_text", "no ids")
    assert "reads ids" in at.error[0].value
    put(at, "train_text", " ")
    assert "Type a text above" in at.info[0].value
