"""A run that may be killed at any moment: five queries over generated files, until the end of what is there.

`python recovery_child.py FOLDER MASTER SINKS` goes on from the checkpoint in FOLDER. SINKS is `spark` for
Spark's own file sink, `sash` for two sinks in one run: changes as Parquet, and a snapshot.
"""

from __future__ import annotations

import sys
from pathlib import Path

import sash
from sash.spark.sessions.sessions import make_session

STREAMS = """
CREATE STREAM l (ts BIGINT, k BIGINT, v BIGINT) TIME ts
  WITH (format = 'parquet', path = '{0}/l', maxFilesPerTrigger = '1');
CREATE STREAM r (ts BIGINT, k BIGINT, v BIGINT) TIME ts
  WITH (format = 'parquet', path = '{0}/r', maxFilesPerTrigger = '1');
"""

QUERIES = {
    "joined": "SELECT l.k, l.ts AS lts, r.ts AS rts, l.v AS lv, r.v AS rv "
    "FROM l [RANGE 200], r [RANGE 200] WHERE l.k = r.k",
    "summed": "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM l [RANGE 300 SLIDE 10] GROUP BY k",
    "missing": "SELECT k FROM l [RANGE 100] EXCEPT SELECT k FROM r [RANGE 100]",
    "newest": "SELECT k, v FROM r [PARTITION BY k ROWS 3]",
    "greatest": "SELECT k, SUM(v) AS total FROM r [RANGE 300 SLIDE 10] GROUP BY k "
    "ORDER BY total DESC LIMIT 10",
}

SNAPSHOT = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM l [RANGE 300] GROUP BY k"


def main(folder: Path, master: str, sinks: str) -> None:
    spark = make_session(master, app_name="recovery")
    with sash.connect(spark, buckets=3, partitions=2, retain=4) as db:
        db.execute(STREAMS.format(folder / "data"))
        if sinks == "spark":
            for name, text in QUERIES.items():
                db.query(text, name=name)
            handle = db.start(
                "parquet", path=str(folder / "changes"), checkpoint=str(folder / "checkpoint"), until_end=True
            )
        else:
            db.execute(f"CREATE SINK changes WITH (format = 'parquet', path = '{folder / 'changes'}')")
            db.execute(f"CREATE SINK latest WITH (format = 'snapshot', path = '{folder / 'latest'}')")
            for text in QUERIES.values():
                db.execute(f"INSERT INTO changes {text}")
            db.execute(f"INSERT INTO latest {SNAPSHOT}")
            handle = db.start(checkpoint=str(folder / "checkpoint"), until_end=True)
        handle.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
