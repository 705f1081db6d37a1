"""Errors on their way from a Python worker through Spark to the user.

Spark hands on the text of a worker's traceback and nothing else. `telling` leaves the parts of a
SashError in that text as one line of JSON; `sash_error` finds them, and makes of everything else one
SashError with the cause in short.
"""

from __future__ import annotations

__all__ = ["find", "sash_error", "telling"]

import functools
import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from inspect import isgeneratorfunction
from typing import Any, ParamSpec, TypeVar, cast

from sash.errors import Place, SashError

P = ParamSpec("P")
T = TypeVar("T")

_MARK = "sash-error "
_NOTE = re.compile(rf"{_MARK}(\{{.*\}})\s*$", re.MULTILINE)
_PLAIN = re.compile(r"SashError: (SASH-[A-Z]+-\d{3}): (.+)$", re.MULTILINE)
_CLASS = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Interrupt|Exit)): ?(.*)$", re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"^(?:\w+\.)*([A-Z]\w*)(?:: ?(.*))?$", re.MULTILINE)
"""What was raised, at the end of a traceback: all lines before it are indented."""
_JAVA_CLASS = re.compile(r"^(?:\w+\.)+[\w$]+: ")
_BY_JAVA = re.compile(r"^(?::|Caused by:) (?:[\w.$]+: )?(.+)$", re.MULTILINE)
_NO_SASH = re.compile(r"No module named '(sash|numba|pyarrow|numpy|sqlglot)(?:\.[\w.]+)?'")
_LONGEST = 300
_MOST_CAUSES = 20


def telling(function: Callable[P, T]) -> Callable[P, T]:
    """The function (or generator), whose SashErrors can be found again in the text of their traceback.

    >>> @telling
    ... def fail():
    ...     raise SashError("SASH-DATA-001", "Row 1 is odd. Very.", remedy="Mend it.")
    >>> import traceback
    >>> try:
    ...     fail()
    ... except SashError:
    ...     find(traceback.format_exc()).message
    'Row 1 is odd. Very.'
    """
    if isgeneratorfunction(function):

        @functools.wraps(function)
        def generating(*args: P.args, **kwargs: P.kwargs) -> Iterator[Any]:
            try:
                yield from cast(Generator[Any, None, None], function(*args, **kwargs))
            except SashError as error:
                _note(error)
                raise

        return cast(Callable[P, T], generating)

    @functools.wraps(function)
    def calling(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except SashError as error:
            _note(error)
            raise

    return calling


def _note(error: SashError) -> None:
    place = error.place
    facts = {
        "code": error.code, "message": error.message, "remedy": error.remedy,
        "place": None if place is None else [place.text, place.start, place.end],
    }  # fmt: skip
    note = _MARK + json.dumps(facts)
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def find(text: str) -> SashError | None:
    """The SashError in the text of a traceback: the parts that `telling` left, or else what it printed.

    >>> find("... sash.errors.SashError: SASH-DATA-001: Row 1 is odd. Mend it.").remedy
    'Mend it.'
    """
    noted = _NOTE.search(text)
    if noted is not None:
        try:
            facts = json.loads(noted[1])
            place = None if facts["place"] is None else Place(*facts["place"])
            return SashError(facts["code"], facts["message"], remedy=facts["remedy"], place=place)
        except (ValueError, KeyError, TypeError):  # cut short on its way
            pass
    plain = _PLAIN.search(text)
    if plain is None:
        return None
    message, _, remedy = plain[2].strip().partition(". ")
    return SashError(plain[1], f"{message.removesuffix('.')}.", remedy=remedy or "See the message.")


def sash_error(error: BaseException) -> SashError:
    """The one error that a user should see for what Spark raised; Spark's own is its cause."""
    if isinstance(error, SashError):
        return error
    found = _gone() if _java_has_gone(error) else _asked_of(error)
    found.__cause__ = error
    return found


def _gone() -> SashError:
    return SashError(
        "SASH-SPARK-088",
        "Spark's Java process has gone: it was killed, or ended by itself.",
        remedy="If memory was short, the system's log says so: give it more, or let it have less "
        "(spark.driver.memory). Start again with the same checkpoint; nothing is lost or doubled.",
    )


def _asked_of(error: BaseException) -> SashError:
    """What Java tells of its error, if it is still there to be asked."""
    try:
        return _told_of(error)
    except Exception as later:
        if not _java_has_gone(later):
            raise
        return _gone()


def _told_of(error: BaseException) -> SashError:
    texts = _chain(error)
    found = next(filter(None, map(find, texts)), None) or next(filter(None, map(_known, texts)), None)
    return found or SashError(
        "SASH-SPARK-040",
        f"Spark could not go on: {_in_short(texts)}",
        remedy="Mend the cause and start again with the same checkpoint; Spark's own error is behind "
        "this one (its __cause__).",
    )


def _java_has_gone(error: BaseException) -> bool:
    """Whether nobody answers any more where PySpark asks: what a sink or source met comes as a text."""
    from py4j.protocol import Py4JNetworkError

    at: BaseException | None = error
    while at is not None:
        if isinstance(at, ConnectionError | Py4JNetworkError):
            return True
        at = at.__cause__ or at.__context__
    return False


def _chain(error: BaseException) -> list[str]:
    """The text of an error and of what Java says caused it, outermost first.

    Of what went wrong with a file, Spark's own text has the file's name alone.
    """
    texts: list[str] = []
    cause: Any = error  # PySpark keeps Java's causes under a name of its own
    while isinstance(cause, BaseException) and len(texts) < _MOST_CAUSES:
        java = getattr(cause, "java_exception", None)
        if java is not None:  # Py4J's own text says no more than where it was called
            return texts + _java_chain(java)
        texts.append(str(cause))
        cause = getattr(cause, "_cause", None)
    return texts


def _java_chain(java: Any) -> list[str]:
    texts: list[str] = []
    while java is not None and len(texts) < _MOST_CAUSES:
        texts.append(_JAVA_CLASS.sub("", str(java.toString())))
        java = java.getCause()
    return texts


def _known(text: str) -> SashError | None:
    """Failures of Spark that have a cause one can name."""
    if missing := _NO_SASH.search(text):
        return SashError(
            "SASH-SPARK-041",
            f"A Python worker of Spark has no module '{missing[1]}'.",
            remedy="Install Sash in the Python of every executor, or let PYSPARK_PYTHON name one that has "
            "it; docs/operations.md tells how.",
        )
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return SashError(
            "SASH-SPARK-044",
            "A disk is full: Spark or Sash could not write.",
            remedy="Make room and start again with the same checkpoint; nothing is lost or doubled.",
        )
    if active := re.search(r"Cannot start query with name (.+) as a query with that name is already", text):
        return SashError(
            "SASH-SPARK-049",
            f"A run of the name '{active[1]}' is at work in this Spark session already.",
            remedy="Stop it first, or give this one another name: the query's, or db.start(..., name=...).",
        )
    if "DATA_SOURCE_NOT_FOUND" in text:
        named = re.search(r"Failed to find the data source: ?\[?`?([\w.$-]+)", text)
        return SashError(
            "SASH-SPARK-045",
            f"Spark has no data source '{named[1].rstrip('.') if named else 'of that name'}'.",
            remedy="Correct the format, or add its package with spark.jars.packages.",
        )
    return None


def _in_short(texts: Sequence[str]) -> str:
    """The sentence that names the cause; behind it the innermost one, if that says more."""
    first, last = _short(texts[0]), _short(_JAVA_CLASS.sub("", texts[-1]))
    return first if last.rstrip(".") in first else f"{first.rstrip('. ')}: {last}"


def _short(text: str) -> str:
    """The sentence of a long text that names the cause: the last exception of a Python traceback, or
    the first line. Where that exception is Java's, what Java says.

    >>> _short("Traceback (most recent call last):\\n  ...\\npy4j.protocol.Py4JJavaError: An error occurred "
    ...        "while calling o7.save.\\n: java.io.IOException: no\\n\\tat x\\nCaused by: java.X: Not one")
    'Not one.'
    >>> _short("PythonException: An exception was thrown from the Python worker:\\n"
    ...        "Traceback (most recent call last):\\n  ...\\npyarrow.lib.ArrowInvalid: 1 null")
    'ArrowInvalid: 1 null.'
    """
    text = text.split("=== Streaming Query ===")[0]
    causes = _RAISED.findall(text.rpartition(_TRACEBACK)[2])[:1] or _CLASS.findall(text)
    by_java = _BY_JAVA.findall(text) if "Py4JJavaError: " in text else []
    if by_java:
        line = by_java[-1]
    elif _TRACEBACK in text and causes:
        kind, what = causes[-1]
        line = f"{kind}: {what}" if what else kind
    else:
        after = re.sub(r"^\[STREAM_FAILED\].*?terminated with exception: ", "", text.strip(), flags=re.DOTALL)
        lines = after.strip().splitlines()
        line = lines[0] if lines else "it gave no reason"
    line = re.sub(r"( SQLSTATE: \w+)+$", "", line.strip()).rstrip(".")
    return (line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "...") + "."
