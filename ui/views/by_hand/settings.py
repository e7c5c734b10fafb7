"""The settings of By hand: its address, its widgets, and the line that sums them up."""

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.by_hand.notebook import lines
from transformer.by_hand.random_numbers import GENERATORS
from transformer.by_hand.stages import BOUNDS, LETTERS, SCALES, SENTENCE, WORDS, Settings
from ui import figures
from ui.page.link import Field, choice, leave_at, opened, optional, quiet, text, whole, wholes
from ui.page.text_limits import taken
from ui.views.by_hand.dragged import MOVED
from ui.views.by_hand.matrices import CONTENTS, NAMES, PAGE

STYLE = (Path(__file__).parent / "page.css").read_text("utf-8")
PARTS = {"steps": "Steps", "exercise": "Exercise", "scale": "Why √d_k", "batch": "Heads in the batch",
         "slips": "Four common mistakes", "trained": "A trained head", "vectors": "Query and keys"}
OF_A_MODEL = ("trained", "vectors")  # the parts with the numbers of a head that learned
MASKS = ("none", "causal")
ALL = "all"  # the steps
STEPS = {ALL: ALL, **{name: number for number, name in enumerate(CONTENTS, 1)}}  # by their names in a link
FILLS = {"row": "The query's row", "matrix": "The whole matrix"}
FIRST = Settings()
FARTHEST = 1_000
WIDEST = max(4 * BOUNDS["d"][1], BOUNDS["heads"][1] * BOUNDS["d_v"][1])  # numbers in a row
TRAINED = {  # clamped where the range is known; by default a head of the translator that aligns words
    "kind": Field(None), "layer": whole(1, 0, FARTHEST), "head": whole(3, 0, FARTHEST),
    "row": whole(FARTHEST, 0, FARTHEST), "column": whole(0, 0, FARTHEST)}
FIELDS = {
    "text": text(SENTENCE), **{name: whole(getattr(FIRST, name), *bounds) for name, bounds in BOUNDS.items()},
    "scale": choice(FIRST.scale, list(SCALES)), "mask": choice(MASKS[0], MASKS),
    "query": optional(whole(0, 0, FARTHEST)),  # by default the last word
    "key": whole(0, 0, FARTHEST), "first": quiet(whole(0, 0, WIDEST)), "part": choice("steps", list(PARTS)), **TRAINED,
    **MOVED,
    **{f"weights_{step}": opened() for step in (3, 11, 13)},  # boxes of these steps
    "positions": Field(False, {"yes": True}.__getitem__, lambda on: "yes" if on else None),
    "numbers": quiet(choice(GENERATORS[0], GENERATORS)), "step": optional(choice(None, STEPS)),
    "fill": quiet(choice("row", list(FILLS))), "sheet": quiet(wholes([4, 5, 7, 8], len(NAMES), count=len(NAMES)))}


def leave() -> None:
    """As `leave_at`; a trained head is in the address only while it is shown."""
    state, part = st.session_state, st.session_state[f"{PAGE}_part"]
    unseen: dict[str, Any] = {} if part in OF_A_MODEL else dict.fromkeys(TRAINED)
    if part == "vectors":
        unseen["column"] = None
    else:
        unseen |= dict.fromkeys(MOVED)
    leave_at(PAGE, FIELDS, checkpoint=state[f"{PAGE}_checkpoint"] if part in OF_A_MODEL else None, **unseen)


def settings() -> Settings:
    """The settings of the widgets. Raises ValueError for a sentence that cannot be written out."""
    state = st.session_state
    numbers = {name: int(state[f"{PAGE}_{name}"]) for name in BOUNDS}
    return Settings(state[f"{PAGE}_text"], scale=state[f"{PAGE}_scale"], causal=state[f"{PAGE}_mask"] == "causal",
                    positions=state[f"{PAGE}_positions"], numbers=state[f"{PAGE}_numbers"], **numbers)


def place(name: str, count: int) -> int:
    """A chosen place, clamped to `count` places; by default the last."""
    key = f"{PAGE}_{name}"
    chosen = st.session_state.get(key)
    st.session_state[key] = count - 1 if chosen is None else max(0, min(int(chosen), count - 1))
    return st.session_state[key]


def move_word(by: int) -> None:
    """Swaps the query word with its neighbour; it stays chosen, and so does the key word."""
    state, words = st.session_state, settings().words
    here = state[f"{PAGE}_query"]
    there = here + by
    if 0 <= here < len(words) and 0 <= there < len(words):
        words[here], words[there] = words[there], words[here]
        state[f"{PAGE}_text"] = " ".join(words)
        state[f"{PAGE}_query"] = there
        state[f"{PAGE}_key"] = {here: there, there: here}.get(state[f"{PAGE}_key"], state[f"{PAGE}_key"])


LABELS = {"seed": "Seed", "d": "d", "d_k": "d_q = d_k", "d_v": "d_v", "heads": "Heads"}
HELP = {
    "seed": "Same seed, same numbers.",
    "d": "The width of a word's vector, d_model in the paper.",
    "d_k": "The width of queries and keys, which must be equal for q · k.",
    "d_v": "The width of values, and so of a head's output.",
    "heads": "Heads side by side. The first one does not change.",
}
# the settings without effect on a part
IDLE = {"scale": ("d_v", "heads", "scale"), "batch": ("scale", "mask"), "slips": ("d_v", "heads"),
        "exercise": ("heads",)}
NUMBERS = {"ours": "This app", "torch": "torch.manual_seed, twice", "torch-once": "torch.manual_seed, once"}


def type_sentence() -> str:
    """Draws the box for a sentence and returns the text."""
    return taken(st.text_input("A sentence", key=f"{PAGE}_text", persist_state="session", width=320,
                               label_visibility="collapsed",
                               placeholder=f"Type up to {WORDS} words and press Enter"), LETTERS)


def choose_settings(part: str) -> None:
    """Draws all other settings, behind a line that sums them up."""
    state, unused = st.session_state, IDLE.get(part, ())
    heads, scale = state[f"{PAGE}_heads"], state[f"{PAGE}_scale"]
    summary = [f"seed {state[f'{PAGE}_seed']}", f"d = {state[f'{PAGE}_d']}", f"d_k = {state[f'{PAGE}_d_k']}",
            f"d_v = {state[f'{PAGE}_d_v']}", f"{heads} head{'s' * (heads > 1)}"]
    summary += ["causal mask"] * (state[f"{PAGE}_mask"] == "causal") + ["positions"] * state[f"{PAGE}_positions"]
    summary += [f"divided by {SCALES[scale].said}"] * (scale != FIRST.scale)
    summary += ["torch's numbers"] * (state[f"{PAGE}_numbers"] != "ours")
    with st.popover(figures.markdown_text(f"Settings: {', '.join(summary)}"), icon=":material/tune:",
                    key=f"{PAGE}_settings_opened"):
        with st.container(horizontal=True, gap="small"):
            for name, (least, most) in BOUNDS.items():
                st.number_input(LABELS[name], least, most, step=1, key=f"{PAGE}_{name}", persist_state="session",
                                help=HELP[name], width=112 if name != "seed" else 150, disabled=name in unused)
        with st.container(horizontal=True, gap="small"):
            st.selectbox("Divide q · k by", list(SCALES), key=f"{PAGE}_scale", persist_state="session", width=200,
                         format_func=lambda scale: SCALES[scale].said,
                         help="√d_k is the paper's choice. ⁴√d_k divides q and k before they are multiplied, with the "
                              "same scores.",
                         disabled="scale" in unused)
            st.segmented_control("Mask", MASKS, key=f"{PAGE}_mask", required=True, persist_state="session",
                                 format_func=str.capitalize, help="Causal: no word may attend to later words.",
                                 disabled="mask" in unused)
            st.segmented_control("Positions", (False, True), key=f"{PAGE}_positions", required=True,
                                 persist_state="session", format_func={False: "None", True: "Added"}.__getitem__,
                                 help="Added: the paper's sines and cosines (section 3.5).")
        st.segmented_control(
            "Numbers from", list(NUMBERS), key=f"{PAGE}_numbers", required=True, persist_state="session",
            format_func=NUMBERS.__getitem__,
            help="As in a notebook: torch.nn.Embedding, then torch.rand for the weights. The seed is set before the "
                 "embedding and again before the weights, or only once.")
        _move_words(settings_or_none())


def settings_or_none() -> Settings | None:
    """As `settings`, or None for a sentence that cannot be written out."""
    try:
        return settings()
    except ValueError:
        return None


def _move_words(now: Settings | None) -> None:
    """Buttons that swap the query word with its neighbours."""
    if now is None:
        return
    query, count = place("query", len(now.words)), len(now.words)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown("Move the query word", width="content")
        st.button("Move it left", icon=":material/arrow_back:", key=f"{PAGE}_left", disabled=query == 0,
                  on_click=partial(move_word, -1))
        st.button("Move it right", icon=":material/arrow_forward:", key=f"{PAGE}_right", disabled=query == count - 1,
                  on_click=partial(move_word, 1))


def show_lines(now: Settings) -> None:
    """Python code for the same numbers, if they are drawn as in a notebook."""
    if now.numbers == "ours":
        return
    with st.popover("The same numbers in Python", icon=":material/code:", key=f"{PAGE}_lines"):
        st.caption("Run these lines anywhere: every number is the one on this page. With the sentence “Life is short, "
                   "eat dessert first”, seed 123 set twice, d = 16, d_k = 24 and d_v = 28 they are those of Sebastian "
                   "Raschka's tutorial on coding self-attention (2023).")
        st.code(lines(now), language="python", height=420)
