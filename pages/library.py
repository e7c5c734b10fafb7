"""Five lines of the library, run on any checkpoint and text: the code beside what it gives."""

import pandas
import streamlit as st

import transformer
from transformer.basics.paths import ROOT, of_name
from ui.choices.checkpoint import choose_entry, open_entry
from ui.components.attention_details import explain, offer_files
from ui.components.attention_view import Selected, show_attention
from ui.figures import plain_table
from ui.page.link import arrive_at, end_page, leave_at, text
from ui.page.plain_text import say_error
from ui.page.presentation import columns, presenting, settings, show_title
from ui.page.terms import with_terms
from ui.page.text_limits import within
from ui.views.stepper.examples import fit_example

PAGE, EXAMPLE, LONGEST = "library", "I like red wine.", 120  # characters, so that a picture of all heads stays small
FIELDS = {"text": text(EXAMPLE), **Selected.fields()}
# By the last kind of attention of a model. A reader sees the values in braces written out; Python is given them as
# variables, so that nothing typed becomes code.
LOAD, STEPS = "ckpt = transformer.load({name})", "*_, step = transformer.steps(ckpt, {text}, max_steps=20)"
LINES = {
    "cross": (LOAD, STEPS, "step.output", 'step.frame("cross").nlargest(5, "weight")', "transformer.show(step)"),
    "decoder": (LOAD, STEPS, "step.output", 'step.frame("decoder").query("key < query").nlargest(5, "weight")',
                "transformer.show(step)"),
    "encoder": (LOAD, "reading = transformer.attend(ckpt, {text})", 'reading.tokens["src"]',
                'reading.frame("encoder").nlargest(5, "weight")', "transformer.show(reading)")}


def run(lines: tuple[str, ...], **names: object) -> list[object]:
    """What each line gives, that of an assignment the value of its last name."""
    names |= {"transformer": transformer}
    values = []
    for line in lines:
        code = line.format(text="text")
        targets, assigns, _ = code.partition(" = ")
        if assigns:
            exec(code, names)
        values.append(names[targets.split()[-1]] if assigns else eval(code, names))
    return values


def literal(value: str) -> str:
    """A text as Python writes it, in double quotes where it can be."""
    written = repr(value)
    return written if '"' in written else f'"{written[1:-1]}"'


def shown(cell: object) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def show(value: object) -> None:
    """A value as a notebook shows it."""
    if isinstance(value, pandas.DataFrame) and presenting(PAGE):
        rows = [[shown(cell) for cell in row] for row in value.itertuples(index=False)]
        st.html(plain_table(list(value), rows, label="Result"))
    elif isinstance(value, pandas.DataFrame):
        st.dataframe(value, hide_index=True)
    else:
        st.text(repr(value))


dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)

show_title(PAGE, "Library")
with settings(PAGE):
    st.markdown(with_terms("The library behind these pages, `transformer`, also runs in a notebook or on a machine "
                              "without a browser. Here are five lines, each with its result for your checkpoint and "
                              "text.", "checkpoint"), unsafe_allow_html=True)
entry = choose_entry(PAGE, lambda about: of_name(about.folder.name) == about.folder)
ckpt = open_entry(entry)  # the first line, run once for all visitors
fit_example(PAGE, ckpt, [EXAMPLE])
lines = LINES[ckpt.config.kinds[-1]]
try:
    with settings(PAGE, "text"):
        typed = within(st.text_area("Text", key=f"{PAGE}_text", height=68), LONGEST)
    values = [ckpt, *run(lines[1:], ckpt=ckpt, text=typed)]
except ValueError as error:
    say_error(error)
    leave_at(PAGE, FIELDS, checkpoint=ckpt.id)
    end_page()
code = [line.format(name=literal(entry.folder.name), text=literal(typed)) for line in lines]
for line, value in zip(code, values, strict=True):
    left, right = columns(PAGE, 2, vertical_alignment="center")
    left.code(line, wrap_lines=True)
    with right:
        show(value)
    if hasattr(value, "close"):  # a live view, which only a notebook displays
        value.close()
selection, _ = show_attention(PAGE, values[1], dark=dark)
explain(PAGE, values[1], selection)
offer_files(PAGE, lambda: (values[1], selection))
leave_at(PAGE, FIELDS, checkpoint=ckpt.id)

with settings(PAGE, "yourself"):
    st.header("Use it yourself", anchor=False)
    left, right = st.columns(2)
    with left:
        st.caption("Install it, in a clone of the project:")
        st.code("pip install .", language="sh")
        st.caption("All five lines:")
        st.code("\n".join(["import transformer", "", *code]), wrap_lines=True)
    with right:
        notebook = ROOT / "docs" / "library.ipynb"
        st.markdown("The notebook `docs/library.ipynb` continues from here: other candidates, tables of attention, "
                    "head roles, switching heads off, training, and Hugging Face models.")
        st.download_button("Download the notebook", notebook.read_bytes(), notebook.name, "application/x-ipynb+json",
                           icon=":material/download:", on_click="ignore")
