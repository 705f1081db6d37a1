"""Changes as files in a folder: Parquet, JSON, CSV, ORC.

Alone it is Spark's file sink. As one of several, a batch is written aside and its files are moved in
under names that tell the checkpoint and the batch; then a note says that the folder has it. What a
batch that failed half-way left behind is removed before it is written again, so that whoever lists
the folder finds each change once.
"""

from __future__ import annotations

__all__ = ["FOLDER_FORMATS", "FolderSink"]

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sash.spark.failpoints import failpoint
from sash.spark.sinks.hadoop_folder import HadoopFolder
from sash.spark.sinks.places import place_of
from sash.spark.sinks.sink import Part, Run
from sash.spark.sinks.spark_format import FormatSink, other_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOLDER_FORMATS = ("parquet", "json", "csv", "orc")

_NOTES = "_sash_batches"  # Spark and everyone else leave names with an underscore alone
_KEPT = 3
_TO_THE_MICROSECOND = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


class FolderSink(FormatSink):
    """A folder of files in one of Spark's own formats."""

    def __init__(self, format: str, path: str | None, options: Mapping[str, str]) -> None:
        if format in ("csv", "json") and "timestampformat" not in {name.lower() for name in options}:
            options = {**options, "timestampFormat": _TO_THE_MICROSECOND}  # Spark's own ends at milliseconds
        super().__init__(format, path, options)

    @property
    def place(self) -> str | None:
        return None if self.path is None else place_of(self.path)

    def check_place(self, run: Run) -> None:
        folder = self._folder(run)
        if (run.is_new and folder.names("_spark_metadata")) or folder.names(_NOTES):
            raise other_run(str(self.path))

    def open(self, part: Part, run: Run) -> None:
        folder = self._folder(run)
        if folder.names("_spark_metadata"):
            raise other_run(str(self.path))
        self._target = folder
        self._id = run.id
        self._notes = f"{_NOTES}/{run.id}"

    def write(self, batch: DataFrame, number: int) -> None:
        folder, note = self._target, f"{self._notes}/{number}"
        if folder.exists(note):
            return
        mine = f"{self._id[:8]}-{number:010d}-"
        for name in folder.names(""):
            if name.startswith(mine):
                folder.delete(name)
        if number == 0 or not batch.isEmpty():
            aside = f"{self._notes}/aside"
            writer = batch.write.format(self.format).mode("overwrite").options(**self.options)
            writer.save(folder.address(aside))
            failpoint("sink-written")
            written = sorted(name for name in folder.names(aside) if name.startswith("part-"))
            for i, name in enumerate(written):
                folder.rename(f"{aside}/{name}", f"{mine}{i:05d}.{name.partition('.')[2]}")
                failpoint("sink-moved")
            folder.delete(aside)
        folder.touch(note)
        failpoint("sink-noted")
        if number >= _KEPT:
            folder.delete(f"{self._notes}/{number - _KEPT}")

    def _folder(self, run: Run) -> HadoopFolder:
        assert self.path is not None
        return HadoopFolder(run.spark, self.path)
