"""From sqlglot's syntax classes to functions by name: what is called, with which arguments, in Spark's order.

sqlglot has a class for most functions, with the arguments in an order of its own; a function it
does not know is `Anonymous` and keeps its name. Here every one of them becomes a name and a list.
"""

from __future__ import annotations

__all__ = ["AGGREGATES", "aggregate_name", "call_of"]

from collections.abc import Callable, Sequence

from sqlglot import exp

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "int_divide",
    exp.Mod: "modulo",
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "eq_null_safe",
    exp.And: "and",
    exp.Or: "or",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "rlike",
    exp.DPipe: "concat",
    exp.Neg: "negate",
    exp.Not: "not",
    exp.BitwiseAnd: "bit_and",
    exp.BitwiseOr: "bit_or",
    exp.BitwiseXor: "bit_xor",
    exp.BitwiseNot: "bit_not",
    exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright",
    exp.SafeAdd: "add",
    exp.SafeSubtract: "subtract",
    exp.SafeMultiply: "multiply",
    exp.SafeDivide: "divide",
}

_AGGREGATE_NAMES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Stddev: "stddev",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "variance",
    exp.VariancePop: "var_pop",
}

AGGREGATES: tuple[type[exp.Expr], ...] = (*_AGGREGATE_NAMES, exp.AggFunc)
"""Classes of aggregates, also of those that Sash does not have."""


def aggregate_name(node: exp.Expr) -> str:
    """The name of an aggregate, as `functions.py` knows it.

    >>> aggregate_name(exp.Sum(this=exp.column("a")))
    'sum'
    """
    return _AGGREGATE_NAMES.get(
        type(node), node.sql_name().lower() if isinstance(node, exp.Func) else node.key
    )


def call_of(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """The function that a piece of syntax calls, and its arguments.

    >>> from sqlglot import parse_one
    >>> name, arguments = call_of(parse_one("locate('a', b)", read="spark"))
    >>> name, [argument.sql() for argument in arguments]
    ('locate', ["'a'", 'b'])
    """
    special = _SPECIAL.get(type(node))
    if special is not None:
        return special(node)
    if type(node) in _OPERATORS:
        return _OPERATORS[type(node)], _given(node, ("this", "expression"))
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower(), list(node.expressions)
    if isinstance(node, exp.Func):
        return node.sql_name().lower(), _in_order(node)
    return node.key, _in_order(node)


def _given(node: exp.Expr, keys: Sequence[str]) -> list[exp.Expr]:
    return [node.args[key] for key in keys if isinstance(node.args.get(key), exp.Expr)]


def _in_order(node: exp.Expr) -> list[exp.Expr]:
    """The arguments in the order in which sqlglot declares them, lists spread out, flags left out."""
    arguments: list[exp.Expr] = []
    for key in node.arg_types:
        value = node.args.get(key)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, exp.Expr):
                arguments.append(_undated(each))
    return arguments


def _undated(node: exp.Expr) -> exp.Expr:
    """sqlglot wraps the argument of YEAR and the like in a cast to a date that nobody wrote."""
    implied = isinstance(node, exp.TsOrDsToDate | exp.TimeStrToTime) and not node.args.get("safe")
    return node.this if implied else node


def _case(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    arguments: list[exp.Expr] = []
    for branch in node.args["ifs"]:
        when = (
            branch.this if node.this is None else exp.EQ(this=node.this.copy(), expression=branch.this.copy())
        )
        arguments += [when, branch.args["true"]]
    return "case", [*arguments, node.args.get("default") or exp.Null()]


def _if(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "if", [node.this, node.args["true"], node.args.get("false") or exp.Null()]


def _between(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return "and", [low, high]


def _is(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    if isinstance(node.expression, exp.Null):
        return "is_null", [node.this]
    return "eq_null_safe", [node.this, node.expression]


def _is_distinct(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "not", [exp.NullSafeEQ(this=node.this.copy(), expression=node.expression.copy())]


def _not(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    inner = node.this
    if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
        return "is_not_null", [inner.this]
    return "not", [inner]


def _like(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    if node.args.get("negate"):
        positive = node.copy()
        positive.set("negate", None)
        return "not", [positive]
    return _OPERATORS[type(node)], [node.this, node.expression]


def _escape(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    name, arguments = call_of(node.this)
    if name == "not":
        return "not", [exp.Escape(this=arguments[0], expression=node.expression.copy())]
    return name, [*arguments, node.expression]


def _in(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "in_list", [node.this, *node.expressions]


def _date_trunc(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    name = "trunc" if isinstance(node, exp.DateTrunc) else "date_trunc"
    unit = _unit(node)
    return name, [_undated(node.this), unit] if name == "trunc" else [unit, _undated(node.this)]


def _unit(node: exp.Expr) -> exp.Expr:
    unit = node.args.get("unit")
    return exp.Literal.string(unit.name.lower() if unit is not None else "day")


def _extract(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    words = {"day": "dayofmonth", "dow": "dayofweek", "doy": "dayofyear", "week": "weekofyear"}
    word = node.this.name.lower()
    return words.get(word, word), [node.expression]


def _position(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "locate", _given(node, ("substr", "this", "position", "occurrence"))


def _date_add(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    days = node.expression
    if isinstance(days, exp.Mul) and days.expression == exp.Neg(this=exp.Literal.number(1)):
        return "date_sub", [_undated(node.this), days.this]  # sqlglot adds the opposite
    return "date_add", [_undated(node.this), days]


def _date_diff(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "datediff", [_undated(node.this), _undated(node.expression)]


def _timestamp_diff(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "timestampdiff", [_unit(node), node.expression, node.this]


def _to_date(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "to_date", _given(node, ("this", "format"))


def _trim(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    side = str(node.args.get("position") or "").upper()
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim")
    return name, _given(node, ("this", "expression"))


def _pad(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    name = "lpad" if node.args.get("is_left") else "rpad"
    return name, _given(node, ("this", "expression", "fill_pattern"))


def _log(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    named = {"10": "log10", "2": "log2"}.get(node.this.name if isinstance(node.this, exp.Literal) else "")
    if named is not None and node.expression is not None:
        return named, [node.expression]
    return "log", _given(node, ("this", "expression"))


def _concat(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "concat", list(node.expressions)


def _initcap(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    added = isinstance(node.expression, exp.Literal) and not node.expression.meta  # by sqlglot
    return "initcap", [node.this] if added else _given(node, ("this", "expression"))


def _unix_timestamp(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    return "unix_timestamp", [node.this]


_SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr], tuple[str, list[exp.Expr]]]] = {
    exp.Between: _between,
    exp.Case: _case,
    exp.Concat: _concat,
    exp.DateDiff: _date_diff,
    exp.DateTrunc: _date_trunc,
    exp.Escape: _escape,
    exp.Extract: _extract,
    exp.ILike: _like,
    exp.If: _if,
    exp.In: _in,
    exp.Initcap: _initcap,
    exp.Is: _is,
    exp.Like: _like,
    exp.Log: _log,
    exp.Not: _not,
    exp.NullSafeNEQ: _is_distinct,
    exp.Pad: _pad,
    exp.StrPosition: _position,
    exp.StrToUnix: _unix_timestamp,
    exp.TimestampDiff: _timestamp_diff,
    exp.TimestampTrunc: _date_trunc,
    exp.Trim: _trim,
    exp.TsOrDsAdd: _date_add,
    exp.TsOrDsToDate: _to_date,
}
