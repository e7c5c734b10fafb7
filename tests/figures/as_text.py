"""What a figure draws, for `accepted`."""

import re


def as_text(*html: str) -> str:
    """Pieces of HTML without their styles, a tag a line."""
    return re.sub(r"<style>.*?</style>", "", "\n\n".join(html), flags=re.DOTALL).replace("><", ">\n<")
