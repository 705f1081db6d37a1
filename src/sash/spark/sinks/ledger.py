"""Which batches a sink has: a line per batch in the checkpoint, for sinks that cannot tell themselves."""

from __future__ import annotations

__all__ = ["Ledger"]

from sash.catalog.atomic_files import replace_file
from sash.errors import SashError
from sash.spark.sinks.places import as_file_name
from sash.spark.sinks.sink import Run


class Ledger:
    """One sink's, under `<checkpoint>/sash/sinks/`. Batches come in order, so the newest says it all."""

    def __init__(self, run: Run, name: str) -> None:
        self.id = f"{run.id}-{name}"
        folder = run.checkpoint / "sash" / "sinks"
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / as_file_name(name)
        try:
            self._newest = int(self._file.read_text()) if self._file.exists() else -1
        except ValueError:
            raise SashError(
                "SASH-SPARK-050",
                f"The checkpoint '{run.checkpoint}' is damaged: its sash/sinks/{self._file.name} is not as "
                "it was written.",
                remedy="Take another copy of the checkpoint, or start with a new one.",
            ) from None

    def has(self, number: int) -> bool:
        """Whether the sink has a batch."""
        return number <= self._newest

    def note(self, number: int) -> None:
        """The sink has a batch from now on."""
        replace_file(self._file, lambda file: file.write(str(number).encode()))
        self._newest = number
