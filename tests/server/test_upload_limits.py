"""Files that visitors send: from whom they are taken, how many, and that they go with their visitor."""

import asyncio
from collections import Counter
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

from tests.server.conftest import put
from tests.waiting import until
from ui.server import upload_limits
from ui.state.worker_counters import WorkerCounters

MB = 10**6


async def status(layer: upload_limits.UploadLimits, session: str, length: int) -> int:
    """Of a file of that length, which is empty, of a session."""
    async def nothing() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    sent = []
    await layer({"type": "http", "method": "PUT", "path": f"/_stcore/upload_file/{session}/1",
                 "headers": [(b"content-length", str(length).encode())]}, nothing,
                lambda message: asyncio.sleep(0, sent.append(message)))
    return sent[0]["status"]


@pytest.fixture
def held(monkeypatch) -> dict[str, dict[str, SimpleNamespace]]:
    """What the process holds of files, on whose pages there is a place for them."""
    held = {}
    monkeypatch.setattr(upload_limits, "get_instance", lambda: SimpleNamespace(
        uploaded_file_mgr=SimpleNamespace(file_storage=held)))
    monkeypatch.setattr(upload_limits, "_shows_uploader", lambda runtime, session: True)
    return held


def resident(server):
    """Megabytes of the server's process."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1e3


def test_files_are_taken_only_where_a_page_asks_for_them(server):
    with server.visit() as stranger:
        stranger.open("checkpoints", view="add")  # where only the teacher has a place for files
        assert put(server, stranger.session, 10).status == 403
        stranger.session = "0-0-0-0"
        assert put(server, stranger.session, 10).status == 403
    cookie = server.sign_in()
    with server.visit(Cookie=cookie) as teacher:
        teacher.open("translate")
        assert put(server, teacher.session, 10).status == 403
        teacher.open("checkpoints", view="add")
        assert put(server, teacher.session, 10).status == 204
        teacher.open("translate")  # and no longer after the page has gone
        assert put(server, teacher.session, 10).status == 403


def test_one_visitors_files_together_have_a_limit(server):
    with server.visit(Cookie=server.sign_in()) as teacher:
        teacher.open("checkpoints", view="add")
        assert put(server, teacher.session, 2 * MB).status == 204
        refused = put(server, teacher.session, 0, name="1", claimed=str(upload_limits.MOST_OF_ONE - MB))
        assert refused.status == 413 and "400.0 MB" in refused.text
        assert put(server, teacher.session, 0, name="1", claimed="-5").status in (400, 411)
        assert put(server, teacher.session, 0, name="1", claimed="").status == 411


def test_all_visitors_files_together_have_a_limit_and_what_is_on_its_way_counts(held):
    held["here"] = {"0": SimpleNamespace(data=bytes(30))}
    arriving = asyncio.Event()

    async def take(scope, receive, send):
        if "/one/" in scope["path"]:
            await arriving.wait()
        await send({"status": 204})

    async def scene():
        coming = asyncio.create_task(status(layer, "one", 40))
        await asyncio.sleep(0)
        found = [await status(layer, *asked) for asked in (("one", 20), ("other", 40), ("other", 30))]
        arriving.set()
        return [*found, await coming, await status(layer, "other", 40)]

    layer = upload_limits.UploadLimits(take, most_of_one=50, most_of_all=100)
    assert asyncio.run(scene()) == [413, 413, 204, 204, 204]
    assert not upload_limits.coming


def test_what_another_worker_has_just_let_in_counts(held, monkeypatch):
    """Before its next beat."""
    shared = WorkerCounters(2)
    monkeypatch.setattr(upload_limits, "counters", lambda: shared)
    monkeypatch.setattr(upload_limits, "coming", Counter())

    async def take(scope, receive, send):
        shared.mine = 1  # while it comes, the other is asked
        upload_limits.coming.clear()
        assert await status(upload_limits.UploadLimits(None, most_of_all=100), "b", 60) == 413
        shared.mine, upload_limits.coming["a"] = 0, 60
        await send({"status": 204})

    assert asyncio.run(status(upload_limits.UploadLimits(take, most_of_all=100), "a", 60)) == 204


def test_who_leaves_is_cleaned_up_after_though_others_leave_all_the_time(monkeypatch):
    cleaned = []
    monkeypatch.setattr(upload_limits, "AWAY_SECONDS", -0.95)  # and a second
    monkeypatch.setattr(upload_limits, "clean", lambda: cleaned.append(True))

    async def leave(scope, receive, send):
        pass

    async def scene():
        layer = upload_limits.UploadLimits(leave)
        while len(cleaned) < 2:
            await layer({"type": "websocket"}, None, None)
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_who_sends_nothing_more_of_a_file_has_gone(monkeypatch):
    monkeypatch.setattr(upload_limits, "SILENT_SECONDS", 0.01)

    async def silent():
        await asyncio.Event().wait()

    assert asyncio.run(upload_limits._more(silent)) == {"type": "http.disconnect"}


def test_a_session_that_cannot_be_cleared_keeps_no_other(monkeypatch):
    cleared = []

    def session(name, shutdown):
        state = SimpleNamespace(clear=lambda: cleared.append(name))
        return SimpleNamespace(session=SimpleNamespace(shutdown=shutdown, session_state=state))

    class Ended(dict):
        _data = MappingProxyType({"bad": session("bad", lambda: 1 / 0), "good": session("good", lambda: None)})

        def expire(self):
            cleared.append("expired")

    storage = SimpleNamespace(_session_storage=SimpleNamespace(_cache=Ended()))
    monkeypatch.setattr(upload_limits, "get_instance", lambda: SimpleNamespace(_session_mgr=storage))
    upload_limits.clean()
    assert cleared == ["good", "expired"]


def test_the_memory_of_who_has_left_is_given_back(watched):
    cookie = watched.sign_in()
    for size in (1, 40 * MB):  # the first makes the server import and allocate what any upload does
        before = resident(watched)
        with watched.visit(Cookie=cookie) as teacher:
            teacher.open("checkpoints", view="add")
            for name in "0123":
                assert put(watched, teacher.session, size, name=name, cookie=cookie).status == 204
        held = resident(watched)
    assert held > 1.25 * before
    until(lambda: resident(watched) <= 1.1 * before,
          lambda: f"{before:.0f} MB before, {resident(watched):.0f} MB after", seconds=60)
