"""What a telephone, 360 pixels wide, is sent: little."""

from benchmarks.visit import Count

from .conftest import go, new_tab, reached

FIRST, STEP = 1_500_000, 50_000  # bytes: a first page, and a step


def test_a_first_page_and_a_step_weigh_little(chromium, app_url):
    """For a telephone, which is touched, of somebody who was never here."""
    phone = new_tab(chromium, viewport={"width": 360, "height": 740}, device_scale_factor=2, has_touch=True,
                    is_mobile=True)
    count = Count(phone.context.new_cdp_session(phone))

    def passed():
        return sum(file["wire"] for file in count.files.values()) + count.said  # messages as they are unpacked

    go(phone, app_url + "/translate?text=I+like+red+wine.&step=4")
    first = passed()
    assert 500_000 < first <= FIRST
    phone.locator('[data-action="step"]').tap()
    reached(phone, step=5)
    assert 0 < passed() - first <= STEP
    phone.context.close()
