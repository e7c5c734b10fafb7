"""What is held once for all visitors."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from transformer.checkpoints.checkpoint import describe
from ui.state import caches


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """The time by the monotonic clock, to be changed."""
    now = [100.0]
    monkeypatch.setattr(caches.time, "monotonic", lambda: now[0])
    return now


def test_a_checkpoint_that_is_still_in_use_is_not_read_a_second_time(translator, tmp_path):
    def copy(name):
        folder = shutil.copytree(translator.description.folder, tmp_path / name)
        return caches.opened(folder, describe(folder).id)

    mine, ids = copy("mine"), set()
    for at in range(caches.MOST_OPENED):
        ids.add(copy(str(at)).id)
    assert len(ids) == caches.MOST_OPENED
    assert caches.opened(tmp_path / "mine", mine.id) is mine
    (folder := tmp_path / "mine" / "manifest.json").write_bytes(folder.read_bytes() + b"\n")
    assert caches.opened(tmp_path / "mine", describe(tmp_path / "mine").id) is not mine  # other files, another id


def test_what_many_ask_for_is_made_once_a_second_and_not_at_once_again_if_it_takes_longer(clock):
    made, key = [], ("test", object())

    def ask(**how):
        return caches.shared(key, lambda: made.append(1) or len(made), **how)

    assert [ask(), ask(), ask(fresh=True), ask()] == [1, 1, 2, 2]
    clock[0] += caches.SHARED + 0.5
    assert ask() == 3
    made, key = [], ("slow", object())

    def make():
        clock[0] += caches.SHARED * 3
        made.append(1)
        return len(made)

    assert [caches.shared(key, make) for _ in range(3)] == [1, 1, 1]


def test_who_asks_while_it_is_made_is_given_the_same():
    making, go_on, made, key = threading.Event(), threading.Event(), [], ("at once", object())

    def make():
        making.set()
        assert go_on.wait(60)
        made.append(1)
        return len(made)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(caches.shared, key, make)
        assert making.wait(60)
        second = pool.submit(caches.shared, key, make)
        go_on.set()
        assert (first.result(60), second.result(60), len(made)) == (1, 1, 1)
