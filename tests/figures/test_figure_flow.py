"""The picture of a flow: what is sent to be drawn, and the sentence that says it."""

import json

from ui.figures import Dot, Thread, describe_flow, flow_picture

DOTS = [Dot("logits", "decoder", 2, 1, "prediction", "the prediction", 1.0),
        Dot("decoder-0-resid_post-1", "decoder", 1, 1, "state", "after layer 0", 1.0),
        Dot("decoder-0-resid_pre-0", "decoder", 0, 0, "state", "embedding", 0.3)]
THREADS = [Thread("", "decoder-0-resid_post-1", "logits", "logits", "", "output", 1.0),
           Thread("decoder-0-1-0-1", "decoder-0-resid_pre-0", "decoder-0-resid_post-1", "decoder", "D0H1",
                  "D0H1, from a", 0.3)]


def test_what_is_drawn_goes_to_json_with_every_token_visible():
    picture = flow_picture(DOTS, THREADS, {"decoder": [(0, "▁a"), (3, "\n")]}, {"decoder": [("layer 0", 0, 1)]},
                           answer="b", chosen="logits", alt="…", dark=True)
    assert json.loads(json.dumps(picture)) == picture
    assert picture["kinds"] == ["decoder"] and picture["threads"][1]["label"] == "D0H1"
    assert picture["stacks"] == [{"name": "decoder", "bands": [["layer 0", 0, 1]], "columns": [
        {"position": 0, "label": "a"}, {"position": 3, "label": "↵"}]}]
    light = flow_picture(DOTS, THREADS, {}, {}, answer="b", chosen=None, alt="…", dark=False)
    assert light["colours"]["decoder"] != picture["colours"]["decoder"]


def test_the_sentence_says_what_is_hidden_and_which_head_is_strongest():
    said = describe_flow(THREADS, answer="b", threshold=1.5, hidden=0.25)
    assert said == ("The flow of information from the tokens to “b”: 2 edges of at least 1.5%, 1 of them of heads. The "
                    "strongest head: D0H1, from a. 25.0% of the flow is hidden.")
    assert "strongest" not in describe_flow(THREADS[:1], answer="b", threshold=1, hidden=0)
