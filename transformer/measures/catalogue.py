"""The list of all measures. An entry here appears on the Heads page, in `headsup roles` (`--explain` prints all of
this) and in every test of measures.

Clark et al. 2019, section 3, and Voita et al. 2019, section 3, name heads by such shares of their weight. They describe
where weight lies and nothing else: attention is not explanation (Jain and Wallace 2019).
"""

from unicodedata import category

import torch
from torch import Tensor

from transformer.measures.measure import Measure, Role
from transformer.measures.tokens import Tokens
from transformer.settings.config import Kind

BOTH = ("encoder", "decoder")  # where queries and keys are the same tokens
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def entropy(weights: Tensor) -> Tensor:
    """-sum w ln w of each row of weights (..., Tk) in nats -> (...): 0 if all weight is on one key, ln Tk if all are
    equal."""
    return torch.special.entr(weights).sum(-1)


def _evenness(weights: Tensor, tokens: Tokens) -> Tensor:
    return entropy(weights) / tokens.sizes.clamp(min=2).log()[:, None]


def _is_punctuation(piece: str) -> bool:
    return bool(piece) and all(category(char).startswith("P") for char in piece)


def _after_earlier(tokens: Tokens) -> Tensor:
    """The keys right after an earlier occurrence of the query's own token."""
    earlier = tokens.same & (tokens.key < tokens.query)
    return torch.cat([torch.zeros_like(earlier[..., :1]), earlier[..., :-1]], -1)


def _read_before(tokens: Tokens) -> Tensor:
    """The links of the previous query, which was about to write the token that this one has read."""
    links = tokens.linked
    return torch.cat([torch.zeros_like(links[:, :1]), links[:, :-1]], 1)


def _open_bracket(tokens: Tokens) -> Tensor:
    """The innermost bracket that is open once a query has been read. One that closes another kind closes nothing."""
    texts = tokens.texts
    innermost = torch.zeros_like(tokens.allowed)
    for row, ids in enumerate(tokens.ids.tolist()):
        is_open: list[int] = []  # their places
        for place, text in enumerate(texts[id] for id in ids):
            if text in BRACKETS:
                is_open.append(place)
            elif is_open and text == BRACKETS[texts[ids[is_open[-1]]]]:
                is_open.pop()
            if is_open:
                innermost[row, place, is_open[-1]] = True
    return innermost


MEASURES = (
    Measure(
        name="entropy", title="Entropy", unit="how widely it looks, in nats",
        rows=lambda weights, tokens: entropy(weights), share=False,
        explained="How widely a head spreads its weights, in nats: 0 when all weight is on one token, ln n when n "
                  "tokens get the same. Clark et al. 2019 measure BERT's heads this way. It says nothing about which "
                  "tokens are looked at, and a head that always looks at one useless token has a low entropy too."),
    Measure(
        name="evenness", title="Evenness", unit="entropy as a share of its maximum",
        rows=_evenness, share=False,
        explained="The entropy divided by ln n, where n is the number of tokens that the query may look at: 0 when "
                  "all weight is on one, 1 when all get the same. Sentences of different lengths can be compared by "
                  "it. Like the entropy it "
                  "says nothing about which tokens are looked at."),
    Measure(
        name="distance", title="Mean distance", unit="how far away it looks, in tokens",
        keys=lambda tokens: (tokens.key - tokens.diagonal).abs(), share=False,
        explained="How far away a head looks, in tokens, averaged by weight. In cross-attention the distance is "
                  "counted from the source token that is as far into the source as the query is into "
                  "the target. A mean hides its parts: half the weight next door and half far away looks like all of "
                  "it in between."),
    Measure(
        name="diagonal", title="Diagonal", unit="weight on the token itself",
        cross_unit="weight on the place as far along the source",
        keys=lambda tokens: tokens.key == tokens.diagonal,
        role=Role(words="looks at the token itself", kinds=BOTH),  # across, alignment says more
        explained="The weight on the query's own token. Heads also put weight there when they have nothing better to "
                  "do with it, and in the layers below the token's vector has already taken in others. In "
                  "cross-attention it is the weight on the source token that is as far into the source as the query "
                  "is into the target. Two languages with "
                  "similar word order make that large without the head knowing which word translates which; alignment "
                  "is the measure that tests that."),
    Measure(
        name="previous", title="Previous token", unit="weight on the token before",
        cross_unit="weight on the token before the diagonal",
        keys=lambda tokens: tokens.key == tokens.diagonal - 1,
        role=Role(words="looks at the previous token", kinds=BOTH),
        explained="The weight on the token just before the query; in cross-attention, just before the one on the "
                  "diagonal. Voita et al. 2019 call heads positional when most of their weight lies at one such "
                  "offset. In a decoder the previous token is also one of the few there are, so compare with the value "
                  "of uniform attention."),
    Measure(
        name="next", title="Next token", unit="weight on the token after", kinds=BOTH,
        keys=lambda tokens: tokens.key == tokens.query + 1, why_not="a decoder cannot look ahead",
        role=Role(words="looks at the next token"),
        explained="The weight on the token just after the query. A decoder's head cannot look there, so no value is "
                  "given."),
    Measure(
        name="same", title="Same token elsewhere", unit="weight on other places with the same token", kinds=BOTH,
        keys=lambda tokens: tokens.same & (tokens.key != tokens.query), why_not="no token occurs twice",
        role=Role(words="looks at the same token elsewhere"),
        explained="The weight on other occurrences of the very same token, over queries that have one. Wang et "
                  "al. 2023 call heads that do this in GPT-2 duplicate token heads. It counts equal pieces, not equal "
                  "meanings."),
    Measure(
        name="first", title="First token", unit="weight on the first token",
        keys=lambda tokens: tokens.key == 0, role=Role(words="rests on the first token (a sink)"),
        explained="The weight on the first token, whatever it is. Models often park weight there that should change "
                  "nothing (an attention sink, Xiao et al. 2024), so a large value can mean that the head is resting."),
    Measure(
        name="end", title="End of sentence", unit="weight on the end-of-sentence token",
        keys=lambda tokens: tokens.end, why_not="no end token is read",
        role=Role(words="rests on the end of the sentence (a sink)"),
        explained="The weight on the token that ends the text, [SEP] in a BERT; in cross-attention, on the source's. "
                  "Like the first token it is often a sink: Clark et al. 2019 found that changing the weight on such "
                  "tokens "
                  "hardly changes what BERT predicts."),
    Measure(
        name="punctuation", title="Punctuation", unit="weight on punctuation",
        keys=lambda tokens: tokens.pieces(_is_punctuation),
        why_not="no token here is known to be punctuation", role=Role(words="looks at punctuation"),
        explained="The weight on pieces that are nothing but punctuation, over queries that can see one. Some heads "
                  "gather a clause at its comma or full stop, others only rest there; the weight does not tell which."),
    # The weight on, say, the rarest tenth would depend on where the tenth ends, among the many tokens that came once or
    # never; a mean of −ln p has no such edge, is in the unit of the entropy, and has a known value at all alike.
    Measure(
        name="rare", title="Rare tokens", unit="mean −ln p of the token it looks at, in nats", share=False,
        keys=lambda tokens: -tokens.frequency.log()[:, None],
        explained="How rare the tokens are that a head looks at: −ln p of each, averaged by weight, where p is the "
                  "token's share of all tokens of the training corpus, with one added to every count. A head above "
                  "the uniform value prefers rare tokens, one below it frequent ones. Names, punctuation and the "
                  "tokens at both ends differ in frequency too, so a head that follows one "
                  "of these can have an unusual value without knowing what is rare."),
    Measure(
        name="induction", title="Induction", unit="random tokens twice: weight on what came next", kinds=BOTH,
        keys=_after_earlier, repeated=True, why_not="the texts have too few different tokens",
        role=Role(words="looks at what came next the last time (induction)"),
        explained="On random tokens that are repeated, the weight on the token that followed the earlier occurrence of "
                  "the query's own: what a head must look at to continue a repetition (Olsson et al. 2022; Elhage et "
                  "al. 2021). It is measured on text without meaning, so it shows what the head can do, not how often "
                  "it does it, and it does not show that the model copies what was found."),
    Measure(
        name="bracket", title="Open bracket", unit="weight on the innermost open bracket", kinds=("decoder",),
        keys=_open_bracket, why_not="no bracket is open in these texts",
        role=Role(words="looks at the bracket that is open"),
        explained="The weight on the innermost bracket that is still open, which is the one that a closing bracket "
                  "written next would close, over queries that have one. Ebrahimi et al. 2020 see models of nested "
                  "brackets attend as if to the top of a stack. It counts round, square and curly brackets and < >, as "
                  "far as they are pieces of their own, and a head that looks at the last opening bracket, closed or "
                  "not, has a high value as well."),
    Measure(
        name="alignment", title="Alignment with the word to be written", unit="weight on its source word",
        kinds=("cross",), keys=lambda tokens: tokens.linked, role=Role(words="looks at the word to be written"),
        explained="The weight on the pieces of the source word that the target word about to be written comes from, by "
                  "a word alignment learned from counts alone (IBM Model 1, Brown et al. 1993). That alignment is "
                  "itself often wrong, above all for rare and small words, so agreement is good evidence, and "
                  "disagreement is weak evidence."),
    Measure(
        name="alignment_read", title="Alignment with the word just read", unit="weight on its source word",
        kinds=("cross",), keys=_read_before, role=Role(words="looks at the word just read"),
        explained="The same for the target word that was just read, not the one about to be written. Many translation "
                  "models align the word they read in some layers and the next one in others (Chen et al. 2020)."),
)

BY_NAME = {measure.name: measure for measure in MEASURES}


def measures_of(kind: Kind) -> tuple[Measure, ...]:
    """The measures that mean something for an attention kind."""
    return tuple(measure for measure in MEASURES if kind in measure.kinds)
