"""Labels of tokens and names on figures: every character visible, none interpreted."""
import re
import unicodedata

from transformer.attention_view.shared import SHARED

LONGEST = 16  # characters of a token on an axis; tables and tooltips have all of it
VISIBLE: dict[str, str] = SHARED["signs"]
SPOKEN: dict[str, str] = SHARED["spoken"]
JOINERS: str = SHARED["joiners"]  # inside emoji and inside several scripts, where taking them out changes the text
MORE_DIGITS = 4
RIGHT_TO_LEFT = {"R", "AL", "AN"}
WORD_JOINER = "\u2060"  # invisible, without width
ISOLATE, END_ISOLATE = "\u2068", "\u2069"


def part_of_one(value: float, digits: int = 2) -> str:
    """A weight or a share to so many digits, or to more if it would read as 1 though it is less; a small one that is
    not 0 never reads as 0."""
    if 0 < value < 0.5 * 10 ** -digits:
        return f"< {10 ** -digits:.{digits}f}"
    for more in range(digits, digits + MORE_DIGITS + 1):
        text = f"{value:.{more}f}"
        if not value < 1 or float(text) < 1:
            return text
    return f"> 0.{'9' * (digits + MORE_DIGITS)}"


def cell_label(value: float) -> str:
    """A weight in a cell: .12, 1, and >.99 for a little less than 1."""
    return "1" if value >= 1 else ">.99" if value >= 0.995 else f"{value:.2f}"[1:]


def plain_label(piece: str, *, longest: int | None = LONGEST) -> str:
    """A piece without the space that begins a word, and with signs for newlines and control characters, for places
    that interpret nothing."""
    return exact_label(re.sub(r"^[ ▁](?=[^ ▁]+$)", "", piece), longest=longest)


def exact_label(piece: str, *, longest: int | None = LONGEST) -> str:
    """A piece with signs for all spaces too."""
    if not piece:
        return "∅"
    label = "".join(map(_visible, piece))
    if unicodedata.combining(label[0]):
        label = "◌" + label
    if longest is not None and len(label) > longest:
        label = _cut(label, longest - 1) + "…"
    if any(unicodedata.bidirectional(c) in RIGHT_TO_LEFT for c in label):
        label = f"{ISOLATE}{label}{END_ISOLATE}"
    return label


def spoken_label(piece: str) -> str:
    """A piece for screen readers: punctuation by name, and no sign for a space before a word."""
    text = piece.replace("▁", " ")
    word = text.removeprefix(" ") if len(text) > 1 else text
    return SPOKEN.get(word) or plain_label(word, longest=None).replace("␣", " ")


def axis_label(piece: str, *, longest: int | None = LONGEST) -> str:
    """A piece as text for plotly, which interprets a little HTML, and TeX between dollars, but no `&quot;`."""
    return plotly_text(plain_label(piece, longest=longest))


def plotly_text(text: str) -> str:
    """Plain text as text for plotly, drawn literally."""
    # & first; $ starts TeX where MathJax is loaded; # because Streamlit's theme replaces colours such as #000011
    # anywhere in a figure's JSON, labels included, and its own & # must survive that too
    return re.sub(r"[&<>$#]", lambda match: f"&#{ord(match[0])};", text)


def words_label(text: str, *, longest: int | None = None) -> str:
    """A name in words: like a token, but with ordinary spaces."""
    label = " ".join(plain_label(word, longest=None) for word in text.split()) or plain_label(text)
    return label if longest is None or len(label) <= longest else _cut(label, longest - 1) + "…"


# Streamlit's markdown interprets these even with every sign escaped: web and mail addresses, names of emoji and icons,
# arrows and the like. An invisible character inside prevents it.
_ACTS = re.compile(r"(?i)(?<=https:)(?=//)|(?<=http:)(?=//)|(?<=www)(?=\.)|(?<=\w)(?=@[\w-]+\.\w)"
                   r"|(?<=:)(?=[\w/+-]+:)|(?<=[<>~=-])(?=[<>=-])")


def markdown_text(text: str) -> str:
    """Plain text as Streamlit's markdown, drawn literally, also in labels and options."""
    text = _ACTS.sub(WORD_JOINER, text)
    return "".join(f"\\{char}" if char in r"\`*_{}[]()#+-.!|<>$:~^&=" else char for char in text)


def head_label(layer: int, head: int) -> str:
    """The name of a head, counted from 0 as in the arrays, the tables and the link."""
    return f"layer {layer}, head {head}"


def _visible(char: str) -> str:
    if char in VISIBLE:
        return VISIBLE[char]
    code, category = ord(char), unicodedata.category(char)
    if code < 0x20:
        return chr(0x2400 + code)  # the Unicode control pictures
    if category in {"Cc", "Cs", "Cn", "Zl", "Zp"} or (category == "Cf" and char not in JOINERS and code < 0xE0000):
        return f"⟨{code:04X}⟩"  # direction overrides, lone surrogates and other invisible characters
    return VISIBLE[" "] if category == "Zs" else char


def _cut(text: str, length: int) -> str:
    """The first characters, without splitting an accented letter or an emoji sequence."""
    while length > 1 and (unicodedata.category(text[length])[0] == "M" or text[length] in JOINERS
                          or text[length - 1] in JOINERS or "\U0001f3fb" <= text[length] <= "\U0001f3ff"):
        length -= 1
    return text[:length]
