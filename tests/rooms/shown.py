"""What a lecturer shows a room, as the page of a text draws it for phones."""

from transformer.attention_view.heads import Pooled, one_head
from transformer.attention_view.message import bars, candidate_bars, source_tokens, target_tokens
from transformer.attention_view.message_fields import Row, Selection, StepView
from transformer.attention_view.phone_message import small
from transformer.inference.decoding import Step


def picture_of(step: Step, kind: str = "cross", layer: int = 1, head: int = 2, *, view: str = "matrix",
               hide: bool = False) -> bytes:
    read = target_tokens(step)
    rows = [Row(label="Target", name="target tokens", part="target", tokens=[*read, step.piece], predicted=len(read))]
    if step.src is not None:
        rows.insert(0, Row(label="Source", name="source tokens", part="source", tokens=source_tokens(step)))
    step_view = StepView(rows=rows, said=f"Step {step.index}: {step.piece}", bars=candidate_bars(step, bars(step)),
                  text={"label": "The text so far", "written": step.output, "coming": ""})
    selection = Selection(kind, layer, head, view=view)
    return small(step, selection, Pooled.of(step, kind), one_head(step, kind, layer, head),
                 step_view=step_view.sent() | {"hide": hide})
