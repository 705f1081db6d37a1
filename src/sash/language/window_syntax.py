"""Reading what stands in square brackets after a stream's name, token by token ([G06] §2.1.3, §3.4).

The clauses of a window may come in any order, each once; what they make together is judged when
all are read. Lengths stay in the units that were written: only the stream knows what a tick is.
"""

from __future__ import annotations

__all__ = ["Amount", "at_window", "misplaced_window", "read_amount", "read_window"]

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import Token, TokenType, exp

from sash.errors import Place, SashError
from sash.language.durations import UNITS, microseconds, unit_named
from sash.language.syntax import WindowClause, place_between

_LARGEST = 2**62
"""Longer lengths could not be added to an instant."""

_CLAUSES = ("RANGE", "WINDOW", "SLIDE", "ROWS", "PARTITION BY", "NOW", "UNTIL", "UNBOUNDED", "INTERNAL")

_FORMS = (
    "Write [RANGE t], [RANGE t SLIDE d], [ROWS n], [ROWS n SLIDE m], [PARTITION BY k ROWS n], [NOW], "
    "[UNTIL column] or [UNBOUNDED], each with INTERNAL if its results shall stay."
)

_POSITIVE = {
    "RANGE": "Give a positive number, or [NOW] for the rows of the present instant alone.",
    "ROWS": "Give a positive number of rows.",
    "SLIDE": "Give a positive number, or leave SLIDE out to move with every row.",
}

_NUMBER_AND_UNIT = re.compile(r"(\d+)([^\W\d_]+)")


@dataclass(frozen=True)
class Amount:
    """A number with the unit that was written after it, if any."""

    value: int
    unit: str | None
    place: Place


def _word(token: Token | None) -> str:
    """A token as a keyword: upper case; nothing for strings and quoted names."""
    if token is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return ""
    return " ".join(token.text.upper().split())


def _at(tokens: Sequence[Token], index: int) -> Token | None:
    return tokens[index] if index < len(tokens) else None


def _here(tokens: Sequence[Token], index: int, text: str) -> Place:
    token = _at(tokens, index)
    if token is not None:
        return place_between(text, token)
    end = tokens[-1].end + 1
    return Place(text, end, end + 1)


def read_amount(
    tokens: Sequence[Token], index: int, text: str, *, after: str, units: bool = True
) -> tuple[Amount, int]:
    """A whole number, perhaps negative, and its unit; and the index after them."""
    start = index
    sign = 1
    if _word(_at(tokens, index)) == "-":
        sign, index = -1, index + 1
    token = _at(tokens, index)
    joined = _NUMBER_AND_UNIT.fullmatch(token.text) if token and token.token_type == TokenType.VAR else None
    if token is None or (token.token_type != TokenType.NUMBER and joined is None):
        raise SashError(
            "SASH-PARSE-001",
            f"A number should follow {after}.",
            remedy=f"Write for example {after} 10.",
            place=_here(tokens, index, text),
        )
    digits, unit_token, unit_word = token.text, None, None
    following = _at(tokens, index + 1)
    if joined is not None:
        digits, unit_token, unit_word = joined[1], token, joined[2]
        index += 1
    elif following and following.token_type == TokenType.DCOLON and following.start == token.start:
        # Spark reads 10s and 10d as typed numbers and sqlglot gives a cast, all at one offset
        unit_token = tokens[index + 2]
        unit_word = unit_token.text
        index += 3
    else:
        index += 1
        word = _word(following)
        if units and word and word[0].isalpha() and word not in (*_CLAUSES, "WITH", "TIME"):
            unit_token, unit_word = following, following.text if following else None
            index += 1
    if not digits.isdigit():
        raise SashError(
            "SASH-PARSE-012",
            f"{digits} is not a whole number.",
            remedy="Rows are counted in whole numbers: write for example ROWS 10."
            if after == "ROWS"
            else "Use a whole number of a smaller unit, such as 500 MILLISECONDS.",
            place=place_between(text, token),
        )
    unit = _unit(unit_word, unit_token, text)
    value = sign * int(digits)
    place = place_between(text, tokens[start], tokens[index - 1])
    if (microseconds(value, unit) if unit else value) > _LARGEST:
        raise SashError(
            "SASH-PARSE-012",
            f"{place.text[place.start : place.end]} is too large.",
            remedy="Use a smaller number, or UNBOUNDED for a window without end.",
            place=place,
        )
    return Amount(value, unit, place), index


def _unit(word: str | None, token: Token | None, text: str) -> str | None:
    if word is None or token is None:
        return None
    unit = unit_named(word)
    if unit is None:
        raise SashError(
            "SASH-PARSE-011",
            f"'{word}' is not a unit of time.",
            remedy="Leave it out: a window looks back from the present."
            if word.upper() == "PRECEDING"
            else f"Use one of {', '.join(name.upper() + 'S' for name in UNITS)} or their short forms "
            "us, ms, s, min, h, d.",
            place=place_between(text, token),
        )
    return unit


def at_window(tokens: Sequence[Token], index: int) -> bool:
    """Whether a square bracket and a word of windows stand here, rather than an index into a value."""
    token = _at(tokens, index)
    opens = token is not None and token.token_type == TokenType.L_BRACKET
    return opens and _word(_at(tokens, index + 1)) in _CLAUSES


def misplaced_window(tokens: Sequence[Token], index: int, text: str) -> SashError:
    """The error for the window that opens at the token at `index`."""
    closing = (token for token in tokens[index:] if token.token_type == TokenType.R_BRACKET)
    return SashError(
        "SASH-PARSE-013",
        "A window cannot stand here.",
        remedy="Put it after the name of a stream, or after a subquery, in FROM or JOIN.",
        place=place_between(text, tokens[index], next(closing, None)),
    )


@dataclass
class _Draft:
    """The clauses read so far."""

    text: str
    seen: dict[str, Place] = field(default_factory=dict)
    amounts: dict[str, Amount] = field(default_factory=dict)
    partition: list[exp.Column] = field(default_factory=list)
    until: exp.Column | None = None


def read_window(tokens: Sequence[Token], index: int, text: str) -> tuple[WindowClause, int]:
    """The window that opens at the token at `index` (a square bracket), and the index after it."""
    opening = index
    index += 1
    draft = _Draft(text)
    while (token := _at(tokens, index)) is not None and token.token_type != TokenType.R_BRACKET:
        index = _read_clause(tokens, index, draft)
    if token is None:
        raise SashError(
            "SASH-PARSE-001",
            "The window is not closed.",
            remedy="Put a ']' after it.",
            place=place_between(text, tokens[opening]),
        )
    clause = _judge(draft, place_between(text, tokens[opening], token))
    first = tokens[opening]
    clause.update_positions(line=first.line, col=first.col, start=first.start, end=token.end)
    return clause, index + 1


def _read_clause(tokens: Sequence[Token], index: int, draft: _Draft) -> int:
    token, text = tokens[index], draft.text
    word, place = _word(token), place_between(text, token)
    if word not in _CLAUSES:
        raise SashError(
            "SASH-PARSE-009", f"'{token.text}' is not known in a window.", remedy=_FORMS, place=place
        )
    word = "RANGE" if word == "WINDOW" else word
    if word in draft.seen:
        raise SashError(
            "SASH-PARSE-009", f"{word} stands twice in one window.", remedy="Write it once.", place=place
        )
    draft.seen[word] = place
    index += 1
    if word in ("RANGE", "SLIDE", "ROWS"):
        draft.amounts[word], index = read_amount(tokens, index, text, after=token.text.upper())
    elif word == "PARTITION BY":
        column, index = _read_column(tokens, index, text, word)
        draft.partition.append(column)
        while _word(_at(tokens, index)) == ",":
            column, index = _read_column(tokens, index + 1, text, word)
            draft.partition.append(column)
    elif word == "UNTIL":
        draft.until, index = _read_column(tokens, index, text, word)
    return index


def _read_column(tokens: Sequence[Token], index: int, text: str, after: str) -> tuple[exp.Column, int]:
    names: list[exp.Identifier] = []
    while True:
        token = _at(tokens, index)
        word = _word(token)
        named = word[:1].isidentifier() and word not in ("ROWS", "RANGE", "SLIDE", "INTERNAL")
        if token is None or not (named or token.token_type == TokenType.IDENTIFIER):
            raise SashError(
                "SASH-PARSE-001",
                f"The name of a column should follow {after}.",
                remedy=f"Write for example {after} k.",
                place=_here(tokens, index, text),
            )
        quoted = token.token_type == TokenType.IDENTIFIER
        names.append(exp.Identifier(this=token.text, quoted=quoted).update_positions(token))
        index += 1
        if len(names) == 2 or _word(_at(tokens, index)) != ".":
            table = names[0] if len(names) == 2 else None
            return exp.Column(this=names[-1], table=table), index
        index += 1


def _judge(draft: _Draft, place: Place) -> WindowClause:
    """What the clauses make together, or why they make nothing."""
    seen, amounts = draft.seen, draft.amounts
    for word, amount in amounts.items():
        if amount.value <= 0:
            raise SashError(
                "SASH-PARSE-010",
                f"{word} must be more than zero, not {amount.value}.",
                remedy=_POSITIVE[word],
                place=amount.place,
            )
    heads = [word for word in ("NOW", "UNTIL", "UNBOUNDED") if word in seen]
    if len(heads) > 1 or (heads and len(seen) - ("INTERNAL" in seen) > 1):
        raise _unknown(f"{heads[0]} takes no other clause but INTERNAL.", seen[heads[0]])
    if not heads and not amounts.keys() & {"RANGE", "ROWS"}:
        raise _unknown("The window does not say what it holds.", place)
    if "PARTITION BY" in seen and "ROWS" not in seen:
        raise _unknown("PARTITION BY needs ROWS.", seen["PARTITION BY"])
    if {"RANGE", "ROWS"} <= seen.keys() and "PARTITION BY" not in seen:
        raise _unknown("RANGE and ROWS go together only under PARTITION BY.", place)
    slide, rows, length = amounts.get("SLIDE"), amounts.get("ROWS"), amounts.get("RANGE")
    for counted in (rows, slide) if rows else ():
        if counted and counted.unit:
            raise _unknown("ROWS, and a SLIDE beside it, count rows and take no unit.", counted.place)
    kind = heads[0].lower() if heads else "rows" if rows else "range"
    return WindowClause(
        kind=kind,
        length=length and length.value,
        length_unit=length and length.unit,
        rows=rows and rows.value,
        slide=slide and slide.value,
        slide_unit=slide and slide.unit,
        partition=draft.partition,
        until=draft.until,
        internal="INTERNAL" in seen,
    )


def _unknown(message: str, place: Place) -> SashError:
    return SashError("SASH-PARSE-009", message, remedy=_FORMS, place=place)
