"""Makes the icon font of the app: of the 4,000 icons that come with Streamlit, 370 kB, those that the app or Streamlit
itself names, and some more. It is sent in place of Streamlit's, under the same name.

    pip install fonttools brotli
    python docs/icons.py [NAME ...]

Names that the code mentions are found; others can be given. `ui/server/lighter/icons.txt` lists all that are in it.
"""

import re
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from streamlit.file_util import get_static_dir

ROOT = Path(__file__).resolve().parents[1]
STATIC = Path(get_static_dir()) / "static"
LIGHTER = ROOT / "ui" / "server" / "lighter"
NAMED = re.compile(r':material/(\w+)|\bicon="(\w+)"', re.ASCII)
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


def named() -> set[str]:
    """The icons that the app's code and Streamlit's mention."""
    files = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "ui").rglob("*.py"), *STATIC.rglob("*.js")]
    return {one or other for file in files for one, other in NAMED.findall(file.read_text("utf-8"))}


def glyphs(font: TTFont) -> dict[str, str]:
    """The name of every icon -> its glyph: a ligature of the name's letters."""
    letter = {glyph: chr(code) for code, glyph in font.getBestCmap().items()}
    found = {}
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            for first, ligatures in getattr(table.ExtSubTable, "ligatures", {}).items():
                found |= {"".join(letter[part] for part in (first, *one.Component)): one.LigGlyph for one in ligatures}
    return found


def main() -> None:
    whole = next(STATIC.glob("media/MaterialSymbols-Rounded.*.woff2"))
    font, kept = TTFont(whole), LIGHTER / "icons.txt"
    known = glyphs(font)
    wanted = named() | set(kept.read_text().split() if kept.exists() else ()) | set(sys.argv[1:])
    if unknown := wanted - set(known):
        print("not in Streamlit's font:", *sorted(unknown))
    names = sorted(wanted & set(known))
    options = subset.Options(flavor="woff2", layout_closure=False, layout_features=["*"], hinting=False,
                             glyph_names=False)
    maker = subset.Subsetter(options)
    maker.populate(glyphs=[known[name] for name in names], unicodes=map(ord, LETTERS))
    maker.subset(font)
    for old in LIGHTER.glob("static/media/MaterialSymbols-*"):
        old.unlink()
    subset.save_font(font, str(LIGHTER / "static" / "media" / whole.name), options)
    kept.write_text("\n".join(names) + "\n")
    print(f"{len(names)} icons, {(LIGHTER / 'static' / 'media' / whole.name).stat().st_size:,} bytes instead of "
          f"{whole.stat().st_size:,}")


if __name__ == "__main__":
    main()
