"""The loss of a run while it trains. New losses replace the data alone, so that the chart stays as a reader has moved
it."""
from collections.abc import Sequence

import altair as alt
import pandas as pd

from ui.figures.chart import Chart, ink_of, rule, themed
from ui.figures.frame import TEXT
from ui.figures.palette import BAR

MOST = 2_000  # points sent
LOSSES = "losses"  # the name of the data in the chart


def guessing_label(loss: float) -> str:
    """The name of the line for guessing at random."""
    return f"guessing at random: {loss:.2g}"


def loss_curve(*, last: int | None = None, chance: float | None = None, title: str = "Training loss", source: str = "",
               dark: bool | None = None) -> Chart:
    """Losses over their steps, on an axis as long as the run's `last` step; `chance` is dashed: guessing at random. The
    losses themselves are `with_losses`."""
    curve = alt.Chart(alt.NamedData(LOSSES)).mark_line(
        color=BAR, strokeWidth=2.5, point={"size": 40, "color": BAR}).encode(
        alt.X("step:Q", scale=alt.Scale(nice=False, domainMin=0, domainMax=last or alt.Undefined),
              axis=alt.Axis(grid=False, tickCount=10)),
        alt.Y("loss:Q", title="loss, nats per text", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5)),
        tooltip=["step:Q", alt.Tooltip("loss:Q", format=".5f")])
    rules = []
    if chance is not None:
        dashed = rule(alt.Y("value:Q"), {guessing_label(chance): chance})
        rules = [dashed, dashed.mark_text(align="right", baseline="bottom", dx=-6, dy=-6, fontSize=TEXT,
                                          **ink_of(dark)).encode(x=alt.value("width"), text="name:N")]
    return themed(alt.layer(curve, *rules).interactive(), title=title, source=source, dark=dark, height=380)


def with_losses(chart: dict, steps: Sequence[int], losses: Sequence[float]) -> dict:
    """A finished `loss_curve` with its losses, thinned to 2,000 and the last."""
    thin = -(-len(steps) // MOST) or 1
    frame = pd.DataFrame({"step": steps, "loss": losses}, dtype=float)
    if thin > 1:
        frame = pd.concat([frame[::thin], frame[-1:]])
    return chart | {"datasets": chart.get("datasets", {}) | {LOSSES: frame}}


def describe_loss(steps: Sequence[int], losses: Sequence[float]) -> str:
    """A sentence for `alt=`: the first and the last loss."""
    if not len(steps):
        return "Training loss: no step has been recorded yet."
    return f"Training loss: {losses[0]:.4f} at step {steps[0]:,}, {losses[-1]:.4f} at step {steps[-1]:,}."
