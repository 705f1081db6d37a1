"""An inner join in the making: the items of FROM side by side, and the conditions gathered so far.

Commas, INNER and CROSS joins and WHERE all add to one chain, which becomes one n-way join. Columns
are known by slot, the order in which FROM named them; a slot says in which part it lives, so that a
table can move to the edge of a stream without anybody else noticing.
"""

from __future__ import annotations

__all__ = ["Chain", "Part", "beside", "chain_of", "closed", "look_up", "placed"]

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.language.expressions import Column, Expression, columns_of, remap
from sash.language.scope import Name, Scope, names_of
from sash.plan.context import Context
from sash.plan.joining import join, moved
from sash.plan.nodes import Node, TableScan
from sash.plan.table_edges import Kind, looked_up


@dataclass(frozen=True)
class Part:
    """One input of the join: its plan, where it stands in the text, whether its window is INTERNAL."""

    node: Node
    origin: exp.Expr
    internal: bool = False

    @property
    def waits(self) -> bool:
        """Whether this is a non-retroactive table that no stream has asked yet."""
        return isinstance(self.node, TableScan) and not self.node.retroactive


@dataclass(frozen=True)
class Chain:
    """Parts, the slots of their columns as (part, position), conditions over slots, names over slots."""

    parts: tuple[Part, ...]
    slots: tuple[tuple[int, int], ...]
    conjuncts: tuple[Expression, ...]
    scope: Scope

    def parts_of(self, expression: Expression) -> frozenset[int]:
        """Which parts an expression over slots reads."""
        return frozenset(self.slots[slot][0] for slot in columns_of(expression) if slot < len(self.slots))

    def with_conjuncts(self, conjuncts: Sequence[Expression]) -> Chain:
        """The chain with more conditions."""
        return replace(self, conjuncts=(*self.conjuncts, *conjuncts))

    @property
    def streams(self) -> list[int]:
        """The parts that can ask a table, or need not be asked for."""
        return [i for i, part in enumerate(self.parts) if not part.waits]


def chain_of(part: Part, names: Sequence[Name] | None = None, alias: str | None = None) -> Chain:
    """A chain of one part, its columns under an alias or under the given names."""
    schema = part.node.schema
    scope = Scope(tuple(names) if names is not None else names_of(alias, schema))
    return Chain((part,), tuple((0, i) for i in range(len(schema))), (), scope)


def beside(left: Chain, right: Chain) -> Chain:
    """Both chains as one: the cross product, until conditions come."""
    parts, slots = len(left.parts), len(left.slots)

    def shifted(expression: Expression) -> Expression:
        return moved(expression, lambda slot: slot + slots)

    return Chain(
        left.parts + right.parts,
        left.slots + tuple((part + parts, position) for part, position in right.slots),
        left.conjuncts + tuple(shifted(each) for each in right.conjuncts),
        Scope(left.scope.names + right.scope.rewritten(shifted).names),
    )


def placed(chain: Chain, context: Context, *, final: bool) -> Chain:
    """The chain with each waiting table at the edge of the one stream that its conditions name.

    Unless `final`, tables without conditions go on waiting: WHERE may have some.
    """
    waiting = [i for i, part in enumerate(chain.parts) if part.waits]
    for table in waiting:
        mine = [each for each in chain.conjuncts if table in chain.parts_of(each)]
        known = [each for each in mine if not _others(chain, each, table) & set(waiting)]
        owners = frozenset().union(*(_others(chain, each, table) for each in known))
        if len(owners) > 1:
            raise _cannot_place(chain, table, context, "its condition uses several streams")
        if len(owners) == 1:
            (owner,) = owners
            rest = [each for each in chain.conjuncts if each not in known]
            chain = _merged(replace(chain, conjuncts=tuple(rest)), table, owner, known, "inner", context)
            return placed(chain, context, final=final)
    if waiting and final:
        table = waiting[0]
        if not chain.streams:
            raise _only_tables(chain, context)
        if len(chain.streams) > 1:
            raise _cannot_place(chain, table, context, "no condition names the stream that asks it")
        own = [each for each in chain.conjuncts if chain.parts_of(each) == {table}]
        rest = [each for each in chain.conjuncts if each not in own]
        chain = _merged(replace(chain, conjuncts=tuple(rest)), table, chain.streams[0], own, "inner", context)
        return placed(chain, context, final=True)
    return chain


def _others(chain: Chain, conjunct: Expression, table: int) -> frozenset[int]:
    return chain.parts_of(conjunct) - {table}


def look_up(
    chain: Chain, table: Chain, conjuncts: Sequence[Expression], kind: Kind, context: Context
) -> Chain:
    """A chain whose rows ask a table (a chain of that table alone), in an outer, semi- or anti-join.

    The conditions read the chain's slots, then the table's.
    """
    if not chain.streams:
        raise _only_tables(table, context)
    chain = placed(chain, context, final=True)
    whole = beside(chain, table)
    index = len(whole.parts) - 1
    owners = frozenset().union(*(_others(whole, each, index) for each in conjuncts)) or set(chain.streams)
    if len(owners) > 1:
        raise _cannot_place(whole, index, context, "its condition uses several streams")
    (owner,) = owners
    return _merged(whole, index, owner, conjuncts, kind, context)


def _merged(
    chain: Chain, table: int, owner: int, conjuncts: Sequence[Expression], kind: Kind, context: Context
) -> Chain:
    """The table at the edge of the owner, its slots now living there (gone, for semi and anti)."""
    asking, asked = chain.parts[owner], chain.parts[table]
    scan, width = asked.node, len(asking.node.schema)
    assert isinstance(scan, TableScan)

    def local(slot: int) -> int:
        part, position = chain.slots[slot]
        return position if part == owner else width + position

    node = looked_up(asking.node, scan, [moved(each, local) for each in conjuncts], kind)
    if node is None:
        reason = "what asks it is computed, so its rows have no timestamp of their own"
        raise _cannot_place(chain, table, context, reason)
    parts = [part for i, part in enumerate(chain.parts) if i != table]
    parts[owner - (owner > table)] = replace(asking, node=node)
    beside_owner = {"inner": True, "left": True, "semi": False, "anti": False}[kind]
    slots: list[tuple[int, int]] = []
    for part, position in chain.slots:
        if part == table:
            if beside_owner:
                slots.append((owner - (owner > table), width + position))
        else:
            slots.append((part - (part > table), position))
    names = chain.scope.names
    if not beside_owner:  # the table came last, so no slot before it moves
        names = tuple(name for name in names if max(columns_of(name.expression)) < len(slots))
    return Chain(tuple(parts), tuple(slots), chain.conjuncts, replace(chain.scope, names=names))


def closed(
    chain: Chain, context: Context, *, flags: bool = False
) -> tuple[Node, Scope, dict[int, Expression]]:
    """The chain as one plan, its names over that plan's columns, and where each slot went.

    With `flags`, INTERNAL windows are marked as such in the join.
    """
    chain = placed(chain, context, final=True)
    offsets = [0]
    for part in chain.parts:
        offsets.append(offsets[-1] + len(part.node.schema))
    fields = [field for part in chain.parts for field in part.node.schema]
    positions: dict[int, Expression] = {}
    for slot, (part_index, local) in enumerate(chain.slots):
        position = offsets[part_index] + local
        positions[slot] = Column(position, fields[position].type, fields[position].name)
    conjuncts = [remap(each, positions) for each in chain.conjuncts]
    internal = [part.internal for part in chain.parts] if flags else ()
    node = join([part.node for part in chain.parts], conjuncts, internal)
    return node, chain.scope.rewritten(lambda e: remap(e, positions)), positions


def _cannot_place(chain: Chain, table: int, context: Context, reason: str) -> Exception:
    scan = chain.parts[table].node
    assert isinstance(scan, TableScan)
    return context.error(
        "SASH-PLAN-008",
        f"Table '{scan.name}' is asked by each row at its own time, and here {reason}.",
        f"Write JOIN {scan.name} ON ... with the columns of one stream, or create the table as RETROACTIVE.",
        chain.parts[table].origin,
    )


def _only_tables(chain: Chain, context: Context) -> Exception:
    scan = chain.parts[0].node
    assert isinstance(scan, TableScan)
    return context.error(
        "SASH-PLAN-009",
        f"Only rows of a stream can ask table '{scan.name}', and none is here.",
        "Join it with a stream, or create the table as RETROACTIVE, so that it is a relation of its own.",
        chain.parts[0].origin,
    )
