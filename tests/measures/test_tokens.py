"""What measures can ask about tokens."""

import pytest
import torch

from transformer.measures.tokens import MissingInput, Tokens


def test_a_frequency_is_the_share_of_what_came_in_training_and_never_nothing():
    tokens = Tokens("encoder", torch.ones(1, 2, 2, dtype=torch.bool), key_ids=torch.tensor([[2, 0]]),
                    key_counts=torch.tensor([0, 3, 5]))
    assert tokens.frequency.tolist() == [[6 / 11, 1 / 11]]


@pytest.mark.parametrize(("name", "why"), [("frequency", "training corpus"), ("linked", "no word alignment"),
                                          ("ids", "not the tokens"), ("same", "not the tokens")])
def test_what_is_not_known_is_lacking_with_the_reason(name, why):
    with pytest.raises(MissingInput, match=why):
        getattr(Tokens.places("cross", 2, 3), name)


def test_pieces_are_told_by_their_text_alone(writer):
    ids = writer.tokenizer.encode("Go on.")
    tokens = Tokens("decoder", torch.ones(1, 6, 6, dtype=torch.bool), key_ids=torch.tensor([ids]),
                    tokenizer=writer.tokenizer)
    assert tokens.pieces(str.isupper).tolist() == [[[True] + [False] * 5]]
