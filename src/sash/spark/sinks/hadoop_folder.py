"""A folder wherever Spark can write: names in it are listed, moved and removed through Hadoop's classes."""

from __future__ import annotations

__all__ = ["HadoopFolder"]

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HadoopFolder:
    """A folder that need not be there yet; all names are relative to it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        # Py4J's view of the JVM has no types.
        jvm: Any = spark.sparkContext._jvm
        context: Any = spark.sparkContext._jsc
        self._path = jvm.org.apache.hadoop.fs.Path
        self._files = self._path(path).getFileSystem(context.hadoopConfiguration())
        self._root = self._files.makeQualified(self._path(path)).toString().rstrip("/")

    def address(self, name: str) -> str:
        """The whole address of a name."""
        return f"{self._root}/{name}" if name else self._root

    def names(self, below: str) -> list[str]:
        """What is in a folder below this one; nothing if it is not there."""
        if not self.exists(below):
            return []
        return [each.getPath().getName() for each in self._files.listStatus(self._at(below))]

    def exists(self, name: str) -> bool:
        """Whether there is something of that name."""
        return bool(self._files.exists(self._at(name)))

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, at which there must be nothing."""
        if not self._files.rename(self._at(old), self._at(new)):
            raise OSError(f"{self.address(old)} could not be moved to {self.address(new)}")

    def delete(self, name: str) -> None:
        """Remove a file or a folder with all in it; it need not be there."""
        self._files.delete(self._at(name), True)

    def touch(self, name: str) -> None:
        """Make an empty file, and the folders above it."""
        self._files.create(self._at(name), True).close()

    def _at(self, name: str) -> Any:
        return self._path(self.address(name))
