"""Answers checked, judged and counted: from what was asked and its key alone, without a model.

Counts do not depend on the order of the answers. Which answers count, the last of each device and round, is for
whoever keeps them to say.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from statistics import fmean, median
from typing import Any

from transformer.lessons.grading import is_right
from transformer.rooms.answer_validation import SURE, fits, fits_sure
from transformer.rooms.distance import divergence, overlap, shares
from transformer.rooms.histogram import bins, span

__all__ = ["SURE", "fits", "fits_sure", "for_phone", "judge", "more_of_round", "split", "tell", "to_show"]

Spec = Mapping[str, Any]
Answers = Iterable[tuple[int, Any, int | None]]  # the phone's number, what it said as `fits` gave it back, how sure
ZERO_AT = 10  # tolerances off, where a number scores nothing


def for_phone(spec: Spec, number: int) -> dict[str, Any]:
    """What one phone is sent: of many sentences its own."""
    return {**spec, "each": [spec["each"][number % len(spec["each"])]]} if "each" in spec else dict(spec)


def judge(spec: Spec, key: Mapping[str, Any], value: Any, number: int) -> dict[str, Any]:
    """What an answer is worth. right: whether it is right, None where nothing is; score: 0 to 1, of a number falling
    to nothing at ten tolerances, of what is drawn its overlap; kl: nats from the model, see `distance.divergence`."""
    out: dict[str, Any] = {"right": None, "score": None, "kl": None, "overlap": None}
    match spec["form"]:
        case "choice":
            out["right"] = is_right(value, _key_of(key, number)["right"])
            out["score"] = float(out["right"])
        case "number":
            off, tolerance = abs(value - key["right"]), key["tolerance"]
            out["right"] = is_right(value, key["right"], tolerance)
            out["score"] = max(0.0, 1 - off / (ZERO_AT * tolerance)) if tolerance else float(out["right"])
        case "draw":
            model = shares(key["values"])
            out["kl"], out["overlap"] = divergence(model, value), overlap(model, value)
            out["score"] = out["overlap"]
    return out


def split(spec: Spec, answers: Answers, beside: Answers = ()) -> dict[str, Any]:
    """How a room answered, before it is known what is right. Texts are not in it.

    count: of answers; sure: how many were how sure, the last of them did not say. Of choices: counts, and by_sure the
    same for each of those. Of numbers: bins, median and mean. Of what is drawn: mean, the mean height of each bar.
    "values" and "each" are for `tell` and large: `to_show` leaves them out. beside: answers of the other round, whose
    numbers lie in the same bins.
    """
    answers = list(answers)
    levels = [_level(sure) for *_, sure in answers]
    out: dict[str, Any] = {"count": len(answers), "sure": [levels.count(at) for at in range(len(SURE) + 1)]}
    match spec["form"]:
        case "choice" if "each" in spec:
            out["each"] = _by_sentence(spec, answers)
            out["sentences"] = len(out["each"])
        case "choice":
            table = [[0] * len(spec["choices"]) for _ in range(len(SURE) + 1)]
            for (_, value, _), level in zip(answers, levels, strict=True):
                table[level][value] += 1
            out |= {"counts": [sum(column) for column in zip(*table, strict=True)], "by_sure": table}
        case "number":
            pairs = sorted((float(value), level) for (_, value, _), level in zip(answers, levels, strict=True))
            values = [value for value, _ in pairs]
            others = [float(value) for _, value, _ in beside]
            low, high = span([*values, *others], spec["least"], spec["most"])
            out |= {"bins": bins(values, low, high, others), "median": median(values) if values else None,
                    "mean": fmean(values) if values else None, "values": [list(pair) for pair in pairs]}
        case "draw":
            drawn = [value for _, value, _ in answers]
            out["mean"] = [fsum(bar) / len(drawn) for bar in zip(*drawn, strict=True)] if drawn else None
    return out


def to_show(split: Mapping[str, Any]) -> dict[str, Any]:
    """What of a split phones and the wall are sent."""
    return {name: value for name, value in split.items() if name not in ("values", "each")}


def tell(spec: Spec, key: Mapping[str, Any], split: Mapping[str, Any]) -> dict[str, Any]:
    """What the answer shown says of the room. right: how many were; share: of all; sure_right and sure_wrong: how sure
    those were on the mean, 0 to 1, None where none said. Of what is drawn: model, mean, and their kl and overlap. Of
    sentences of one's own: agreed, how many sentences most got right, and exceptions, those most got wrong."""
    if spec["form"] == "draw":
        model, mean = shares(key["values"]), split["mean"]
        return {"count": split["count"], "model": model, "mean": mean,
                "kl": None if mean is None else divergence(model, mean),
                "overlap": None if mean is None else overlap(model, mean)}
    if spec["form"] == "text":
        return {"count": split["count"], "output": key.get("output")}
    rights, wrongs = _levels_of(spec, key, split)
    count = sum(rights) + sum(wrongs)
    out = {"count": count, "right": sum(rights), "share": sum(rights) / count if count else None,
           "sure_right": _mean_sure(rights), "sure_wrong": _mean_sure(wrongs)}
    return out | _sentences(spec, key, split) if "each" in spec else out


def more_of_round(spec: Spec, first: Answers, second: Answers, key: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A second round beside the first. count: of answers in each; both: how many phones answered in both, and changed:
    how many of those said something else, None of what is drawn, as nobody draws twice alike. With the key, share or
    overlap: as `tell` has it of each, and became_right and became_wrong: of those in both, where something is right."""
    first, second = list(first), list(second)
    before = {number: value for number, value, _ in first}
    both = [(before[number], value, number) for number, value, _ in second if number in before]
    drawn = spec["form"] == "draw"
    out: dict[str, Any] = {"count": [len(first), len(second)], "both": len(both),
                           "changed": None if drawn else sum(one != other for one, other, _ in both)}
    if key is not None:
        name = "overlap" if drawn else "share"
        out[name] = [tell(spec, key, split(spec, answers)).get(name) for answers in (first, second)]
        if spec["form"] in ("choice", "number"):
            right = [[judge(spec, key, value, number)["right"] for value in pair] for *pair, number in both]
            out |= {"became_right": right.count([False, True]), "became_wrong": right.count([True, False])}
    return out


def _key_of(key: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    return key["each"][number % len(key["each"])] if key.get("each") else key


def _level(sure: object) -> int:
    """The place of how sure somebody was; the last for those who did not say."""
    return sure if isinstance(sure, int) and not isinstance(sure, bool) and 0 <= sure < len(SURE) else len(SURE)


def _by_sentence(spec: Spec, answers: Sequence[tuple[int, Any, int | None]]) -> dict[str, list[list[int]]]:
    """The number of a sentence -> counts of its choices for each of how sure, of those that were answered."""
    out: dict[int, list[list[int]]] = {}
    for number, value, sure in answers:
        at = number % len(spec["each"])
        width = len(spec["each"][at]["choices"])
        out.setdefault(at, [[0] * width for _ in range(len(SURE) + 1)])[_level(sure)][value] += 1
    return {str(at): out[at] for at in sorted(out)}  # keys of JSON are texts


def _levels_of(spec: Spec, key: Mapping[str, Any], split: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """How many of the right and of the wrong ones were how sure."""
    rights, wrongs = [0] * (len(SURE) + 1), [0] * (len(SURE) + 1)
    if spec["form"] == "number":
        for value, level in split["values"]:
            (rights if judge(spec, key, value, 0)["right"] else wrongs)[level] += 1
        return rights, wrongs
    tables = [(key, split["by_sure"])] if "each" not in spec else [(key["each"][int(at)], table)
                                                                  for at, table in split["each"].items()]
    for one, table in tables:
        for level, counts in enumerate(table):
            rights[level] += counts[one["right"]]
            wrongs[level] += sum(counts) - counts[one["right"]]
    return rights, wrongs


def _mean_sure(levels: Sequence[int]) -> float | None:
    said = levels[: len(SURE)]
    return fsum(at * count for at, count in enumerate(said)) / sum(said) / (len(SURE) - 1) if sum(said) else None


def _sentences(spec: Spec, key: Mapping[str, Any], split: Mapping[str, Any]) -> dict[str, Any]:
    agreed, exceptions = 0, []
    for at, table in split["each"].items():
        one, right, margin = spec["each"][int(at)], *(key["each"][int(at)][name] for name in ("right", "margin"))
        counts = [sum(column) for column in zip(*table, strict=True)]
        most = max(range(len(counts)), key=lambda choice: (counts[choice], choice == right))
        agreed += most == right
        if most != right:
            exceptions.append({"number": int(at), "text": one["text"], "right": one["choices"][right],
                               "said": one["choices"][most], "counts": counts, "margin": margin})
    return {"sentences": len(split["each"]), "agreed": agreed, "exceptions": exceptions}
