"""Which head it is: the one that looks most at a token, or the one whose row is drawn.

H heads of a layer, K keys that a query may look at.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.lessons.opened_link import Row, row_of
from transformer.rooms.questions.choice import Choice
from transformer.rooms.questions.kind import Moment, Options, QuestionRecord, make_key
from transformer.rooms.questions.wording import NATS, apart, bare, lead, mixed, percent, place, row_labels

TO_CHOOSE = 8  # heads, at most
CLEARLY = 0.05  # of a row's weight: the lead of the first head
ROWS, KEYS = 8, 16  # of a head's picture beside its name
DARKEST = 99  # of a cell there: a weight of 1
UNLIKE = 0.15  # of a row's weight: what must lie elsewhere for a picture to tell two heads apart


class Head(Choice):
    """Which head of the link's layer it is. The head that the link names plays no part, as the page shows it."""

    name = "head"
    title = "Which head is it?"
    ways = "most on a token", "whose row"

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        row = row_of(moment.opened, options.query, moment.source)
        chosen = _heads(moment, options.heads)
        if len(chosen) < 2:
            raise ValueError("there is only one head to choose from; take a layer with more")
        layer = moment.source.attended(row.kind, slice(row.layer, row.layer + 1))[1][0].cpu()  # (H, Tq, Tk)
        rows = layer[:, row.query, list(row.seen)].double()  # (H, K)
        proof = moment.proof(query=options.query, of=options.of or self.ways[0], seed=options.seed,
                             heads=None if options.heads is None else chosen)
        if options.of == "whose row":
            return self._whose_row(moment, row, rows, chosen, proof, options.seed)
        return self._most_on_a_token(moment, row, rows, chosen, proof, _other_rows(layer, row))

    def _most_on_a_token(self, moment: Moment, row: Row, rows: Tensor, chosen: list[int], proof: dict,
                         other_rows: list[list[list[int]]]) -> QuestionRecord:
        """Asks about the key where one head leads the others by most, of those where it leads clearly."""
        most, next_most = rows[chosen].topk(2, dim=0).values  # (K,) each
        clear = [at for at in range(len(most)) if most[at] - next_most[at] >= CLEARLY
                 and lead(float(most[at]), float(next_most[at])) >= NATS]
        if not clear:
            raise ValueError("no head looks at any of these tokens clearly more than the others do; choose another "
                             "layer, step or query")
        at = max(clear, key=lambda one: float(most[one] - next_most[one]))
        values = {one: float(rows[one, at]) for one in chosen}
        first, second = sorted(chosen, key=lambda one: -values[one])[:2]
        offered = _fewer(chosen, {first, second}, row)
        token, reading = apart(row.keys)[row.seen[at]], bare(row.queries[row.query])
        key = make_key([values[one] for one in offered], right=offered.index(first), proof=proof,
                       margin=lead(values[first], values[second]),
                       said=f"Head {first} puts {percent(values[first])} of its row on {bare(token)}; head {second} "
                            f"comes second with {percent(values[second])}.")
        return self.record(moment, key, **_choices(row, offered), worth="weight",
                           on={"at": row.seen[at], "token": token}, other_rows=[other_rows[one] for one in offered],
                           ask=f"Which head of layer {row.layer} looks most at {bare(token)} from {reading}?")

    def _whose_row(self, moment: Moment, row: Row, rows: Tensor, chosen: list[int], proof: dict,
                   seed: int) -> QuestionRecord:
        """Shows a picture of a row, which no other head's resembles."""
        labels = row_labels(row)
        apart_by = torch.cdist(rows[chosen], rows[chosen], p=1) / 2  # (H, H), the weight that lies elsewhere
        nearest = apart_by.fill_diagonal_(torch.inf).min(1).values
        clear = [one for one, unlike in zip(chosen, nearest.tolist(), strict=True) if unlike >= UNLIKE]
        if not clear:
            raise ValueError("these heads' rows look alike, so a picture does not tell whose it is; choose another "
                             "layer, step or query")
        right = mixed(clear, "whose row", seed, moment.source.text, row.query, row.kind, row.layer)[0]
        values = {one: 1 - float((rows[one] - rows[right]).abs().sum()) / 2 for one in chosen}
        second = max((one for one in chosen if one != right), key=values.__getitem__)
        offered = _fewer(chosen, {right, second}, row)
        key = make_key([values[one] for one in offered], right=offered.index(right), margin=1 - values[second],
                       proof=proof, said=f"It is head {right}; the row most like it, of head {second}, shares "
                                         f"{percent(values[second])} of its weight.")
        return self.record(moment, key, **_choices(row, offered), worth="alike",
                           picture={"labels": labels, "values": rows[right].tolist()},
                           ask=f"Which head of layer {row.layer} looks like this from {bare(row.queries[row.query])}?")


def _choices(row: Row, offered: list[int]) -> dict[str, object]:
    return {"choices": [f"head {one}" for one in offered], "pieces": False, "heads": offered,
            "row": place(row, head=False)}


def _other_rows(layer: Tensor, row: Row) -> list[list[list[int]]]:
    """Where each head looks from the tokens next to the query, (H, rows, keys) in whole numbers to `DARKEST`: something
    to go by, and nothing of the row that is asked about."""
    near = sorted(range(layer.shape[1]), key=lambda at: (abs(at - row.query), at))[1:ROWS + 1]
    return (layer[:, sorted(near)][..., list(row.seen)[-KEYS:]] * DARKEST).round().int().tolist()


def _heads(moment: Moment, heads: Sequence[int] | None) -> list[int]:
    count = moment.source.ckpt.config.n_heads
    if heads is None:
        return list(range(count))
    for one in heads:
        if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one < count:
            raise ValueError(f"there is no head {one!r}; choose from 0 to {count - 1}")
    return sorted(set(heads))


def _fewer(chosen: list[int], kept: set[int], row: Row) -> list[int]:
    """As many heads as a phone has room for, in their order; those left out have nothing to do with the answer."""
    others = mixed([one for one in chosen if one not in kept], "heads", row.kind, row.layer, row.query)
    return sorted([*kept, *others][:TO_CHOOSE])
