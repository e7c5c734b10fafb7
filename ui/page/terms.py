"""The technical terms, each with a sentence that explains it: a dotted line under the term, and the sentence on hover,
focus or tap (js/shell/terms.js)."""

import re
from html import escape

TERMS = {
    "token": "A piece of text that the model reads or writes as one unit: a word, a part of one, or a character.",
    "head": "One of a layer's attention calculations, each deciding for itself where to look; counted from 0.",
    "layer": "One round of attention and a small network; layers work one after the other and are counted from 0.",
    "query": "The vector of the token that looks: it is compared with every key.",
    "key": "The vector by which a token is found: the better it fits a query, the more weight the token gets.",
    "value": "The vector that a token passes on, in proportion to the weight that it got.",
    "cross": "Cross-attention: the decoder's tokens look at the encoder's, that is, at the text being translated.",
    "encoder": "The part that reads the whole input at once; each of its tokens may look at all the others.",
    "decoder": "The part that writes, one token after another; each token sees only itself and those before it.",
    "softmax": "Turns any numbers into shares between 0 and 1 that add up to 1; larger numbers get larger shares.",
    "</s>": "The token that marks the end of a text; once the model predicts it, the text is finished.",
    "<s>": "The token that marks the start: the decoder reads it before it has written anything.",
    "mask": "Says which keys a query may not look at; those get a weight of exactly 0.",
    "logit": "The score of a token before the softmax turns all scores into probabilities.",
    "entropy": "How spread out probabilities or weights are: 0 if all is in one place, largest if all are equal.",
    "checkpoint": "A model saved to files: its weights, its settings and its tokenizer.",
    "BLEU": "How many words and runs of up to four words a translation shares with human ones, from 0 to 100.",
}


def term(name: str, written: str | None = None) -> str:
    """HTML for a term of the table, for st.html, or st.markdown with unsafe_allow_html. written: another form of it,
    such as the plural."""
    sentence = TERMS[name]
    label = escape(written or name)
    return (f'<dfn class="term" tabindex="0" role="button" data-term="{escape(name)}" '
            f'aria-label="{label}: {escape(sentence)}">{label}</dfn>')


def with_terms(text: str, *names: str) -> str:
    """Our own text, as Markdown or HTML, with each of these terms (by default all) explained at its first occurrence. A
    page explains each term once."""
    for name in names or TERMS:
        inside = re.escape(escape(name, quote=False) if name.startswith("<") else name)
        word = rf"(?<![\w`/-])({inside})(s?)(?![\w`-])"
        flags = 0 if name.isupper() else re.IGNORECASE
        parts = re.split(r"(<dfn.*?</dfn>)", text)
        for at in range(0, len(parts), 2):
            changed, count = re.subn(word, lambda match, name=name: _written(name, match), parts[at], count=1,
                                     flags=flags)
            if count:
                parts[at] = changed
                break
        text = "".join(parts)
    return text


def _written(name: str, match: re.Match) -> str:
    return term(name, name if name.startswith("<") else match[0])
