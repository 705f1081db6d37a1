"""JSON objects as Spark reads them: texts in quotes of either kind, numbers as they were written.

Python's own parser is tried first, since it is fast. What it refuses, and what is wanted with its
source text, is read by a parser that keeps the text of objects and arrays.
"""

from __future__ import annotations

__all__ = ["Array", "Number", "Object", "parsed", "parsed_with_source"]

import json
import re
from typing import Any


class Number(str):
    """A number as it was written."""


class Object(dict[str, Any]):
    """An object and the text it was read from."""

    source: str


class Array(list[Any]):
    """An array and the text it was read from."""

    source: str


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number)
_SPACE = re.compile(r"[ \t\r\n]*")
_TEXT = re.compile(
    r'"((?:[^"\\\x00-\x1f]++|\\.)*+)"'
    r"|'((?:[^'\\\x00-\x1f]++|\\.)*+)'",
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|NaN|-?Infinity")
_WORD = re.compile("true|false|null")
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPED = re.compile(r'\\(.)|"')


def parsed(text: str) -> Any:
    """What a text begins with; ValueError if that is no JSON.

    >>> parsed('{"a": 1.50} and more'), parsed("{'a': 'b'}")
    ({'a': '1.50'}, {'a': 'b'})
    """
    try:
        return _DECODER.raw_decode(text)[0]
    except ValueError:
        if "'" not in text:
            raise
    return parsed_with_source(text)


def parsed_with_source(text: str) -> Any:
    """The same, with the source text of every object and array.

    >>> parsed_with_source('{"a": [1,  2]}')["a"].source
    '[1,  2]'
    """
    return _value(text, _after_space(text, 0))[0]


def _value(text: str, at: int) -> tuple[Any, int]:
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at)
    if first == "[":
        return _array(text, at)
    if first in ('"', "'"):
        return _text(text, at)
    if number := _NUMBER.match(text, at):
        return Number(number[0]), number.end()
    word = _expected(_WORD.match(text, at), at)
    return _WORDS[word[0]], word.end()


def _object(text: str, start: int) -> tuple[Object, int]:
    whole, at = Object(), _after_space(text, start + 1)
    while text[at : at + 1] != "}":
        if whole:
            at = _after_space(text, _after(",", text, at))
        name, at = _text(text, at)
        at = _after_space(text, _after(":", text, _after_space(text, at)))
        whole[name], at = _value(text, at)
        at = _after_space(text, at)
    whole.source = text[start : at + 1]
    return whole, at + 1


def _array(text: str, start: int) -> tuple[Array, int]:
    whole, at = Array(), _after_space(text, start + 1)
    while text[at : at + 1] != "]":
        if whole:
            at = _after_space(text, _after(",", text, at))
        element, at = _value(text, at)
        whole.append(element)
        at = _after_space(text, at)
    whole.source = text[start : at + 1]
    return whole, at + 1


def _text(text: str, at: int) -> tuple[str, int]:
    found = _expected(_TEXT.match(text, at), at)
    inside = found[1] if found[1] is not None else found[2]
    if "\\" in inside:
        inside = str(json.loads(f'"{_ESCAPED.sub(_plain_escape, inside)}"'))
    return inside, found.end()


def _plain_escape(found: re.Match[str]) -> str:
    """An escape as JSON has it: there, single quotes need none and double quotes do."""
    if found[0] == '"':
        return '\\"'
    return "'" if found[1] == "'" else found[0]


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _after(sign: str, text: str, at: int) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(f"no '{sign}' at {at}")
    return at + 1


def _expected(found: re.Match[str] | None, at: int) -> re.Match[str]:
    if found is None:
        raise ValueError(f"no JSON at {at}")
    return found
