"""The command in a process of its own, as a script or a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_CODE = "from sash.cli.main import main; main()"


def sash_command(
    *arguments: str | Path, timeout: float = 120, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, with its output in pipes."""
    return subprocess.run(
        [sys.executable, "-c", _CODE, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=_environment(environment),
        timeout=timeout,
        check=False,
    )


def started(*arguments: str | Path, group: bool = False) -> subprocess.Popen[str]:
    """Start the command, in a group of its own if that is asked for; who starts it ends it."""
    return subprocess.Popen(
        [sys.executable, "-c", _CODE, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(None),
        start_new_session=group,
    )


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _environment(given: Mapping[str, str] | None) -> dict[str, str]:
    return {**(os.environ if given is None else given), "PYTHONPATH": str(ROOT / "src")}
