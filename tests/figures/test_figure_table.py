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


def test_tokens_are_text_with_headers_of_their_own_masked_cells_marked_and_the_caption_names_the_head():
    tokens = ["<script>alert(1)</script>", "the", "the", "&lt;"]
    html = attention_table(np.eye(4), tokens, tokens, kind="decoder", layer=2, head=5, mask=np.tri(4, dtype=bool),
                           source="me@12 <step> 3")
    table = Markup(html)
    assert "script" not in table.tags
    assert [(data["scope"], text) for data, text in table.headers[:4]] == [("col", token) for token in tokens]
    assert [text for data, text in table.headers if data["scope"] == "row"] == tokens
    assert ["data-masked" in data for data, _ in table.cells] == [*~np.tri(4, dtype=bool).ravel()]
    assert "decoder, layer 2, head 5" in html and "me@12 &lt;step&gt; 3" in html
