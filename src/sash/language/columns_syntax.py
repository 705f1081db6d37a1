"""The columns of CREATE STREAM and CREATE TABLE: names, types, the key, the time column."""

from __future__ import annotations

__all__ = ["ColumnsParser", "Key"]

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import Token, TokenType
from sqlglot.errors import ParseError

from sash.errors import Place, SashError
from sash.language.dialect import SashParser
from sash.language.expressions import Field, Schema
from sash.language.syntax import place_between
from sash.language.types import UnknownType, arrow_type, sql_name

_TYPES = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s) of up to 38 digits, STRING, "
    "BINARY, DATE, TIMESTAMP, ARRAY<...>, STRUCT<...> and MAP<...>"
)


@dataclass(frozen=True)
class Key:
    """The positions of a PRIMARY KEY's columns, and where it stands."""

    positions: tuple[int, ...]
    place: Place


class ColumnsParser(SashParser):
    """Reads names and column definitions."""

    def _name(self) -> Token:
        """A plain name: a column's, a table's."""
        token = self._curr
        if token.token_type != TokenType.IDENTIFIER and token.token_type not in self.ID_VAR_TOKENS:
            self.raise_error("A name should stand here")
        self._advance()
        return token

    def _names_in_parentheses(self) -> list[Token]:
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expecting (")
        names = self._parse_csv(self._name)
        if not self._match(TokenType.R_PAREN):
            self.raise_error("Expecting )")
        return names

    def _columns(self) -> tuple[Schema, Key | None]:
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expecting (")
        self._fields: list[Field] = []
        self._key_names: list[Token] | None = None
        self._key_place: Place | None = None
        self._parse_csv(self._column)
        if not self._match(TokenType.R_PAREN):
            self.raise_error("Expecting )")
        if self._match(TokenType.PRIMARY_KEY, advance=False):
            self._primary_key()
        fields = tuple(self._fields)
        if not fields:
            self.raise_error("Something is missing")
        if self._key_names is None or self._key_place is None:
            return fields, None
        positions = tuple(
            self._position(token, fields, "SASH-PARSE-025", "PRIMARY KEY") for token in self._key_names
        )
        if len(set(positions)) < len(positions):
            raise SashError(
                "SASH-PARSE-021",
                "PRIMARY KEY names a column twice.",
                remedy="Name it once.",
                place=self._key_place,
            )
        return fields, Key(positions, self._key_place)

    def _column(self) -> bool:
        if self._match(TokenType.PRIMARY_KEY, advance=False):
            self._primary_key()
            return True
        name = self._name()
        if any(field.name.lower() == name.text.lower() for field in self._fields):
            raise SashError(
                "SASH-PARSE-021",
                f"There are two columns named '{name.text}'.",
                remedy="Give each its own name; upper and lower case do not tell them apart.",
                place=place_between(self.sql, name),
            )
        self._fields.append(Field(name.text, self._type(name)))
        if self._match(TokenType.PRIMARY_KEY, advance=False):
            self._note_key([name], self._curr)
            self._advance()
        if self._curr and self._curr.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            raise SashError(
                "SASH-PARSE-007",
                f"'{self._curr.text}' cannot follow the type of the column '{name.text}'.",
                remedy="Only PRIMARY KEY may, in a table; put a comma between columns.",
                place=place_between(self.sql, self._curr),
            )
        return True

    def _primary_key(self) -> None:
        token = self._curr
        self._advance()
        self._note_key(self._names_in_parentheses(), token)

    def _note_key(self, names: list[Token], token: Token) -> None:
        place = place_between(self.sql, token)
        if self._key_names is not None:
            raise SashError(
                "SASH-PARSE-021",
                "There are two PRIMARY KEYs.",
                remedy="Write one, naming all its columns: PRIMARY KEY (a, b).",
                place=place,
            )
        self._key_names, self._key_place = names, place

    def _type(self, column: Token) -> pa.DataType:
        first = self._curr
        if not first or first.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            raise SashError(
                "SASH-PARSE-020",
                f"The column '{column.text}' has no type.",
                remedy=f"Types are {_TYPES}.",
                place=place_between(self.sql, column),
            )
        try:
            node = self._parse_types(schema=True, allow_identifiers=False)
            if node is not None:
                return arrow_type(node)
            name, last = first.text, first
        except UnknownType:
            last = self._prev
            name = self.sql[first.start : last.end + 1]
        except ParseError:
            first = last = self._curr or self._prev
            name = first.text
        raise SashError(
            "SASH-PARSE-020",
            f"There is no type {name}.",
            remedy=f"Types are {_TYPES}.",
            place=place_between(self.sql, first, last),
        )

    def _time_column(self, fields: Schema) -> int:
        token = self._name()
        position = self._position(token, fields, "SASH-PARSE-018", "TIME")
        type_ = fields[position].type
        if not (pa.types.is_timestamp(type_) or pa.types.is_signed_integer(type_)):
            raise SashError(
                "SASH-PARSE-019",
                f"TIME needs a TIMESTAMP or an integer, and '{token.text}' is {sql_name(type_)}.",
                remedy="Name another column, or give this one another type.",
                place=place_between(self.sql, token),
            )
        return position

    def _position(self, token: Token, fields: Sequence[Field], code: str, clause: str) -> int:
        names = [field.name.lower() for field in fields]
        if token.text.lower() in names:
            return names.index(token.text.lower())
        close = difflib.get_close_matches(token.text.lower(), names, 1)
        meant = fields[names.index(close[0])].name if close else ""
        known = ", ".join(field.name for field in fields)
        raise SashError(
            code,
            f"{clause} names '{token.text}', which is not a column here.",
            remedy=f"Did you mean '{meant}'?" if close else f"The columns are {known}.",
            place=place_between(self.sql, token),
        )
