"""What all tests share: the fixtures of `cql/`, the flag that rewrites them, the count of readings."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CQL = Path(__file__).parent / "cql"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="rewrite what fixtures expect: answers by the oracle, errors and plans by the session",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Every run has a folder of its own: the one that pytest shares out is cleared by whoever ends first."""
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        config.option.basetemp = tempfile.mkdtemp(prefix="sash-tests-")
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes minutes runs only when it is asked for, with `-m long`."""
    if "long" not in (config.getoption("-m") or ""):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "fixture_path" in metafunc.fixturenames:
        paths = sorted(CQL.rglob("*.cql"))
        metafunc.parametrize("fixture_path", paths, ids=[str(path.relative_to(CQL)) for path in paths])


@pytest.fixture(scope="session", autouse=True)
def a_few_count_as_many() -> Iterator[None]:
    """Few rows take the ways of many: in every test ends that wait are packed, rings go round, tables of keys
    are searched together, and state is looked through for what is dead, and written anew."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sash.engine.state.packed._MANY", 3)
        patched.setattr("sash.engine.state.round_array._LEAST", 2)
        patched.setattr("sash.engine.state.upkeep.FEW", 2)
        patched.setattr("sash.engine.state.key_table._MANY", 3)
        yield


@pytest.fixture
def sessions() -> Any:
    """How to make and load sessions whose operators are watched by a contract."""
    import sash
    from sash.testing import Contract

    def connect(**settings: Any) -> Any:
        return sash.connect(watch=Contract(), **settings)

    def load(path: Path, **settings: Any) -> Any:
        return sash.load(path, watch=Contract(), **settings)

    return connect, load


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many fixtures were read in how many ways, and how many random pairs met the oracle."""
    read: dict[str, int] = {}
    fixtures = pairs = 0
    for report in terminalreporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", []):
            if name == "fixture":
                fixtures += value
            elif name == "readings":
                for way in value:
                    read[way] = read.get(way, 0) + 1
            elif name == "compiler off":
                read["with the compiler off"] = value
            elif name == "pairs":
                pairs += value
    if read:
        total = sum(read.values())
        terminalreporter.write_line(f"{fixtures} fixtures were read in {len(read)} ways: {total} readings")
        for way, count in read.items():
            terminalreporter.write_line(f"  {count:>5}  {way}")
    if pairs:
        terminalreporter.write_line(f"{pairs} random pairs of streams and query met the oracle")
