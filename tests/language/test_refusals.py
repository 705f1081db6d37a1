"""What is wrong with a query's text: one error of ours with code, place and remedy, and nothing else."""

from __future__ import annotations

import logging
import random
import re

import pytest

from sash.errors import SashError
from sash.language.statements import parse, parse_query


def error_of(text: str) -> SashError | None:
    """What is wrong with a text, if anything; any other exception is a failure."""
    try:
        parse(text)
    except SashError as error:
        return error
    return None


def refusal(text: str) -> SashError:
    with pytest.raises(SashError) as caught:
        parse_query(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("SELECT a FROM", "001", ""),
        ("SELECT a, FROM s", "001", "FROM"),
        ("SELECT FROM s", "001", "FROM"),
        ("SELECT a FROM s,", "001", ""),
        ("SELECT a FROM s WHERE", "001", ""),
        ("SELECT (a FROM s", "001", "FROM"),
        ("SELECT a FROM s)", "001", ")"),
        ("SELECT a FROM s GROUP BY", "001", "GROUP BY"),
        ("SELECT a FROM s LIMIT", "001", ""),
        ("SELECT a FROM s WHERE a BETWEEN 1 2", "001", "2"),
        ("SELECT a FROM s WHERE a IN ()", "001", "a"),
        ("SELECT a b c FROM s", "001", "c"),
        ("SELECT a FROM s JOIN ON s.a = b", "001", "ON"),
        ("SELECT a FROM s JOIN t ON", "001", ""),
        ("SELECT a FROM s |> WHERE a > 1", "001", "|>"),
        ("SELECT upper(a, b, c) FROM s", "001", ")"),
        ("SELECT CASE WHEN a THEN b FROM s", "001", "b"),
        ("ISTREAM(SELECT a FROM s", "001", ""),
        ("ISTREAM(SELECT a FROM s) LIMIT 5", "001", "LIMIT"),
        ("SELECT a FROM s [RANGE 10", "001", "["),
        ("SELECT a FROM s [RANGE]", "001", "]"),
        ("SELECT a FROM s [RANGE '10 minutes']", "001", "'10 minutes'"),
        ("SELECT a FROM s [UNTIL]", "001", "]"),
        ("SELECT a FROM s [PARTITION BY ROWS 5]", "001", "ROWS"),
        ("", "002", None),
        ("  -- nothing", "002", "  -- nothing"),
        ("SELECT 1; SELECT 2", "003", "SELECT 2"),
        ("SELECT 'abc FROM s", "004", "'"),
        ("SELECT 'it''s' /* abc", "004", "/"),
        ("SELECT `abc FROM s", "004", "`"),
        ("SELCT a FROM s", "006", "SELCT"),
        ("FROM s SELECT a", "006", "FROM"),
        ("SELECT SUM(a) OVER (PARTITION BY b) FROM s", "007", "SUM(a) OVER (PARTITION BY b"),
        ("SELECT * FROM s TABLESAMPLE (10 PERCENT)", "007", "10"),
        ("SELECT * FROM s LATERAL VIEW explode(a) t AS b", "007", "explode(a) t AS b"),
        ("SELECT a FROM s GROUP BY ROLLUP(a)", "007", "a"),
        ("SELECT a FROM s GROUP BY a WITH ROLLUP", "007", "GROUP BY a WITH ROLLUP"),
        ("SELECT * FROM range(10)", "007", "range(10"),
        ("SELECT a FROM s SORT BY a", "007", "a"),
        ("SELECT DISTINCT ON (a) b FROM s", "007", "a"),
        ("SELECT * EXCEPT (a) FROM s", "007", "a"),
        ("SELECT a FROM s FETCH FIRST 5 ROWS ONLY", "007", "5"),
        ("SELECT a FROM s WHERE a = :x", "007", None),
        ("DROP TABLE t", "008", "DROP"),
        ("SELECT a FROM s []", "009", "[]"),
        ("SELECT a FROM s [FOO 10]", "009", "FOO"),
        ("SELECT a FROM s [10]", "009", "10"),
        ("SELECT a FROM s [SLIDE 5]", "009", "[SLIDE 5]"),
        ("SELECT a FROM s [NOW SLIDE 5]", "009", "NOW"),
        ("SELECT a FROM s [ROWS 5 MINUTES]", "009", "5 MINUTES"),
        ("SELECT a FROM s [ROWS 5 SLIDE 1 s]", "009", "1 s"),
        ("SELECT a FROM s [ROWS 10 RANGE 5]", "009", "[ROWS 10 RANGE 5]"),
        ("SELECT a FROM s [PARTITION BY k RANGE 5]", "009", "PARTITION BY"),
        ("SELECT a FROM s [RANGE 10 RANGE 5]", "009", "RANGE"),
        ("SELECT a FROM s [RANGE 10, SLIDE 5]", "009", ","),
        ("SELECT a FROM s [RANGE 0]", "010", "0"),
        ("SELECT a FROM t, s [RANGE 0 SECONDS]", "010", "0 SECONDS"),
        ("SELECT a FROM s [ROWS -1]", "010", "-1"),
        ("SELECT a FROM s [RANGE 10 SLIDE 0]", "010", "0"),
        ("SELECT a FROM s [PARTITION BY k ROWS 0]", "010", "0"),
        ("SELECT a FROM s [RANGE 10 fortnights]", "011", "fortnights"),
        ("SELECT a FROM s [RANGE 10 MINUTES SLIDE 1 blink]", "011", "blink"),
        ("SELECT a FROM s [RANGE 10L]", "011", "10L"),
        ("SELECT a FROM s [RANGE 1.5 hours]", "012", "1.5"),
        ("SELECT a FROM s [RANGE 99999999999999999999]", "012", "99999999999999999999"),
        ("SELECT a FROM s [RANGE 9999999999 days]", "012", "9999999999 days"),
        ("SELECT a FROM s [RANGE 10] x [RANGE 5]", "013", "[RANGE 5]"),
        ("SELECT a FROM (SELECT a FROM s) [RANGE 10] x [RANGE 5]", "013", "[RANGE 5]"),
        ("(SELECT a FROM s) [RANGE 10]", "013", "[RANGE 10]"),
        ("SELECT a FROM s UNION (SELECT a FROM s) [RANGE 10]", "013", "[RANGE 10]"),
        ("ISTREAM(SELECT a FROM s) [RANGE 10]", "013", "[RANGE 10]"),
        ("SELECT ISTREAM(a) [ROWS 5] FROM s", "013", "["),
        ("WSTREAM(SELECT a FROM s)", "014", "WSTREAM"),
        ("SELECT wstream(a) FROM s", "014", "wstream"),
        ("WSTREAM-RESTORE(SELECT a FROM s) [ROWS 5]", "015", "WSTREAM-RESTORE"),
        ("SELECT wstream - restore(*) [ROWS 5] FROM s", "015", "wstream - restore"),
        ("DSTREAM-RESTORE(SELECT a FROM s)", "015", "DSTREAM-RESTORE"),
        ("SELECT ISTREAM(a), b FROM s", "016", "ISTREAM"),
        ("SELECT ISTREAM(a, b) AS c FROM s", "016", "ISTREAM"),
        ("SELECT a FROM s WHERE ISTREAM(a) > 1", "016", "ISTREAM"),
        ("SELECT a FROM s WHERE a = ISTREAM(SELECT 1 FROM s)", "016", "ISTREAM"),
        ("SELECT SUM(ISTREAM(a)) FROM s", "016", "ISTREAM"),
        ("SELECT SUM(WSTREAM(SUM(a)) [ROWS 10]) FROM s GROUP BY k", "016", "WSTREAM"),
        ("SELECT b, SUM(WSTREAM(SUM(a)) [ROWS 10]) FROM s", "016", "b"),
        ("SELECT SUM(WSTREAM(a) [ROWS 1]) + SUM(WSTREAM(a) [ROWS 2]) FROM s", "016", "WSTREAM"),
        ("SELECT CAST(a AS FOO) FROM s", "020", "FOO"),
        ("SELECT CAST(a AS) FROM s", "020", ")"),
    ],
)
def test_refused_with_code_and_place(text: str, code: str, marked: str | None) -> None:
    error = refusal(text)
    assert error.code == f"SASH-PARSE-{code}"
    assert error.message.endswith((".", "?"))
    assert error.remedy
    assert "sqlglot" not in str(error)
    if marked is not None:
        assert error.place is not None
        assert error.place.text == text
        assert text[error.place.start : error.place.end] == marked


def test_a_caret_shows_the_place() -> None:
    assert str(refusal("SELECT a\nFROM s [RANGE 0]")) == (
        "SASH-PARSE-010: RANGE must be more than zero, not 0. "
        "Give a positive number, or [NOW] for the rows of the present instant alone.\n"
        "line 2, column 15\n"
        "  FROM s [RANGE 0]\n"
        "                ^"
    )


def test_wstream_restore_is_refused_with_the_reason() -> None:
    assert "window on the output" in refusal("WSTREAM-RESTORE(SELECT a FROM s) [ROWS 5]").message


def test_a_misspelt_beginning_gets_a_proposal() -> None:
    assert refusal("SELCT a FROM s").remedy == "Did you mean SELECT?"


def test_deep_nesting_is_refused_in_words() -> None:
    assert refusal(f"SELECT {'(' * 3000}1{')' * 3000}").code == "SASH-PARSE-005"


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in (
            "SHOW TABLES",
            "ALTER TABLE t RENAME",
            "CREATE INDEX i ON t (a)",
            "VACUUM t",
            "CALL f()",
        ):
            with pytest.raises(SashError):
                parse(text)
        parse("SELECT get_json_object(a, '$[') FROM s")
    assert not caplog.records


SEEDS = (
    "SELECT a, SUM(b) AS c FROM s [RANGE 10 s SLIDE 1 s] x JOIN t [PARTITION BY k ROWS 3] ON x.a = t.a "
    "WHERE a IN (SELECT b FROM u) GROUP BY a HAVING COUNT(*) > 1 ORDER BY c DESC LIMIT 5",
    "SELECT SUM(WSTREAM(SUM(a)) [ROWS 10]) FROM s [RANGE 6 SLIDE 6] WHERE NOT EXISTS (SELECT * FROM t)",
    "ISTREAM-RESTORE(SELECT CASE WHEN a > 1 THEN 'x' ELSE c[0] END FROM (ISTREAM(SELECT a FROM s)) [NOW] y)",
    "CREATE STREAM s (ts TIMESTAMP, a ARRAY<DECIMAL(5, 2)>) TIME ts LATENESS 2 SECONDS WITH (f = 'x')",
    "CREATE TABLE t (a INT, b STRING, PRIMARY KEY (a)) RETROACTIVE; CREATE VIEW v AS SELECT 1 FROM s UNION "
    "SELECT CAST(a AS INT) FROM t",
    "INSERT INTO t (a, b) VALUES (1, 'x'), (2, NULL) AT 5; UPDATE t SET a = a + 1 WHERE b LIKE 'x%' AT 7",
    "DELETE FROM t WHERE a BETWEEN 1 AND 2; DROP VIEW v",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_mangled_texts_give_our_error_or_a_statement(seed: int) -> None:
    chance = random.Random(seed)
    words = re.sub(r"([()\[\]])", r" \1 ", SEEDS[seed]).split()
    parse(" ".join(words))
    for _ in range(250):
        mangled = list(words)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(mangled) or 1)
            change = chance.randrange(4)
            if change == 0:
                del mangled[at : at + 1]
            elif change == 1:
                mangled.insert(at, chance.choice(words))
            elif change == 2:
                mangled[at : at + 1] = [chance.choice(words)]
            else:
                mangled = mangled[: at + 1]
        text = " ".join(mangled)
        error = error_of(text)
        assert error is None or error.code.startswith("SASH-PARSE-")
        if error is not None and error.place is not None:
            assert error.place.render()
            assert 0 <= error.place.start <= error.place.end <= len(text) + 1
