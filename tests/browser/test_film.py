"""Films of heads forming, made in a browser: they play, and their frames are the snapshots."""

import io
from base64 import b64encode
from itertools import pairwise

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import expect

from transformer.basics.paths import ROOT

from .conftest import saved

FORMING = "/train?view=watch&run=checkpoints/translate"
SNAPSHOTS = len([*(ROOT / "checkpoints" / "translate" / "attention").glob("*.safetensors")])
# A browser may say that it has sought before it shows the frame: what was shown before is drawn again for a while.
PLAYED = """async (base64) => {
  const video = document.createElement("video");
  video.muted = true;
  const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  video.src = URL.createObjectURL(new Blob([bytes]));
  const after = (name) => new Promise((done, fail) => { video[`on${name}`] = done; video.onerror = fail; });
  await after("loadeddata");
  const size = { width: video.videoWidth, height: video.videoHeight };
  const context = Object.assign(document.createElement("canvas"), size).getContext("2d");
  const at = async (seconds) => {
    video.currentTime = seconds;
    await after("seeked");
  };
  const pixels = () => {
    context.drawImage(video, 0, 0);
    return context.getImageData(0, 0, size.width, size.height).data;
  };
  await at(0.01);
  const first = pixels();
  await at(video.duration - 0.05);
  let off = 0;
  for (let tries = 0; off === 0 && tries < 100; tries++) {
    const last = pixels();
    off = first.reduce((sum, value, i) => sum + Math.abs(value - last[i]), 0) / first.length;
    if (off === 0) await new Promise((done) => setTimeout(done, 50));
  }
  return { size: [size.width, size.height], duration: video.duration, off, corner: [...first.slice(0, 3)] };
}"""


@pytest.fixture
def forming(visit):
    """The view of heads forming, with its Save menu filled: the view and the menu."""
    page = visit(FORMING)
    view = page.locator(".forming[data-drawn]")
    saves = view.get_by_label("Save", exact=True)
    expect(saves.locator("option", has_text="film, GIF")).to_be_attached()
    return view, saves


def kept(page, saves, kind):
    name, data = saved(page, lambda: saves.select_option(kind))
    assert name.endswith(f"-forming-cross-sentence1-film.{kind}")
    return data


def test_a_gif_that_fails_says_so_one_can_be_stopped_and_the_next_has_every_snapshot(page, forming):
    view, saves = forming
    page.route("**/scripts/make-*.js", lambda route: route.abort())
    saves.select_option("gif")
    expect(view.get_by_role("alert")).to_contain_text("No GIF was made")
    page.unroute("**/scripts/make-*.js")

    held, downloads = [], []
    page.on("download", lambda download: downloads.append(download))
    page.route("**/scripts/gifenc-*.js", lambda route: held.append(route))
    with page.expect_request("**/scripts/gifenc-*.js"):
        saves.select_option("gif")
    bar = view.get_by_role("progressbar", name="Making the GIF")
    expect(bar).to_be_visible()
    view.get_by_role("button", name="Cancel").click()
    held.pop().continue_()
    page.unroute("**/scripts/gifenc-*.js")
    expect(bar).to_have_count(0)

    data = kept(page, saves, "gif")
    expect(view.locator(".film")).to_have_count(0)
    assert len(downloads) == 1
    with Image.open(io.BytesIO(data)) as film:
        assert (film.n_frames, film.size, film.info["loop"]) == (SNAPSHOTS, (1280, 720), 0)
        frames, lengths = [], []
        for at in range(SNAPSHOTS):
            film.seek(at)
            frames.append(film.convert("RGB"))
            lengths.append(film.info["duration"])
    assert lengths == [200] * (SNAPSHOTS - 1) + [1200]  # the last one stays
    assert all(ImageChops.difference(a, b).getbbox() for a, b in pairwise(frames))
    assert frames[0].getpixel((2, 2)) == frames[-1].getpixel((2, 2)) == (255, 255, 255)


@pytest.mark.rare("encoders that not every Chromium has; the frames are those of the GIF")
@pytest.mark.parametrize("kind", ["webm", "mp4"])
def test_a_video_plays_and_ends_elsewhere_than_it_began(page, forming, kind):
    _, saves = forming
    if not saves.locator(f"option[value={kind}]").count():
        pytest.skip(f"this Chromium has no encoder for {kind}")
    film = page.evaluate(PLAYED, b64encode(kept(page, saves, kind)).decode())
    assert film["size"] == [1280, 720]
    assert film["duration"] == pytest.approx((SNAPSHOTS + 5) / 5, abs=0.25)
    assert film["off"] > 3
    assert min(film["corner"]) > 245
