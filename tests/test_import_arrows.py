"""Imports point one way: cli -> session -> catalog -> engine, optimizer -> plan -> language -> the rest."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "sash"

_GROUND = {"lifetimes", "errors"}
_PLAN = {"plan", "language"} | _GROUND
_CATALOG = {"catalog", "engine", "optimizer"} | _PLAN
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "lifetimes": {"errors"},
    "language": {"language"} | _GROUND,
    "plan": _PLAN,
    "optimizer": {"optimizer"} | _PLAN,
    "engine": {"engine"} | _PLAN,
    "catalog": _CATALOG,
    "session": {"session", ""} | _CATALOG,
    "spark": {"spark", ""} | _CATALOG,
    "testing": {"testing", "session", ""} | _CATALOG,
    "cli": {"cli", "testing", "session", "spark", ""} | _CATALOG,
    "": {"session", "spark", "errors"},
}
"""By room: the rooms it may import from; the room '' is `sash/__init__.py` itself."""


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The Sash modules a file imports, anywhere in it, with their lines."""
    package = ["sash", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (
                (node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "sash"
            )
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            if module == "sash":
                yield from ((node.lineno, f"sash.{alias.name}") for alias in node.names)
            elif module.startswith("sash."):
                yield node.lineno, module


def room(module: str) -> str:
    """The room a module is in; names that `sash` itself gives are in none."""
    first = [*module.split("."), ""][1]
    return first if first in ALLOWED else ""


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_imports_only_along_the_arrows(path: Path) -> None:
    parts = path.relative_to(SOURCE).parts
    own = "" if parts == ("__init__.py",) else parts[0].removesuffix(".py")
    assert own in ALLOWED, f"the room {own!r} is not on the map"
    wrong = [f"line {line}: {module}" for line, module in imports(path) if room(module) not in ALLOWED[own]]
    assert not wrong, f"{own} may import only {sorted(ALLOWED[own])}: {wrong}"


def test_importing_sash_imports_nothing_heavy() -> None:
    script = (
        "import sash, sys; print([m for m in ('numba', 'pyspark', 'pyarrow', 'sqlglot') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
