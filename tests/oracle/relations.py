"""What a plan holds at an instant, by definition: the relational query over the windows' content then.

`at(node, τ)` is a bag of rows, computed from the bags of the inputs at τ. `instants(node)` are all the
instants at which that bag can change, so that between two of them nothing needs to be looked at.
A stream is the bag of all its rows so far; `rows(node, τ)` gives them in order, with their instants.
"""

from __future__ import annotations

__all__ = ["Change", "Oracle", "StreamHistory", "TableHistory"]

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sash.plan import nodes

from . import lives, operators, streams, windows
from .values import Bag, Row, instant_of, plain_row

StreamHistory = Sequence[tuple[int, int, Row]]
"""Rows of a stream: timestamp, place in the order of arrival, values."""

TableHistory = Sequence[tuple[int, Row, int]]
"""Changes of a table: instant, row, +1 or -1."""

Change = tuple[int, Row, int]
"""A net change of an answer: instant, row, how many more (or fewer) there are."""


class Oracle:
    """Answers about one plan, over one history, up to a horizon: the last instant anyone will ask about."""

    def __init__(
        self,
        plan: nodes.Node,
        streams: Mapping[str, StreamHistory],
        tables: Mapping[str, TableHistory] | None = None,
        horizon: int = 0,
    ) -> None:
        self.plan = plan
        self.horizon = horizon
        self.streams = {
            name: sorted(((ts, arrival, plain_row(row)) for ts, arrival, row in rows), key=lambda r: r[:2])
            for name, rows in streams.items()
        }
        self.tables = {
            name: [(at, plain_row(row), weight) for at, row, weight in log]
            for name, log in (tables or {}).items()
        }
        self._memory: dict[tuple[str, int, int], Any] = {}
        self._nodes: list[nodes.Node] = []  # kept alive, since their identities are keys of the memory

    def relation_at(self, at: int) -> Bag:
        """The answer at an instant."""
        return Counter(self.at(self.plan, at))

    def instants_of_change(self) -> list[int]:
        """Every instant up to the horizon at which the answer may change."""
        return self.instants(self.plan)

    def changes(self, after: int | None = None, until: int | None = None) -> list[Change]:
        """The net changes at instants in (after, until], in order of instants."""
        until = self.horizon if until is None else until
        found: list[Change] = []
        before: Bag = Counter() if after is None else self.at(self.plan, after)
        for instant in self.instants(self.plan):
            if (after is not None and instant <= after) or instant > until:
                continue
            now = self.at(self.plan, instant)
            found += [(instant, row, n) for row, n in difference(now, before).items()]
            before = now
        return found

    def at(self, node: nodes.Node, at: int) -> Bag:
        """The bag of rows a node holds at an instant: that of the last instant at which it could change."""
        moments = self.instants(node)
        place = bisect_right(moments, at)
        if place == 0:
            return Counter()
        at = moments[place - 1]
        return self._once("at", node, at, lambda: self._bag(node, at))  # type: ignore[no-any-return]

    def rows(self, node: nodes.Node, at: int) -> list[tuple[int, Row]]:
        """A stream's rows up to an instant, with their instants, in order of time and arrival."""
        every = self._once("rows", node, 0, lambda: streams.rows(self, node))
        return [(when, row) for when, row in every if when <= at]

    def instants(self, node: nodes.Node) -> list[int]:
        """The instants, not after the horizon, at which the node's bag may change."""
        return self._once(  # type: ignore[no-any-return]
            "instants", node, 0, lambda: sorted(t for t in self._instants(node) if t <= self.horizon)
        )

    def lives(self, node: nodes.Node) -> list[lives.Life]:
        """The node's rows one by one, each with its lifetime, as far as the horizon knows."""
        return self._once("lives", node, 0, lambda: lives.lives(self, node))  # type: ignore[no-any-return]

    def _once(self, question: str, node: nodes.Node, at: int, answer: Any) -> Any:
        key = (question, id(node), at)
        if key not in self._memory:
            self._nodes.append(node)
            self._memory[key] = answer()
        return self._memory[key]

    def _instants(self, node: nodes.Node) -> set[int]:
        if isinstance(node, nodes.Source):
            return {ts for ts, _, _ in self.streams.get(node.name, ())}
        if isinstance(node, nodes.TableScan):
            return {at for at, _, _ in self.tables.get(node.name, ())}
        below = {instant for child in node.inputs for instant in self.instants(child)}
        if isinstance(node, nodes.Windowed):
            return windows.instants(self, node)
        if isinstance(node, nodes.TableJoin):
            return set(self.instants(node.input))
        if isinstance(node, nodes.ToStream):
            return streams.instants(self, node)
        return below

    def _bag(self, node: nodes.Node, at: int) -> Bag:
        if isinstance(node, nodes.Source | nodes.ToStream):
            return Counter(row for _, row in self.rows(node, at))
        if isinstance(node, nodes.TableScan):
            bag: Bag = Counter()
            for when, row, weight in self.tables.get(node.name, ()):
                if when <= at:
                    bag[row] += weight
            return +bag
        if isinstance(node, nodes.Windowed):
            stream = self.rows(node.input, self.horizon)
            return Counter(stream[i][1] for i in windows.members(self, node, at))
        if isinstance(node, nodes.Join) and any(node.internal):
            return lives.internal_join(self, node, at)
        if isinstance(node, nodes.TableJoin):
            return lives.table_join(self, node, at)
        return operators.EVALUATE[type(node)](self, node, at)


def difference(now: Bag, before: Bag) -> Bag:
    """How many more of each row there are now; rows of which there are as many are left out."""
    change = Counter(now)
    change.subtract(before)
    return Counter({row: n for row, n in change.items() if n})


def time_of(row: Row, position: int) -> int | None:
    """The instant that stands in a row's column."""
    return instant_of(row[position])
