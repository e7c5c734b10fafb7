"""Small tasks that a model learns while one watches: each a preset and a corpus of the same name, and its words."""

from dataclasses import dataclass, field

from transformer.settings.config import Kind


@dataclass(frozen=True, kw_only=True)
class Quick:
    """A preset that is learned while one watches, and what is to be seen."""

    title: str
    example: tuple[str, str]  # a text and what the model makes of it; of running text the same twice
    tries: tuple[str, ...]  # texts to try with a model that has learned it
    watch: str  # what forms
    kind: Kind  # of the attention that forms
    measure: str  # that tells how far it has
    right: float  # share of unseen texts that it gets right in the end; of running text, of what the rule tells
    seconds: int  # until then, on two idle cores
    beside: dict[str, object] = field(default_factory=dict)  # settings of a second run that shows what is needed
    beside_words: str = ""  # what is different in it


QUICK = {
    "reverse": Quick(
        title="Write it backwards", example=("abcdefgh", "hgfedcba"), tries=("jackal", "beachhead", "abcdefgh"),
        watch="Cross-attention turns into the other diagonal: the last letter is read first.", kind="cross",
        measure="alignment", right=0.99, seconds=30, beside={"positions": "none"}, beside_words="without positions"),
    "sort": Quick(
        title="Put digits in order", example=("5203714", "0123457"), tries=("31415926", "5203714"),
        watch="Cross-attention goes to the next larger digit, wherever it stands.", kind="cross",
        measure="alignment", right=0.99, seconds=60),
    "add": Quick(
        title="Add two numbers", example=("427+386", "0813"), tries=("427+386", "999+001", "250+250"),
        watch="Cross-attention finds the two digits of a column. The carry comes last.", kind="cross",
        measure="alignment", right=0.95, seconds=180),
    "repeat": Quick(
        title="Say it again", example=("qzkfhqzkfhqzkfh", "qzkfhqzkfhqzkfh"),
        tries=("qzkfhqzk", "abcdefghabc"),
        watch="A previous-token head forms, then an induction head, and the loss falls. The first letters of a line "
              "stay a guess.",
        kind="decoder", measure="induction", right=0.95, seconds=20, beside={"decoder_layers": 1},
        beside_words="with one layer"),
    "brackets": Quick(
        title="Close the brackets", example=("([{}<()>])", "([{}<()>])"), tries=("([{}<", "{<>(["),
        watch="A head finds the bracket that is still open: the partner of the one that may close.", kind="decoder",
        measure="bracket", right=0.97, seconds=60),
}
