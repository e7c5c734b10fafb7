"""Numbers in a table, exactly as computed, the ones to look at marked; and the tokens of a padded batch."""
from collections.abc import Collection, Sequence
from html import escape

from ui.figures.labels import heading, plain_label
from ui.figures.palette import ACCENT

STYLE = f"""<style>
.number-table {{ overflow: auto; max-height: 34rem; font-size: 15px; }}
.number-table table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
.number-table caption {{ text-align: left; padding-bottom: .4em; caption-side: top; }}
.number-table th, .number-table td {{ padding: .2em .7em; text-align: right; white-space: nowrap;
  border-bottom: 1px solid rgba(128, 128, 128, .25); }}
.number-table th {{ font-weight: 600; }}
.number-table thead th {{ vertical-align: bottom; }}
.number-table th[colspan] {{ text-align: center; border-left: 1px solid rgba(128, 128, 128, .25); }}
.number-table .marked {{ font-weight: 700; box-shadow: inset 0 0 0 2px {ACCENT}; border-radius: 2px; }}
.number-table .total {{ border-top: 2px solid rgba(128, 128, 128, .5); }}
.number-table td.token {{ text-align: left; border: 1px solid rgba(128, 128, 128, .45); }}
.number-table td.pad {{ opacity: .75; font-style: italic; border: 1px solid rgba(128, 128, 128, .25); background:
  repeating-linear-gradient(135deg, rgba(140, 146, 155, .3) 0 3px, transparent 3px 8px); }}
</style>"""


def number_table(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[object]]], *, label: str, caption: str = "",
                 corner: str = "", groups: Sequence[tuple[str, int]] = (), totals: int = 0,
                 marked: Collection[tuple[int, int]] = ()) -> str:
    """HTML for `st.html`: rows of a heading and cells under `columns`; `groups` (name, columns) stand above these, the
    last `totals` rows are set off, and `marked` (row, column) cells stand out. Numbers are written to give themselves
    back exactly; everything is plain text."""
    for name, cells in rows:
        assert len(cells) == len(columns), f"{len(cells)} cells for {len(columns)} columns in row {name}"
    above = "".join(heading(name, f'colspan="{count}"', scope="colgroup") for name, count in groups)
    head = f"<tr><td></td>{above}</tr>" if groups else ""
    head += f"<tr>{''.join(map(heading, (corner, *columns)))}</tr>"
    body = []
    for at, (name, cells) in enumerate(rows):
        kind = ' class="total"' if at == len(rows) - totals else ""
        inner = "".join(
            f'<td data-row="{at}" data-column="{column}"{" class=marked" if (at, column) in marked else ""}>'
            f"{escape(str(cell))}</td>" for column, cell in enumerate(cells))
        body.append(f'<tr{kind}><th scope="row"><bdi>{escape(name)}</bdi></th>{inner}</tr>')
    return _framed(f"<caption>{escape(caption)}</caption>" * bool(caption) + f"<thead>{head}</thead>"
                   f"<tbody>{''.join(body)}</tbody>", label)


def batch_table(names: Sequence[str], tokens: Sequence[Sequence[str]], lengths: Sequence[int], *, label: str,
                caption: str = "") -> str:
    """HTML for `st.html`: a batch of padded rows of tokens, what comes after each row's length marked as padding."""
    body = []
    for name, row, length in zip(names, tokens, lengths, strict=True):
        shown = [escape(plain_label(piece, longest=None)) for piece in row]
        cells = "".join(f'<td class="{"token" if at < length else "pad"}"><bdi>{piece}</bdi></td>'
                        for at, piece in enumerate(shown))
        body.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    return _framed(f"<caption>{escape(caption)}</caption>" * bool(caption) + f"<tbody>{''.join(body)}</tbody>", label)


def _framed(inner: str, label: str) -> str:
    return (f'{STYLE}<div class="number-table" role="region" aria-label="{escape(label)}" tabindex="0">'
            f"<table>{inner}</table></div>")
