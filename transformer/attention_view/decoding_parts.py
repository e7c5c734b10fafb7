"""What the step view shows of a decoding beside its attention: the tokens, and what may come next."""

from transformer.attention_view.message import bars, candidate_bars, mark_of, source_tokens, target_tokens, unknown
from transformer.attention_view.message_fields import Bars, Row
from transformer.attention_view.shared import SHARED
from transformer.inference.decoding import Sampling
from transformer.inference.decoding_tree import DecodingTree
from transformer.text.word_pieces import piece_labels

WORDS: dict[str, str] = SHARED["candidates"]


def source_row(decoding: DecodingTree, *, label: str) -> Row:
    """What the encoder reads."""
    return Row(label=label, name="source tokens", part="source", tokens=source_tokens(decoding.step),
               unknown=unknown(decoding.step))


def target_row(decoding: DecodingTree, *, label: str, name: str = "target tokens") -> Row:
    """What the decoder has read, the token predicted, and those known to come."""
    step, read = decoding.step, target_tokens(decoding.step)
    prompt = len(read) - step.index  # the start token, or the text typed
    return Row(label=label, name=name, part="target", tokens=[*read, *_following(decoding)],
               predicted=len(read),
               unknown=() if step.src is not None else unknown(step), picked=[prompt + at for at in decoding.picks])


def _following(decoding: DecodingTree) -> list[str]:
    """The labels of the token predicted and of those known to come."""
    step = decoding.step
    axis = step.axes("decoder")[0]
    return piece_labels([*axis, step.piece, *decoding.after], mark_of(step, "tgt"))[len(axis):]


def bars_of(decoding: DecodingTree, sampling: Sampling, *, brief: bool = False) -> Bars:
    """The likeliest next tokens."""
    step = decoding.step
    given = f"at temperature {sampling.temperature:g}" if sampling.temperature else ""
    note = given.capitalize()
    if step.full and not step.finished:
        note = f"Context full: this model reads at most {step.limit:,} tokens."
    invites = "Click another word to use it instead." if brief else ""
    return candidate_bars(step, bars(step, sampling), label=f"next tokens {given}".strip(),
                          note=note, help=WORDS["help"], invites=invites,
                          hint=f"{WORDS['hint']} {_why(decoding, sampling)}")


def _why(decoding: DecodingTree, sampling: Sampling) -> str:
    """Why the chosen token is the one chosen."""
    step = decoding.step
    if step.index in decoding.picks:
        return WORDS["picked"]
    if step.id == step.likeliest:
        return WORDS["likeliest"]
    if not sampling.temperature:
        return WORDS["otherwise"]
    return WORDS["sampled"].format(temperature=format(sampling.temperature, "g"))
