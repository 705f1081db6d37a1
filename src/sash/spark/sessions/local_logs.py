"""Spark's logs on a local disk, without a process for each file.

Spark notes in small files what a batch takes and that it is done. Hadoop, where its native library is
missing, runs a `chmod` for each of them and for its checksum: four processes a batch, 12 to
15 ms. The class below sets permissions by Java's own call and is Spark's in all
else. Spark brings the compiler, and the class is put beside the one it extends, so that every thread of
the session's Java machine finds it.
"""

from __future__ import annotations

__all__ = ["STOCK", "suit_checkpoint"]

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = "org.apache.spark.sql.execution.streaming.checkpointing"
STOCK = f"{_PACKAGE}.FileSystemBasedCheckpointFileManager"
"""Spark's class for checkpoints on a plain file system."""
_OWN = f"{_PACKAGE}.SashCheckpointFileManager"
_SETTING = "spark.sql.streaming.checkpointFileManagerClass"

_SOURCE = f"""
package {_PACKAGE};

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class SashCheckpointFileManager extends FileSystemBasedCheckpointFileManager {{
  private final FileSystem files;

  public SashCheckpointFileManager(Path path, Configuration settings) throws IOException {{
    super(path, settings);
    files = new LocalFileSystem(new Raw());
    files.initialize(java.net.URI.create("file:///"), settings);
  }}

  public FileSystem fs() {{
    return files;
  }}

  public static class Raw extends RawLocalFileSystem {{
    public void setPermission(Path path, FsPermission permission) throws IOException {{
      Files.setPosixFilePermissions(
          pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
    }}
  }}
}}
"""


def suit_checkpoint(spark: SparkSession, path: str) -> None:
    """Let the next query write its logs in the way that suits the place of its checkpoint.

    Where that is a local disk, plain files spare processes; elsewhere Spark's own choice stands.
    """
    if urlsplit(path).scheme not in ("", "file"):
        spark.conf.unset(_SETTING)
        return
    # Executors in machines of their own would not find the class.
    one_machine = os.name == "posix" and spark.sparkContext.master.startswith("local")
    spark.conf.set(_SETTING, _manager(spark.sparkContext._gateway) if one_machine else STOCK)


@lru_cache(maxsize=1)
def _manager(gateway: Any) -> str:
    """The class to use, ours if it can be had: without it everything works, only slower.

    It is made once for a Java machine, whose gateway lives as long.
    """
    from py4j.protocol import Py4JError

    java = gateway.jvm
    try:
        stock = java.java.lang.Class.forName(STOCK)
        compiler = java.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(stock.getClassLoader())
        compiler.cook(_SOURCE)
        handles = java.java.lang.invoke.MethodHandles
        beside = handles.privateLookupIn(stock, handles.lookup())
        codes = compiler.getBytecodes()
        for name in (f"{_OWN}$Raw", _OWN):
            beside.defineClass(codes[name])
    except (Py4JError, TypeError):  # of another Spark than this was written for
        return STOCK
    return _OWN
