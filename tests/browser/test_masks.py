"""Masks in Chromium: one mask large with what chooses it on one screen, and boxes that say what they are for."""


def test_the_mask_and_what_chooses_it_are_on_the_first_screen(visit, windows, reached):
    page = visit("/masks")
    for _, height in windows(page):
        for label, name in (("Causal", "causal"), ("Source padding", "source"), ("Cross", "cross"),
                            ("Target padding", "target"), ("Target and causal", "decoder")):
            chooser = page.get_by_role("radiogroup", name="Mask").get_by_role("radio", name=label, exact=True)
            chooser.click()
            reached(page, mask=name)
            picture = page.locator(f".st-key-masks_{name}_mask .nsewdrag").first
            picture.wait_for()
            for box in (chooser.bounding_box(), picture.bounding_box()):
                assert box["y"] >= 0
                assert box["y"] + box["height"] <= height
            assert picture.bounding_box()["height"] >= 200
            assert picture.bounding_box()["width"] >= 200


def test_a_switch_is_on_the_screen_with_the_picture_that_it_changes(visit, windows, reached):
    page = visit("/masks")
    switch = page.get_by_text("Causal mask", exact=True)
    for at, (_, height) in enumerate(windows(page)):
        picture = page.locator(".st-key-masks_changed .nsewdrag").first
        picture.wait_for()
        switch.evaluate("one => one.scrollIntoView({ block: 'start' })")
        page.locator('[data-testid="stMain"]').evaluate("one => one.scrollBy(0, -80)")
        for box in (switch.bounding_box(), picture.bounding_box()):
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height
        switch.click()
        reached(page, causal="off" if at % 2 else "on")


def test_boxes_for_sentences_are_folded_away_and_labelled_on_a_telephone(visit, page, reached):
    page.set_viewport_size({"width": 390, "height": 844})
    visit("/masks")
    assert not page.get_by_label("English 1").is_visible()
    page.get_by_role("button", name="Your sentences").click()
    for row in (1, 2, 3, 4):
        for language in ("English", "French"):
            assert page.locator("label").filter(has_text=f"{language} {row}").is_visible()
    box = page.get_by_label("English 2")
    box.fill("Go on.")
    box.press("Enter")
    reached(page, source2="Go on.")
