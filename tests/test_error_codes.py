"""Every error code of the source is explained in docs/errors.md, and shown by a fixture or a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "errors.md"
CODE = re.compile(r"SASH-[A-Z]+-\d{3}")
ROW = re.compile(r"^\| `(SASH-[A-Z]+-\d{3})` \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
LINK = re.compile(r"\[\w+\]\(\.\./(tests/[\w/]+\.(?:cql|py))\)")

ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))


def codes_of_the_source() -> set[str]:
    """Every code that any file of the package speaks of."""
    files = (ROOT / "src").rglob("*.py")
    return {code for file in files for code in CODE.findall(file.read_text(encoding="utf-8"))}


def codes_of_the_fixtures() -> set[str]:
    """Every code that some fixture expects."""
    files = (ROOT / "tests" / "cql").rglob("*.cql")
    texts = (file.read_text(encoding="utf-8") for file in files)
    return {code for text in texts for code in re.findall(rf"^ERROR ({CODE.pattern})", text, re.MULTILINE)}


def test_the_page_explains_every_code_once_and_no_other() -> None:
    written = [code for code, *_ in ROWS]
    assert sorted(written) == sorted(set(written)), "a code stands twice in docs/errors.md"
    assert sorted(set(written) - codes_of_the_source()) == [], "codes that nothing raises any more"
    assert sorted(codes_of_the_source() - set(written)) == [], "codes that docs/errors.md does not explain"


@pytest.mark.parametrize(("code", "meaning", "remedy", "shown_by"), ROWS, ids=[row[0] for row in ROWS])
def test_a_code_is_explained_and_shown(code: str, meaning: str, remedy: str, shown_by: str) -> None:
    assert meaning.strip()
    assert remedy.strip()
    if shown_by == "a guard":
        assert code not in codes_of_the_fixtures(), "a fixture leads there, so it is no guard"
        return
    if shown_by == "the command":
        assert code.startswith("SASH-CLI-")
        return
    link = LINK.fullmatch(shown_by)
    assert link is not None, f"{shown_by} is neither a fixture, nor a test, nor a guard"
    text = (ROOT / link[1]).read_text(encoding="utf-8")
    if link[1].endswith(".cql"):
        assert re.search(rf"^ERROR {code}\b", text, re.MULTILINE), f"{link[1]} does not show it"
    else:
        assert code in text, f"{link[1]} does not show it"
        assert code not in codes_of_the_fixtures(), "name the fixture that shows it"


def test_fixtures_expect_only_codes_that_there_are() -> None:
    assert sorted(codes_of_the_fixtures() - codes_of_the_source()) == []
