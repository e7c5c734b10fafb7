"""Checkpoints brought in by a real browser: what is chosen, kept, refused and taken away."""

import shutil

import pytest
from playwright.sync_api import expect

from transformer.basics.folders import write_manifest
from transformer.checkpoints.checkpoint import describe

from .conftest import reached, settle

ADD = "/checkpoints?view=add"


@pytest.fixture
def zipped(shipped, tmp_path):
    """The zip of a checkpoint that comes with the app, with another card: the same files are not kept twice."""
    def zipped(name, called):
        folder = shutil.copytree(shipped(name).description.folder, tmp_path / name,
                                 ignore=shutil.ignore_patterns("snapshots"))
        (folder / "README.md").write_text("another card")
        write_manifest(folder)
        return shutil.make_archive(str(tmp_path / called), "zip", folder.parent, folder.name)

    return zipped


def choose(page, *files):
    page.locator("input[type=file]").set_input_files(list(files))
    button = page.locator("button:enabled", has_text="Check and keep")
    expect(button).to_have_count(1)  # while the page is built anew, the one that was there is beside it
    settle(page)
    button.click()


def test_a_file_is_refused_and_a_zip_is_kept_read_about_opened_and_deleted(visit, zipped, tmp_path, complaints):
    (tmp_path / "model.safetensors").write_bytes(b"\x80\x04\x95" + bytes(100))
    (tmp_path / "config.json").write_text("{}")
    page = visit(ADD)
    choose(page, tmp_path / "model.safetensors", tmp_path / "config.json")
    expect(page.get_by_test_id("stAlertContentError")).to_contain_text("Refused: model.safetensors is a pickle")
    expect(page.get_by_role("button", name="Check and keep")).to_be_disabled()
    choose(page, zipped("write", "sent"))
    id = f"sent@{describe(tmp_path / 'write').id.split('@')[1]}"
    expect(page.get_by_test_id("stAlertContentSuccess")).to_contain_text(id)
    expect(page.get_by_test_id("stFileUploaderFile")).to_have_count(0)  # the upload is no longer held
    main = page.get_by_test_id("stMain")
    main.get_by_role("button", name="Its card").click()
    reached(page, view="card")
    expect(main).to_contain_text("sent@")
    assert "sent" in page.url
    main.get_by_role("link", name="Write").click()
    page.wait_for_url("**/write?*sent*")
    settle(page)
    expect(page.locator(".attention-view .main h2").first).to_contain_text("Decoder attention")
    page = visit(ADD)
    page.get_by_role("button", name="Delete", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Keep it")).to_be_focused()  # a second press deletes nothing
    expect(page.get_by_role("button", name="Delete it")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Delete it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing yet.")).to_be_visible()
    assert complaints == []
