"""What a figure draws, for `accepted`."""

import re


def as_text(*html: str) -> str:
    """Pieces of HTML without their styles, each tag that opens after another on a line of its own."""
    return re.sub(r"><(?!/)", ">\n<", re.sub(r"<style>.*?</style>", "", "\n\n".join(html), flags=re.DOTALL))
