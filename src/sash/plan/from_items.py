"""One item of FROM: a stream through its window, a table, a view, a subquery, or joins in parentheses.

A view is expanded where it is used, in its own scope. A subquery (or a view) may have a window of
its own only if it is a stream: nothing in it ever ends ([G06] §3.4).
"""

from __future__ import annotations

__all__ = ["from_item"]

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sash.language.definitions import StreamDefinition, TableDefinition, ViewDefinition
from sash.language.expressions import Column
from sash.language.scope import suggestion
from sash.language.syntax import RelationToStream, WindowClause
from sash.plan.chains import Chain, Part, chain_of
from sash.plan.context import Context
from sash.plan.internal_windows import Traits
from sash.plan.nodes import Node, Project, Source, TableScan
from sash.plan.patterns import is_stream
from sash.plan.window_binding import note_time, windowed
from sash.plan.wording import counted


def from_item(item: exp.Expr, context: Context) -> tuple[Chain, Traits]:
    """The chain of one item (its own joins, if it has some, are left to the caller)."""
    if isinstance(item, exp.Table):
        return _named(item, context)
    assert isinstance(item, exp.Subquery)  # the parser lets nothing else into FROM
    return _subquery(item, context)


def _named(item: exp.Table, context: Context) -> tuple[Chain, Traits]:
    alias = item.alias or item.name
    local = None if item.args.get("db") else context.local.get(item.name.lower())
    if local is not None:
        node = _renamed(context.query(local.query, local.context).node, local.alias, local.context)
        return _computed(node, item, alias, context)
    definition = None if item.args.get("db") else context.names.lookup(item.name)
    match definition:
        case StreamDefinition():
            return _stream(definition, item, alias, context)
        case TableDefinition():
            return _table(definition, item, alias, context)
        case ViewDefinition():
            node = _expanded(definition, context)
            return _computed(node, item, alias, context)
        case _:
            known = (*context.names.all_names(), *context.local)
            raise context.error(
                "SASH-BIND-004",
                f"There is no stream, table or view '{'.'.join(part.name for part in item.parts)}'.",
                suggestion(item.name, known),
                item.this,
            )


def _stream(
    definition: StreamDefinition, item: exp.Table, alias: str, context: Context
) -> tuple[Chain, Traits]:
    note_time(definition.timed, definition.name, item.this, context)
    source = Source(definition.name, definition.fields, definition.time)
    return _seen(_renamed(source, item.args.get("alias"), context), item, alias, context)


def _table(
    definition: TableDefinition, item: exp.Table, alias: str, context: Context
) -> tuple[Chain, Traits]:
    clause = item.args.get("cql_window")
    if clause is not None:
        raise context.error(
            "SASH-PLAN-001",
            f"'{definition.name}' is a table: its rows stay until they are deleted, so it has no window.",
            "Leave the window out, or use a stream.",
            clause,
        )
    scan = TableScan(definition.name, definition.fields, definition.key, definition.retroactive)
    chain = chain_of(Part(scan, item), alias=alias)
    columns = _column_names(item.args.get("alias"), len(scan.schema), context)
    if columns:
        names = zip(chain.scope.names, columns, strict=True)
        renamed = tuple(replace(name, column=column) for name, column in names)
        chain = replace(chain, scope=replace(chain.scope, names=renamed))
    return chain, Traits()


def _expanded(definition: ViewDefinition, context: Context) -> Node:
    own = replace(
        context,
        text=definition.text,
        local={},
        beyond=(),
    )
    return context.query(definition.query, own).node


def _subquery(item: exp.Subquery, context: Context) -> tuple[Chain, Traits]:
    inner = item.this
    built = context.query(inner, context)
    alias = item.alias or None
    chain, traits = _computed(_renamed(built.node, item.args.get("alias"), context), item, alias, context)
    if isinstance(inner.unnest(), RelationToStream) and inner.unnest().args["kind"] == "wstream":
        traits += Traits(output_windows=(item,))
    return chain, traits


def _computed(node: Node, item: exp.Expr, alias: str | None, context: Context) -> tuple[Chain, Traits]:
    """A view's or a subquery's plan as an item."""
    clause = item.args.get("cql_window")
    if clause is not None and not is_stream(node):
        raise context.error(
            "SASH-PLAN-002",
            "A window needs a stream, and this is a relation: its rows are taken back, so none of them "
            "is more recent than another.",
            "Put ISTREAM(...) around the query, make its windows INTERNAL, or window the stream itself.",
            clause,
        )
    if isinstance(item, exp.Table):
        node = _renamed(node, item.args.get("alias"), context)
    return _seen(node, item, alias, context)


def _seen(node: Node, item: exp.Expr, alias: str | None, context: Context) -> tuple[Chain, Traits]:
    """An item through its window, if it has one."""
    clause = item.args.get("cql_window")
    internal = False
    if isinstance(clause, WindowClause):
        node = windowed(node, clause, alias, context)
        internal = bool(clause.args.get("internal"))
    chain = chain_of(Part(node, item, internal), alias=alias)
    if internal:
        return chain, Traits(internal=(item,))
    return chain, Traits() if is_stream(node) else Traits(external=(item,))


def _column_names(alias: exp.Expr | None, width: int, context: Context) -> Sequence[str]:
    columns = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    if columns and len(columns) != width:
        raise context.error(
            "SASH-BIND-015",
            f"The alias names {counted(len(columns), 'column')}, and there {'is' if width == 1 else 'are'} "
            f"{width}.",
            "Name all of them, or none.",
            alias,
        )
    return columns


def _renamed(node: Node, alias: exp.Expr | None, context: Context) -> Node:
    """The node with the column names that its alias lists, if it lists any."""
    columns = _column_names(alias, len(node.schema), context)
    if not columns:
        return node
    same = tuple(Column(i, field.type, field.name) for i, field in enumerate(node.schema))
    return Project(node, same, tuple(columns))
