"""The grammar of statements: definitions, changes of tables, sinks; queries go to the dialect.

Every statement is read here by hand, so that what Sash does not know is refused by name instead
of being taken for something else.
"""

from __future__ import annotations

__all__ = ["StatementParser"]

import difflib
from collections.abc import Callable
from typing import NoReturn, cast

from sqlglot import Token, TokenType, exp

from sash.errors import Place, SashError
from sash.language.clauses import refuse_unknown_clauses
from sash.language.columns_syntax import ColumnsParser
from sash.language.definitions import (
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Delete,
    Drop,
    InsertInto,
    InsertQuery,
    Name,
    Options,
    Query,
    Statement,
    StreamDefinition,
    TableDefinition,
    Update,
    ViewDefinition,
)
from sash.language.durations import microseconds
from sash.language.stream_calls import lift_stream_calls
from sash.language.syntax import blanked, place_between
from sash.language.window_syntax import misplaced_window, read_amount

_STATEMENTS = "SELECT, CREATE, INSERT, UPDATE, DELETE or DROP"

_WORDS = ("SELECT", "CREATE", "INSERT", "UPDATE", "DELETE", "DROP", "ISTREAM", "DSTREAM", "RSTREAM")

_QUERY_BEGINNINGS = ("SELECT", "WITH", "(")


class StatementParser(ColumnsParser):
    """Reads one statement from its tokens; `text` is the whole text the offsets speak of."""

    def statement(self, tokens: list[Token], text: str, own_text: str) -> Statement:
        """The statement these tokens make; `own_text` is `text` with the other statements blanked out."""
        self.reset()
        self.sql, self._own_text = text, own_text
        self._chunks = [tokens]
        self._advance_chunk()
        statement = self._statement()
        if self._curr:
            self._refuse_rest()
        return statement

    def _statement(self) -> Statement:
        branches: dict[str, Callable[[], Statement]] = {
            "CREATE": self._create,
            "INSERT": self._insert,
            "UPDATE": self._update,
            "DELETE": self._delete,
            "DROP": self._drop,
        }
        word = self._curr.text.upper()
        if word in branches and self._curr.token_type != TokenType.STRING:
            self._advance()
            return branches[word]()
        if self._at_query():
            return Query(self._query(), self._own_text)
        close = difflib.get_close_matches(word, _WORDS, 1, 0.7)
        first = self._curr.text.partition(" ")[0]
        raise SashError(
            "SASH-PARSE-006",
            f"'{first}' does not begin a statement that Sash knows.",
            remedy=f"Write {word}(SELECT ...)."
            if close == [word]
            else f"Did you mean {close[0]}?"
            if close
            else f"Begin with {_STATEMENTS}.",
            place=place_between(self.sql, self._curr),
        )

    # Queries

    def _at_query(self) -> bool:
        word = "" if self._curr.token_type == TokenType.STRING else self._curr.text.upper()
        return word in _QUERY_BEGINNINGS or self._at_stream_query(self._index)

    def _query(self) -> exp.Expression:
        if not self._at_query():
            self.raise_error("A query should stand here")
        parsed = self._parse_ddl_select()
        if parsed is None:
            self.raise_error("A query should stand here")
        if self._curr:
            self._refuse_rest()
        query = lift_stream_calls(cast(exp.Expression, parsed), self.sql)
        refuse_unknown_clauses(query, self.sql)
        query.meta["text"] = self._own_text
        return cast(exp.Expression, query)

    def _refuse_rest(self) -> NoReturn:
        if self._curr.token_type == TokenType.L_BRACKET:
            raise misplaced_window(self._tokens, self._index, self.sql)
        self.raise_error("Unexpected token")
        raise AssertionError  # raise_error always raises

    def _expression(self) -> exp.Expression:
        parsed = self._parse_disjunction()
        if parsed is None:
            self.raise_error("Something is missing")
        parsed = cast(exp.Expression, parsed)
        parsed.meta["text"] = self._own_text
        return parsed

    # Definitions

    def _create(self) -> Statement:
        kind = self._curr
        branches: dict[str, Callable[[], Statement]] = {
            "STREAM": self._create_stream,
            "TABLE": self._create_table,
            "VIEW": self._create_view,
            "SINK": self._create_sink,
        }
        if kind.text.upper() == "OR":
            self._refuse_condition("OR REPLACE", "DROP what is there first.")
        if kind.text.upper() not in branches:
            self._refuse_kind("CREATE", kind, tuple(branches))
        self._advance()
        if self._is_condition("NOT", "EXISTS"):
            self._refuse_condition("IF NOT EXISTS", "Leave it out: a database begins empty.")
        return branches[kind.text.upper()]()

    def _refuse_kind(self, verb: str, kind: Token, known: tuple[str, ...]) -> NoReturn:
        end = self._prev.end + 1
        raise SashError(
            "SASH-PARSE-006",
            f"Sash cannot {verb} '{kind.text}'." if kind else f"{verb} what?",
            remedy=f"It knows {', '.join(f'{verb} {name}' for name in known)}.",
            place=place_between(self.sql, kind) if kind else Place(self.sql, end, end + 1),
        )

    def _is_condition(self, *words: str) -> bool:
        """Whether IF and these words come next; a stream may be called `if`."""
        coming = [token.text.upper() for token in self._tokens[self._index : self._index + 1 + len(words)]]
        return coming == ["IF", *words]

    def _refuse_condition(self, words: str, remedy: str) -> NoReturn:
        last = self._tokens[min(self._index + words.count(" "), len(self._tokens) - 1)]
        raise SashError(
            "SASH-PARSE-006",
            f"Sash has no {words}.",
            remedy=remedy,
            place=place_between(self.sql, self._curr, last),
        )

    def _create_stream(self) -> CreateStream:
        name, fields, key = self._written(), *self._columns()
        if key is not None:
            raise SashError(
                "SASH-PARSE-007",
                "A stream has no PRIMARY KEY.",
                remedy="Leave it out, or CREATE TABLE.",
                place=key.place,
            )
        if not self._match_text_seq("TIME"):
            end = self._prev.end + 1
            raise SashError(
                "SASH-PARSE-017",
                f"CREATE STREAM {name} does not say which column is time.",
                remedy="Add TIME and the name of a TIMESTAMP or integer column after the columns.",
                place=place_between(self.sql, self._curr) if self._curr else Place(self.sql, end, end + 1),
            )
        time = self._time_column(fields)
        definition = StreamDefinition(name, fields, time)
        lateness = self._lateness(definition) if self._match_text_seq("LATENESS") else 0
        return CreateStream(StreamDefinition(name, fields, time, lateness, self._options()))

    def _lateness(self, stream: StreamDefinition) -> int:
        amount, index = read_amount(self._tokens, self._index, self.sql, after="LATENESS")
        self._retreat(index)
        column = stream.fields[stream.time].name
        if amount.value < 0:
            raise SashError(
                "SASH-PARSE-022",
                f"LATENESS must not be negative, and is {amount.value}.",
                remedy="Use 0 if rows come in order.",
                place=amount.place,
            )
        if stream.timed == "integer" and amount.unit is not None:
            raise SashError(
                "SASH-PARSE-024",
                f"LATENESS has a unit, but '{column}' counts in plain numbers.",
                remedy=f"Write LATENESS {amount.value}, in the numbers of '{column}'.",
                place=amount.place,
            )
        if stream.timed == "timestamp" and amount.unit is None and amount.value != 0:
            raise SashError(
                "SASH-PARSE-023",
                f"LATENESS has no unit, but '{column}' is a TIMESTAMP.",
                remedy=f"Write for example LATENESS {amount.value} SECONDS.",
                place=amount.place,
            )
        return microseconds(amount.value, amount.unit) if amount.unit else amount.value

    def _create_table(self) -> CreateTable:
        name, fields, key = self._written(), *self._columns()
        retroactive = self._match_text_seq("RETROACTIVE")
        positions = key.positions if key is not None else ()
        return CreateTable(TableDefinition(name, fields, positions, bool(retroactive), self._options()))

    def _create_view(self) -> CreateView:
        name = self._written()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expecting AS")
        return CreateView(ViewDefinition(name, self._query(), self._own_text))

    def _create_sink(self) -> CreateSink:
        return CreateSink(self._written(), self._options())

    def _drop(self) -> Drop:
        kind = self._curr
        known = ("STREAM", "TABLE", "VIEW", "SINK")
        if kind.text.upper() not in known:
            self._refuse_kind("DROP", kind, known)
        self._advance()
        if self._is_condition("EXISTS"):
            self._refuse_condition("IF EXISTS", "Leave it out, and catch SASH-SESSION-001 if need be.")
        return Drop(kind.text.lower(), self._written())

    def _options(self) -> Options:
        if not self._match(TokenType.WITH):
            return ()
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expecting (")
        pairs: dict[str, str] = {}
        for key, value in self._parse_csv(self._option):
            if key.text in pairs:
                raise SashError(
                    "SASH-PARSE-021",
                    f"The option '{key.text}' stands twice.",
                    remedy="Keep one of them.",
                    place=place_between(self.sql, key),
                )
            pairs[key.text] = value
        if not self._match(TokenType.R_PAREN):
            self.raise_error("Expecting )")
        return tuple(pairs.items())

    def _option(self) -> tuple[Token, str]:
        key = self._curr
        if key.token_type == TokenType.STRING:
            self._advance()
        else:
            key = self._name()
            while self._match(TokenType.DOT):
                part = self._name()
                key = Token(key.token_type, f"{key.text}.{part.text}", key.line, key.col, key.start, part.end)
        if not self._match(TokenType.EQ):
            self.raise_error("Expecting =")
        value = self._curr
        truth = value.token_type in (TokenType.TRUE, TokenType.FALSE)
        if not truth and value.token_type not in (TokenType.STRING, TokenType.NUMBER):
            self.raise_error("A string or number should stand here")
        self._advance()
        return key, value.text.lower() if truth else value.text

    # Changes of tables

    def _insert(self) -> InsertInto | InsertQuery:
        if not self._match(TokenType.INTO):
            self.raise_error("Expecting INTO")
        self._match(TokenType.TABLE)
        name = self._written()
        if self._at_query() and not self._at_column_list():
            return self._insert_query(name)
        columns = self._names_in_parentheses() if self._match(TokenType.L_PAREN, advance=False) else None
        if not self._match(TokenType.VALUES):
            self.raise_error("Expecting VALUES")
        rows = tuple(self._parse_csv(self._row))
        names = None if columns is None else tuple(map(self._as_written, columns))
        return InsertInto(name, names, rows, self._at_instant(), self._own_text)

    def _insert_query(self, sink: str) -> InsertQuery:
        """The rest is the query: its text is what stands there, with all before it blanked."""
        start = self._curr.start
        query = self._query()
        query.meta["text"] = blanked(self._own_text, start)
        return InsertQuery(sink, query, query.meta["text"])

    def _at_column_list(self) -> bool:
        """Is this parenthesis one around names, rather than around a query?"""
        ahead = self._tokens[self._index : self._index + 3]
        return ahead[0].text == "(" and [token.text for token in ahead[2:]] in ([","], [")"])

    def _written(self) -> Name:
        return self._as_written(self._name())

    def _as_written(self, name: Token) -> Name:
        return Name(name.text, place_between(self.sql, name))

    def _row(self) -> tuple[exp.Expression, ...]:
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expecting (")
        row = tuple(self._parse_csv(self._expression))
        if not self._match(TokenType.R_PAREN):
            self.raise_error("Expecting )")
        return row

    def _update(self) -> Update:
        name = self._written()
        if not self._match(TokenType.SET):
            self.raise_error("Expecting SET")
        assignments = tuple(self._parse_csv(self._assignment))
        where = self._expression() if self._match(TokenType.WHERE) else None
        return Update(name, assignments, where, self._at_instant(), self._own_text)

    def _assignment(self) -> tuple[str, exp.Expression]:
        column = self._written()
        if not self._match(TokenType.EQ):
            self.raise_error("Expecting =")
        return column, self._expression()

    def _delete(self) -> Delete:
        if not self._match(TokenType.FROM):
            self.raise_error("Expecting FROM")
        name = self._written()
        where = self._expression() if self._match(TokenType.WHERE) else None
        return Delete(name, where, self._at_instant(), self._own_text)

    def _at_instant(self) -> int | str | None:
        if not self._match_text_seq("AT"):
            return None
        first = self._curr
        negative = self._match(TokenType.DASH)
        timestamp = not negative and self._match_text_seq("TIMESTAMP")
        value = self._curr
        if value.token_type == TokenType.NUMBER and value.text.isdigit() and not timestamp:
            self._advance()
            return -int(value.text) if negative else int(value.text)
        if value.token_type == TokenType.STRING and not negative:
            self._advance()
            return value.text
        end = self._prev.end + 1
        raise SashError(
            "SASH-PARSE-026",
            "AT needs an instant.",
            remedy="Write a whole number, or a timestamp in quotes such as '2024-01-31 12:00:00'.",
            place=place_between(self.sql, first, value or None) if first else Place(self.sql, end, end + 1),
        )
