import numpy as np
import pytest

from tests.markup import Markup
from ui.figures import attention_table


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_cells_give_the_weights_back_exactly(dtype):
    weights = np.random.default_rng(0).random((3, 2)).astype(dtype) ** 9
    table = Markup(attention_table(weights, list("abc"), list("xy"), kind="cross", layer=1, head=3))
    assert len(table.cells) == 6
    for data, text in table.cells:
        assert (data["data-kind"], data["data-layer"], data["data-head"]) == ("cross", "1", "3")
        assert dtype(text) == weights[int(data["data-query"]), int(data["data-key"])]


def test_tokens_are_text_and_equal_tokens_keep_their_headers():
    tokens = ["<script>alert(1)</script>", "the", "the", "&lt;"]
    table = Markup(attention_table(np.eye(4), tokens, tokens, kind="decoder", layer=0, head=0))
    assert "script" not in table.tags
    assert [(data["scope"], text) for data, text in table.headers[:4]] == [("col", token) for token in tokens]
    assert [text for data, text in table.headers if data["scope"] == "row"] == tokens


def test_masked_cells_are_marked_and_the_caption_says_which_head_of_which_checkpoint():
    causal = np.tri(2, dtype=bool)
    table = Markup(attention_table(np.eye(2), ["a", "b"], ["a", "b"], kind="decoder", layer=0, head=0, mask=causal))
    assert ["data-masked" in data for data, _ in table.cells] == [False, True, False, False]
    text = attention_table(np.eye(1), ["a"], ["a"], kind="encoder", layer=2, head=5, source="me@12 <step> 3")
    assert "encoder, layer 2 · head 5" in text
    assert "me@12 &lt;step&gt; 3" in text
