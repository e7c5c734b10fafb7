"""A checkpoint's tokenizer: a search for pieces, the pieces of a text, and a piece's neighbours by embedding."""

import streamlit as st

from transformer.analysis.tensors import neighbours
from transformer.checkpoints.checkpoint import Checkpoint
from ui import figures
from ui.choices.head import origin
from ui.page.link import quiet, text, whole
from ui.page.presentation import columns, settings
from ui.page.text_limits import SEARCH, taken
from ui.state.page_state import Kept, PageState

MOST_FOUND, NEIGHBOURS = 60, 12
EXAMPLES = ["red", "he", "e", "17"]


class TokenizerState(PageState):
    """What is kept of this view."""

    search = quiet(text(""))
    piece = quiet(whole(-1, -1, 10_000_000))
    piece_example: Kept[str | None] = Kept(None)  # the one that was clicked


def show_tokenizer(page: str, ckpt: Checkpoint) -> None:
    """The search, the chosen piece, and its neighbours."""
    sides = _sides(ckpt)
    side = next(iter(sides))
    if len(sides) > 1:
        names = [name for name in ("written", "read") if name in sides]
        with settings(page, "side"):
            side = st.segmented_control("Tokenizer", names, default=side, key=f"{page}_side", required=True) or side
    tokenizer, table = sides[side]
    drops = " It lowercases and drops punctuation first." if getattr(tokenizer, "standardise", False) else ""
    kind = figures.markdown_text(kind_of(tokenizer.kind))
    st.caption(f"The tokenizer splits text into pieces, each with an id. This one has {tokenizer.vocab_size:,} pieces, "
               f"kind: {kind}.{drops} ␣ is a space.")
    left, right = columns(page, [2, 3], gap="large")
    with left:
        with settings(page, "search"):
            wanted = taken(st.text_input("Search for a piece or an id", key=TokenizerState.search.key(page),
                                         placeholder="for example the, ␣la or 17"), SEARCH)
            st.pills("Examples", EXAMPLES, key=TokenizerState.piece_example.key(page), on_change=_use_example,
                     args=[page], label_visibility="collapsed")
        result = _find(page, tokenizer, wanted)
    with right:
        if result is None and not wanted.strip():
            st.info("Type part of a piece, or an id, to list matching pieces and their nearest neighbours.")
        elif result is not None:
            _show_neighbours(page, ckpt, tokenizer, table, result)


def kind_of(kind: str) -> str:
    """The name of a kind of tokenizer."""
    return {"huggingface": "tokenizer.json", "marian": "unigram"}.get(kind, kind)


def _sides(ckpt: Checkpoint) -> dict[str, tuple]:
    """Each vocabulary with its embedding matrix."""
    model, result = ckpt.model, {}
    for name, tokenizer, side in (("written", ckpt.tokenizer, "tgt_embedding"),
                                  ("read", ckpt.source_tokenizer, "src_embedding")):
        embedding = getattr(model, side, None)
        if embedding is not None and not any(embedding.tokens.weight is table for _, table in result.values()):
            result[name] = tokenizer, embedding.tokens.weight
    return result


def _use_example(page: str) -> None:
    state = TokenizerState(page)
    if state.piece_example:
        state.search, state.piece_example = state.piece_example, None


def _find(page: str, tokenizer, wanted: str) -> int | None:
    """Draws the results of a search and returns the id of the chosen one; None without results."""
    state = TokenizerState(page)
    if not wanted.strip():
        chosen = state.piece
        return chosen if 0 <= chosen < tokenizer.vocab_size else None
    ids = matches(tokenizer, wanted)
    if not ids:
        number = wanted.strip().isascii() and wanted.strip().isdigit()
        st.info(f"No piece contains {figures.markdown_text(repr(wanted))}"
                + (f", and ids go from 0 to {tokenizer.vocab_size - 1:,}. It is encoded as:" if number else
                   ". It is encoded as:"))
        _show_pieces(tokenizer, wanted)
        state.piece = -1
        return None
    st.caption(f"{len(ids):,} found" + (f", the {MOST_FOUND} shortest here" if len(ids) > MOST_FOUND else ""))
    ids = ids[:MOST_FOUND]
    if state.piece not in ids:
        state.piece = ids[0]
    with settings(page, "piece"):
        st.selectbox("Piece", ids, key=TokenizerState.piece.key(page),
                     format_func=lambda id: f"{figures.exact_label(tokenizer.piece(id), longest=40)} · {id}")
    st.header("Your text is encoded as", anchor=False)
    _show_pieces(tokenizer, wanted)
    return state.piece


def matches(tokenizer, wanted: str) -> list[int]:
    """The ids of pieces that contain a text, the equal and the shortest first; a number is an id too."""
    plain = wanted.strip().replace("␣", "▁")  # as on the page, and as in the piece
    pieces = {id: tokenizer.piece(id) for id in range(tokenizer.vocab_size)}
    result = [id for id, piece in pieces.items() if plain in piece or plain.lower() in piece.lower()]
    result.sort(key=lambda id: (pieces[id].lstrip("▁Ġ") != plain, len(pieces[id]), id))
    if plain.isascii() and plain.isdigit() and int(plain[:9]) < tokenizer.vocab_size:
        result = [int(plain[:9]), *(id for id in result if id != int(plain[:9]))]
    return result


def _show_pieces(tokenizer, wanted: str) -> None:
    try:
        pieces = tokenizer.pieces(wanted.replace("␣", " "))  # as on the page, and as typed
    except ValueError as error:
        st.caption(figures.markdown_text(str(error)))
        return
    unknown = [at for at, piece in enumerate(pieces) if piece.unknown]
    st.html(figures.token_chips([piece.text for piece in pieces], label="pieces", unknown=unknown, exact=True))
    if unknown:
        st.caption("Dashed: a piece the model doesn't know.")
    st.caption("ids: " + " ".join(f"{piece.id:d}" for piece in pieces[:100]) + (" …" if len(pieces) > 100 else ""))


def _show_neighbours(page: str, ckpt: Checkpoint, tokenizer, table, id: int) -> None:
    near = neighbours(table, id, count=NEIGHBOURS)
    label = figures.exact_label(tokenizer.piece(id), longest=40)
    st.markdown(f"**{figures.markdown_text(label)}**, id {id}: norm of its embedding: "
                f"{float(table[id].norm()):.4g}; mean over the vocabulary: {float(table.norm(dim=1).mean()):.4g}.")
    if not near:
        st.info("Its embedding is all zeros, so it has no neighbours.")
        return
    rows = [[str(rank + 1), figures.exact_label(tokenizer.piece(other), longest=40), str(other), f"{cosine:+.4f}"]
            for rank, (other, cosine) in enumerate(near)]
    st.html(figures.plain_table(["", "nearest embeddings", "id", "cosine"], rows, label="Neighbours",
                                code={1}, numbers={0, 2, 3}))
    st.caption("Cosine similarity of embedding rows: 1 is the same direction, 0 is orthogonal. Pieces that the model "
               "treats alike end up close; rare pieces have barely moved from their random start. "
               f"{figures.markdown_text(origin(ckpt))}")
