"""What a step costs on the way to a browser."""

import json


def test_a_step_sends_numbers_and_no_script(visitor):
    client = visitor().open("translate", text="The cat sat on the mat.", step="3")
    move = {"move": {"index": 4, "number": 1, "choices": []}}
    client.send(translate_screen=("json_value", json.dumps(move)))
    assert 0 < client.sizes["bidi_component"] < 9_000
    assert client.sizes.total() < 15_000
    assert not {"download_button", "button_group"} & set(client.sizes)  # what is below the picture is closed


def test_what_is_open_below_the_picture_comes_with_every_step(visitor):
    client = visitor().open("translate", text="The cat sat on the mat.", step="3", beam="2")
    move = {"move": {"index": 4, "number": 1, "choices": []}}
    client.send(translate_screen=("json_value", json.dumps(move)))
    assert {"plotly_chart", "download_button", "button_group"} <= set(client.sizes)
