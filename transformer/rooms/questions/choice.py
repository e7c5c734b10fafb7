"""Questions that are answered by choosing one of several."""

from typing import Any

from transformer.lessons.grading import is_right
from transformer.rooms.questions.kind import LEVELS, Answers, Key, Kind, Spec, Votes, levels_table


class Choice(Kind):
    """One of several: `choices` in the spec, the place of the right one in the key."""

    form = "choice"

    def choices(self, spec: Spec, number: int) -> list[str]:
        return spec["choices"]

    def key_of(self, key: Key, number: int) -> Key:
        """The key that holds for one phone."""
        return key

    def check(self, spec: Spec, value: object, number: int) -> int:
        count = len(self.choices(spec, number))
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            raise ValueError(f"the answer is not one of the {count} choices; choose one")
        return value

    def judge(self, spec: Spec, key: Key, value: Any, number: int) -> dict[str, Any]:
        right = is_right(value, self.key_of(key, number)["right"])
        return super().judge(spec, key, value, number) | {"right": right, "score": float(right or False)}

    def count(self, spec: Spec, answers: Answers, beside: Answers = ()) -> dict[str, Any]:
        """Also counts, of each choice, and by_sure, the same for each level of how sure."""
        answers = list(answers)
        table = levels_table(answers, len(spec["choices"]))
        return super().count(spec, answers) | {
            "counts": [sum(column) for column in zip(*table, strict=True)], "by_sure": table}

    def tables(self, spec: Spec, key: Key, votes: Votes) -> list[tuple[Key, list[list[int]]]]:
        """Each key with the votes that it judges."""
        return [(key, votes["by_sure"])]

    def levels(self, spec: Spec, key: Key, votes: Votes) -> tuple[list[int], list[int]]:
        rights, wrongs = [0] * LEVELS, [0] * LEVELS
        for one, table in self.tables(spec, key, votes):
            for level, counts in enumerate(table):
                rights[level] += counts[one["right"]]
                wrongs[level] += sum(counts) - counts[one["right"]]
        return rights, wrongs
