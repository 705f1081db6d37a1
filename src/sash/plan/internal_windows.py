"""INTERNAL windows: the same rows join and aggregate, but results never expire ([G06] §3.3.2).

If all windows of a query block are INTERNAL, its answer is the stream of what the same block produces
with external windows: what comes (ISTREAM), and of an aggregate over windows that slide, its results
at each slide, so that equal results in a row are all there (§3.4 adds them up). If only some windows
are INTERNAL, the join says which (`Join.internal`). Operators whose results must be taken back to
stay true cannot be made monotonic, and are refused.
"""

from __future__ import annotations

__all__ = ["Traits", "mixed", "monotonic", "produced", "refuse_monotonic", "shared_slide"]

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sash.plan.context import Context
from sash.plan.nodes import (
    Aggregate,
    Join,
    Node,
    Project,
    Select,
    Source,
    TableJoin,
    ToStream,
    Union,
    Windowed,
)  # fmt: skip
from sash.plan.patterns import Pattern, pattern


@dataclass(frozen=True)
class Traits:
    """What a block's FROM and WHERE are made of, as far as INTERNAL windows and WSTREAM care."""

    internal: tuple[exp.Expr, ...] = ()
    """Items with an INTERNAL window."""
    external: tuple[exp.Expr, ...] = ()
    """Items whose rows end."""
    output_windows: tuple[exp.Expr, ...] = ()
    """Items that are a WSTREAM."""
    negations: frozenset[str] = frozenset()
    """Operators of the block that forbid monotonic output, in words."""
    nested: bool = False
    """Whether windows meet in another way than by an inner join."""

    def __add__(self, other: Traits) -> Traits:
        return Traits(
            self.internal + other.internal,
            self.external + other.external,
            self.output_windows + other.output_windows,
            self.negations | other.negations,
            self.nested or other.nested,
        )


def mixed(traits: Traits, parts: Sequence[tuple[Node, bool]], context: Context) -> bool:
    """Whether some windows of a block are INTERNAL and others are not, as the join must then know."""
    if not (traits.internal and traits.external):
        return False
    place = traits.internal[0]
    if traits.nested:
        raise context.error(
            "SASH-PLAN-013",
            "INTERNAL and other windows of one query can be mixed in an inner join only.",
            "Make all windows INTERNAL, or none.",
            place,
        )
    if any(internal and pattern(node) is Pattern.STR for node, internal in parts):
        raise context.error(
            "SASH-PLAN-013",
            "An INTERNAL window that counts rows cannot be mixed with windows that are not INTERNAL: "
            "when its rows leave cannot be foreseen.",
            "Use INTERNAL with RANGE, or make all windows INTERNAL.",
            place,
        )
    if not all(internal or _rows_know_their_ends(node) for node, internal in parts):
        raise context.error(
            "SASH-PLAN-013",
            "INTERNAL windows cannot be mixed with a relation that is counted or computed: when a row of it "
            "leaves cannot be foreseen, and so not when its results do.",
            "Join them with windows in time, such as [RANGE 10], or make all windows INTERNAL.",
            place,
        )
    return True


def _rows_know_their_ends(node: Node) -> bool:
    """Whether each row begins and ends once, and its end is known when it begins."""
    match node:
        case Windowed() | Source() | ToStream():
            return pattern(node) is not Pattern.STR
        case Select() | Project() | TableJoin() | Union() | Join():
            return all(map(_rows_know_their_ends, node.inputs))
        case _:
            return False


def monotonic(node: Node, traits: Traits, context: Context) -> Node:
    """The block's plan, as a stream if all of its windows are INTERNAL; refused where that is untrue."""
    refuse_monotonic((*traits.internal, *traits.output_windows), traits.negations, context)
    if traits.internal and not traits.external:
        return produced(node)
    return node


def produced(node: Node) -> Node:
    """The stream of a block's results, none of which is taken back."""
    block = node
    while isinstance(block, Select | Project):
        block = block.input
    slide = shared_slide(node)
    if isinstance(block, Aggregate) and slide is not None:
        return ToStream(node, "rstream", slide)
    return ToStream(node, "istream")


def shared_slide(node: Node) -> int | None:
    """The one SLIDE of all windows, in ticks; None if they have none, or not the same."""
    slides = {
        edge.window.slide if isinstance(edge, Windowed) and edge.window.kind == "range" else None
        for edge in _edges(node)
    }
    return slides.pop() if len(slides) == 1 else None


def _edges(node: Node) -> Iterator[Node]:
    """The windows and unwindowed streams that a relation is made of."""
    if isinstance(node, Windowed | Source | ToStream):
        yield node
    else:
        for child in node.inputs:
            yield from _edges(child)


def refuse_monotonic(items: Sequence[exp.Expr], negations: frozenset[str], context: Context) -> None:
    """INTERNAL windows and WSTREAM are refused together with what must take results back."""
    if items and negations:
        window = items[0].args.get("cql_window")
        what = "INTERNAL windows" if window is not None and window.args.get("internal") else "WSTREAM"
        raise context.error(
            "SASH-PLAN-011",
            f"{what} cannot go with {' and '.join(sorted(negations))}: "
            "results that are never taken back would not stay true.",
            "Use plain windows, and ISTREAM around the query if a stream is wanted.",
            window or items[0],
        )
