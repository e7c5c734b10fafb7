"""What the command line prints of a result: lines to read, on standard output."""

from collections.abc import Mapping, Sequence

from transformer.checkpoint import Description
from transformer.task import does

QUALITY = {"bleu": ("BLEU", "{:.2f}"), "accuracy": ("accuracy", "{:.1%}"), "loss": ("loss", "{:.4f}")}


def lines(result: Mapping[str, object]) -> list[str]:
    """One line a value; what is itself named values goes below its name."""
    flat = {}
    for key, value in result.items():
        inner = value.items() if isinstance(value, Mapping) else [(None, value)]
        flat |= {key if name is None else f"{key}: {name}": said(one) for name, one in inner if one is not None}
    widest = max(map(len, flat), default=0)
    return [f"{key:>{widest}}  {value}" for key, value in flat.items()]


def said(value: object) -> str:
    """A value as text: whole numbers in groups of three, others to seven digits, a list with commas."""
    match value:
        case bool() | str():
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.7g}"
        case list() | tuple():
            return ", ".join(map(said, value))
    return str(value)


def table(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Rows with the same names, in columns under them."""
    texts = [[*rows[0]], *([said(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in texts]


def checkpoint_row(about: Description) -> dict[str, object]:
    """A checkpoint in a line of `list`."""
    config = about.config
    layers = "+".join(map(str, config.stacks.values()))
    return {"checkpoint": about.id, "task": does(config), "layers": layers, "heads": config.n_heads,
            "d_model": config.d_model, "parameters": about.meta.get("parameters", ""),
            "step": "" if about.step is None else about.step, "quality": _quality(about), "folder": str(about.folder)}


def _quality(about: Description) -> str:
    metrics = about.meta.get("metrics") or {}
    for key, (name, form) in QUALITY.items():
        if isinstance(value := metrics.get(key), int | float):
            return f"{name} {form.format(value)}"
    loss = about.meta.get("validation_loss")
    return f"loss {loss:.4f}" if isinstance(loss, int | float) else ""
