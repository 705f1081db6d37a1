"""One file of a stream as a table in the stream's schema: Parquet, CSV or JSON lines, by pyarrow alone.

Only the columns that are asked for are read. Files are checked: columns missing or of another type,
rows without a timestamp, a file that is gone, has changed or is no such file. Malformed rows follow
Spark's modes; how many there were is part of the result.
"""

from __future__ import annotations

__all__ = ["Inspection", "Read", "Reading"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import StreamDefinition
from sash.spark.reading import csv_files, json_files, parquet_files
from sash.spark.reading.content import Content, Unfit, timely
from sash.spark.reading.listing import FoundFile, file_system
from sash.spark.reading.read_options import ReadOptions, read_options
from sash.spark.reading.unpacking import open_text

_AT_ONCE = 4 << 20


class _Changed(Exception):
    """A file has not the size with which it was listed."""


@dataclass(frozen=True)
class Read:
    """Rows of a file, and how many of its rows lost a value or were dropped."""

    table: pa.Table
    malformed: int = 0


@dataclass(frozen=True)
class Inspection:
    """What is known of a file before it is read: its rows, and where it is cheap to cut it.

    Of text only the lines are known, and only if they are asked for.
    """

    rows: int | None = None
    cuts: tuple[int, ...] = ()
    lines: int | None = None


@dataclass(frozen=True)
class Reading:
    """How the files of one stream are read."""

    definition: StreamDefinition
    format: str
    options: ReadOptions
    fields: tuple[Field, ...] = field(repr=False)
    """The columns that are read, in the order in which they are given."""

    @classmethod
    def of(
        cls,
        definition: StreamDefinition,
        format: str,
        options: Mapping[str, str],
        columns: Sequence[str] | None = None,
    ) -> Reading:
        """From a stream's definition and options. All columns are read unless some are named; time always."""
        by_name = {one.name: one for one in definition.fields}
        time = definition.fields[definition.time].name
        names = list(by_name) if columns is None else [*columns, *([] if time in columns else [time])]
        fields = tuple(by_name[name] for name in names)
        return cls(definition, format.lower(), read_options(format, options), fields)

    @property
    def schema(self) -> pa.Schema:
        """The schema of every table that is read."""
        return pa.schema([pa.field(one.name, one.type) for one in self.fields])

    def inspect(self, file: FoundFile) -> Inspection | None:
        """Look at a file before it is taken; None if it is gone or another one by now.

        What is wrong with its columns is told here, before the file is noted for good.
        """
        try:
            if self.format == "parquet":
                with self._open(file) as source:
                    rows, cuts = parquet_files.inspect(source, self.fields)
                return Inspection(rows, cuts)
            self._check_size(file)
            if self.format == "csv" and self.options.header:
                with self._open_text(file) as source:
                    csv_files.inspect(source, self.fields, self.options)
            return Inspection(lines=self._lines(file) if self.options.max_rows else None)
        except (FileNotFoundError, _Changed):
            return None
        except Unfit as unfit:
            raise self._error(unfit, file) from None
        except (pa.ArrowException, OSError, ValueError) as error:
            if self.options.ignore_corrupt:
                return Inspection(0)
            raise self._corrupt(file, error) from error

    def read(self, file: FoundFile, start: int = 0, stop: int | None = None) -> Read:
        """The rows of a file, or those of a range of a Parquet file."""
        try:
            content = self._content(file, start, stop)
            kept = timely(content, self.definition, self.options.mode)
        except FileNotFoundError:
            if self.options.ignore_missing:
                return Read(self.schema.empty_table())
            raise SashError(
                "SASH-SOURCE-005",
                f"The file '{file.path}' of stream '{self.definition.name}' is gone; it was listed before.",
                remedy="Put it back, or set ignoreMissingFiles = 'true' to go on without it.",
            ) from None
        except _Changed:
            raise self._changed(file) from None
        except Unfit as unfit:
            raise self._error(unfit, file) from None
        except (pa.ArrowException, OSError, ValueError, EOFError) as error:
            if self.options.ignore_corrupt:
                return Read(self.schema.empty_table())
            raise self._corrupt(file, error) from error
        return Read(kept.table, kept.malformed)

    def _content(self, file: FoundFile, start: int, stop: int | None) -> Content:
        if self.format == "parquet":
            with self._open(file) as source:
                return parquet_files.read(source, self.fields, start, stop)
        self._check_size(file)
        if not file.size:
            return Content(self.schema.empty_table())
        with self._open_text(file) as source:
            data = source.read()
        if self.format == "csv":
            return csv_files.read(data, self.fields, self.definition.fields, self.options)
        return json_files.read(data, self.fields, self.options)

    def _open(self, file: FoundFile) -> pa.NativeFile:
        where, _ = file_system(self.options.path)
        source = where.open_input_file(file.path)
        if source.size() != file.size:
            source.close()
            raise _Changed
        return source

    def _open_text(self, file: FoundFile) -> pa.NativeFile:
        where, _ = file_system(self.options.path)
        return open_text(where, file.path)

    def _lines(self, file: FoundFile) -> int:
        lines = 0
        with self._open_text(file) as source:
            while data := source.read(_AT_ONCE):
                lines += data.count(b"\n") or data.count(b"\r")
        return lines

    def _check_size(self, file: FoundFile) -> None:
        where, _ = file_system(self.options.path)
        info = where.get_file_info(file.path)
        if not info.is_file:
            raise FileNotFoundError(file.path)
        if info.size != file.size:
            raise _Changed

    def _changed(self, file: FoundFile) -> SashError:
        return SashError(
            "SASH-SOURCE-006",
            f"The file '{file.path}' of stream '{self.definition.name}' has changed since it was listed "
            f"with {file.size} bytes.",
            remedy="Write files elsewhere and move them into the folder when they are whole; "
            "to go on, put the file back as it was.",
        )

    def _corrupt(self, file: FoundFile, error: BaseException) -> SashError:
        reason = (str(error) or type(error).__name__).partition("\n")[0].rstrip(".")
        return SashError(
            "SASH-SOURCE-007",
            f"The file '{file.path}' of stream '{self.definition.name}' cannot be read as {self.format}: "
            f"{reason}.",
            remedy="Mend it or move it out of the folder, or set ignoreCorruptFiles = 'true' to skip such.",
        )

    def _error(self, unfit: Unfit, file: FoundFile) -> SashError:
        where = f"The file '{file.path}' of stream '{self.definition.name}'"
        return SashError(unfit.code, f"{where} {unfit.what}", remedy=unfit.remedy)
