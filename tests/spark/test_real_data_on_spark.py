"""Real streams on Spark: the same changes as in-process at every instant, in `ts` and in arrival order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sash
from test_real_data import DATA, NETWORK, RETAIL, Case, Feed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="there is no ../shared/data beside the checkout"),
]

FILES = 8


def in_process(feeds: Sequence[Feed], cases: Sequence[Case]) -> dict[str, pa.Table]:
    """Every query's changes, time moved to the greatest timestamp at the end."""
    with sash.connect(max_pending_changes=10**9) as db:
        for feed in feeds:
            db.execute(feed.definition)
        queries = {case.name: db.query(case.query, name=case.name) for case in cases}
        for feed in feeds:
            db.push(feed.name, feed.rows)
        db.advance(max(pc.max(feed.rows["ts"]).as_py() for feed in feeds))
        return {name: query.changes() for name, query in queries.items()}


def on_spark(spark: Any, feeds: Sequence[Feed], cases: Sequence[Case], folder: Path) -> dict[str, pa.Table]:
    """The same through files, all queries in one Spark query."""
    with sash.connect(spark, buckets=4) as db:
        for feed in feeds:
            place = folder / feed.name
            place.mkdir(parents=True)
            for i in range(FILES):
                start, stop = (feed.rows.num_rows * j // FILES for j in (i, i + 1))
                pq.write_table(feed.rows.slice(start, stop - start), place / f"{i:02d}.parquet")
            options = f"WITH (format = 'parquet', path = '{place}', maxFilesPerTrigger = '1')"
            db.execute(f"{feed.definition.rstrip(';')} {options}")
        for case in cases:
            db.query(case.query, name=case.name)
        out = folder / "out"
        db.start(
            "parquet", path=str(out), checkpoint=str(folder / "checkpoint"), until_end=True
        ).awaitTermination()
        assert all(late == 0 for late in db.handles[0].metrics()["late"].values())
        names = {case.name: db.queries[case.name].schema.names for case in cases}
    rows = pq.read_table(out)
    several = len(cases) > 1
    found = {}
    for case in cases:
        own = rows.filter(pc.equal(rows.column("query"), case.name)) if several else rows
        found[case.name] = own.select([*names[case.name], "at", "change"])
    return found


def netted(table: pa.Table) -> pa.Table:
    """Changes added up per row and instant, in one order."""
    at = table.column("at").cast(pa.timestamp("us"))
    table = table.set_column(table.num_columns - 2, "at", at)
    keys = table.column_names[:-1]
    added = table.group_by(keys, use_threads=False).aggregate([("change", "sum")])
    kept = added.filter(pc.not_equal(added.column("change_sum"), 0))
    return kept.select([*keys, "change_sum"]).sort_by([(key, "ascending") for key in keys])


@pytest.mark.parametrize(
    ("cases", "order"),
    [(RETAIL, "ts"), *((NETWORK[i : i + 1], order) for i in (0, 1) for order in ("ts", "seq"))],
    ids=["retail", "not_exists-ts", "not_exists-seq", "join-ts", "join-seq"],
)
def test_equals_in_process_at_every_instant(
    spark: Any, tmp_path: Path, cases: Sequence[Case], order: str
) -> None:
    files = dict.fromkeys(file for case in cases for file in case.files)
    feeds = [Feed.read(file, order) for file in files]
    expected = in_process(feeds, cases)
    found = on_spark(spark, feeds, cases, tmp_path)
    for case in cases:
        mine, theirs = netted(found[case.name]), netted(expected[case.name])
        assert mine.num_rows == theirs.num_rows > 0
        for name in theirs.column_names:
            assert mine.column(name).cast(theirs.column(name).type).equals(theirs.column(name)), case.name
