"""ISTREAM, DSTREAM, RSTREAM, WSTREAM and the -RESTORE forms: relations as streams ([G06] §3.3.3, §3.3.4)."""

from __future__ import annotations

__all__ = ["relation_to_stream"]

from dataclasses import replace

from sash.language.syntax import RelationToStream
from sash.plan.context import Built, Context
from sash.plan.internal_windows import produced, refuse_monotonic, shared_slide
from sash.plan.nodes import Node, Source, ToStream, Windowed
from sash.plan.window_binding import windowed


def relation_to_stream(query: RelationToStream, context: Context) -> Built:
    """The stream of what came, what went, or all; or the window on what came."""
    built = context.query(query.this, context)
    kind, restore = query.args["kind"], bool(query.args.get("restore"))
    if kind == "wstream":
        return _output_window(query, built, context)
    slide = shared_slide(built.node)
    if restore:
        if slide is None:
            raise context.error(
                "SASH-PLAN-014",
                f"{kind.upper()}-RESTORE reports at each slide, and the windows do not share one.",
                "Give every stream of the query a window [RANGE t SLIDE d] with the same SLIDE.",
                query,
            )
        return Built(ToStream(_unslid(built.node), kind, slide, restore=True))
    return Built(ToStream(built.node, kind, slide if kind == "rstream" else None))


def _output_window(query: RelationToStream, built: Built, context: Context) -> Built:
    refuse_monotonic([query], built.negations, context)
    node = built.node
    came = node if isinstance(node, ToStream) else produced(node)
    return Built(windowed(came, query.args["window"], None, context), monotonic=(query,))


def _unslid(node: Node) -> Node:
    """The same query over windows that move with every row."""
    if isinstance(node, Windowed):
        return replace(node, window=replace(node.window, slide=None))
    if isinstance(node, Source | ToStream):
        return node
    return node.with_inputs([_unslid(child) for child in node.inputs])
