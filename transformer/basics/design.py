"""Colours, type and spaces of all that is drawn: attention_view/js/drawing/design.json, which Python and the scripts
read, so that each stands once. docs/design.md says what they are for."""

import base64
import json
from functools import cache
from pathlib import Path

HERE = Path(__file__).parents[1] / "attention_view"
DESIGN = json.loads((HERE / "js" / "drawing" / "design.json").read_text("utf-8"))
FONT = HERE / "fonts" / "heads_up_sans" / "heads_up_sans.woff2"


def colour(name: str, *, dark: bool | None = False) -> str:
    """A colour by its name, on a light or a dark page. Raises KeyError."""
    return DESIGN["colours"][name][bool(dark)]


def properties() -> dict[str, str]:
    """What a style may use, by the name of its custom property: `var(--accent)`. Colours follow `color-scheme`."""
    return {
        **{name: f"light-dark({light}, {dark})" for name, (light, dark) in DESIGN["colours"].items()},
        **{name: f"{size}px" for name, size in DESIGN["type"].items()},
        "big": "max(min(100vh, 100vw) / 30, 15px)",  # on a projector
        "bold": str(DESIGN["bold"]),
        "radius": f"{DESIGN['radius']['control']}px", "radius-cell": f"{DESIGN['radius']['cell']}px", "round": "50%",
        **{f"gap-{number}": f"{size}px" for number, size in enumerate(DESIGN["gap"], start=1)},
        "font": DESIGN["font"], "code": DESIGN["code"],
    }


def property_style(selector: str = ":root") -> str:
    """The rule that gives an element and all in it the properties, and sliders their colour."""
    values = " ".join(f"--{name}: {value};" for name, value in properties().items())
    return f"{selector} {{ accent-color: var(--accent); {values} }}"


def document_style() -> str:
    """The style of a document of its own, which follows its reader's light or dark."""
    return (f"{property_style()}\n:root {{ color-scheme: light dark; background: var(--paper); color: var(--ink); "
            "font-family: var(--font); }\n")


@cache
def font_style(url: str | None = None) -> str:
    """The rule for the font of a document that has no other: from an address, by default from inside the document."""
    url = url or f"data:font/woff2;base64,{base64.b64encode(FONT.read_bytes()).decode()}"
    return (f"@font-face {{ font-family: \"Heads Up Sans\"; font-weight: 400 {DESIGN['bold']}; font-display: swap; "
            f"src: url({url}) format(\"woff2\"); }}\n")
