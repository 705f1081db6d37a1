"""Counters of a pipeline: what its buckets wrote down with their last batch, added up.

Every bucket's newest manifest carries its counters, so reading them needs neither Spark nor the
processes that keep the buckets, and works on the checkpoint of a query that has stopped.
"""

from __future__ import annotations

__all__ = ["read_metrics"]

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sash.spark.buckets.bucket_files import BucketFiles, Manifest


def read_metrics(checkpoint: str | os.PathLike[str], batch: int | None = None) -> dict[str, Any]:
    """Rows in, late and malformed by stream; changes out and frontier by query; state; faults.

    As of a batch that is retained, or the newest. `batch` is the last batch of which all buckets
    wrote; `durable_bytes` is what the manifests name.
    """
    folder = Path(checkpoint) / "sash" / "state"
    buckets = sorted(folder.iterdir()) if folder.is_dir() else []
    end = 2**62 if batch is None else batch + 1
    newest = [(bucket.name, BucketFiles(bucket).newest(end)) for bucket in buckets]
    return _added_up([(name, manifest) for name, manifest in newest if manifest is not None])


def _added_up(found: list[tuple[str, Manifest]]) -> dict[str, Any]:
    first = [manifest.measures for name, manifest in found if name.startswith("1-")]
    everyone = [manifest.measures for _, manifest in found]
    frontiers = [each["frontiers"] for each in everyone]
    return {
        "batch": min((manifest.batch for _, manifest in found), default=None),
        # Every bucket hears of every row and every malformed one, but only its own late ones.
        "rows": dict(first[0]["rows"]) if first else {},
        "malformed": dict(first[0]["malformed"]) if first else {},
        "late": _sum(each["late"] for each in first),
        "changes": _sum(each["changes"] for each in everyone),
        "frontiers": {name: min(f[name] for f in frontiers if name in f) for f in frontiers for name in f},
        "faults": _sum(each["faults"] for each in everyone),
        "state_rows": sum(each["state_rows"] for each in everyone),
        "state_bytes": sum(each["state_bytes"] for each in everyone),
        "waiting": sum(each["waiting"] for each in everyone),
        "durable_bytes": sum(manifest.nbytes for _, manifest in found),
    }


def _sum(counts: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        assert isinstance(each, Mapping)
        total.update(each)
    return dict(total)
