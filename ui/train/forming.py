"""Attention as it forms: the recorded heads of a run or a checkpoint, moved through in the browser."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import streamlit as st

from transformer.analysis.roles import even_attention, measure_heads
from transformer.attention_view.message import FORMING_SCRIPT, FORMING_STYLE, pack
from transformer.training.forming import Forming, Pinned, forming_stamp
from ui import resources
from ui.address import Field, choice, whole
from ui.say import say_error

SPECIAL = ("<s>", "</s>", "<pad>")
LONGEST_LABEL = 60

_view = st.components.v2.component("attention_forming", html='<div class="attention-view forming"></div>',
                                   css=FORMING_STYLE, js=FORMING_SCRIPT)


@dataclass(frozen=True)
class FormingLook:
    """What is looked at; `forming_fields` puts it into the address."""

    step: int | None  # None: the newest, and newer ones as they come
    kind: str
    layer: int
    head: int
    sentence: int  # counted from 1


def forming_fields() -> dict[str, Field]:
    """What of the view a page's address holds: forming_step, forming_kind, forming_layer, forming_head and
    forming_sentence."""
    def optional(field: Field) -> Field:
        return Field(None, field.read, lambda value: None if value is None else str(value))

    return {"forming_step": optional(whole(0, 0, 10 ** 12)),
            "forming_kind": optional(choice(None, ["encoder", "decoder", "cross"])),
            **{f"forming_{name}": optional(whole(0, 0, 1_000)) for name in ("layer", "head", "sentence")}}


def show_forming(prefix: str, folder: Path, *, dark: bool, every: float | None = 5.0) -> None:
    """The view of what a run or a checkpoint recorded; what is looked at is in session state under
    <prefix>_forming_<step, kind, layer, head, sentence>, and a page that uses `forming_fields` puts it in its address.

    every: seconds between looks for new snapshots of a run under way; the page runs again only where there are some,
    and only these are sent. None where the page runs by itself.
    """
    folder = Path(folder).resolve()
    stamp = forming_stamp(folder)
    if every and stamp[-1] == "running":
        st.fragment(_watch, run_every=every)(folder, stamp)
    try:
        found = resources.forming(folder)
    except ValueError as error:
        say_error(error)
        return
    if found is None:
        st.info("No attention is recorded here yet. A run records its pinned sentences while it trains, up to 48 "
                "times: before the first step, and then more and more seldom.")
        return
    look = look_in_range(prefix, found)
    state = st.session_state
    _view(key=f"{prefix}_forming", on_look_change=partial(_looked, prefix),
          data=_message(prefix, _version(found, folder), found, look, dark=dark))
    st.caption("Each square is one head; each of its rows is a token that looks, and how its weight of 1 is spread. "
               "Drag the slider, or use ← → Home End while it has the focus; P plays. Click a head or a line to see "
               "that head large.")
    with st.expander("What the four measures say, and what not", key=f"{prefix}_forming_words"):
        st.markdown(WORDS)
    state[f"{prefix}_forming_reported"] = look


WORDS = """
Every measure is a mean over the tokens of this one sentence that look. Tokens with only one place to look, such as the
decoder's first, are left out: whatever the head does, their whole weight is there.

- **Entropy** is −Σ w ln w of a row of weights, in nats. 0 means that all weight is on one token; ln n is the most, with
  n tokens weighted alike.
- **Diagonal** is the weight on the token itself. In cross-attention, where query and key come from different sentences,
  it is the weight on the source token as far along its sentence: number ⌊(i + ½) S / T⌋ for target token i of T, with S
  source tokens.
- **Previous token** is the weight on the token before the one on the diagonal.
- **First token** is the weight on token 0. Heads with nothing to do often rest there.

The dotted line is a head that looks at everything alike, and the left end of each curve is the model before training,
with random weights: a head does something of its own only where it leaves both. One place can count twice: for the
second token, the previous token is also the first.

The training loss is taken with dropout, and label smoothing where the run has it; the validation loss without, so it
can be the lower one.

The measures say **where** weight lies in a few pinned sentences, with the right answer given to the decoder. They do
not say what is moved from there, nor whether the model needs it: a head with a clear pattern may be one that can be
switched off, and attention is not explanation (Jain and Wallace 2019). Weights were recorded in 8 bits, and are exact
to about 0.004.
"""


def _watch(folder: Path, drawn: tuple) -> None:
    """Run the page again once there is more than what it has drawn."""
    if forming_stamp(folder) != drawn:
        st.rerun()


def look_in_range(prefix: str, found: Forming) -> FormingLook:
    """What is chosen to be seen, brought into the range of what there is; the step becomes the snapshot up to it."""
    state = st.session_state
    asked = {name: state.get(f"{prefix}_forming_{name}") for name in FormingLook.__annotations__}
    step = asked["step"]
    if step is not None:
        step = max((one for one in found.steps if one <= step), default=found.steps[0])
    kind = asked["kind"] if asked["kind"] in found.heads else next(reversed(found.heads))
    layers, heads = found.heads[kind]
    look = FormingLook(None if step == found.steps[-1] else step, kind, min(asked["layer"] or 0, layers - 1),
                       min(asked["head"] or 0, heads - 1), min(max(asked["sentence"] or 1, 1), len(found.sentences)))
    for name, value in asdict(look).items():
        state[f"{prefix}_forming_{name}"] = value
    return look


def sentence_label(sentence: Pinned) -> str:
    """A pinned sentence as one reads it."""
    sides = ["".join(f"▁{token}" if token == "<unk>" else token for token in side if token not in SPECIAL)
             .replace("▁", " ").strip() for side in (sentence.source, sentence.target) if side]
    label = " → ".join(" ".join(side.replace("\n", " ↵ ").split()) for side in sides)
    return label if len(label) <= LONGEST_LABEL else label[:LONGEST_LABEL - 1] + "…"


def _version(found: Forming, folder: Path) -> str:
    """Tells a run from another one in the same place."""
    return f"{found.name} {(Path(folder) / 'config.json').stat().st_mtime_ns}"


def _message(prefix: str, version: str, found: Forming, look: FormingLook, *, dark: bool) -> bytes:
    """All that the browser needs and has not been sent; it asks again for what it finds missing."""
    state, key = st.session_state, (look.sentence - 1, look.kind)
    name = f"{look.sentence}/{look.kind}"
    if look != state.get(f"{prefix}_forming_reported"):  # not the reader's doing there: an address, or a range
        state[f"{prefix}_forming_given"] = state.get(f"{prefix}_forming_given", 0) + 1
    sent = state.get(f"{prefix}_forming_sent")
    if sent is None or sent["of"] != version:
        sent = {"of": version}
    new = [at for at, step in enumerate(found.steps) if step not in sent.get(name, ())]
    state[f"{prefix}_forming_sent"] = sent | {name: found.steps}
    arrays = {f"cells/{name}": found.cells[key][new], f"measures/{name}": found.measures[key][new]} if new else {}
    queries, keys = map(len, found.sentences[key[0]].axes(look.kind))
    even = measure_heads(even_attention(queries, keys, kind=look.kind), kind=look.kind)
    sentences = [{"label": sentence_label(one), **asdict(one)} for one in found.sentences]
    return pack({
        "of": version, "name": found.name, "live": found.live, "dark": dark, "steps": found.steps,
        "training": found.training, "validation": found.validation, "losses": found.losses, "heads": found.heads,
        "sentences": sentences, "even": {name: [float(value) for value in even.values()]},
        "sent": {name: [found.steps[at] for at in new]}, "notes": found.notes, "look": asdict(look),
        "given": state.get(f"{prefix}_forming_given", 0), "answered": state.get(f"{prefix}_forming_answered", 0),
    }, arrays, lower={f"cells/{name}"} if look.kind == "decoder" and new else ())


def _looked(prefix: str) -> None:
    state, asked = st.session_state, st.session_state[f"{prefix}_forming"].look
    if not isinstance(asked, Mapping) or not isinstance(asked.get("number"), int):
        return
    look = FormingLook(*(asked.get(name) for name in FormingLook.__annotations__))
    numbers = look.layer, look.head, look.sentence, 0 if look.step is None else look.step
    if not isinstance(look.kind, str) or not all(isinstance(one, int) and one >= 0 for one in numbers):
        return
    for name, value in asdict(look).items():
        state[f"{prefix}_forming_{name}"] = value
    state[f"{prefix}_forming_reported"], state[f"{prefix}_forming_answered"] = look, asked["number"]
    if asked.get("need"):
        state.pop(f"{prefix}_forming_sent", None)
