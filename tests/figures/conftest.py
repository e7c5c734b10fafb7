from collections.abc import Callable

import pytest


@pytest.fixture
def drawn_rows() -> Callable[..., list[dict]]:
    """The rows that an altair chart, or one of its layers, draws; altair checks the whole against its schema."""

    def drawn_rows(chart, layer: int | None = None) -> list[dict]:
        spec = chart.to_dict()
        part = spec if layer is None else spec["layer"][layer]
        return spec["datasets"][part.get("data", spec.get("data"))["name"]]

    return drawn_rows
