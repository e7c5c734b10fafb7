"""A classifier's reading of a text: the classes, the token that won each feature, contributions, and the attention."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from transformer.analysis.pooling import Pooling, pool
from transformer.attention_view.message_fields import Bar, Bars, Row, StepView
from transformer.attention_view.selected import in_range
from transformer.attention_view.window import LONGEST
from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.reading import Reading, attend
from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer
from transformer.text.tokenizer import Piece
from transformer.text.word_pieces import labelled
from ui import figures
from ui.components.attention_details import offer_files, show_details
from ui.components.attention_view import Selected, show_step_view
from ui.page.plain_text import say_error
from ui.state.work_queue import heavy
from ui.views.stepper import what_if

PREDICTED = 3  # pieces named at each place of a masked language model
CLASSES = 10   # with a bar, before all are requested
NAMED = 3      # of a text as it is and changed


def show_reading(prefix: str, ckpt: Checkpoint, text: str | tuple[str, str], *, question: str, dark: bool,
                 note: str = "", changeable: bool = False) -> None:
    """The view of a text, or of two that are read as one; shows an error for one that cannot be read. Widgets are
    `<prefix>_class` and those of the attention view. note: a line about the text; changeable: What if is offered.
    """
    changes = what_if.fitting(prefix, ckpt, text) if changeable else None
    try:
        tokenizer = ckpt.source_tokenizer
        if isinstance(text, str):
            pieces = tokenizer.pieces(text)
        else:
            assert isinstance(tokenizer, HuggingFaceTokenizer)  # no other reads pairs
            pieces = tokenizer.pair(*text)[0]
        with heavy("Reading") if len(pieces) > LONGEST else nullcontext():
            reading = attend(ckpt, text, change=changes)
    except ValueError as error:
        say_error(error)
        if changes:
            what_if.offer_way_back(prefix)
        return
    pooling = pool(ckpt, reading) if ckpt.config.n_classes else None
    if pooling is not None:
        _in_range(prefix, ckpt, reading)
    if changeable:
        _show_what_if(prefix, reading, text)
    rows = [_tokens_row(prefix, ckpt, pieces, pooling)]
    bars = _bars(prefix, ckpt, reading, question=question) if pooling is not None else None
    step_view = StepView(rows=rows, said=_said(prefix, ckpt, reading), bars=bars, text={"note": note} if note else None)
    selection, head = show_step_view(prefix, reading, step_view, dark=dark, newest=False,
                                     on_class=partial(_class_clicked, prefix, ckpt.classes, _order(reading)),
                                     on_change=partial(what_if.take, prefix) if changeable else None)
    if len(pieces) > LONGEST:
        st.caption(f"The first {LONGEST} of {len(pieces):,} tokens are shown above, but all are read and counted.")
    if pooling is not None:
        _show_pooling(prefix, ckpt, pooling, pieces)
        _show_features(prefix, ckpt, pooling, pieces)
    else:
        _show_predicted(prefix, ckpt, reading)
    offer_files(prefix, lambda: (reading, selection))
    show_details(prefix, reading, selection, head, dark=dark)


def _show_what_if(prefix: str, reading: Reading, text: str | tuple[str, str]) -> None:
    """What can be changed in the model, what is, and then the classes of the text as it is beside the changed ones."""
    with st.container(key=f"{prefix}_whatif_box"):
        what_if.offer(prefix, reading, in_range(Selected(prefix).selection, reading, newest=False)[0])
        if reading.change and reading.ckpt.config.n_classes:
            before = attend(reading.ckpt, text)
            for column, name, one in zip(st.columns(2, gap="medium"), ("As it is", "Changed"), (before, reading),
                                         strict=True):
                shares = _probabilities(one)
                likeliest = [(reading.ckpt.classes[at], shares[at]) for at in _order(one)[:NAMED]]
                column.markdown(f"**{name}**: " + " · ".join(
                    f"{figures.markdown_text(label)} {figures.some_percent(share)}" for label, share in likeliest))


def _tokens_row(prefix: str, ckpt: Checkpoint, pieces: list[Piece], pooling: Pooling | None) -> Row:
    """The tokens, coloured by their contribution to the chosen class."""
    unknown = [at for at, piece in enumerate(pieces[:LONGEST]) if piece.unknown]
    row = Row(label="Text", name="tokens read", part="source",
              tokens=labelled([piece.text for piece in pieces[:LONGEST]], ckpt.source_tokenizer),
              unknown=unknown, wraps=True)
    if pooling is None:
        return row
    chosen = st.session_state[f"{prefix}_class"]
    added = pooling.contributions[:LONGEST, ckpt.classes.index(chosen)].tolist()
    return replace(row, added=added, adds_to=chosen)


def _order(reading: Reading) -> list[int]:
    """The numbers of the classes, likeliest first."""
    return reading.logits.argsort(descending=True).tolist() if reading.logits is not None else []


def _probabilities(reading: Reading) -> list[float]:
    """Those of all classes."""
    return reading.logits.exp().tolist() if reading.logits is not None else []


def _bars(prefix: str, ckpt: Checkpoint, reading: Reading, *, question: str) -> Bars:
    """A bar for each class; a click chooses the class for which tokens are coloured."""
    probabilities, chosen = _probabilities(reading), st.session_state[f"{prefix}_class"]
    rows = [Bar(label=ckpt.classes[at], probability=probabilities[at],
                chosen=ckpt.classes[at] == chosen) for at in _order(reading)]
    return Bars(title=question, label="classes", rows=rows, keys=False, tokens=False, least=CLASSES, most=CLASSES,
                rest=0.0, hint="Show which tokens speak for this class",
                note="Blue: for the orange class. Red: against it.", invites="Click another class.")


def _said(prefix: str, ckpt: Checkpoint, reading: Reading) -> str:
    """The prediction in a sentence."""
    if reading.logits is None or not ckpt.config.n_classes:
        return f"{how_many(len(reading.tokens['src']), 'token')} read"
    return figures.describe_classes(ckpt.classes, _probabilities(reading))


def mask_of(ckpt: Checkpoint) -> str | None:
    """The piece for a masked one in a text; None if the tokenizer has none."""
    return next((mask for mask in ("[MASK]", "<mask>") if ckpt.reads_text and any(
        piece.text == mask and not piece.unknown for piece in ckpt.tokenizer.pieces(mask))), None)


def _show_predicted(prefix: str, ckpt: Checkpoint, reading: Reading) -> None:
    """The predictions at each place of an encoder without classes, if it was trained to make them."""
    if reading.logits is None:
        st.info("This encoder has no head and predicts nothing: only its attention can be shown.")
        return
    mask = mask_of(ckpt)
    st.markdown("**Predictions at each position.** It was trained to fill in masked tokens"
                + (f": type `{mask}` for one." if mask else "."))
    values, ids = reading.logits.softmax(dim=-1).topk(min(PREDICTED, reading.logits.shape[-1]), dim=-1)
    columns = {"place": range(len(ids)), "read": [figures.plain_label(token) for token in reading.tokens["src"]]}
    for rank in range(ids.shape[1]):
        columns[f"{rank + 1}."] = [figures.plain_label(ckpt.tokenizer.piece(id)) for id in ids[:, rank].tolist()]
        columns[f"probability {rank + 1}"] = values[:, rank].tolist()
    st.dataframe(columns, hide_index=True, key=f"{prefix}_predicted", width="stretch",
                 column_config={name: st.column_config.NumberColumn(format="%.3f")
                                for name in columns if name.startswith("probability")})


def _in_range(prefix: str, ckpt: Checkpoint, reading: Reading) -> None:
    state = st.session_state
    if reading.logits is not None and state.get(f"{prefix}_class") not in ckpt.classes:
        state[f"{prefix}_class"] = ckpt.classes[int(reading.logits.argmax())]


def _class_clicked(prefix: str, classes: tuple[str, ...], order: list[int], nth: int) -> None:
    if nth < len(order):
        st.session_state[f"{prefix}_class"] = classes[order[nth]]


def _show_pooling(prefix: str, ckpt: Checkpoint, pooling: Pooling, pieces: list[Piece]) -> None:
    """The tokens twice: with the features each won, and with its contribution to the chosen class."""
    tokens, unknown = [piece.text for piece in pieces], [at for at, piece in enumerate(pieces) if piece.unknown]
    _say_how_it_reads(ckpt)
    count = len(tokens)
    tokens, unknown = tokens[:LONGEST], [at for at in unknown if at < LONGEST]
    features, chosen = ckpt.config.d_model, st.session_state[f"{prefix}_class"]
    if ckpt.config.pooling == "first":
        st.markdown("**First-token pooling: the class is read from the first token's row alone.** Other tokens "
                    "contribute only through attention.")
    elif pooling.winners is None:
        st.markdown(f"**Mean pooling: every token has the same share of every feature**, 1/{count}.")
    else:
        won = np.bincount(pooling.winners.numpy(), minlength=count)[:LONGEST]
        st.markdown(f"**Max pooling: how many of the {features:,} features each token won**")
        st.html(figures.won_chips(tokens, won.tolist(), features=features, label="features won", unknown=unknown))
        st.caption("The encoder ends with a row of features for each token. Max pooling keeps the largest value of "
                   "each feature in the text; the token it comes from wins that feature.")
    st.markdown("**What each token adds to the score of the chosen class**")
    at = ckpt.classes.index(chosen)
    st.html(figures.contribution_chips(tokens, pooling.contributions[:LONGEST, at].tolist(), to=chosen,
                                       label="contributions", unknown=unknown))
    total, bias = float(pooling.contributions[:, at].sum()), float(pooling.bias[at])
    st.caption("Blue favours the class, red counts against it, compared with the average class. They add up to "
               f"{total:+.4f}. The class starts at {bias:+.4f} for any text; together that is "
               f"{total + bias:+.4f}, its logit above the mean of all classes. Exact, but attention has already mixed "
               f"the tokens: this is what a token's row adds, not its word alone." + (
                   " The layer after pooling is held fixed at what it does to this text."
                   if ckpt.config.pooler and ckpt.config.pooling != "first" else "") + (
                   " Dashed: a word the model doesn't know." if unknown else
                   ""))


def _say_how_it_reads(ckpt: Checkpoint) -> None:
    """Says what of the text never reaches the model."""
    drops = getattr(ckpt.source_tokenizer, "standardise", False)
    st.caption(("Read in lower case and without punctuation and line ends. " if drops else "")
               + f"The model knows {ckpt.config.vocab_size:,} tokens; it reads any other as the unknown token.")


def _show_features(prefix: str, ckpt: Checkpoint, pooling: Pooling, pieces: list[Piece]) -> None:
    at = ckpt.classes.index(st.session_state[f"{prefix}_class"])
    weight = (ckpt.model.output.weight[at] - ckpt.model.output.weight.mean(dim=0)).numpy()
    values = pooling.pooled.numpy()
    columns = {"feature": range(len(values))}
    if pooling.winners is not None:
        winners = pooling.winners.tolist()
        columns |= {"winning token": [figures.plain_label(pieces[place].text, longest=None) for place in winners],
                    "position": winners}
    columns |= {"pooled value": values, "weight for the class": weight, "adds": values * weight}
    with st.expander("Every feature: " + ("value and contribution" if pooling.winners is None else
                                          "winning token and contribution"), key=f"{prefix}_features"):
        st.dataframe(columns, hide_index=True, height=320, key=f"{prefix}_feature_table", width="stretch",
                     column_config={name: st.column_config.NumberColumn(format="%.4f")
                                    for name in ("pooled value", "weight for the class", "adds")})
        st.caption("Click a heading to sort. Weights are relative to the mean of all classes.")
