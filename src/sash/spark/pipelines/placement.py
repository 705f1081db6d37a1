"""Where the parts of a plan run: which rows must meet, and where exchanges bring them together.

An operator is right bucket by bucket if rows that meet in it are in one bucket: those of one join
key, one group, one partition. The whole plan is tried with one exchange per stream, above what is
computed row by row. Where no one key serves all operators, or an operator needs all rows, a further
stage follows behind what can be done in many buckets. The result is the same plan with `Exchange`
nodes in it.
"""

from __future__ import annotations

__all__ = ["place", "stage_of"]

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sash.language.expressions import Column, Expression, columns_of, remap
from sash.plan.keys import nets
from sash.plan.nodes import (
    Aggregate,
    Distinct,
    Exchange,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    SetOperation,
    TableJoin,
    TableScan,
    TopK,
    ToStream,
    Union,
    Windowed,
)
from sash.spark.pipelines.join_keys import equal_for_equals, key_options, keys_of_inputs, split
from sash.spark.pipelines.sharing import source_of

Keys = tuple[Expression, ...]


def place(plan: Node) -> Node:
    """The plan with exchanges.

    >>> import pyarrow as pa
    >>> from sash.language.expressions import Field
    >>> from sash.language.windows import Window
    >>> from sash.plan.explain import explain
    >>> from sash.plan.nodes import Source
    >>> packets = Source("packets", (Field("ts", pa.int64()), Field("src", pa.string())), 0)
    >>> print(explain(place(Distinct(Windowed(packets, Window("range", length=60))))))
    distinct [WK] state=keyed bound=2 x distinct (ts, src)
    └─ range 60 [WKS] state=none
       └─ exchange by ts, src [MON] state=none
          └─ stream packets [MON] state=none
    """
    return _aligned(_staged(plan))


def stage_of(node: Node) -> int:
    """In which stage a node of a placed plan runs: 0 before the first exchange."""
    below = max(map(stage_of, _streams(node)), default=0)
    return below + 1 if isinstance(node, Exchange) else below


def _streams(node: Node) -> list[Node]:
    """The inputs, tables left out: a table is everywhere."""
    return [child for child in node.inputs if not isinstance(child, TableScan)]


# One stage


def _free(node: Node) -> Node | None:
    """The plan in one stage of many buckets, wherever its rows end up; None if there is no such way."""
    if source_of(node) is not None:
        return Exchange(node, None)
    match node:
        case Select() | Project() | TableJoin():
            return _over_first(node, _free(node.inputs[0]))
        case Windowed():
            if node.window.kind != "rows":
                return _over_first(node, _free(node.input))
            return _first_keyed(node, _choices([_column(node, i) for i in node.window.partition]))
        case Union():
            return _over(node, [_free(part) for part in node.parts])
        case Join():
            options = (_keyed_inputs(node, keys) for keys in key_options(node))
            return next((found for found in options if found is not None), None)
        case SemiJoin():
            keys = _semi_join_keys(node)[0]
            return _first_keyed(node, _choices(keys))
        case Distinct() | SetOperation():
            return _first_keyed(node, _choices(_columns(node)))
        case Aggregate():
            return _first_keyed(node, _choices([_column(node, i) for i in range(len(node.groups))]))
        case ToStream():
            return _free_stream(node)
        case _:
            return None


def _free_stream(node: ToStream) -> Node | None:
    if node.kind == "rstream" and node.slide is None:
        return None  # a change anywhere streams everything
    if node.restore or (node.kind != "rstream" and nets(node.input)):
        return _first_keyed(node, _choices(_columns(node)))  # equal rows must meet
    return _over_first(node, _free(node.input))


def _keyed(node: Node, keys: Keys) -> Node | None:
    """The plan in one stage such that its rows are in buckets by `keys`; None if there is no such way."""
    if source_of(node) is not None:
        return Exchange(node, keys)
    if _takes_equals_as_one(node) and not _safe_for_equals(keys):
        return None
    match node:
        case Select() | Distinct():
            return _over_first(node, _keyed(node.input, keys))
        case Project():
            return _over_first(node, _keyed(node.input, tuple(remap(k, _positions(node)) for k in keys)))
        case Windowed():
            inside = node.window.kind != "rows" or _reads(keys) <= frozenset(node.window.partition)
            return _over_first(node, _keyed(node.input, keys)) if inside or not keys else None
        case TableJoin():
            inside = all(position < len(node.input.schema) for position in _reads(keys))
            return _over_first(node, _keyed(node.input, keys)) if inside else None
        case Union() | SetOperation():
            return _over(node, [_keyed(part, keys) for part in node.inputs])
        case Join():
            wanted = keys_of_inputs(node, keys)
            return None if wanted is None else _keyed_inputs(node, wanted)
        case SemiJoin():
            return _keyed_semi_join(node, keys)
        case Aggregate():
            groups = dict(enumerate(node.groups))
            if not all(position in groups for position in _reads(keys)):
                return None
            # Without groups the keys are constants: what tells of its first row goes where its rows go.
            own = tuple(remap(k, groups) for k in keys)
            return _over(node, [_keyed(part, own) for part in node.inputs])
        case ToStream() if node.kind != "rstream" or node.slide is not None:
            return _over_first(node, _keyed(node.input, keys))
        case TableScan():
            return node
        case _:
            # All rows in one bucket suit every operator.
            return None if keys else _over(node, [_keyed(part, ()) for part in node.inputs])


def _takes_equals_as_one(node: Node) -> bool:
    """Whether rows whose columns are equal must meet here."""
    if isinstance(node, Windowed):
        return node.window.kind == "rows" and bool(node.window.partition)
    return isinstance(node, Distinct | SetOperation | Aggregate | ToStream)


def _safe_for_equals(keys: Keys) -> bool:
    """Whether equal rows have equal keys: -0.0 equals 0.0, but as text they are two."""
    return all(equal_for_equals(key) for key in keys)


def _first_keyed(node: Node, choices: Iterator[Keys]) -> Node | None:
    return next((found for keys in choices if (found := _keyed(node, keys)) is not None), None)


def _keyed_inputs(node: Join, wanted: Sequence[Keys]) -> Node | None:
    return _over(node, [_keyed(part, keys) for part, keys in zip(node.parts, wanted, strict=True)])


def _semi_join_keys(node: SemiJoin) -> tuple[Keys, Keys]:
    """The keys on which both sides must meet; NOT IN also looks at rows of other values and NULLs."""
    if node.null_aware:
        return node.left_keys[:-1], node.right_keys[:-1]
    return node.left_keys, node.right_keys


def _keyed_semi_join(node: SemiJoin, keys: Keys) -> Node | None:
    left, right = _semi_join_keys(node)
    if not all(key in left for key in keys):
        return None
    opposite = tuple(right[left.index(key)] for key in keys)
    return _over(node, [_keyed(node.left, keys), _keyed(node.right, opposite)])


def _choices(keys: Sequence[Expression]) -> Iterator[Keys]:
    """All keys together spread rows best; each alone may be what suits the operators below."""
    if keys:
        yield tuple(keys)
    if len(keys) > 1:
        yield from ((key,) for key in keys)


# Several stages


def _staged(node: Node) -> Node:
    """The plan in as many stages as it needs."""
    one = _free(node)
    if one is not None:
        return one
    if not _worth_a_stage(node):
        single = _keyed(node, ())
        assert single is not None, f"{type(node).__name__}: one bucket suits every operator"
        return single
    match node:
        case TopK():
            # The first rows of all are among the first rows of each bucket.
            partial = replace(node, input=_staged(node.input), limit=node.limit + node.offset, offset=0)
            return replace(node, input=Exchange(partial, ()))
        case Join():
            return _staged_join(node)
        case SemiJoin():
            left, right = _semi_join_keys(node)
            return _behind(node, (left, right))
        case SetOperation():
            return _behind(node, (_columns(node), _columns(node)))
        case Distinct():
            return _behind(node, (_columns(node),))
        case Aggregate():
            return _behind(node, (node.groups, *((),) * len(node.presence)))
        case ToStream():
            return _staged_stream(node)
        case Windowed() if node.window.kind == "rows":
            return _behind(node, (tuple(_column(node, i) for i in node.window.partition),))
        case Select() | Project() | Windowed() | TableJoin() | Union():
            children = [c if isinstance(c, TableScan) else _staged(c) for c in node.inputs]
            return node.with_inputs(children)
        case _:
            return _behind(node, ((),) * len(node.inputs))


def _staged_stream(node: ToStream) -> Node:
    if node.kind == "rstream" and node.slide is None:
        return _behind(node, ((),))
    if node.restore or (node.kind != "rstream" and nets(node.input)):
        return _behind(node, (_columns(node),))
    return replace(node, input=_staged(node.input))


def _staged_join(node: Join) -> Node:
    options = list(key_options(node))
    if options:
        return _behind(node, options[0])
    parted = split(node)
    if parted is not None:
        return _staged(parted)
    return _behind(node, ((),) * len(node.parts))


def _behind(node: Node, wanted: Sequence[Keys]) -> Node:
    """The node in a stage of its own behind its inputs."""
    inputs = [Exchange(_staged(child), keys) for child, keys in zip(node.inputs, wanted, strict=True)]
    return node.with_inputs(inputs)


def _worth_a_stage(node: Node) -> bool:
    """Whether work in many buckets is to be had below a node that has no one key for all."""
    below = _streams(node)
    if any(map(_worth_a_stage, below)) or (isinstance(node, Join) and split(node) is not None):
        return True
    return any((isinstance(node, TopK) or _gathers(child)) and _free(child) is not None for child in below)


def _gathers(node: Node) -> bool:
    """Whether something below keeps rows by key, so that buckets share its work."""
    keeps = isinstance(node, Join | SemiJoin | SetOperation | Distinct | Aggregate | TopK)
    keeps = keeps or (isinstance(node, Windowed) and node.window.kind == "rows")
    return keeps or any(map(_gathers, _streams(node)))


def _aligned(node: Node) -> Node:
    """With every operator's inputs in one stage: those that are ready earlier travel along."""
    children = [c if isinstance(c, TableScan) else _aligned(c) for c in node.inputs]
    streams = [stage_of(child) for child in children if not isinstance(child, TableScan)]
    latest = max(streams, default=0)
    for i, child in enumerate(children):
        while not isinstance(child, TableScan) and stage_of(child) < latest:
            child = _delayed(child)
        children[i] = child
    return node.with_inputs(children) if children else node


def _delayed(node: Node) -> Node:
    """The same rows one stage later, still in the buckets they were brought to."""
    if isinstance(node, Exchange):
        return Exchange(Exchange(node.input, None), node.keys)
    return Exchange(node, None)


# Small things


def _over_first(node: Node, placed: Node | None) -> Node | None:
    return None if placed is None else node.with_inputs([placed, *node.inputs[1:]])


def _over(node: Node, placed: Sequence[Node | None]) -> Node | None:
    found = [each for each in placed if each is not None]
    return node.with_inputs(found) if len(found) == len(placed) else None


def _column(node: Node, index: int) -> Column:
    field = node.schema[index]
    return Column(index, field.type, field.name)


def _columns(node: Node) -> Keys:
    return tuple(_column(node, i) for i in range(len(node.schema)))


def _positions(node: Project) -> dict[int, Expression]:
    return dict(enumerate(node.expressions))


def _reads(keys: Keys) -> frozenset[int]:
    return frozenset[int]().union(*map(columns_of, keys))
