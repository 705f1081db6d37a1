"""The end of a run, noted in its checkpoint, where hosts on all nodes see it and let go of its windows."""

from __future__ import annotations

__all__ = ["ended_run", "note_end"]

from contextlib import suppress
from pathlib import Path

from sash.catalog.atomic_files import replace_file

_FILE = Path("sash") / "ended"


def note_end(checkpoint: Path, run: str) -> None:
    """Note that a run is over; if that cannot be, its windows are kept for a while, and nothing else.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "sash").mkdir()
    ...     note_end(Path(folder), "1-2")
    ...     ended_run(folder)
    '1-2'
    """
    with suppress(OSError):
        replace_file(checkpoint / _FILE, lambda file: file.write(run.encode()), sync=False)


def ended_run(checkpoint: str) -> str | None:
    """The last run that is noted to be over; None if none is, or nobody can tell, as of a damaged note."""
    try:
        return (Path(checkpoint) / _FILE).read_text()
    except (OSError, UnicodeDecodeError):
        return None
