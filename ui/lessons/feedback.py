"""Feedback on answers, with the model's own numbers, as plain text."""

from transformer.basics.formatting import in_percent
from transformer.lessons.answers import Answer, Cell, FreeText, NextToken, Number
from ui.figures.labels import part_of_one, plain_label


def given_text(answer: Answer | None, reply: object) -> str:
    """The visitor's answer."""
    match answer:
        case NextToken(choices) if isinstance(reply, int):
            return plain_label(choices[reply].piece)
        case Cell() if isinstance(reply, int):
            return plain_label(answer.keys[reply])
    return number(reply) if isinstance(reply, float) else str(reply)


def right_text(answer: Answer | None) -> str:
    """The model's answer."""
    match answer:
        case NextToken(choices, right):
            return f"{plain_label(choices[right].piece)}, {in_percent(choices[right].probability)}"
        case Cell():
            return f"{plain_label(answer.keys[answer.right])}, {part_of_one(answer.weights[answer.right])}"
        case Number(right):
            return number(right)
        case FreeText(output):
            return output or ""
    return ""


def verdict(answer: Answer, reply: object) -> str:
    """Whether an answer is right, in a sentence."""
    right = answer.judge(reply)
    match answer:
        case NextToken(choices) if isinstance(reply, int):
            chosen = choices[reply]
            return f"Right: the model predicts {right_text(answer)}." if right else (
                f"The model predicts {right_text(answer)}. Your {plain_label(chosen.piece)} has "
                f"{in_percent(chosen.probability)}.")
        case Cell() if isinstance(reply, int):
            token, weight = plain_label(answer.keys[reply]), part_of_one(answer.weights[reply])
            return f"Right: {weight} of this row is on {token}." if right else (
                f"{token} has {weight} of this row. Most is on {right_text(answer)}.")
        case Number():
            return f"Right: it is {number(answer.right)}." if right else f"Not quite: it is {number(answer.right)}."
        case FreeText(output):
            return f"The model writes: {output}" if output else "Kept until the end of the lesson."
    raise AssertionError(f"nothing is said of {answer!r}")


def number(value: float) -> str:
    text = f"{value:.4g}"
    return part_of_one(value, 4) if text == "1" and value < 1 else text
