"""What is written must be true: every example in a docstring runs, and so does every one in the pages.

In a page, a block marked `python` is run; a block marked `text` right after it is what it prints.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import sash

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LEAST_DOCTESTS = 40
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def modules() -> Iterator[ModuleType]:
    """The package and everything in it."""
    yield sash
    for found in pkgutil.walk_packages(sash.__path__, "sash."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def test_every_docstring_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    finder = doctest.DocTestFinder(exclude_empty=True)
    with_examples = 0
    report = io.StringIO()
    for module in modules():
        for test in finder.find(module, module.__name__):
            if test.examples:
                with_examples += 1
                runner.run(test, out=report.write)
    with capsys.disabled():
        print(f"\n{with_examples} docstrings with {runner.tries} examples")
    assert runner.failures == 0, report.getvalue()
    assert with_examples >= LEAST_DOCTESTS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_of_a_page_runs(page: Path) -> None:
    namespace: dict[str, object] = {}
    printed: str | None = None
    for language, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(body, str(page), "exec"), namespace)
            printed = out.getvalue()
        elif language == "text" and printed:
            shown = [line.rstrip() for line in body.strip().splitlines()]
            assert [line.rstrip() for line in printed.strip().splitlines()] == shown, page.name
            printed = None
        else:
            printed = None


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken


def test_every_fixture_that_the_language_page_names_is_there() -> None:
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(cql/[\w/.-]+\.cql)`", text))
    missing = sorted(name for name in named if not (ROOT / "tests" / name).is_file())
    assert not missing


def test_every_heading_file_of_the_project_is_there() -> None:
    names = ["LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "src/sash/py.typed"]
    assert [name for name in names if not (ROOT / name).is_file()] == []


def test_the_table_of_functions_is_that_of_the_code() -> None:
    from sash.language.functions import describe

    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    assert describe() in text, "run python scripts/write_tables.py"
