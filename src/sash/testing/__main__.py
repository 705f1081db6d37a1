"""`python -m sash.testing FOLDER`: all fixtures below a folder as they are written; fails if one does."""

from __future__ import annotations

import sys
from pathlib import Path

from .fixtures import read_fixture
from .replaying import replay


def main(folder: str) -> int:
    """Replay all fixtures; say what failed and how many there were."""
    paths = sorted(Path(folder).rglob("*.cql"))
    failed = 0
    for path in paths:
        try:
            replay(read_fixture(path))
        except Exception as error:  # one bad fixture must not hide the others
            failed += 1
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"{len(paths)} fixtures, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
