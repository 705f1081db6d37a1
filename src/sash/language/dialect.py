"""The dialect: SQL as Spark speaks it, with windows after FROM items and relation-to-stream operators.

A square bracket means a window only after an item of FROM or JOIN; in expressions it still indexes.
The parser remembers the furthest place at which it was at a loss, since sqlglot tries several
readings and reports the last. Anything beyond the grammar itself is in the files beside this one.
"""

from __future__ import annotations

__all__ = ["RelationToStream", "Sash", "SashParser", "StreamCall", "WindowClause", "place_of"]

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import DialectType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

from sash.errors import SashError
from sash.language.syntax import (
    RelationToStream,
    StreamCall,
    WindowClause,
    evenly_nested,
    place_between,
    place_of,
)
from sash.language.window_syntax import at_window, misplaced_window, read_window

_STREAM_OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM")

_QUERY_TOKENS = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM)

T = TypeVar("T")
E = TypeVar("E", bound=exp.Expr)


class SashParser(SparkParser):
    """Parses one query at a time; statements are read by the parser in grammar.py."""

    def reset(self) -> None:
        """Forget the previous text."""
        super().reset()
        self.trouble: tuple[int, str] | None = None

    def raise_error(self, message: str, token: Any = None) -> None:
        """Note the trouble if none was met further on, and give this reading up."""
        index = self._tokens.index(token) if token in self._tokens else self._index
        if self.trouble is None or index >= self.trouble[0]:
            self.trouble = (index, message)
        raise ParseError(message)

    def _parse_string_as_identifier(self) -> exp.Identifier | None:
        """A name in quotes: to Spark, that is a text."""
        if self._curr.token_type == TokenType.STRING:
            self.raise_error("A text cannot be a name")
        return None

    def _parse_id_var(
        self, any_token: bool = True, tokens: Collection[TokenType] | None = None
    ) -> exp.Expr | None:
        if any_token and self._prev.token_type == TokenType.ALIAS:
            self._parse_string_as_identifier()
        return super()._parse_id_var(any_token, tokens)

    def _parse_conjunction(self) -> exp.Expr | None:
        return evenly_nested(super()._parse_conjunction())

    def _parse_disjunction(self) -> exp.Expr | None:
        return evenly_nested(super()._parse_disjunction())

    @property
    def reached(self) -> int:
        """The number of tokens read so far."""
        return int(self._index)

    # Windows

    def _parse_cql_window(self, item: exp.Expr | None) -> None:
        """Hang the window that stands here, if one does, on a FROM item."""
        if item is None or self._curr.token_type != TokenType.L_BRACKET:
            return
        while self._curr.token_type == TokenType.L_BRACKET:
            opening = self._curr
            window, index = read_window(self._tokens, self._index, self.sql)
            self._retreat(index)
            if item.args.get("cql_window"):
                raise SashError(
                    "SASH-PARSE-013",
                    "One FROM item has two windows.",
                    remedy="Keep one of them, before or after the alias.",
                    place=place_between(self.sql, opening, self._prev),
                )
            item.set("cql_window", window)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if this is not None and at_window(self._tokens, self._index):
            raise misplaced_window(self._tokens, self._index, self.sql)
        return super()._parse_bracket(this)

    def _parse_table_parts(self, *args: Any, **kwargs: Any) -> exp.Table | exp.Dot | None:
        table = super()._parse_table_parts(*args, **kwargs)
        # Taken here, before sqlglot would read the bracket as an index into the table
        if not kwargs.get("schema") and isinstance(table, exp.Table):
            self._parse_cql_window(table)
        return table

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        joins = kwargs.pop("joins", False)  # they come after the window
        if self._at_stream_query(self._index):
            item: exp.Expr | None = self._parse_subquery(self._parse_stream_operator())
        else:
            item = super()._parse_table(*args, **kwargs)
        if isinstance(item, (exp.Table, exp.Subquery)) and not kwargs.get("schema"):
            self._parse_cql_window(item)
        if joins and item is not None:
            for join in self._parse_joins():
                item.append("joins", join)
        return item

    def _parse_subquery(self, this: exp.Expr | None, parse_alias: bool = True) -> exp.Subquery | None:
        if this is None or not parse_alias or self._curr.token_type != TokenType.L_BRACKET:
            return super()._parse_subquery(this, parse_alias)
        early = exp.Subquery()
        self._parse_cql_window(early)
        subquery = super()._parse_subquery(this, parse_alias)
        assert subquery is not None
        subquery.set("cql_window", early.args["cql_window"])
        return subquery

    def _parse_wrapped_select(self, table: bool = False) -> exp.Expr | None:
        if self._at_stream_query(self._index):
            operator = self._parse_stream_operator()
            return self._parse_query_modifiers(self._parse_set_operations(operator))
        return super()._parse_wrapped_select(table)

    def _parse_stream(self) -> exp.Stream | None:
        return None  # STREAM is an ordinary name in FROM

    # Relation-to-stream operators

    def _at_stream_operator(self, index: int) -> bool:
        if index + 1 >= self._tokens_size or self._tokens[index + 1].token_type != TokenType.L_PAREN:
            return False
        token = self._tokens[index]
        return token.token_type == TokenType.VAR and token.text.upper().partition("-")[0] in _STREAM_OPERATORS

    def _at_stream_query(self, index: int) -> bool:
        """Does an operator around a whole query (not a list of expressions) begin at this token?"""
        while self._at_stream_operator(index):
            index += 2
            while index < self._tokens_size and self._tokens[index].token_type == TokenType.L_PAREN:
                index += 1
            if index < self._tokens_size and self._tokens[index].token_type in _QUERY_TOKENS:
                return True
        return False

    def _parse_stream_operator(self) -> RelationToStream | StreamCall:
        token, whole = self._curr, self._at_stream_query(self._index)
        name, _, restore = token.text.upper().partition("-")
        if restore and name not in ("ISTREAM", "RSTREAM"):
            reason = (
                "a window on the output does not go with reporting at slides what came and went between them"
                if name == "WSTREAM"
                else "what began and ended between two slides is for ISTREAM-RESTORE and RSTREAM-RESTORE"
            )
            raise SashError(
                "SASH-PARSE-015",
                f"There is no {name}-RESTORE: {reason}.",
                remedy=f"Use {name} alone, or ISTREAM-RESTORE or RSTREAM-RESTORE without a window.",
                place=place_between(self.sql, token),
            )
        self._advance(2)
        node: RelationToStream | StreamCall
        if whole:
            node = RelationToStream(this=self._parse_ddl_select(), kind=name.lower(), restore=bool(restore))
        else:
            distinct = self._match(TokenType.DISTINCT)
            expressions = self._parse_csv(self._parse_expression)
            if not expressions:
                self.raise_error("Something is missing")
            node = StreamCall(
                expressions=expressions, kind=name.lower(), restore=bool(restore), distinct=distinct
            )
        self._match_r_paren()
        if name == "WSTREAM":
            self._parse_output_window(node, token)
        elif not whole and self._curr.token_type == TokenType.L_BRACKET:
            raise _misplaced_window(self.sql, self._curr, name)
        return node.update_positions(token)

    def _parse_output_window(self, node: exp.Expr, name: Token) -> None:
        if self._curr.token_type != TokenType.L_BRACKET:
            raise SashError(
                "SASH-PARSE-014",
                "WSTREAM has no window.",
                remedy="Put one right after its closing parenthesis: WSTREAM(...) [ROWS 10].",
                place=place_between(self.sql, name),
            )
        window, index = read_window(self._tokens, self._index, self.sql)
        self._retreat(index)
        node.set("window", window)

    def _parse_select(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if not self._at_stream_query(self._index):
            return super()._parse_select(*args, **{**kwargs, "consume_pipe": False})
        operator = self._parse_stream_operator()
        return self._parse_set_operations(operator) if kwargs.get("parse_set_operation", True) else operator

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._at_stream_operator(self._index):
            return self._parse_stream_operator()
        if self._curr.token_type == TokenType.EXISTS and self._at_stream_query(self._index + 2):
            self._advance(2)
            exists = exp.Exists(this=self._parse_ddl_select())
            self._match_r_paren()
            return exists
        return super()._parse_function_call(*args, **kwargs)

    # Where sqlglot is more forgiving than Spark, and would guess

    def _parse_statement(self) -> exp.Expr | None:
        return self._parse_ddl_select()

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        def item() -> T | None:
            after_separator = self._prev.token_type == sep
            result = parse_method()
            if result is None and (after_separator or self._curr.token_type == sep):
                self.raise_error("Something is missing")
            return result

        return super()._parse_csv(item, sep)

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        comma = self._curr.token_type == TokenType.COMMA
        join = super()._parse_join(*args, **kwargs)
        if comma and join is None:
            self.raise_error("Expected table name")
        if join is not None and self._prev.token_type == TokenType.ON:
            self.raise_error("Something is missing")
        return join

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        projections, exclude = super()._parse_projections()
        if not projections:
            self.raise_error("Something is missing")
        return projections, exclude

    def validate_expression(self, expression: E, args: list[Any] | None = None) -> E:
        """Refuse a call with too few arguments, and one of whose arguments sqlglot would drop some."""
        if args is not None and any("missing" in message for message in expression.error_messages(args)):
            self.raise_error("Too few arguments")
        if args and _drops_the_last(args, expression):
            self.raise_error("The number of provided arguments is too large")
        return super().validate_expression(expression, args)

    # Places that sqlglot does not note

    def _parse_group(self, *args: Any, **kwargs: Any) -> exp.Group | None:
        first = self._curr
        group = super()._parse_group(*args, **kwargs)
        return group if group is None else _between(group, first, self._prev)

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._curr
        type_ = super()._parse_types(*args, **kwargs)
        return _between(type_, first, self._prev) if isinstance(type_, exp.DataType) else type_

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        if not self._match(TokenType.AND):
            self.raise_error("Expecting AND")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))


def _between(node: E, first: Token, last: Token) -> E:
    node.update_positions(line=first.line, col=first.col, start=first.start, end=last.end)
    return node


def _drops_the_last(arguments: Sequence[object], call: exp.Expr) -> bool:
    """Whether the call that sqlglot built of arguments has lost the last: it is neither there as it
    was nor as a copy, nor as the word for a unit or a format that it says.
    """
    last = arguments[-1]
    if isinstance(call, exp.StrToUnix):
        return len(arguments) > 1
    if not isinstance(last, exp.Expr) or (isinstance(last, exp.Literal) and call.args.get("format")):
        return False
    others = {id(argument) for argument in arguments[:-1]}
    parts = [part for part in call.walk() if id(part) not in others]
    word = last.name.upper()
    return not any(
        part == last or (isinstance(part, (exp.Var, exp.Literal)) and part.name.upper() == word)
        for part in parts
    )


def _misplaced_window(text: str, opening: Token, name: str) -> SashError:
    return SashError(
        "SASH-PARSE-013",
        f"{name} takes no window here.",
        remedy=f"Use WSTREAM to window the output, or FROM ({name}(...)) [...] in a query around it.",
        place=place_between(text, opening),
    )


class SashGenerator(SparkGenerator):
    """Text of a tree, windows and operators included: for messages and names of columns."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
        **SparkGenerator.TRANSFORMS,
        WindowClause: lambda self, node: _window_text(self, node),
        RelationToStream: lambda self, node: _operator_text(self, node),
    }

    def table_parts(self, expression: exp.Table) -> str:
        """The table and its window; alias and joins follow."""
        return self._with_window(super().table_parts(expression), expression)

    def subquery_sql(self, expression: exp.Subquery, sep: str = " AS ") -> str:
        """The subquery, its alias, its window."""
        return self._with_window(super().subquery_sql(expression, sep), expression)

    def _with_window(self, item: str, expression: exp.Expr) -> str:
        window = self.sql(expression, "cql_window")
        return f"{item} {window}" if window else item


def _window_text(generator: SparkGenerator, node: exp.Expr) -> str:
    arguments = node.args
    parts: list[object] = []
    if arguments.get("partition"):
        parts += ["PARTITION BY", ", ".join(generator.sql(column) for column in arguments["partition"])]
    if arguments["kind"] in ("now", "unbounded", "until"):
        parts += [arguments["kind"].upper(), generator.sql(node, "until")]
    for word, value, unit in (
        ("ROWS", "rows", None),
        ("RANGE", "length", "length_unit"),
        ("SLIDE", "slide", "slide_unit"),
    ):
        if arguments.get(value) is not None:
            parts += [word, arguments[value], (arguments.get(unit) or "").upper() if unit else ""]
    parts.append("INTERNAL" if arguments.get("internal") else "")
    return f"[{' '.join(str(part) for part in parts if part != '')}]"


def _operator_text(generator: SparkGenerator, node: exp.Expr) -> str:
    name = node.args["kind"].upper() + ("-RESTORE" if node.args.get("restore") else "")
    window = generator.sql(node, "window")
    return f"{name}({generator.sql(node, 'this')}){' ' + window if window else ''}"


class Sash(Spark):
    """CQL on Spark's SQL."""

    Parser = SashParser
    Generator = SashGenerator

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """The tokens, with the -RESTORE operators as one name each, and a doubled quote as one quote."""
        return _join_quotes(_join_restore(super().tokenize(sql, dialect)), sql)


def _join_quotes(tokens: Sequence[Token], sql: str) -> list[Token]:
    """'it''s' is one string with a quote in it, as in standard SQL; Spark takes it for two."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        doubled = (
            last is not None
            and token.token_type == last.token_type == TokenType.STRING
            and token.start == last.end + 1
            and sql[token.start] == sql[last.end]
        )
        if last is not None and doubled:
            text = last.text + sql[token.start] + token.text
            joined[-1] = Token(last.token_type, text, last.line, last.col, last.start, token.end)
        else:
            joined.append(token)
    return joined


def _join_restore(tokens: Sequence[Token]) -> list[Token]:
    joined: list[Token] = []
    index = 0
    while index < len(tokens):
        token, after = tokens[index], tokens[index + 1 : index + 4]
        restores = "".join(part.text.upper() for part in after) == "-RESTORE("
        if restores and token.text.upper() in _STREAM_OPERATORS:
            name, end = f"{token.text}-{after[1].text}", after[1].end
            token = Token(TokenType.VAR, name, token.line, token.col, token.start, end, token.comments)
            index += 2
        joined.append(token)
        index += 1
    return joined
