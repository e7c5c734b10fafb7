"""The loss of a run while it trains. A Vega-Lite dictionary for `st.vega_lite_chart`, cheap enough to send often."""
from collections.abc import Sequence

from ui.figures.frame import NOTE, TEXT
from ui.figures.palette import BAR, INK, MUTED

MOST = 2_000  # points sent


def loss_curve(steps: Sequence[int], losses: Sequence[float], *, last: int | None = None, chance: float | None = None,
               title: str = "Training loss", source: str = "", dark: bool | None = None) -> dict:
    """Losses over their steps, on an axis as long as the run's `last` step; `chance` is dashed: knowing nothing."""
    thin = -(-len(steps) // MOST) or 1
    points = list(zip(steps, losses, strict=True))
    points = points[::thin] + points[-1:] * (thin > 1)
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"}
    text |= {"labelColor": INK[dark], "titleColor": INK[dark]} if INK[dark] else {}
    most = max([*losses, chance or 0.0, 0.0]) or 1.0
    across = {"field": "step", "type": "quantitative", "title": "step",
              "scale": {"domain": [0, max([last or 1, *steps])], "nice": False},
              "axis": {"grid": False, "tickCount": 10, **text}}
    up = {"field": "loss", "type": "quantitative", "title": "loss, nats a text",
          "scale": {"domain": [0, 1.05 * most], "nice": False}, "axis": {"tickCount": 5, **text}}
    curve = {
        "data": {"values": [{"step": int(step), "loss": float(loss)} for step, loss in points]},
        "mark": {"type": "line", "point": {"size": 40, "color": BAR}, "color": BAR, "strokeWidth": 2.5},
        "encoding": {"x": across, "y": up, "tooltip": [
            {"field": "step", "type": "quantitative"}, {"field": "loss", "type": "quantitative", "format": ".5f"}]}}
    layers = [curve]
    if chance is not None:
        layers.append({"data": {"values": [{"loss": float(chance)}]},
                       "mark": {"type": "rule", "color": MUTED, "strokeDash": [6, 4], "strokeWidth": 2},
                       "encoding": {"y": {"field": "loss", "type": "quantitative"}}})
    return {"title": {"text": title, "subtitle": source, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE,
                      "subtitleColor": INK[dark] or MUTED},
            "height": 380, "padding": {"left": 4, "right": 16, "top": 32, "bottom": 4}, "layer": layers}


def describe_loss(steps: Sequence[int], losses: Sequence[float]) -> str:
    """A sentence for `alt=`: from where to where the loss went."""
    if not len(steps):
        return "Training loss: no step has been recorded yet."
    return f"Training loss: {losses[0]:.4f} at step {steps[0]:,}, {losses[-1]:.4f} at step {steps[-1]:,}."
