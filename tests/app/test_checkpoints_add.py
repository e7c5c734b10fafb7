"""Bringing in checkpoints on the page Checkpoints, one or several training steps as one, without a browser."""

import io
import shutil
import zipfile

import pytest
import torch

import transformer
from tests.messages import unpacked
from transformer.checkpoints.checkpoint import describe, save, snapshots
from transformer.huggingface.exporting import export_model
from transformer.jobs import run_files
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig
from ui.access import visitors
from ui.access.owners import delete_checkpoint

from .page import ROOT, components, press, put, values

PAGE, OPENING = "checkpoints", {"view": "add"}
SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 24, "max_len": 40}
THEIRS = {**SIZES, "vocab_size": 50, "encoder_layers": 0, "decoder_layers": 2, "pad_id": None, "positions": "learned",
          "activation": "gelu_tanh", "embedding_scale": False}


@pytest.fixture
def made(tiny_tokenizer, tmp_path):
    """made(...): a small checkpoint's folder, not yet anywhere in the app."""
    def made(name="mine", **settings):
        config = ModelConfig(**{**SIZES, "vocab_size": tiny_tokenizer.vocab_size, **settings})
        save(tmp_path / name, Transformer(config, generator=torch.Generator().manual_seed(1)), tokenizer=tiny_tokenizer)
        return tmp_path / name

    return made


def packed(folder) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder.parent))
    return file.getvalue()


def send(at, *files, name=""):
    """Choose files and press the button: send(at, ("a.zip", content), ...)."""
    number = at.session_state["checkpoints_uploads"]
    at.file_uploader[0].set_value([(file, content, "application/octet-stream") for file, content in files])
    at.text_input(key=f"checkpoints_name_{number}").set_value(name).run()
    return press(at, "checkpoints_upload")


def linked(at):
    """The pages that are linked to and the checkpoint each link names."""
    links = [element.proto for element in at.get("page_link")]
    return {link.page.rsplit("/", 1)[-1]: link.query_string for link in links}


@pytest.mark.parametrize(("settings", "page"), [
    ({}, "translate"), ({"encoder_layers": 0}, "write"),
    ({"decoder_layers": 0, "pooling": "mean", "n_classes": 3}, "classify")])
def test_a_zip_is_kept_and_linked_to_where_it_can_be_seen(open_page, visit, made, home, settings, page):
    folder = made(**settings)
    at = send(open_page(), ("mine.zip", packed(folder)))
    id = transformer.load(folder).id
    assert [f"Added as **{id}**" in text for text in values(at, "success")] == [True]
    assert transformer.load(home / "uploads" / "mine").id == id
    links = linked(at)
    assert links.keys() == {page, "heads"}
    assert all(id.replace("@", "%40") in query or id in query for query in links.values())
    assert not at.error
    press(at, "checkpoints_added_card")
    assert (at.query_params["view"], at.query_params["checkpoint"]) == ("card", id)
    assert visit(page, checkpoint=id).query_params["checkpoint"] == id


def test_uploads_have_names_of_their_own_and_the_same_files_are_not_kept_twice(open_page, made, home):
    files = [(path.name, path.read_bytes()) for path in made().iterdir() if path.name != "manifest.json"]
    at = open_page()
    assert at.button(key="checkpoints_upload").disabled and at.button(key="checkpoints_import").disabled
    assert at.file_uploader[0].accept_multiple_files and at.file_uploader[0].proto.max_upload_size_mb == 300
    send(at, *files, name="My model!")
    kept = transformer.load(home / "uploads" / "My-model")
    assert at.session_state["checkpoints_uploads"] == 1
    assert at.button(key="checkpoints_upload").disabled  # the uploader is empty again
    send(at, ("again.zip", packed(kept.description.folder)))
    (told,) = values(at, "success")
    assert told.startswith(f"Already here, with identical files, as **{kept.id}** (uploaded)")
    assert all(kept.id.replace("@", "%40") in query or kept.id in query for query in linked(at).values())
    for name in ("my-MODEL", "Write"):  # which is there, and which comes with the app
        send(at, *files, ("README.md", name.encode()), name=name)
    assert sorted(path.name for path in (home / "uploads").iterdir()) == ["My-model", "Write-2", "my-MODEL-2"]


@pytest.mark.parametrize(("name", "content"), [
    ("<b>$x$[a](b).bin", b"\x80\x04\x95" + bytes(20)), ("notes.txt", b"hello"), ("x.zip", b"PK\x03\x04" + bytes(9))])
def test_what_is_refused_is_said_in_a_sentence_and_not_kept(open_page, home, name, content):
    at = send(open_page(), (name, content))
    (error,) = [element.value for element in at.error]
    assert error.startswith("Refused: ")
    assert "\n" not in error
    assert "<b>" not in error.replace("\\<", "") and "$x" not in error.replace("\\$", "")
    assert not at.success
    assert list((home / "uploads").iterdir()) == []
    at.run()
    assert not at.error  # said once


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A folder with Hugging Face folders of three steps, without tokenizers."""
    place = tmp_path_factory.mktemp("theirs") / "mine"
    for step in (0, 40, 1000):
        model = Transformer(ModelConfig(**THEIRS), generator=torch.Generator().manual_seed(step))
        save(place / "ours", model, tokenizer=None)
        export_model(transformer.load(place / "ours"), place / f"checkpoint-{step}")
    return place


def take_over(at, source):
    put(at, f"checkpoints_source_{at.session_state['checkpoints_imports']}", str(source))
    return press(at, "checkpoints_import")


@pytest.fixture
def add(open_page):
    """add("org/name"): the page once that has been imported."""
    return lambda source: take_over(open_page(), source)


def test_a_folder_of_theirs_or_ours_and_a_zip_on_this_computer_are_imported_beside_others(open_page, home, tmp_path,
                                                                                          made, theirs):
    folder, imports = shutil.copytree(theirs / "checkpoint-0", tmp_path / "theirs"), home / "imports"
    at = take_over(open_page(), folder)
    id = transformer.load(imports / "theirs").id
    (told,) = values(at, "success")
    assert told.startswith(f"Added as **{id}**")
    assert "no tokenizer (there is none in the folder): type ids" in told
    assert linked(at).keys() >= {"write", "heads"}
    take_over(at, folder)  # the same files give the same id
    assert values(at, "success")[0].startswith(f"Already here, with identical files, as **{id}**")
    take_over(at, shutil.copytree(theirs / "checkpoint-40", folder, dirs_exist_ok=True))  # other weights
    take_over(at, made())
    (tmp_path / "sent.zip").write_bytes(packed(made("other", encoder_layers=0)))
    take_over(at, tmp_path / "sent.zip")
    assert sorted(path.name for path in imports.iterdir()) == ["mine", "sent", "theirs", "theirs-2"]
    assert transformer.load(imports / "mine").id == transformer.load(tmp_path / "mine").id
    assert transformer.load(imports / "sent").config.kinds == ("decoder",)


@pytest.mark.parametrize("source", [
    "/nowhere/at/all", "~nobody-of-that-name/x", "../..", "a b", "<b>x</b>", "/" + "x" * 400, "/", "{0}, {0}/nowhere",
    "{0}/checkpoint-0, {0}/ours", "a/b@../x, a/b@step1", "~nobody-at-all/x, y", ", ".join(["/" + "x" * 200] * 9)])
def test_what_cannot_be_imported_is_said(add, theirs, home, source):
    (error,) = values(add(source.format(theirs)), "error")
    assert error.startswith("Refused: ")
    assert "Errno" not in error and "Refused: has" not in error.replace("  ", " ")
    assert not (home / "imports").exists()


# Several training steps as one


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


# Taking away


def test_what_was_brought_in_is_listed_and_can_be_deleted_though_it_does_not_open(open_page, made, home):
    for name in ("mine", "broken"):
        shutil.copytree(made(), home / "uploads" / name)
    (home / "uploads" / "broken" / "model.safetensors").write_bytes(b"no")
    at = open_page()
    listed = "\n".join(values(at, "markdown"))
    assert transformer.load(home / "uploads" / "mine").id in listed and "encoder-decoder" in listed
    assert "not opened" in listed
    assert not [button for button in at.button if button.label == "Delete it"]
    press(at, "checkpoints_ask_uploaded_mine")
    assert any("Delete **mine" in text and "(uploaded) from this computer?" in text for text in values(at, "markdown"))
    press(at, "checkpoints_ask_uploaded_mine")
    assert (home / "uploads" / "mine").exists()
    for name in ("mine", "broken"):
        press(press(at, f"checkpoints_ask_uploaded_{name}"), f"checkpoints_delete_uploaded_{name}")
        assert values(at, "success") == [f"Deleted: {name}"]
    assert list((home / "uploads").iterdir()) == []
    assert any("Nothing yet" in text for text in values(at, "caption"))


@pytest.mark.parametrize("folder", [
    "checkpoints/translate", "outside", "home/runs/kept", "home/uploads/../../outside", "home/uploads",
    "home/uploads/link"])
def test_nothing_else_can_be_deleted(made, home, tmp_path, folder):
    made("outside")
    for name in ("runs", "uploads"):
        (home / name).mkdir(parents=True)
    shutil.copytree(tmp_path / "outside", home / "runs" / "kept")
    (home / "uploads" / "link").symlink_to(tmp_path / "outside")
    place = ROOT / folder if folder.startswith("checkpoints") else tmp_path / folder
    with pytest.raises(ValueError, match="was neither imported nor kept here"):
        delete_checkpoint(place)
    assert place.exists()


def test_of_a_checkpoint_that_is_deleted_nothing_is_left_to_its_keeper(made, home):
    (home / "checkpoints").mkdir(parents=True)
    for name in ("gone", "stays"):
        shutil.copytree(made(name), home / "checkpoints" / name)
    run_files.write_json(home / "keepers.json", dict.fromkeys(("gone", "stays"), visitors.digest("my own key")))
    delete_checkpoint(home / "checkpoints" / "gone")
    assert run_files.read_json(home / "keepers.json") == {"stays": visitors.digest("my own key")}


def test_on_a_shared_server_students_are_told_who_may(open_page, made, home, monkeypatch):
    monkeypatch.setenv("HEADSUP_SHARED", "1")
    shutil.copytree(made(), home / "uploads" / "mine")
    at = open_page()
    assert "only the teacher" in values(at, "info")[0]
    assert "available" not in values(at, "info")[0]
    assert not at.file_uploader
    assert not [button for button in at.button if "delete" in (button.key or "") or "_ask_" in (button.key or "")]
    with pytest.raises(ValueError, match="only the teacher"):
        delete_checkpoint(home / "uploads" / "mine")
