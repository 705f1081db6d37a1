"""`sash explain FILE.sql`: definitions are taken in, and each query's plan is printed."""

from __future__ import annotations

__all__ = ["explain"]

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer


def explain(
    file: Annotated[Path, typer.Argument(help="Statements: definitions and queries, split by semicolons.")],
    allow_unbounded: Annotated[
        bool, typer.Option("--allow-unbounded", help="Also plan queries whose state has no bound.")
    ] = False,
) -> None:
    """Print the plan of every query in FILE: operators, update patterns, state and its bounds."""
    import sash
    from sash.cli.screen import console, read_text
    from sash.errors import SashError
    from sash.language.statements import Query, parse

    text = read_text(file)
    statements = parse(text)
    queries = [statement.text for statement in statements if isinstance(statement, Query)]
    if not queries:
        raise SashError(
            "SASH-CLI-003", f"There is no query in '{file}'.", remedy="Add a SELECT after the definitions."
        )
    screen = console()
    with closing(sash.connect(allow_unbounded=allow_unbounded)) as db:
        if len(queries) < len(statements):
            db.execute(without(text, queries))
        for number, query_text in enumerate(queries, 1):
            query = db.query(query_text, name=f"query_{number}")
            screen.print(f"-- {' '.join(query_text.split())}", markup=False, soft_wrap=True)
            screen.print(str(query.explain()).rstrip() + "\n", markup=False, soft_wrap=True)
            query.drop()


def without(text: str, queries: list[str]) -> str:
    """The text with its queries blanked; a query's own text ends where it ends in the whole.

    >>> without("DROP VIEW v; SELECT a FROM s; DROP VIEW w", ["             SELECT a FROM s"])
    'DROP VIEW v;                ; DROP VIEW w'
    """
    for query in queries:
        end = len(query)
        start = end - len(query.lstrip())
        text = text[:start] + " " * (end - start) + text[end:]
    return text
