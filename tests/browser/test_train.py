"""The Train page in a real browser: a small run from the first press to the last, and curves that grow."""

import contextlib
import json
import os
import re
import shutil
import signal
import time

import orjson
import pytest
from playwright.sync_api import expect

from transformer.jobs import run_files
from transformer.jobs.launch import alive, progress, record, stop

from .conftest import address, go, reached, settle, wait_until


@pytest.fixture
def server(serve, tmp_path):
    """A server of this test's own, which it may kill: server() starts it anew on the same port."""
    started = []

    def server():
        log = tmp_path / f"log-{len(started)}.txt"
        port = re.search(r":(\d+)", started[0][1])[1] if started else "0"
        started.append(serve(log, "ui/server/serve.py", "--port", port,
                             HEADSUP_HOME=str(tmp_path / "home"), OMP_NUM_THREADS="1"))
        return started[-1]

    yield server
    for process, _ in started:
        process.kill()
        process.wait()
    for folder in (tmp_path / "home" / "runs").glob("[!.]*"):
        stop(folder)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"The {adjective} {animal} {verb} the house.\n" for adjective in ("old", "new", "red")
                            for animal in ("dog", "cat", "hen") for verb in ("sees", "likes", "leaves")) * 20)
    return path


def points(page):
    """How many points of the training loss the curves have drawn."""
    return int(page.locator(".run-curves[data-points]").get_attribute("data-points"))


@pytest.mark.rare("a server that is killed under a run")
def test_a_run_is_started_watched_through_a_reload_and_a_killed_server_stopped_and_gone_on_with(
        server, corpus, page, tmp_path):
    process, url = server()
    go(page, f"{url}/train?view=new&task=language-model&preset=shakespeare")
    page.get_by_text("Sizes and training").click()
    for label, value in (("d_model", "16"), ("n_heads", "2"), ("decoder_layers", "2"), ("d_ff", "16"),
                         ("max_len", "32"), ("steps", "50000"), ("batch_tokens", "64"), ("eval_every", "100"),
                         ("save_every", "20"), ("Any other setting, one per line", f"corpus={corpus}"),
                         ("Name of the run", "small")):
        box = page.get_by_role("textbox", name=label) if "line" in label else page.get_by_label(label, exact=True)
        box.fill(value)
        box.press("Control+Enter" if "line" in label else "Enter")
        settle(page)
    page.get_by_role("button", name="Start", exact=True).click()
    folder = tmp_path / "home" / "runs" / "small"
    page.locator(".run-curves .loss canvas").wait_for()
    wait_until(page, lambda: points(page) >= 3)
    assert address(page)["run"] == "small"
    assert "key" not in address(page)
    assert json.loads((folder / "config.json").read_text())["model"]["d_model"] == 16  # as it was typed

    page.reload(wait_until="domcontentloaded")
    page.locator(".run-curves .loss canvas").wait_for()
    drawn = points(page)
    assert drawn >= 3
    wait_until(page, lambda: points(page) > drawn)

    process.kill()
    process.wait()
    step = progress(folder).step
    wait_until(page, lambda: progress(folder).step > step)  # nobody watches, and it goes on
    server()
    page.goto(f"{url}/train?view=watch&run=small", wait_until="domcontentloaded")
    page.locator(".run-curves .loss canvas").wait_for()
    button = page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True)
    expect(button).to_be_enabled()  # the browser has kept the key
    wait_until(page, lambda: points(page) > drawn)
    button.click()
    expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
    wait_until(page, lambda: not alive(folder))  # it has said so, and ends
    drawn = points(page)
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("Training", exact=True)).to_be_visible()
    wait_until(page, lambda: points(page) > drawn)
    page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
    steps = [row["step"] for row in run_files.read(folder / "metrics.jsonl") if "loss" in row]
    assert steps == sorted(set(steps))
    wait_until(page, lambda: points(page) == len(steps))


@pytest.fixture
def quick(app):
    """The folder of the run that the card of a quick task starts, which ends with the test."""
    folder = app[2] / "runs" / "reverse"
    yield folder
    stop(folder)
    shutil.rmtree(folder)


def losses(folder):
    """Step -> the loss that a run has written."""
    return {row["step"]: row["loss"] for row in run_files.read(folder / "metrics.jsonl") if "loss" in row}


@contextlib.contextmanager
def halted(folder):
    """While a run stands still: it may be over before a slow page has caught up."""
    pid = record(folder)["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.own_visitor
def test_a_task_of_a_minute_is_trained_from_its_card_watched_and_stopped(visit, page, quick, complaints):
    """Also where the screen is not handed some points, and nobody hears it ask for them before the last message."""
    lost = []

    def between(socket):
        server = socket.connect_to_server()

        def hears(message):
            if b"missing" in message and (not lost or time.monotonic() - lost[0] < 2.5):
                lost.append(time.monotonic())
            else:
                server.send(message)

        socket.on_message(hears)
        server.on_message(socket.send)

    page.route_web_socket("**/_stcore/stream", between)
    visit("/train?view=now")
    page.locator(".st-key-train_quick_reverse button").click()
    reached(page, view="watch", run="reverse")
    screen = page.locator(".forming[data-drawn]")
    expect(screen).to_have_count(1)
    stops = page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True)
    points = "root => Object.values(root.view.points).map(({ train }) => [...(train.step?.numbers ?? [])])"
    wait_until(page, lambda: len(losses(quick)) > 4)
    with halted(quick):
        came = sorted(losses(quick))
        wait_until(page, lambda: page.locator(".forming").evaluate(points) == [came])
        page.locator(".forming").evaluate("""root => {
          for (const run of Object.values(root.view.points)) Object.assign(run, { train: {}, held_out: {} });
        }""")
    wait_until(page, lambda: len(losses(quick)) > len(came))
    with halted(quick):
        wait_until(page, lambda: lost)  # with the next points
        stops.click()
    expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
    expect(stops).to_have_count(0)
    steps = losses(quick)
    assert steps[max(steps)] < steps[min(steps)]
    drawn = "root => Math.max(...root.view.loss.chart.plot.data.slice(1).map(([steps]) => steps.at(-1)))"
    newest = max(row["step"] for row in run_files.read(quick / "metrics.jsonl"))  # it may be of held-out text
    wait_until(page, lambda: page.locator(".forming").evaluate(drawn) == newest, seconds=60)
    wait_until(page, lambda: page.locator(".forming").evaluate(points) == [sorted(steps)])  # those that were lost, too
    assert lost
    assert complaints == []


@pytest.mark.rare("messages that are lost")
@pytest.mark.own_visitor
def test_curves_are_asked_for_again_where_nobody_heard(app_url, theirs, page):
    """Streamlit drops what a component says when it runs again at that moment, and calls it anew only for data that
    are others."""
    add(theirs, 1, 20)
    came, lost = [], []

    def between(socket):
        server = socket.connect_to_server()
        socket.on_message(lambda message: lost.append(message) if b"missing" in message and not lost else
                          server.send(message))
        server.on_message(lambda message: (came.append(b"run-curves" in message), socket.send(message)))

    def late(route):
        wait_until(page, lambda: sum(came) > 1)  # the second message of the curves has none of the points of the first
        route.continue_()

    page.route_web_socket("**/_stcore/stream", between)
    page.route("**/BidiComponent*.js", late)
    page.goto(f"{app_url}/train?view=watch&run=theirs", wait_until="domcontentloaded")
    page.locator(".run-curves .loss canvas").wait_for()
    wait_until(page, lambda: points(page) == 20)
    assert lost


def write_run(home, name, count):
    folder = home / "runs" / name
    folder.mkdir(parents=True)
    run_files.write_json(folder / "config.json", {"model": {}, "train": {"task": "language-model"}})
    run_files.write_json(folder / "status.json", {"state": "finished", "step": 10 * count, "steps": 10 * count})
    add(folder, 1, count)
    return folder


def add(folder, first, last):
    with open(folder / "metrics.jsonl", "ab") as file:
        for i in range(first, last + 1):
            file.write(orjson.dumps({"step": 10 * i, "seconds": i / 2, "loss": 4 / (1 + i / 1000), "lr": 1e-3,
                                     "grad_norm": 1.0, "tokens_per_sec": 5e3}) + b"\n")


@pytest.mark.rare("the zoom of one chart")
def test_a_part_of_the_curves_is_looked_at_and_the_whole_again(visit, app):
    run = write_run(app[2], "parts", 400)
    page = visit("/train?view=runs&over=parts")
    curves = page.locator(".run-curves")
    expect(curves).to_have_attribute("data-points", "400")
    across = curves.get_by_label("x-axis", exact=True)
    assert across.locator("option").all_text_contents() == ["step", "time in training"]
    box, readout = page.locator(".run-curves .loss .u-over").bounding_box(), page.locator(".run-curves .readout")

    def step_at(share):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 60)
        return int(re.search(r"step ([\d,]+)", readout.text_content())[1].replace(",", ""))

    assert step_at(0.5) == pytest.approx(2_000, abs=40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 60, steps=5)
    page.mouse.up()
    whole = curves.get_by_role("button", name="Whole")
    expect(whole).to_be_visible()
    box = page.locator(".run-curves .loss .u-over").bounding_box()
    assert step_at(0.01) == pytest.approx(2_010, abs=40)
    assert step_at(0.99) == pytest.approx(2_990, abs=40)
    whole.click()
    expect(whole).to_be_hidden()
    assert step_at(0.5) == pytest.approx(2_000, abs=40)
    page.mouse.move(0, 0)
    for box_name in ("log y-axis", "log x-axis"):
        curves.get_by_label(box_name).check()
    across.select_option("time in training")
    assert readout.text_content().startswith("step 4,000")
    shutil.rmtree(run)


def test_curves_say_the_numbers_of_the_file_under_the_pointer_and_the_keys_and_grow(visit, app, theirs):
    home = app[2]
    long, short = write_run(home, "long", 5_000), write_run(home, "short", 100)
    page = visit("/train?view=runs&over=long,short")
    page.locator(".run-curves .loss canvas").wait_for()
    expect(page.locator(".run-curves")).to_have_attribute("data-points", "5100")
    assert page.locator(".run-curves").get_attribute("data-kinds") == "training, smoothed"
    readout = page.locator(".run-curves .readout")
    assert readout.text_content().splitlines()[0].startswith("long: step 50,000 · loss 0.6667 ·")
    canvas = page.locator(".run-curves .loss canvas")
    page.locator(".run-curves .figures").focus()
    page.keyboard.press("Home")
    assert readout.text_content().splitlines()[0].startswith("long: step 10 · loss 3.996 ·")
    page.keyboard.press("End")
    assert "short: step 1,000 · loss 3.636" in readout.text_content()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 150)
    step = int(re.search(r"long: step ([\d,]+)", readout.text_content())[1].replace(",", ""))
    loss = float(re.search(r"loss ([\d.]+)", readout.text_content())[1])
    assert 20_000 < step < 30_000
    assert loss == pytest.approx(4 / (1 + step / 10_000), rel=1e-3)
    page.get_by_role("button", name="long", exact=True).last.click()
    expect(page.locator(".run-curves")).to_have_attribute("data-points", "100")
    assert json.loads((long / "status.json").read_text())["steps"] == 50_000
    add(theirs, 1, 20)
    page = visit("/train?view=watch&run=theirs")
    curves = page.locator(".run-curves")
    expect(curves).to_have_attribute("data-points", "20")
    stop = page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True)
    expect(stop).to_be_disabled()  # by somebody else
    add(theirs, 21, 25)
    expect(curves).to_have_attribute("data-points", "25")  # they grow while one looks
    for folder in (long, short):
        shutil.rmtree(folder)
