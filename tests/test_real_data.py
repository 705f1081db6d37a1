"""Real streams, judged by DuckDB: the answer at 200 instants of change equals the query over the window then.

The data lies beside the checkout (`../shared/data`); where it does not, these tests are left out.
Answers are put together from the changes alone, and asked for directly along the way.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sash

duckdb = pytest.importorskip("duckdb")

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
INSTANTS = 200
SEED = 20111209

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="there is no ../shared/data beside the checkout"),
]

DAY = 86_400_000_000
SECOND = 1_000_000


@dataclass(frozen=True)
class Case:
    """A query, and the same question for DuckDB at the instant $at."""

    name: str
    query: str
    judge: str
    files: tuple[str, ...]
    longest: int
    """The longest lifetime of a row, in microseconds."""


RETAIL = (
    Case(
        "distinct_1_day",
        "SELECT DISTINCT stock_code FROM online_retail [RANGE 1 DAY]",
        "SELECT DISTINCT stock_code FROM online_retail WHERE ts <= $at AND ts > $at - INTERVAL 1 DAY",
        ("online_retail",),
        DAY,
    ),
    Case(
        "sum_1_day",
        "SELECT stock_code, SUM(quantity) AS total FROM online_retail [RANGE 1 DAY] GROUP BY stock_code",
        """SELECT stock_code, SUM(quantity)::BIGINT FROM online_retail
           WHERE ts <= $at AND ts > $at - INTERVAL 1 DAY GROUP BY stock_code""",
        ("online_retail",),
        DAY,
    ),
    Case(
        "sum_7_days_slide_1_day",
        """SELECT stock_code, SUM(quantity) AS total FROM online_retail [RANGE 7 DAYS SLIDE 1 DAY]
           GROUP BY stock_code""",
        """SELECT stock_code, SUM(quantity)::BIGINT FROM online_retail
           WHERE ts <= date_trunc('day', $at::TIMESTAMP)
             AND ts > date_trunc('day', $at::TIMESTAMP) - INTERVAL 7 DAYS GROUP BY stock_code""",
        ("online_retail",),
        8 * DAY,
    ),
    Case(
        "top_10_1_day",
        """SELECT stock_code, SUM(quantity) AS total FROM online_retail [RANGE 1 DAY]
           GROUP BY stock_code ORDER BY total DESC LIMIT 10""",
        """SELECT stock_code, SUM(quantity)::BIGINT AS total FROM online_retail
           WHERE ts <= $at AND ts > $at - INTERVAL 1 DAY
           GROUP BY stock_code ORDER BY total DESC, stock_code LIMIT 10""",
        ("online_retail",),
        DAY,
    ),
)
NETWORK = (
    Case(
        "ssl_without_dns",
        """SELECT s.uid, s.src FROM ssl [RANGE 2 SECONDS] s
           WHERE NOT EXISTS (SELECT * FROM dns [RANGE 10 SECONDS] d WHERE d.src = s.src)""",
        """SELECT s.uid, s.src FROM ssl s
           WHERE s.ts <= $at AND s.ts > $at - INTERVAL 2 SECONDS
             AND NOT EXISTS (SELECT * FROM dns d WHERE d.src = s.src
                             AND d.ts <= $at AND d.ts > $at - INTERVAL 10 SECONDS)""",
        ("wrccdc_ssl", "wrccdc_dns"),
        10 * SECOND,
    ),
    Case(
        "ssl_join_dns",
        """SELECT s.uid AS ssl_uid, d.uid AS dns_uid, d.query, s.src
           FROM ssl [RANGE 2 SECONDS] s, dns [RANGE 2 SECONDS] d WHERE s.src = d.src""",
        """SELECT s.uid, d.uid, d.query, s.src FROM ssl s, dns d
           WHERE s.src = d.src AND s.ts <= $at AND s.ts > $at - INTERVAL 2 SECONDS
             AND d.ts <= $at AND d.ts > $at - INTERVAL 2 SECONDS""",
        ("wrccdc_ssl", "wrccdc_dns"),
        2 * SECOND,
    ),
)
KEPT = {
    "online_retail": ["ts", "stock_code", "quantity"],
    "wrccdc_ssl": ["ts", "uid", "src", "seq"],
    "wrccdc_dns": ["ts", "uid", "src", "query", "seq"],
}
SQL_TYPES = {"timestamp[us]": "TIMESTAMP", "string": "STRING", "int32": "INT"}

Rows = Counter[tuple[object, ...]]


@dataclass(frozen=True)
class Feed:
    """One file as a stream: its rows in arrival order, and how late the latest of them is."""

    name: str
    rows: pa.Table
    lateness: int

    @staticmethod
    def read(file: str, order: str) -> Feed:
        """The columns that the queries use, sorted by `ts` or `seq`."""
        table = pq.read_table(DATA / f"{file}.parquet", columns=KEPT[file])
        if order == "seq":
            table = table.sort_by("seq")
        ts = instants(table["ts"])
        return Feed(file.removeprefix("wrccdc_"), table, int((np.maximum.accumulate(ts) - ts).max()))

    @property
    def definition(self) -> str:
        """CREATE STREAM with the least LATENESS that covers every row."""
        columns = ", ".join(f"{field.name} {SQL_TYPES[str(field.type)]}" for field in self.rows.schema)
        late = f" LATENESS {self.lateness} MICROSECONDS" if self.lateness else ""
        return f"CREATE STREAM {self.name} ({columns}) TIME ts{late}"


def instants(column: pa.ChunkedArray) -> np.ndarray:
    """Microseconds since 1970."""
    return column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()


def rows_of(table: pa.Table) -> Rows:
    """A table as a bag of rows."""
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


class Judge:
    """DuckDB over the whole data, asked about one instant at a time."""

    def __init__(self, feeds: list[Feed], question: str) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.question = question
        for feed in feeds:
            self.connection.register("arrow_rows", feed.rows)
            self.connection.execute(f"CREATE TABLE {feed.name} AS SELECT * FROM arrow_rows ORDER BY ts")

    def answer(self, at: int) -> Rows:
        """The relational answer over what the windows hold at an instant."""
        moment = np.datetime64(at, "us").item()
        return Counter(self.connection.execute(self.question, {"at": moment}).fetchall())


def replayed(changes: pa.Table, at: list[int]) -> Iterator[tuple[int, Rows]]:
    """The running bag of all changes up to each of some ascending instants."""
    changes = changes.sort_by("at")
    when = instants(changes["at"])
    names = changes.column_names[:-2]
    bag = changes.slice(0, 0).drop_columns(["at"])
    start = 0
    for instant in at:
        stop = int(np.searchsorted(when, instant, side="right"))
        fresh = changes.slice(start, stop - start).drop_columns(["at"])
        summed = pa.concat_tables([bag, fresh]).group_by(names).aggregate([("change", "sum")])
        summed = summed.select([*names, "change_sum"]).rename_columns([*names, "change"])
        bag = summed.filter(pc.not_equal(summed["change"], 0))
        start = stop
        columns = [column.to_pylist() for column in bag.columns]
        yield instant, Counter({row[:-1]: row[-1] for row in zip(*columns, strict=True)})


def check(case: Case, order: str, push_rows: int) -> None:
    """Stream the files through the query and compare with the judge at 200 instants of change."""
    feeds = [Feed.read(file, order) for file in case.files]
    judge = Judge(feeds, case.judge)
    db = sash.connect()
    for feed in feeds:
        db.execute(feed.definition)
    query = db.query(case.query, name=case.name)
    changes = [query.changes()]
    seen = {feed.name: -(2**62) for feed in feeds}
    longest = max(feed.rows.num_rows for feed in feeds)
    asked = 0
    for number, start in enumerate(range(0, longest, push_rows)):
        for feed in feeds:
            rows = feed.rows.slice(start, push_rows)
            if rows.num_rows == 0:
                continue
            db.push(feed.name, rows)
            changes.append(query.changes())
            newest = int(instants(rows["ts"]).max()) - feed.lateness - 1
            seen[feed.name] = max(seen[feed.name], newest)
        if number % 5 == 4:
            frontier = min(seen.values())
            assert rows_of(query.answer(at=frontier)) == judge.answer(frontier), f"answer at {frontier}"
            asked += 1
    end = max(int(instants(feed.rows["ts"]).max()) for feed in feeds) + case.longest
    db.advance(end)
    changes.append(query.changes())
    assert all(len(db.late(feed.name)) == 0 for feed in feeds)
    assert query.answer().num_rows == 0, "every row has left its window"
    db.close()
    assert asked >= 2
    together = pa.concat_tables(changes)
    once = together.group_by(together.column_names[:-1]).aggregate([]).num_rows
    assert once == together.num_rows, "changes are net: a row stands once per instant"
    moments = np.unique(instants(together["at"])).tolist()
    drawn = sorted(random.Random(SEED).sample(moments, INSTANTS))
    filled = 0
    for at, rows in replayed(together, drawn):
        assert rows == judge.answer(at), f"{case.name} at {np.datetime64(at, 'us')}"
        filled += bool(rows)
    assert filled > len(drawn) / 2, "most answers are not empty"


@pytest.mark.parametrize("case", RETAIL, ids=lambda case: case.name)
def test_retail_equals_duckdb(case: Case) -> None:
    check(case, "ts", push_rows=20_000)


@pytest.mark.parametrize("order", ["ts", "seq"])
@pytest.mark.parametrize("case", NETWORK, ids=lambda case: case.name)
def test_network_equals_duckdb(case: Case, order: str) -> None:
    check(case, order, push_rows=2_500)
