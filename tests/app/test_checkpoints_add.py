"""Bringing in checkpoints on the page Checkpoints, without a browser."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

import transformer
from transformer.checkpoint import save
from transformer.config import ModelConfig
from transformer.huggingface.exporting import export_model
from transformer.jobs import run_files
from transformer.model.models import Transformer
from ui.access import visitors
from ui.access.removal import take_away
from ui.figures import markdown_text

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 24, "max_len": 40}


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


@pytest.fixture
def send():
    """send(at, ("a.zip", content), ...): choose files and press the button."""
    def send(at, *files, name="", ids=False):
        number = at.session_state["checkpoints_uploads"]
        at.file_uploader[0].set_value([(file, content, "application/octet-stream") for file, content in files])
        at.text_input(key=f"checkpoints_name_{number}").set_value(name)
        at.toggle(key="checkpoints_upload_ids").set_value(ids)
        at.run()
        at.button(key="checkpoints_upload").click().run()
        assert not at.exception, at.exception[0].message
        return at

    return send


def said(at, kind):
    return [element.value for element in getattr(at, kind)]


def linked(at):
    """The pages that are linked to and the checkpoint each link names."""
    links = [element.proto for element in at.get("page_link")]
    return {link.page.rsplit("/", 1)[-1]: link.query_string for link in links}


def test_it_opens_with_nothing_brought_in(visit):
    at = visit("checkpoints", view="add")
    assert at.query_params["view"] == "add"
    assert at.button(key="checkpoints_upload").disabled
    assert at.button(key="checkpoints_import").disabled
    assert any("Nothing yet" in text for text in said(at, "caption"))
    assert at.file_uploader[0].accept_multiple_files
    assert at.file_uploader[0].proto.max_upload_size_mb == 300


@pytest.mark.parametrize(("settings", "page"), [
    ({}, "translate"), ({"encoder_layers": 0}, "write"),
    ({"decoder_layers": 0, "pooling": "mean", "n_classes": 3}, "classify")])
def test_a_zip_is_kept_and_linked_to_where_it_can_be_seen(visit, send, made, home, settings, page):
    folder = made(**settings)
    at = send(visit("checkpoints", view="add"), ("mine.zip", packed(folder)))
    id = transformer.load(folder).id
    assert [f"Added as **{markdown_text(id)}**" in text for text in said(at, "success")] == [True]
    assert transformer.load(home / "uploads" / "mine").id == id
    links = linked(at)
    assert links.keys() == {page, "heads"}
    assert all(id.replace("@", "%40") in query or id in query for query in links.values())
    assert not at.error
    at.button(key="checkpoints_added_card").click().run()
    assert not at.exception
    assert (at.query_params["view"], at.query_params["checkpoint"]) == ("card", id)
    assert visit(page, checkpoint=id).query_params["checkpoint"] == id


def test_files_are_kept_under_the_name_given_and_the_uploader_is_empty_again(visit, send, made, home):
    files = [(path.name, path.read_bytes()) for path in made().iterdir() if path.name != "manifest.json"]
    at = send(visit("checkpoints", view="add"), *files, name="My model!")
    assert (home / "uploads" / "My-model" / "manifest.json").exists()
    assert at.session_state["checkpoints_uploads"] == 1
    assert at.button(key="checkpoints_upload").disabled
    send(at, *files, ("README.md", b"another"), name="my-MODEL")
    assert (home / "uploads" / "my-MODEL-2").exists()


def test_files_that_are_there_already_are_not_kept_twice(visit, send, made, home):
    at = send(visit("checkpoints", view="add"), ("mine.zip", packed(made())))
    id = transformer.load(home / "uploads" / "mine").id
    send(at, ("again.zip", packed(made())), name="again")
    (told,) = said(at, "success")
    assert told.startswith(f"Already here, with identical files, as **{markdown_text(id)}** (uploaded)")
    assert all(id.replace("@", "%40") in query or id in query for query in linked(at).values())
    assert [path.name for path in (home / "uploads").iterdir()] == ["mine"]


def test_no_upload_is_called_as_what_comes_with_the_app(visit, send, made, home):
    send(visit("checkpoints", view="add"), ("x.zip", packed(made())), name="Write")
    assert [path.name for path in (home / "uploads").iterdir()] == ["Write-2"]


@pytest.mark.parametrize(("name", "content"), [
    ("<b>$x$[a](b).bin", b"\x80\x04\x95" + bytes(20)), ("notes.txt", b"hello"), ("x.zip", b"PK\x03\x04" + bytes(9))])
def test_what_is_refused_is_said_in_a_sentence_and_not_kept(visit, send, home, name, content):
    at = send(visit("checkpoints", view="add"), (name, content))
    (error,) = said(at, "error")
    assert error.startswith("Refused: ")
    assert "\n" not in error
    assert "<b>" not in error.replace("\\<", "") and "$x" not in error.replace("\\$", "")
    assert not at.success
    assert list((home / "uploads").iterdir()) == []
    at.run()
    assert not at.error  # said once


def theirs(tmp_path):
    """A Hugging Face folder without a tokenizer."""
    settings = {**SIZES, "vocab_size": 50, "encoder_layers": 0, "positions": "learned", "activation": "gelu_tanh"}
    config = ModelConfig(**settings, pad_id=None, embedding_scale=False)
    save(tmp_path / "decoder", Transformer(config), tokenizer=None)
    return export_model(transformer.load(tmp_path / "decoder"), tmp_path / "theirs")


def take_over(at, source):
    number = at.session_state["checkpoints_imports"]
    at.text_input(key=f"checkpoints_source_{number}").set_value(str(source)).run()
    at.button(key="checkpoints_import").click().run()
    assert not at.exception, at.exception[0].message
    return at


def test_a_folder_on_this_computer_is_imported_beside_others(visit, home, tmp_path):
    folder = theirs(tmp_path)
    at = visit("checkpoints", view="add")
    take_over(at, folder)
    id = transformer.load(home / "imports" / "theirs").id
    (told,) = said(at, "success")
    assert told.startswith(f"Added as **{markdown_text(id)}**")
    assert "no tokenizer (there is none in the folder): type ids" in told.replace("\\", "")
    take_over(at, folder)  # the same files give the same id
    assert said(at, "success")[0].startswith(f"Already here, with identical files, as **{markdown_text(id)}**")
    theirs(tmp_path)  # other weights
    take_over(at, folder)
    assert sorted(path.name for path in (home / "imports").iterdir()) == ["theirs", "theirs-2"]
    assert linked(at).keys() >= {"write", "heads"}


def test_a_folder_of_ours_on_this_computer_is_brought_in_as_its_zip_is(visit, home, tmp_path, made):
    folder = made()
    take_over(visit("checkpoints", view="add"), folder)
    id = transformer.load(folder).id
    assert transformer.load(home / "imports" / "mine").id == id


def test_a_zip_on_this_computer_is_imported_too(visit, home, tmp_path, made):
    (tmp_path / "sent.zip").write_bytes(packed(made()))
    take_over(visit("checkpoints", view="add"), tmp_path / "sent.zip")
    assert transformer.load(home / "imports" / "sent").config.kinds == ("encoder", "decoder", "cross")


@pytest.mark.parametrize("source", ["/nowhere/at/all", "~nobody-of-that-name/x", "../..", "a b", "<b>x</b>",
                                    "/" + "x" * 400, "/"])
def test_what_cannot_be_imported_is_said(visit, home, source):
    at = take_over(visit("checkpoints", view="add"), source)
    (error,) = said(at, "error")
    assert error.startswith("Refused: ")
    assert "Errno" not in error and "Refused: has" not in error.replace("  ", " ")
    assert not (home / "imports").exists()


def test_a_model_that_needs_what_ours_lack_is_refused_by_name(visit, tmp_path):
    folder = theirs(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "mixtral"}))
    at = take_over(visit("checkpoints", view="add"), folder)
    assert "of type mixtral and needs experts to choose among" in said(at, "error")[0]


# Taking away


def test_what_was_brought_in_is_listed_and_can_be_deleted(visit, send, made, home):
    at = send(visit("checkpoints", view="add"), ("mine.zip", packed(made())))
    id, kind = markdown_text(transformer.load(home / "uploads" / "mine").id), markdown_text("encoder-decoder")
    assert any(id in text and kind in text for text in said(at, "markdown"))
    assert not [button for button in at.button if button.label == "Delete it"]
    at.button(key="checkpoints_ask_uploaded_mine").click().run()
    assert any("Delete **mine" in text and "(uploaded) from this computer?" in text for text in said(at, "markdown"))
    at.button(key="checkpoints_keep_uploaded_mine").click().run()
    assert (home / "uploads" / "mine").exists()
    at.button(key="checkpoints_ask_uploaded_mine").click().run()
    at.button(key="checkpoints_delete_uploaded_mine").click().run()
    assert not at.exception
    assert said(at, "success") == [markdown_text("Deleted: mine")]
    assert list((home / "uploads").iterdir()) == []
    assert any("Nothing yet" in text for text in said(at, "caption"))


def test_a_folder_that_does_not_open_can_be_deleted_too(visit, made, home):
    shutil.copytree(made(), home / "uploads" / "broken")
    (home / "uploads" / "broken" / "model.safetensors").write_bytes(b"no")
    at = visit("checkpoints", view="add")
    assert any("not opened" in text for text in said(at, "markdown"))
    at.button(key="checkpoints_ask_uploaded_broken").click().run()
    at.button(key="checkpoints_delete_uploaded_broken").click().run()
    assert not (home / "uploads" / "broken").exists()


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
        take_away(place)
    assert place.exists()


def test_of_a_checkpoint_that_is_deleted_nothing_is_left_to_its_keeper(made, home):
    (home / "checkpoints").mkdir(parents=True)
    for name in ("gone", "stays"):
        shutil.copytree(made(name), home / "checkpoints" / name)
    run_files.write_json(home / "keepers.json", dict.fromkeys(("gone", "stays"), visitors.digest("my own key")))
    take_away(home / "checkpoints" / "gone")
    assert run_files.read_json(home / "keepers.json") == {"stays": visitors.digest("my own key")}


# On a server that others use


@pytest.fixture
def shared(monkeypatch):
    """As if the server had been started for others too."""
    monkeypatch.setenv("HEADSUP_SHARED", "1")


def test_on_a_shared_server_students_are_told_who_may(visit, shared, made, home):
    shutil.copytree(made(), home / "uploads" / "mine")
    at = visit("checkpoints", view="add")
    assert "only the teacher" in said(at, "info")[0]
    assert "available" not in said(at, "info")[0]
    assert not at.file_uploader
    assert not [button for button in at.button if "delete" in (button.key or "") or "_ask_" in (button.key or "")]
    with pytest.raises(ValueError, match="only the teacher"):
        take_away(home / "uploads" / "mine")


def test_the_teacher_may_but_names_no_folder_of_the_server(visit, send, shared, made, home, tmp_path, cookies):
    folder = theirs(tmp_path)
    cookies[visitors.TEACHER] = visitors.teacher_cookie()
    at = visit("checkpoints", view="add")
    send(at, ("mine.zip", packed(made())))
    assert (home / "uploads" / "mine").exists()
    take_over(at, folder)
    assert "models are imported by name" in said(at, "error")[0]
    assert not (home / "imports").exists()
