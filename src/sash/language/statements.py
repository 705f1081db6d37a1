"""Text to statements: the front door of the language.

Whatever is wrong with a text becomes one SashError with the place at which it goes wrong; sqlglot's
own errors and warnings do not come through.
"""

from __future__ import annotations

__all__ = [
    "CreateSink", "CreateStream", "CreateTable", "CreateView", "Delete", "Drop", "InsertInto",
    "InsertQuery", "Query", "Statement", "StreamDefinition", "TableDefinition", "Update",
    "ViewDefinition", "parse", "parse_query", "too_deep",
]  # fmt: skip

import difflib
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError, TokenError

from sash.errors import Place, SashError
from sash.language.definitions import (
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Delete,
    Drop,
    InsertInto,
    InsertQuery,
    Query,
    Statement,
    StreamDefinition,
    TableDefinition,
    Update,
    ViewDefinition,
)
from sash.language.dialect import Sash
from sash.language.grammar import StatementParser
from sash.language.syntax import blanked, place_between


def parse(text: str) -> tuple[Statement, ...]:
    """The statements of a text, parted by semicolons; at least one.

    The text that a statement keeps is its own, with what stands before it blanked, so that lines
    and columns in it are those of the whole.

    >>> [type(statement).__name__ for statement in parse("DROP VIEW v; SELECT a FROM s [RANGE 10]")]
    ['Drop', 'Query']
    """
    with _quiet_sqlglot():
        chunks = _chunks(_tokens(text))
        if not chunks:
            raise SashError(
                "SASH-PARSE-002",
                "There is no statement in the text.",
                remedy="Write one, for example SELECT * FROM s [RANGE 10].",
                place=Place(text, 0, len(text)) if text.strip() else None,
            )
        if len(chunks) == 1:
            return (_statement(chunks[0], text, text),)
        return tuple(_statement(chunk, text, _own_text(text, chunk)) for chunk in chunks)


def parse_query(text: str) -> exp.Expression:
    """The syntax tree of one query, its text under `meta["text"]`.

    >>> parse_query("SELECT istream(a) FROM s [RANGE 10]").args["kind"]
    'istream'
    """
    with _quiet_sqlglot():
        chunks = _chunks(_tokens(text))
    if len(chunks) > 1:
        raise SashError(
            "SASH-PARSE-003",
            f"One query is expected, and there are {len(chunks)} statements.",
            remedy="Give one query at a time, or run the statements one after another with execute().",
            place=place_between(text, chunks[1][0], chunks[1][-1]),
        )
    statement = parse(text)[0]
    if not isinstance(statement, Query):
        raise SashError(
            "SASH-PARSE-008",
            "A query is expected, and this is another statement.",
            remedy="Give a SELECT here, and run other statements with execute().",
            place=place_between(text, chunks[0][0]),
        )
    return statement.query


def too_deep(text: str, place: Place | None = None) -> SashError:
    """What to say where Python cannot go down as deep as a statement is nested."""
    return SashError(
        "SASH-PARSE-005",
        "The statement is nested too deeply.",
        remedy="Use fewer parentheses, and fewer operators, set operations and views one upon another.",
        place=place or Place(text, 0, len(text)),
    )


def _statement(tokens: list[Token], text: str, own_text: str) -> Statement:
    parser = StatementParser(dialect=Sash())
    try:
        return parser.statement(tokens, text, own_text)
    except SashError:
        raise
    except RecursionError:
        raise too_deep(text, place_between(text, tokens[0], tokens[-1])) from None
    except SqlglotError:
        raise _syntax_error(parser.trouble, tokens, text) from None
    except (AttributeError, TypeError, ValueError, LookupError, AssertionError) as error:
        # sqlglot falls over some half-written clauses instead of reporting them
        raise _syntax_error(parser.trouble or (parser.reached, ""), tokens, text) from error


def _syntax_error(trouble: tuple[int, str] | None, tokens: list[Token], text: str) -> SashError:
    """What sqlglot could not read, in our words."""
    index, message = trouble or (len(tokens), "")
    ended = index >= len(tokens)
    place = (
        Place(text, tokens[-1].end + 1, tokens[-1].end + 2) if ended else place_between(text, tokens[index])
    )
    found = text[place.start : place.end]
    quoted = found if found[:1] in ("'", '"', "`") else f"'{found}'"
    where = "at the end" if ended else f"before {quoted}"
    remedy = "Check the spelling, the commas and the parentheses just before this place."
    wanted = re.match(r"Expecting (\S+)", message)
    after = re.match(r"Expected (END|AS|FROM) ", message)
    if message.startswith(("Expected TYPE", "Expected type")):
        return SashError(
            "SASH-PARSE-020",
            f"There is no type {found}." if found.isidentifier() else f"A type is missing {where}.",
            remedy="Name a type such as BIGINT, DOUBLE, STRING or TIMESTAMP.",
            place=place,
        )
    if after:
        sentence = f"'{after[1]}' is missing {'at the end' if ended else f'near {quoted}'}."
        remedy = f"Put '{after[1]}' there, or check what stands before it."
    elif wanted:
        sentence = f"'{wanted[1].upper()}' is missing {where}."
        remedy = f"Put '{wanted[1].upper()}' there, or check what stands before it."
    elif message.startswith("A text"):
        sentence = f"{quoted} is a text, and a name is needed here."
        remedy = f"Write names plainly or in backquotes: `{found[1:-1]}`."
    elif message.startswith(("A name", "A query", "A string")):
        sentence = f"{message}{'' if ended else f', not {quoted}'}."
        if message.startswith("A name") and found[:1] in ("'", '"'):
            remedy = f"Write names plainly or in backquotes: `{found[1:-1]}`."
    elif message.startswith("Expected table name"):
        sentence = f"The name of a stream, table or view is missing {where}."
    elif "number of provided arguments" in message:
        sentence = f"A function has more arguments than it takes, {where}."
        remedy = "Give it fewer."
    elif message.startswith("Too few arguments"):
        sentence = f"A function has fewer arguments than it needs, {where}."
        remedy = "Give it more."
    elif ended:
        sentence = "The text ends where more is needed."
        remedy = "Complete the statement."
    elif message.startswith(("Required argument", "Something is missing")):
        sentence = f"Something is missing before {quoted}."
    else:
        sentence = f"{quoted} cannot stand here."
        for token in tokens[max(index - 1, 0) : index + 1]:
            if (word := token.text.upper()) in ("RANGE", "ROWS"):
                remedy = f"Put a window in square brackets after the stream's name, such as [{word} 10]."
        for token in tokens[max(index - 1, 0) : index + 2]:
            if meant := _meant(token):
                place = place_between(text, token)
                sentence, remedy = f"'{token.text}' cannot stand here.", f"Did you mean {meant}?"
                break
    return SashError("SASH-PARSE-001", sentence, remedy=remedy, place=place)


_CLAUSES = (
    "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "JOIN", "INNER",
    "OUTER", "CROSS", "LEFT", "RIGHT", "FULL", "DISTINCT",
)  # fmt: skip


def _meant(token: Token) -> str | None:
    """The word of a clause that a name looks like: it was taken for an alias, and then nothing fitted."""
    if token.token_type != TokenType.VAR:
        return None
    near = difflib.get_close_matches(token.text.upper(), _CLAUSES, 1, 0.7)
    return near[0] if near else None


def _tokens(text: str) -> list[Token]:
    try:
        return Sash().tokenize(text)
    except TokenError:
        start = _unclosed(text)
        if start >= len(text) and (odd := _ODD_BYTES.search(text)) is not None:
            raise SashError(
                "SASH-PARSE-001",
                f"{odd[0]} holds more than hexadecimal digits.",
                remedy="Use the digits 0 to 9 and A to F.",
                place=Place(text, odd.start(), odd.end()),
            ) from None
        what = "comment" if text.startswith("/*", start) else "quote"
        raise SashError(
            "SASH-PARSE-004",
            f"A {what} is opened and not closed.",
            remedy=f"Close it with {'*/' if what == 'comment' else text[start : start + 1]}.",
            place=Place(text, start, start + 1),
        ) from None


_QUOTED_OR_COMMENT = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/|['"`]|/\*|.""", re.DOTALL
)


_ODD_BYTES = re.compile(r"""\b[xX](?:'[^']*[^'0-9a-fA-F][^']*'|"[^"]*[^"0-9a-fA-F][^"]*")""")


def _unclosed(text: str) -> int:
    """Where the quote or comment opens that is not closed."""
    for piece in _QUOTED_OR_COMMENT.finditer(text):
        if piece[0] in ("'", '"', "`", "/*"):
            return piece.start()
    return len(text)


def _chunks(tokens: list[Token]) -> list[list[Token]]:
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]


def _own_text(text: str, tokens: list[Token]) -> str:
    start, end = tokens[0].start, tokens[-1].end + 1
    return blanked(text, start)[:end]


@contextmanager
def _quiet_sqlglot() -> Iterator[None]:
    """Keep sqlglot's own warnings from the user's log."""

    def drop(_: logging.LogRecord) -> bool:
        return False

    logger = logging.getLogger("sqlglot")
    logger.addFilter(drop)
    try:
        yield
    finally:
        logger.removeFilter(drop)
