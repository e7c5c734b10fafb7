"""What an altair chart draws."""


def drawn_rows(chart, layer: int | None = None) -> list[dict]:
    """The rows that a chart, or one of its layers, draws; altair checks the whole against its schema."""
    spec = chart.to_dict()
    part = spec if layer is None else spec["layer"][layer]
    return spec["datasets"][part.get("data", spec.get("data"))["name"]]
