"""A small table of words and numbers, which scrolls inside its own box."""
from collections.abc import Collection, Sequence
from html import escape

from ui.figures.labels import heading

LONGEST = 48  # characters that a cell may have and is not cut
STYLE = """<style>
.plain-table { overflow-x: auto; max-width: 100%; }
.plain-table table { border-collapse: collapse; font-size: 15px; margin: 0; font-variant-numeric: tabular-nums; }
.plain-table th, .plain-table td { padding: .35em .9em; text-align: left; border: 0; white-space: nowrap;
  border-bottom: 1px solid rgba(128, 128, 128, .35); }
.plain-table th { font-weight: 600; }
.plain-table td.code { font-family: ui-monospace, monospace; font-size: 14px; }
.plain-table .number { text-align: right; }
.plain-table td.cut { max-width: min(20em, 45vw); overflow: hidden; text-overflow: ellipsis; }
.plain-table.wrap td { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 9em; vertical-align: top; }
@media (max-width: 640px) { .plain-table th, .plain-table td { padding: .3em .45em; font-size: 14px; }
  .plain-table th, .plain-table td.text:not(.cut) { white-space: normal; }
  .plain-table.wrap td { min-width: 5em; } .plain-table.wrap td.number { min-width: 0; } }
</style>"""


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, label: str, code: Collection[int] = (),
                numbers: Collection[int] = (), wrap: bool = False) -> str:
    """HTML; the columns in `code` are set as code, those in `numbers` to the right. wrap: long cells take
    several lines and keep their own; else they are cut, but for code, and the pointer
    shows the whole."""
    def kind(column: int) -> str:
        return "code" if column in code else "number" if column in numbers else "text"

    head = "".join(heading(text, f'class="{kind(at)}"') for at, text in enumerate(headers))

    def cell(column: int, text: str) -> str:
        if wrap or column in code or len(text) <= LONGEST:
            return f'<td class="{kind(column)}">{escape(text)}</td>'
        return f'<td class="{kind(column)} cut" title="{escape(text)}">{escape(text)}</td>'

    body = "".join("<tr>" + "".join(cell(at, text) for at, text in enumerate(row)) + "</tr>" for row in rows)
    kinds = "plain-table wrap" if wrap else "plain-table"
    return (f'{STYLE}<div class="{kinds}" role="region" aria-label="{escape(label)}" tabindex="0"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")
