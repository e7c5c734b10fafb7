"""Altair charts are made once: for the same arguments, and never by a step."""

import altair as alt
import numpy as np
import pandas as pd
import pytest

from ui.state.caches import chart

from .page import rows_of


@pytest.fixture
def finished(monkeypatch) -> list[object]:
    """The charts that are made a specification of from now on."""
    finished, to_dict = [], alt.TopLevelMixin.to_dict

    def note(self, *arguments, **options):
        finished.append(self)
        return to_dict(self, *arguments, **options)

    monkeypatch.setattr(alt.TopLevelMixin, "to_dict", note)
    return finished


def test_the_same_arguments_give_the_same_chart_and_one_other_number_another():
    made = []

    def bars(values: np.ndarray, *, title: str) -> alt.Chart:
        made.append(title)
        return alt.Chart(alt.to_values(pd.DataFrame({"value": values.ravel()[-2:]}))).mark_bar().encode(
            y="value:Q").properties(title=title)

    values = np.zeros((1_000, 600), np.float32)
    first = chart(bars, values, title="<b>")
    assert chart(bars, values.copy(), title="<b>") is first
    assert chart(bars, values, title="other") is not first
    values[-1, -1] = 1
    (frame,) = chart(bars, values, title="<b>")["datasets"].values()
    assert frame["value"].tolist() == [0, 1]
    assert made == ["<b>", "other", "<b>"]


def test_a_page_drawn_again_makes_no_chart(visit, finished):
    at = visit("positions", count="37")
    assert len(finished) >= 3
    finished.clear()
    at.run()
    assert len(at.get("vega_lite_chart")) == 3
    assert not finished


def test_a_step_makes_no_chart_of_positions(visit, finished):
    places = []
    for step in ("2", "3"):
        finished.clear()
        at = visit("translate", text="I like red wine.", step=step, kind="decoder")
        at.session_state["translate_details"] = "Positions"
        at.run()
        (curves,) = at.get("vega_lite_chart")
        places.append(max(row["position"] for row in rows_of(curves)))
    assert not finished
    assert places[1] == places[0] + 1
