"""How wide a text is in print, by the widths of Helvetica, which Arial, Liberation Sans and Nimbus Sans share."""

FAMILY = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', Arimo, sans-serif"
BOLD, MARGIN = 1.08, 1.02  # how much wider bold is; and other renderers
# Thousandths of the font's size, and the characters that are so wide.
_CLASSES = {222: "'ijl", 278: " !,./:;I[\\]ft·", 333: "()-`r", 355: "\"", 389: "*", 469: "^", 500: "Jckvsxyz",
            556: "#$0123456789?L_abdeghnopqu–", 584: "+<=>~×÷−|", 611: "FTZ", 667: "&ABEKPSVXY", 722: "CDHNRUw",
            778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1000: "…→—@"}
_WIDTHS = {character: width for width, characters in _CLASSES.items() for character in characters}
_UNKNOWN = 800  # of a character that is not in the table


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text, in the unit of the font's size."""
    thousandths = sum(_WIDTHS.get(character, _UNKNOWN) for character in text)
    return thousandths / 1000 * size * MARGIN * (BOLD if bold else 1)


def fitted(text: str, width: float, size: float, *, least: float, bold: bool = False) -> tuple[str, float]:
    """The text and the size at which it fits a width: smaller, down to `least`, and then shortened with "…"."""
    wide = text_width(text, size, bold=bold)
    if wide <= width:
        return text, size
    size = max(least, size * width / wide)
    while len(text) > 1 and text_width(text, size, bold=bold) > width + 1e-6:
        text = f"{text.removesuffix('…')[:-1].rstrip(' ,–·')}…"
    return text, size


def wrapped(text: str, width: float, size: float) -> list[str]:
    """The lines of a text, broken between words, none wider than this unless it is one word."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
