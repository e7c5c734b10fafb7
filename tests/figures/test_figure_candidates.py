from collections import namedtuple

from tests.node import answering, needs_node
from tests.rows import each_row
from transformer.basics.formatting import in_percent
from ui.figures import candidate_rows, some_percent

from .as_text import as_text

Candidate = namedtuple("Candidate", "id piece probability")
CANDIDATES = [Candidate(7, "▁the", 0.2), Candidate(12, "<b>", 0.6)]


@each_row(("probability", "text"), [
    (0.5, "50.0%"), (0.1234567, "12.3%"), (1e-9, "<0.01%"), (0, "0%"), (1, "100%"), (0.0625, "6.3%"),
    (0.99999, ">99.99%"), (0.000152, "0.02%"), (0.9995, "99.95%")])
def test_percentages_round_but_never_to_certain_or_impossible(probability, text):
    assert in_percent(probability) == text


@needs_node
def test_browsers_write_the_same_percentages():
    shares = [0, 1, *(one / 4_096 for one in range(4_097)), *(10 ** -(one / 50) for one in range(600)),
              *(1 - 10 ** -(one / 50) for one in range(600))]
    with answering("twins.js") as ask:
        assert ask({"shares": shares}) == [*map(in_percent, shares)]


def test_what_a_softmax_gives_is_never_nothing():
    assert some_percent(0.0) == some_percent(1e-12) == "<0.01%"
    assert some_percent(0.25) == in_percent(0.25)


def test_the_chosen_one_stands_out_and_nothing_in_a_token_is_markup(accepted):
    accepted("candidates", as_text(candidate_rows(CANDIDATES, chosen_id=12, rest=0.2, label="next tokens")))
    assert "<bdi>" not in candidate_rows([], label="next tokens")
