"""`sash explain FILE.sql`: definitions are taken in, and the plan of each query is printed.

Nothing runs, so a file of pipelines on Spark is explained without Spark; what INSERT INTO a sink says
is a query like any other, and its sink must be there.
"""

from __future__ import annotations

__all__ = ["explain"]

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sash.catalog.names import Catalog
    from sash.language.statements import Statement
    from sash.spark.outlets import Outlets


def explain(
    file: Annotated[Path, typer.Argument(help="Statements: definitions and queries, split by semicolons.")],
    allow_unbounded: Annotated[
        bool, typer.Option("--allow-unbounded", help="Also plan queries whose state has no bound.")
    ] = False,
) -> None:
    """Print the plan of every query in FILE: operators, update patterns, state and its bounds."""
    from sash.catalog.names import Catalog
    from sash.catalog.planning import plan_query
    from sash.cli.screen import console, read_text
    from sash.errors import SashError
    from sash.language.statements import InsertQuery, Query, parse
    from sash.plan.explain import explain as explained
    from sash.spark.outlets import Outlets  # needs no Spark

    catalog = Catalog()
    outlets = Outlets(catalog)
    plans = []
    for statement in parse(read_text(file)):
        if isinstance(statement, Query | InsertQuery):
            planned = plan_query(statement.text, catalog, allow_unbounded=allow_unbounded)
            if isinstance(statement, InsertQuery):
                outlets.direct(outlets.name_for(statement.sink, planned), statement.sink)
            plans.append((" ".join(statement.text.split()), explained(planned.optimized)))
        else:
            _define(statement, catalog, outlets)
    if not plans:
        raise SashError(
            "SASH-CLI-003", f"There is no query in '{file}'.", remedy="Add a SELECT after the definitions."
        )
    screen = console()
    for text, plan in plans:
        screen.print(f"-- {text}", markup=False, soft_wrap=True)
        screen.print(f"{plan.rstrip()}\n", markup=False, soft_wrap=True)


def _define(statement: Statement, catalog: Catalog, outlets: Outlets) -> None:
    """Let the names that a statement makes or takes away be known; rows of tables change no plan."""
    from sash.language import statements as language
    from sash.plan.builder import build

    match statement:
        case language.CreateView(definition):
            outlets.check_free(definition.name)
            build(definition.query, catalog, text=definition.text, is_view=True)  # for its errors, now
            catalog.add(definition)
        case language.CreateStream(definition) | language.CreateTable(definition):
            outlets.check_free(definition.name)
            catalog.add(definition)
        case language.CreateSink():
            outlets.create(statement)
        case language.Drop(kind="sink"):
            outlets.drop(statement.name)
        case language.Drop(kind, name):
            catalog.remove(catalog.droppable(kind, name))
