"""On which keys the inputs of an n-way join can be brought together, and how to part it if on none.

Equalities make classes of expressions that agree in every result. A class with an expression of each
input is a key for all of them. A join without one is parted into a join of those inputs that share a
class, and a join of that with the rest.
"""

from __future__ import annotations

__all__ = ["equal_for_equals", "key_options", "keys_of_inputs", "split"]

from collections.abc import Iterator, Sequence

from sash.language.expressions import Call, Column, Expression, columns_of, remap
from sash.optimizer.rewriting import faithful, shifted, starts
from sash.plan.nodes import Equality, Join, Node, Project

Member = tuple[int, Expression]
"""An input's number and an expression over its columns."""


def _classes(node: Join) -> list[list[Member]]:
    """Expressions that are equal in every result."""
    classes: list[list[Member]] = []
    for equality in node.equalities:
        pair: list[Member] = [(equality.left, equality.left_key), (equality.right, equality.right_key)]
        touched = [each for each in classes if any(member in each for member in pair)]
        merged = list(dict.fromkeys([*(m for each in touched for m in each), *pair]))
        classes = [each for each in classes if each not in touched] + [merged]
    return classes


def _of_input(members: Sequence[Member], number: int) -> Expression | None:
    return next((expression for owner, expression in members if owner == number), None)


def equal_for_equals(key: Expression) -> bool:
    """Whether a key is equal for rows whose columns are: -0.0 equals 0.0, but as text they are two.

    >>> import pyarrow as pa
    >>> x, k = Column(0, pa.float64(), "x"), Column(1, pa.int32(), "k")
    >>> [equal_for_equals(key) for key in (x, *(Call("cast", (each,), pa.string()) for each in (x, k)))]
    [True, False, True]
    """
    return isinstance(key, Column) or _reads_faithful(key)


def _reads_faithful(key: Expression) -> bool:
    if isinstance(key, Column):
        return faithful(key.type)
    return not isinstance(key, Call) or all(map(_reads_faithful, key.arguments))


def key_options(node: Join) -> Iterator[tuple[tuple[Expression, ...], ...]]:
    """For each way to bring all inputs together, the keys of each input; the finest first."""
    inputs = range(len(node.parts))
    whole: list[list[Expression]] = []
    for members in _classes(node):
        keys = [_of_input(members, i) for i in inputs]
        found = [key for key in keys if key is not None]
        if len(found) == len(keys):
            whole.append(found)
    if whole:
        yield tuple(tuple(keys[i] for keys in whole) for i in inputs)
    if len(whole) > 1:
        for alone in whole:
            yield tuple((key,) for key in alone)


def keys_of_inputs(node: Join, keys: Sequence[Expression]) -> tuple[tuple[Expression, ...], ...] | None:
    """Keys over the join's columns as keys of each input; None if an input has no equal of one."""
    offsets = starts(node.parts)
    wanted: list[list[Expression]] = [[] for _ in node.parts]
    classes = _classes(node)
    for key in keys:
        owner = _owner(key, node, offsets)
        if owner is None:
            return None
        own = shifted(key, -offsets[owner])
        members = next((each for each in classes if (owner, own) in each), [(owner, own)])
        for i in range(len(node.parts)):
            equal = own if i == owner else _of_input(members, i)
            if equal is None:
                return None
            wanted[i].append(equal)
    return tuple(map(tuple, wanted))


def _owner(key: Expression, node: Join, offsets: Sequence[int]) -> int | None:
    """The one input whose columns an expression reads."""
    read = columns_of(key)
    for i, (offset, part) in enumerate(zip(offsets, node.parts, strict=True)):
        if read and all(offset <= position < offset + len(part.schema) for position in read):
            return i
    return None


def split(node: Join) -> Node | None:
    """A join of more than two inputs as a join of the inputs that share a key and, above it, the rest."""
    classes = _classes(node)
    if len(node.parts) < 3 or not classes or any(node.internal):
        return None
    shared = max(classes, key=lambda members: len({owner for owner, _ in members}))
    inside = sorted({owner for owner, _ in shared})
    if len(inside) == len(node.parts):
        return None
    outside = [i for i in range(len(node.parts)) if i not in inside]
    inner = Join(
        tuple(node.parts[i] for i in inside),
        tuple(
            Equality(inside.index(e.left), e.left_key, inside.index(e.right), e.right_key, e.null_safe)
            for e in node.equalities
            if e.left in inside and e.right in inside
        ),
    )
    parts = (inner, *(node.parts[i] for i in outside))
    offsets = dict(zip(inside, starts([node.parts[i] for i in inside]), strict=True))

    def seen_from_above(owner: int, key: Expression) -> Member:
        if owner in inside:
            return 0, shifted(key, offsets[owner])
        return 1 + outside.index(owner), key

    equalities = tuple(
        Equality(*seen_from_above(e.left, e.left_key), *seen_from_above(e.right, e.right_key), e.null_safe)
        for e in node.equalities
        if not (e.left in inside and e.right in inside)
    )
    order = [*inside, *outside]
    ahead = dict(zip(order, starts([node.parts[i] for i in order]), strict=True))
    places: dict[int, Expression] = {}
    for i, start in enumerate(starts(node.parts)):
        for j, field in enumerate(node.parts[i].schema):
            places[start + j] = Column(ahead[i] + j, field.type, field.name)
    residual = None if node.residual is None else remap(node.residual, places)
    columns = tuple(places[i] for i in range(len(node.schema)))
    return Project(Join(parts, equalities, residual), columns, tuple(field.name for field in node.schema))
