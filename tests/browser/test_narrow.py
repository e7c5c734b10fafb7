"""What a telephone, 360 pixels wide, is sent: little."""

import pytest

from benchmarks.visit import Count

from .conftest import SETTLED, WAIT_MS, listen_for_others

FIRST, STEP = 1_500_000, 50_000  # bytes: a first page, and a step
SIZE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def phone(chromium):
    """A telephone's page, which is touched, of somebody who was never here."""
    context = chromium.new_context(viewport=SIZE, device_scale_factor=2, has_touch=True, is_mobile=True)
    context.add_init_script(SETTLED)
    context.set_default_timeout(WAIT_MS)
    listen_for_others(context)
    yield context.new_page()
    context.close()


def test_a_first_page_and_a_step_weigh_little(phone, app_url, settle, reached):
    count = Count(phone.context.new_cdp_session(phone))

    def passed():
        return sum(file["wire"] for file in count.files.values()) + count.said  # messages as they are unpacked

    phone.goto(app_url + "/translate?text=I+like+red+wine.&step=4", wait_until="domcontentloaded")
    settle(phone)
    first = passed()
    assert 500_000 < first <= FIRST
    phone.locator('[data-action="step"]').tap()
    reached(phone, step=5)
    assert 0 < passed() - first <= STEP
