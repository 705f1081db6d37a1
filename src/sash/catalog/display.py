"""How answers, plans and sessions look in a notebook and in a terminal."""

from __future__ import annotations

__all__ = ["Text", "database_html", "query_html", "rich_table", "table_html", "table_text"]

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import pyarrow as pa

_STYLE = "border-collapse:collapse;font-size:90%"


class Text(str):
    """Text that keeps its lines and spaces in a notebook.

    >>> Text("a < b")._repr_html_()
    '<pre>a &lt; b</pre>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"

    def __repr__(self) -> str:
        return str(self)


def cells(table: pa.Table, limit: int) -> list[list[str]]:
    """The first rows of a table as text, NULL for nothing."""
    shown = table.slice(0, limit)
    columns = [["NULL" if value is None else str(value) for value in _values(c)] for c in shown.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):  # a timestamp that Python has no date for
        return list(column.cast(pa.string()).to_pylist())


def table_text(table: pa.Table, limit: int = 20) -> str:
    """A table as aligned text.

    >>> print(table_text(pa.table({"src": ["a", None], "n": [10, 2]})))
    src   n
    ----  --
    a     10
    NULL  2
    """
    rows = [table.column_names, *cells(table, limit)]
    widths = [max(len(row[i]) for row in rows) for i in range(table.num_columns)]
    rows.insert(1, ["-" * width for width in widths])
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *_more(table, limit)])


def table_html(table: pa.Table, limit: int = 20) -> str:
    """A table for a notebook."""
    more = "".join(f"<p>{line}</p>" for line in _more(table, limit))
    return _html_table(table.column_names, cells(table, limit)) + more


def rich_table(table: pa.Table, title: str | None = None, limit: int = 20) -> Any:
    """A table for rich, numbers to the right."""
    from rich.table import Table  # a terminal is near when this is called

    shown = Table(title=title, caption="; ".join(_more(table, limit)) or None)
    for field in table.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        shown.add_column(field.name, justify="right" if number else "left")
    for row in cells(table, limit):
        shown.add_row(*row)
    return shown


def query_html(headline: str, text: str, answer: pa.Table | None) -> str:
    """A query: what it is, its text, its answer if it has one."""
    below = "" if answer is None else table_html(answer)
    return f"<p><b>{escape(headline)}</b></p><pre>{escape(text.strip())}</pre>{below}"


def database_html(headline: str, metrics: Mapping[str, Any]) -> str:
    """A session: its streams and its queries, one line each."""
    streams = [
        [name, s["frontier"], s["pushed"], s["late"], s["waiting"]] for name, s in metrics["streams"].items()
    ]
    queries = [
        [name, q["frontier"], q["rows_in"], q["changes_out"], q["pending"], q["state_rows"], q["state_bytes"],
         "filling" if q["filling"] else ""]
        for name, q in metrics["queries"].items()
    ]  # fmt: skip
    return (
        f"<p><b>{escape(headline)}</b></p>"
        + _html_table(["stream", "frontier", "pushed", "late", "waiting"], streams)
        + _html_table(
            ["query", "frontier", "rows in", "changes out", "pending", "state rows", "state bytes", ""],
            queries,
        )
    )


def _html_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    return f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _more(table: pa.Table, limit: int) -> list[str]:
    hidden = table.num_rows - limit
    provisional = (table.schema.metadata or {}).get(b"sash.provisional") == b"true"
    return [f"... {hidden} more rows"] * (hidden > 0) + ["provisional: beyond the frontier"] * provisional
