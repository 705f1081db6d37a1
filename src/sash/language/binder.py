"""From syntax to bound expressions: names become positions, operators become calls, types meet.

The binder walks a scalar expression once, inner parts first. `functions.py` says which types a
function takes and gives; where they differ from the arguments' the binder puts casts. Aggregates
are set aside in a list and leave a column behind that stands for their result.
"""

from __future__ import annotations

__all__ = ["Binder", "cast_to", "has_aggregate"]

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from sash.errors import Place, SashError
from sash.language.calls import AGGREGATES, aggregate_name, call_of
from sash.language.expressions import AggregateCall, Call, Column, Expression, Literal
from sash.language.functions import AGGREGATES as AGGREGATE_NAMES
from sash.language.functions import (
    FunctionError,
    NotAFunctionOfTheRow,
    Resolved,
    UnknownFunction,
    is_known,
    resolve,
    resolve_aggregate,
    stranger,
)
from sash.language.literals import check_text, check_typed_constant, check_unit, literal_of, number_of
from sash.language.scope import Scope
from sash.language.syntax import place_of
from sash.language.types import UnknownType, arrow_type, sql_name

_BEFORE_ARGUMENTS = re.compile(r"(\w+)\s*\(\s*(?:DISTINCT\s+)?$", re.IGNORECASE)

_LITERALS = (exp.Literal, exp.Boolean, exp.Null, exp.HexString, exp.RawString, exp.Interval)

_SECONDS = ("second", "seconds", "sec", "secs", "s")

_REFUSED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Bracket: ("Nested values are carried along, not looked into.", "Select the whole column."),
    exp.Dot: ("Nested values are carried along, not looked into.", "Select the whole column."),
    exp.Lambda: ("Functions of functions are not supported.", "Use plain functions of the row."),
    exp.SimilarTo: ("SIMILAR TO is not supported.", "Use LIKE or RLIKE."),
    exp.Any: ("ANY is not supported.", "Use IN or EXISTS."),
    exp.All: ("ALL is not supported.", "Use NOT EXISTS."),
    exp.Tuple: ("A list of values stands only before IN (SELECT ...).", "Compare the values one by one."),
}


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate stands in an expression, not counting those of subqueries.

    >>> from sqlglot import parse_one
    >>> has_aggregate(parse_one("1 + SUM(a)")), has_aggregate(parse_one("a IN (SELECT MAX(b) FROM s)"))
    (True, False)
    """
    if isinstance(node, exp.Query | exp.Window):
        return False
    if isinstance(node, AGGREGATES):
        return True
    return any(has_aggregate(child) for child in node.iter_expressions())


@dataclass(frozen=True)
class Binder:
    """Binds expressions of one clause of a query block.

    `aggregates` collects the aggregates met, each once; the k-th is left in the expression as the
    column at position `base + k`. Where it is None, aggregates are an error.
    """

    scope: Scope
    text: str
    clause: str
    aggregates: list[AggregateCall] | None = None
    base: int = 0
    inside_aggregate: bool = field(default=False, repr=False)

    def bind(self, node: exp.Expr) -> Expression:
        """The bound form of a scalar expression."""
        if isinstance(node, exp.Paren | exp.Alias):
            return self.bind(node.this)
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, _LITERALS) or _is_negative_number(node):
            return literal_of(node, self.text)
        if isinstance(node, exp.Cast):  # TRY_CAST too: an impossible cast gives NULL in either form
            return self._cast(node)
        if isinstance(node, (exp.Filter, exp.Star, *AGGREGATES)):
            return self._aggregate(node)
        self._refuse(node)
        if isinstance(node, exp.Extract) and node.this.name.lower() in _SECONDS:
            raise self.error(
                "SASH-BIND-006",
                "EXTRACT of seconds would have their fraction, and is not known.",
                "Write second(t) for whole seconds, or unix_micros(t) % 60000000 for microseconds.",
                node,
            )
        name, arguments = call_of(node)
        if not is_known(name):  # before its arguments: what stands there may only make sense to it
            for argument in arguments:
                if isinstance(argument, exp.Lambda):
                    self._refuse(argument)
            raise self._untyped(stranger(name), node)
        if any(argument is None for argument in arguments):
            raise self.error("SASH-BIND-006", f"'{name}' needs an argument.", "Give it one.", node)
        return self.call(name, [self.bind(argument) for argument in arguments], node)

    def predicate(self, node: exp.Expr) -> Expression:
        """The bound form of a condition: it must be true or false (or NULL)."""
        bound = self.bind(node)
        if pa.types.is_null(bound.type):
            return Literal(None, pa.bool_())
        if not pa.types.is_boolean(bound.type):
            raise self.error(
                "SASH-BIND-006",
                f"{self.clause} needs a condition, and this is {sql_name(bound.type)}.",
                "Compare it with something.",
                node,
            )
        return bound

    def call(self, name: str, arguments: Sequence[Expression], node: exp.Expr) -> Expression:
        """A call by its canonical name, with the casts its arguments need; `node` is for the place."""
        types = [argument.type for argument in arguments]
        constants = [argument.value if isinstance(argument, Literal) else None for argument in arguments]
        try:
            resolved: Resolved = resolve(name, types, constants)
        except FunctionError as trouble:
            raise self._untyped(trouble, node) from None
        coerced = tuple(zip(arguments, resolved.coercions, strict=True))
        beside = len(coerced) > 1 and len({type_ for _, type_ in coerced}) == 1
        for argument, type_ in coerced:
            if isinstance(argument, Literal):
                check_text(argument, type_, node, self.text, beside=beside)
        check_unit(resolved.function, arguments, node, self.text)
        cast = tuple(cast_to(argument, type_) for argument, type_ in coerced)
        if resolved.function == "cast":
            return cast_to(cast[0], resolved.type)
        return Call(resolved.function, cast, resolved.type)

    def _column(self, node: exp.Column) -> Expression:
        if isinstance(node.this, exp.Star):
            raise self.error(
                "SASH-BIND-008",
                "A star stands only in a SELECT list or in COUNT(*).",
                "Name the columns that are meant.",
                node,
            )
        return self.scope.resolve(node, self.text)

    def _cast(self, node: exp.Cast) -> Expression:
        try:
            target = arrow_type(node.args["to"])
        except UnknownType as unknown:
            place = place_of(node.args["to"], self.text)
            raise SashError(
                "SASH-BIND-018",
                f"There is no type {unknown if place is None else self.text[place.start : place.end]}.",
                remedy="Use BOOLEAN, TINYINT to BIGINT, FLOAT, DOUBLE, DECIMAL(p, s) of up to 38 digits, "
                "STRING, BINARY, DATE or TIMESTAMP.",
                place=place,
            ) from None
        check_typed_constant(node, target, self.text)
        operand = self.bind(node.this)
        try:
            resolve("cast", [operand.type, target])
        except FunctionError as trouble:
            raise self._untyped(trouble, node) from None
        return cast_to(operand, target)

    def _aggregate(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Filter) and not isinstance(node.this, AGGREGATES):
            raise self.error(
                "SASH-BIND-009", "FILTER goes with aggregates only.", "Use CASE or WHERE instead.", node
            )
        if isinstance(node, exp.Star) or self.aggregates is None or self.inside_aggregate:
            where = "inside another aggregate" if self.inside_aggregate else f"in {self.clause}"
            what = "A star" if isinstance(node, exp.Star) else "An aggregate"
            raise self.error(
                "SASH-BIND-008" if isinstance(node, exp.Star) else "SASH-BIND-009",
                f"{what} cannot stand {where}.",
                "Name the columns that are meant."
                if isinstance(node, exp.Star)
                else "Compute it in a subquery in FROM, or use HAVING to choose groups.",
                node,
            )
        call = self._aggregate_call(node)
        if call not in self.aggregates:
            self.aggregates.append(call)
        return Column(self.base + self.aggregates.index(call), call.type, str(call))

    def _aggregate_call(self, node: exp.Expr) -> AggregateCall:
        inner = replace(self, inside_aggregate=True)
        condition = inner.predicate(node.expression.this) if isinstance(node, exp.Filter) else None
        aggregate = node.this if isinstance(node, exp.Filter) else node
        name = aggregate_name(aggregate)
        operand = aggregate.this
        distinct = isinstance(operand, exp.Distinct)
        operands = operand.expressions if distinct else [operand] if operand is not None else []
        operands = [*operands, *aggregate.expressions]
        if any(each is None for each in operands):  # the parser lets STRING_AGG(DISTINCT , ',') pass
            remedy = "Check the commas and the parentheses just before this place."
            raise self.error("SASH-PARSE-001", "Something is missing after DISTINCT.", remedy, node)
        if len(operands) != 1 and name in AGGREGATE_NAMES:
            raise self.error(
                "SASH-BIND-006",
                f"'{name}' takes one argument, not {len(operands)}.",
                "Name one column, or write COUNT(*)."
                if not operands
                else "Name one column, or aggregate a subquery with DISTINCT.",
                node,
            )
        if operands and isinstance(operands[0], exp.Star):
            operands = []
        arguments = [inner.bind(each) for each in operands]
        try:
            type_ = arguments[0].type if arguments else None
            resolved: Resolved = resolve_aggregate(name, type_, distinct)
        except FunctionError as trouble:
            raise self._untyped(trouble, node) from None
        argument = cast_to(arguments[0], resolved.coercions[0]) if arguments else None
        if condition is not None:
            # FILTER (WHERE p): other rows are NULL, and no aggregate counts a NULL.
            argument = Literal(True, pa.bool_()) if argument is None else argument
            nothing = Literal(None, argument.type)
            argument = Call("case", (condition, argument, nothing), argument.type)
        if isinstance(argument, Literal) and resolved.function == "count" and argument.value is not None:
            argument = None if not distinct else argument  # COUNT(1) is COUNT(*)
        return AggregateCall(resolved.function, argument, distinct, resolved.type)

    def _refuse(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Query | exp.Exists) or node.args.get("query") is not None:
            scalar = isinstance(node, exp.Query)
            raise self.error(
                "SASH-PLAN-007" if scalar else "SASH-PLAN-006",
                "A subquery that stands for a value is not supported."
                if scalar
                else "EXISTS and IN (SELECT ...) stand only in WHERE, joined to other conditions by AND.",
                "Join with the subquery in FROM instead."
                if scalar
                else "Write each alternative as a query of its own and combine them with UNION.",
                node,
            )
        for kind, (message, remedy) in _REFUSED.items():
            if isinstance(node, kind):
                raise self.error("SASH-PLAN-017", message, remedy, node)

    def _untyped(self, trouble: FunctionError, node: exp.Expr) -> SashError:
        place = self._name_place(node, isinstance(trouble, UnknownFunction))
        written = "" if place is None else self.text[place.start : place.end]
        code, message, remedy = "SASH-BIND-006", trouble.message, trouble.remedy
        if isinstance(trouble, UnknownFunction):
            code = "SASH-BIND-005"
            if written and is_known(written):  # one of its forms that sqlglot has under another name
                code, message = "SASH-BIND-006", f"'{written.lower()}' is not known with these arguments."
                remedy = "See docs/language.md for the form it has."
            elif written:
                trouble = stranger(written)
                message, remedy = trouble.message, trouble.remedy
        elif isinstance(trouble, NotAFunctionOfTheRow):
            code = "SASH-BIND-007"
            if place is None and (found := re.search(rf"\b{trouble.name}\b", self.text, re.IGNORECASE)):
                place = Place(self.text, *found.span())  # CURRENT_TIMESTAMP, without parentheses
        elif written.isidentifier():  # INSTR, say, is known by another name
            message = re.sub(r"^'\w+' does not", f"'{written.lower()}' does not", message)
        return SashError(code, message, remedy=remedy, place=place or place_of(node, self.text))

    def _name_place(self, node: exp.Expr, searched: bool) -> Place | None:
        """Where a function's name stands.

        Of some, sqlglot keeps only the places of the arguments; then it may be searched before them.
        """
        start, end = node.meta.get("start"), node.meta.get("end")
        if isinstance(start, int) and isinstance(end, int):
            return Place(self.text, start, end + 1)
        inside = place_of(node, self.text) if searched and isinstance(node, exp.Func) else None
        found = None if inside is None else _BEFORE_ARGUMENTS.search(self.text[: inside.start])
        return None if found is None else Place(self.text, found.start(1), found.end(1))

    def error(self, code: str, message: str, remedy: str, node: exp.Expr) -> SashError:
        """An error that shows a node's place."""
        return SashError(code, message, remedy=remedy, place=place_of(node, self.text))


def _is_negative_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string


def cast_to(expression: Expression, target: pa.DataType) -> Expression:
    """The expression as another type; a whole number that is written out simply becomes one.

    >>> print(cast_to(Column(0, pa.int32(), "a"), pa.int64()))
    cast(a)
    """
    if expression.type == target:
        return expression
    if isinstance(expression, Literal):
        if expression.value is None:
            return Literal(None, target)
        number = number_of(expression, target)
        if number is not None:
            return number
    return Call("cast", (expression,), target)
