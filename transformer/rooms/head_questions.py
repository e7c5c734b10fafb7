"""What a room is asked about heads: a key of a row, a whole row to draw, and which head it is.

H heads of a layer, K keys that a query may look at.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.lessons.answers import cell as heaviest
from transformer.lessons.opened_link import Row, row_of
from transformer.rooms.question_record import (
    BARS,
    FORMS,
    NATS,
    Moment,
    QuestionRecord,
    apart,
    bare,
    clear_lead,
    key,
    lead,
    mixed,
    most_is,
    percent,
    place,
)

WAYS = "most on a token", "whose row"
TO_CHOOSE = 8  # heads or keys, at most
SEVERAL = 12  # keys that are all offered
CLEARLY = 0.05  # of a row's weight: the lead of the first head
ROWS, KEYS = 8, 16  # of a head's picture beside its name
DARKEST = 99  # of a cell there: a weight of 1
UNLIKE = 0.15  # of a row's weight: what must lie elsewhere for a picture to tell two heads apart


def cell(moment: Moment, *, query: str = "newest") -> QuestionRecord:
    """On which key most of a row's weight is. The choices are keys that it looks at, in the order of the text."""
    row = row_of(moment.opened, query, moment.shown)
    right = heaviest(row).right  # which raises where there is nothing to choose
    order = sorted(row.seen, key=lambda at: -row.weights[at])
    margin = clear_lead(row.weights[right], row.weights[order[1]], who="the head")
    first, second = (percent(row.weights[at]) for at in (right, order[1]))
    offered = sorted(order[:TO_CHOOSE] if len(order) > SEVERAL else order)
    names = apart(row.keys)
    return QuestionRecord(
        {"about": "cell", "form": FORMS["cell"], "choices": [names[at] for at in offered], "pieces": True,
         "ask": f"Where does this head look most from {bare(row.queries[row.query])}?", "row": place(row),
         **moment.context()},
        key([row.weights[at] for at in offered], right=offered.index(right), margin=margin,
            proof=moment.proof(query=query),
            said=f"{first} of the row is on {bare(names[right])}, {second} on {bare(names[order[1]])}."))


def row(moment: Moment, *, query: str = "newest") -> QuestionRecord:
    """A whole row to draw, a bar for each key that the query may look at, in the order of the text."""
    found = row_of(moment.opened, query, moment.shown)
    labels = _bars(found)
    weights = [found.weights[at] for at in found.seen]
    return QuestionRecord(
        {"about": "row", "form": FORMS["row"], "labels": labels, "pieces": True, "row": place(found),
         "ask": f"Draw how this head spreads its attention from {bare(found.queries[found.query])}.",
         **moment.context()},
        key(weights, proof=moment.proof(query=query),
            said=most_is([*map(bare, labels)], weights)))


def head(moment: Moment, *, query: str = "newest", of: str | None = None, heads: Sequence[int] | None = None,
         seed: int = 0) -> QuestionRecord:
    """Which head of the link's layer it is. of: a word of `WAYS`; heads: those to choose from; seed: of whose row is
    drawn. The head that the link names plays no part, as the page shows it."""
    found = row_of(moment.opened, query, moment.shown)
    chosen = _heads(moment, heads)
    if len(chosen) < 2:
        raise ValueError("there is only one head to choose from; take a layer with more")
    layer = moment.shown.attended(found.kind, slice(found.layer, found.layer + 1))[1][0].cpu()  # (H, Tq, Tk)
    rows = layer[:, found.query, list(found.seen)].double()  # (H, K)
    made = {"query": query, "of": of or WAYS[0], "heads": None if heads is None else chosen, "seed": seed}
    if of == WAYS[1]:
        return _whose_row(moment, found, rows, chosen, made)
    return _most_on_a_token(moment, found, rows, chosen, made, other_rows=_other_rows(layer, found))


def _other_rows(layer: Tensor, found: Row) -> list[list[list[int]]]:
    """Where each head looks from the tokens next to the query, (H, rows, keys) in whole numbers to `DARKEST`: something
    to go by, and nothing of the row that is asked about."""
    near = sorted(range(layer.shape[1]), key=lambda at: (abs(at - found.query), at))[1:ROWS + 1]
    return (layer[:, sorted(near)][..., list(found.seen)[-KEYS:]] * DARKEST).round().int().tolist()


def _most_on_a_token(moment: Moment, found: Row, rows: Tensor, chosen: list[int], made: dict, *,
                     other_rows: list[list[list[int]]]) -> QuestionRecord:
    """Asked of the key where one head leads the others by most, of those where it leads clearly."""
    most, next_most = rows[chosen].topk(2, dim=0).values  # (K,) each
    clear = [at for at in range(len(most)) if most[at] - next_most[at] >= CLEARLY
             and lead(most[at], next_most[at]) >= NATS]
    if not clear:
        raise ValueError("no head looks at any of these tokens clearly more than the others do; choose another layer, "
                         "step or query")
    at = max(clear, key=lambda one: float(most[one] - next_most[one]))
    values = {one: float(rows[one, at]) for one in chosen}
    first, second = sorted(chosen, key=lambda one: -values[one])[:2]
    margin = lead(values[first], values[second])
    offered = _fewer(chosen, {first, second}, found)
    name, reading = apart(found.keys)[found.seen[at]], bare(found.queries[found.query])
    return _asked(
        moment, found, offered, first, values, margin, made,
        ask=f"Which head of layer {found.layer} looks most at {bare(name)} from {reading}?",
        said=f"Head {first} puts {percent(values[first])} of its row on {bare(name)}; head {second} comes second with "
             f"{percent(values[second])}.", on={"at": found.seen[at], "token": name},
        other_rows=[other_rows[one] for one in offered])


def _whose_row(moment: Moment, found: Row, rows: Tensor, chosen: list[int], made: dict) -> QuestionRecord:
    """Asked with a picture of the row, which no other head's resembles."""
    labels = _bars(found)
    apart_by = torch.cdist(rows[chosen], rows[chosen], p=1) / 2  # (H, H), the weight that lies elsewhere
    nearest = apart_by.fill_diagonal_(torch.inf).min(1).values
    clear = [one for one, unlike in zip(chosen, nearest.tolist(), strict=True) if unlike >= UNLIKE]
    if not clear:
        raise ValueError("these heads' rows look alike, so a picture does not tell whose it is; choose another layer, "
                         "step or query")
    right = mixed(clear, "whose row", made["seed"], moment.shown.text, found.query, found.kind, found.layer)[0]
    values = {one: 1 - float((rows[one] - rows[right]).abs().sum()) / 2 for one in chosen}
    second = max((one for one in chosen if one != right), key=values.__getitem__)
    return _asked(
        moment, found, _fewer(chosen, {right, second}, found), right, values, 1 - values[second], made,
        ask=f"Which head of layer {found.layer} looks like this from {bare(found.queries[found.query])}?",
        said=f"It is head {right}; the row most like it, of head {second}, shares {percent(values[second])} of its "
             "weight.",
        picture={"labels": labels, "values": rows[right].tolist()})


def _asked(moment: Moment, found: Row, offered: list[int], right: int, values: dict[int, float], margin: float,
           made: dict, *, ask: str, said: str, **more: object) -> QuestionRecord:
    return QuestionRecord(
        {"about": "head", "form": FORMS["head"], "ask": ask, "choices": [f"head {one}" for one in offered],
         "pieces": False, "heads": offered, "row": place(found, head=False), **more, **moment.context()},
        key([values[one] for one in offered], right=offered.index(right), margin=margin, said=said,
            proof=moment.proof(**made)))


def _heads(moment: Moment, heads: Sequence[int] | None) -> list[int]:
    count = moment.shown.ckpt.config.n_heads
    if heads is None:
        return list(range(count))
    for one in heads:
        if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one < count:
            raise ValueError(f"there is no head {one!r}; choose from 0 to {count - 1}")
    return sorted(set(heads))


def _fewer(chosen: list[int], kept: set[int], found: Row) -> list[int]:
    """As many as a phone has room for, in their order; those left out have nothing to do with the answer."""
    others = mixed([one for one in chosen if one not in kept], "heads", found.kind, found.layer, found.query)
    return sorted([*kept, *others][:TO_CHOOSE])


def _bars(row: Row) -> list[str]:
    """The labels of a row that is drawn."""
    if len(row.seen) > BARS:
        raise ValueError(f"this row has {len(row.seen)} keys, and a phone has room to draw {BARS}; choose a shorter "
                         "text or an earlier step")
    if len(row.seen) < 2:
        raise ValueError("this row has one key, so there is nothing to draw; take a later step")
    return [apart(row.keys)[at] for at in row.seen]
