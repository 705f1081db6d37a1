"""Counters: what came, what waits, what went out, what is held, and which values became NULL."""

from __future__ import annotations

__all__ = ["measure"]

from collections.abc import Iterable
from typing import Any

from sash.catalog.clock import Kind, show_instant
from sash.catalog.tables import History
from sash.lifetimes import BEGINNING, Instant
from sash.session.inflow import Inflow
from sash.session.running import Running


def measure(
    streams: Iterable[Inflow], queries: Iterable[Running], tables: Iterable[History]
) -> dict[str, Any]:
    """All counters by stream, table and query."""
    return {
        "streams": {each.definition.name: _of_stream(each) for each in streams},
        "tables": {each.definition.name: _of_table(each) for each in tables},
        "queries": {each.name: _of_query(each) for each in queries},
    }


def _of_stream(inflow: Inflow) -> dict[str, Any]:
    return {
        "pushed": inflow.pushed,
        "late": inflow.late,
        "waiting": len(inflow.waiting),
        "frontier": _frontier(inflow.clock.frontier, inflow.clock.kind),
        "idle": inflow.clock.idle,
    }


def _of_table(history: History) -> dict[str, Any]:
    return {"rows": len(history.latest), "versions": len(history)}


def _of_query(running: Running) -> dict[str, Any]:
    operators = running.circuit.measure()
    return {
        "rows_in": sum(running.rows_in.values()),
        "waiting": sum(len(waiting) for waiting in running.waiting.values()),
        "changes_out": running.changes_out,
        "drained": running.drained,
        "pending": running.circuit.output.pending,
        "frontier": _frontier(running.frontier, running.kind),
        "state_rows": sum(each.rows for each in operators),
        "state_bytes": sum(each.nbytes for each in operators),
        "operators": [
            {"operator": each.operator, "rows": each.rows, "bytes": each.nbytes} for each in operators
        ],
        "faults": dict(running.circuit.faults.counts),
        "filling": running.filling,
        "failed": None if running.failure is None else str(running.failure),
    }


def _frontier(instant: Instant, kind: Kind) -> int | str | None:
    """A number as it is, a time as ISO text, None before the first: as JSON has it."""
    if instant <= BEGINNING:
        return None
    return instant if kind == "integer" else show_instant(instant, kind)
