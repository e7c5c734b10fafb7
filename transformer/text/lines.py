"""Where lines of people's text end: at a newline, CR LF or CR, as in files and for every tool that counts lines.

`str.splitlines` also splits at signs that stand within a line, such as U+2028, U+0085 and a form feed.
"""

import re

LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n)|([^\r\n]+)")  # the last may have no end


def lines_of(text: str, *, keep_ends: bool = False) -> list[str]:
    """The lines of a text, without their ends unless these are kept; what follows the last end is a line if there is
    anything."""
    return [found[0] if keep_ends else found[1] if found[2] is None else found[2] for found in LINE.finditer(text)]
