"""Properties of every entry of the list of measures."""

import pytest
import torch

from tests.rows import each_row
from transformer.analysis import ablation, attribution, direct, lens, roles
from transformer.measures.catalogue import MEASURES
from transformer.measures.measure import BatchMeasures
from transformer.measures.tokens import Tokens
from transformer.settings.config import KINDS

TEXTS = [*(measure.explained for measure in MEASURES), *roles.BASELINES.values(), *ablation.EXPLAINED.values(),
         ablation.LOSS_OF_CLASSES, *attribution.EXPLAINED.values(), lens.EXPLAINED, lens.EXPLAINED_OF_CLASSES,
         direct.EXPLAINED, direct.EXPLAINED_OF_CLASSES]


def test_every_measure_has_a_name_of_its_own_and_one_way_to_compute_it():
    assert len({measure.name for measure in MEASURES}) == len({measure.title for measure in MEASURES}) == len(MEASURES)
    for measure in MEASURES:
        assert (measure.keys is None) != (measure.rows is None), measure.name
        assert measure.kinds and set(measure.kinds) <= set(KINDS) and measure.unit and measure.why_not


@each_row("text", TEXTS)
def test_every_number_is_explained_with_what_it_does_not_show(text):
    assert 60 < len(text) < 700 and text.endswith(".") and "  " not in text


@each_row("kind", KINDS)
@each_row("measure", MEASURES)
def test_what_is_read_without_tokens_is_measured_or_says_why_not(measure, kind):
    batch = BatchMeasures([measure], Tokens.places(kind, 4, 4))
    assert batch.names == [measure.name] or batch.lacking[measure.name]


@pytest.mark.parametrize("kind", KINDS)
def test_shares_lie_between_nothing_and_all_and_looking_at_all_alike_gives_the_even_value(kind, writer):
    random = torch.Generator().manual_seed(3)
    ids = torch.randint(4, 12, (2, 9), generator=random)
    allowed = torch.ones(2, 9, 9, dtype=torch.bool)
    tokens = Tokens(kind, allowed.tril() if kind == "decoder" else allowed, query_ids=ids, key_ids=ids, end_id=4,
                    tokenizer=writer.tokenizer, links=torch.rand(2, 9, 9, generator=random) < 0.2,
                    key_counts=torch.randint(0, 9, (12,), generator=random))
    chosen = [measure for measure in MEASURES if kind in measure.kinds]
    batch = BatchMeasures(chosen, tokens)
    assert not batch.lacking and set(batch.names) == {measure.name for measure in chosen}
    scores = torch.randn(2, 3, 9, 9, generator=random).masked_fill(~tokens.allowed[:, None], float("-inf"))
    answers = batch.answers(scores.softmax(-1))
    assert answers.shape == (2, 9, 3, len(chosen)) and answers.isfinite().all() and answers.min() >= 0
    shares = [measure.share for name in batch.names for measure in chosen if measure.name == name]
    assert answers[..., shares].max() <= 1 + 1e-6
    torch.testing.assert_close(batch.answers(tokens.even.expand(-1, 3, -1, -1))[:, :, 1], batch.even)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_those_of_the_queries_that_count(kind, writer):
    random = torch.Generator().manual_seed(5)
    ids = torch.randint(4, 12, (2, 7), generator=random)
    allowed = torch.ones(2, 7, 7, dtype=torch.bool)
    allowed[1, 5:] = allowed[1, :, 5:] = False  # padding
    tokens = Tokens(kind, allowed.tril() if kind == "decoder" else allowed, query_ids=ids, key_ids=ids, end_id=4,
                    tokenizer=writer.tokenizer)
    for chosen in ([], [measure for measure in MEASURES if kind in measure.kinds]):
        batch = BatchMeasures(chosen, tokens)
        weights = torch.rand(2, 3, 7, 7, generator=random) * tokens.allowed[:, None]
        expected = (batch.answers(weights) * batch.counts[:, :, None]).sum(1)
        torch.testing.assert_close(batch.sums(weights), expected, equal_nan=True)


def test_the_bracket_that_is_open_is_the_innermost_and_only_its_own_kind_closes_it():
    class Signs:
        signs = "x([{<)]}>"

        def piece(self, id):
            return "▁" * (id == 0) + self.signs[id]

    def partner(text):
        ids = torch.tensor([[Signs.signs.index(sign) for sign in text]])
        allowed = torch.ones(1, len(text), len(text), dtype=torch.bool).tril()
        batch = BatchMeasures([measure for measure in MEASURES if measure.name == "bracket"],
                              Tokens("decoder", allowed, query_ids=ids, key_ids=ids, tokenizer=Signs()))
        looked_at = batch.answers(torch.eye(len(text)).expand(1, 1, -1, -1))  # of a head that looks at itself
        assert looked_at.shape == (1, len(text), 1, 1)
        keys = [[bool(batch.answers(torch.eye(len(text))[[key] * len(text)][None, None])[0, query, 0, 0])
                 for key in range(len(text))] for query in range(len(text))]
        return [row.index(True) if any(row) else None for row in keys]

    assert partner("x(x[]x)x") == [None, 1, 1, 3, 1, 1, None, None]
    assert partner("([{}<()>])") == [0, 1, 2, 1, 4, 5, 4, 1, 0, None]
    assert partner("(]x>)") == [0, 0, 0, 0, None]  # of another kind
