"""Questions that are answered by choosing one of several."""

from collections.abc import Iterator
from typing import Any

from transformer.lessons.grading import is_right
from transformer.rooms.questions.kind import Answers, Kind, Values, levels_table


class Choice(Kind):
    """One of several: `choices` in the spec, the place of the right one in the key."""

    form = "choice"

    def choices(self, spec: Values, number: int) -> list[str]:
        return spec["choices"]

    def key_of(self, key: Values, number: int) -> Values:
        """The key that holds for one phone."""
        return key

    def check(self, spec: Values, value: object, number: int) -> int:
        count = len(self.choices(spec, number))
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            raise ValueError(f"the answer is not one of the {count} choices; choose one")
        return value

    def judge(self, spec: Values, key: Values, value: Any, number: int) -> dict[str, Any]:
        right = is_right(value, self.key_of(key, number)["right"])
        return super().judge(spec, key, value, number) | {"right": right, "score": float(right or False)}

    def count(self, spec: Values, answers: Answers, beside: Answers = ()) -> dict[str, Any]:
        """Also counts, of each choice, and by_sure, the same for each level of how sure."""
        answers = list(answers)
        table = levels_table(answers, len(spec["choices"]))
        return super().count(spec, answers) | {
            "counts": [sum(column) for column in zip(*table, strict=True)], "by_sure": table}

    def tables(self, spec: Values, key: Values, votes: Values) -> list[tuple[Values, list[list[int]]]]:
        """Each key with the votes that it judges."""
        return [(key, votes["by_sure"])]

    def grades(self, spec: Values, key: Values, votes: Values) -> Iterator[tuple[bool, int, int]]:
        for one, table in self.tables(spec, key, votes):
            for level, counts in enumerate(table):
                yield True, level, counts[one["right"]]
                yield False, level, sum(counts) - counts[one["right"]]
