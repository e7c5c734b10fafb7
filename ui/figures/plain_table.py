"""A small table of words and numbers, which scrolls inside its own box."""
from collections.abc import Collection, Sequence
from html import escape

STYLE = """<style>
.plain-table { overflow-x: auto; max-width: 100%; }
.plain-table table { border-collapse: collapse; font-size: 15px; margin: 0; font-variant-numeric: tabular-nums; }
.plain-table th, .plain-table td { padding: .35em .9em; text-align: left; border: 0; white-space: nowrap;
  border-bottom: 1px solid rgba(128, 128, 128, .35); }
.plain-table th { font-weight: 600; }
.plain-table td.code { font-family: ui-monospace, monospace; font-size: 14px; }
.plain-table .number { text-align: right; }
.plain-table.wrap td { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 9em; vertical-align: top; }
</style>"""


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, label: str, code: Collection[int] = (),
                numbers: Collection[int] = (), wrap: bool = False) -> str:
    """HTML; the columns in `code` are set as code, those in `numbers` to the right. wrap: long cells take
    several lines and keep their own."""
    def kind(column: int) -> str:
        return "code" if column in code else "number" if column in numbers else "text"

    head = "".join(f'<th scope="col" class="{kind(at)}">{escape(text)}</th>' for at, text in enumerate(headers))
    body = "".join("<tr>" + "".join(f'<td class="{kind(at)}">{escape(text)}</td>' for at, text in enumerate(row))
                   + "</tr>" for row in rows)
    kinds = "plain-table wrap" if wrap else "plain-table"
    return (f'{STYLE}<div class="{kinds}" role="region" aria-label="{escape(label)}" tabindex="0"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")
