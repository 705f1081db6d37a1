"""What the demos ask of two links, alarms and a table of hosts: six questions in-process, eight on Spark.

Each comes with what Spark's own engine says to it (UnsupportedOperationChecker of Spark 4.3), or does
with it where it does not refuse.
"""

from __future__ import annotations

__all__ = ["QUESTIONS", "SPARK_QUESTIONS", "Question"]

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A query, the streams it reads, what it asks in words, and what Spark says to it."""

    name: str
    asks: str
    refused: str
    streams: tuple[str, ...]
    text: str


_ONLY_LINK1 = Question(
    "only_link1",
    "hosts on link 1 but not on link 2",
    "anti join with a stream on the right",
    ("link1", "link2"),
    "SELECT DISTINCT a.src FROM link1 [RANGE 10 SECONDS] a "
    "WHERE NOT EXISTS (SELECT * FROM link2 [RANGE 10 SECONDS] b WHERE b.src = a.src)",
)
_TALKERS = Question(
    "talkers",
    "distinct hosts and servers now",
    "COUNT(DISTINCT) over a stream",
    ("link1",),
    "SELECT COUNT(DISTINCT src) AS hosts, COUNT(DISTINCT dst) AS servers FROM link1 [RANGE 2 SECONDS]",
)
_HEAVIEST = Question(
    "heaviest",
    "top 5 by bytes in 10 minutes, every second",
    "ORDER BY with LIMIT outside complete mode",
    ("link1",),
    "SELECT src, SUM(bytes) AS bytes FROM link1 [RANGE 10 MINUTES SLIDE 1 SECOND] "
    "GROUP BY src ORDER BY bytes DESC LIMIT 5",
)
_LAST_TEN = Question(
    "last_ten",
    "hosts whose last 10 packets were large",
    "windows by count",
    ("link1",),
    "SELECT src, AVG(bytes) AS average FROM link1 [PARTITION BY src ROWS 10] "
    "GROUP BY src HAVING AVG(bytes) > 1150",
)
_BOTH_LINKS = Question(
    "both_links",
    "pairs that talk on both links now",
    "INTERSECT of streams",
    ("link1", "link2"),
    "SELECT src, dst FROM link1 [RANGE 1 SECOND] INTERSECT SELECT src, dst FROM link2 [RANGE 1 SECOND]",
)
_ALARMED = Question(
    "alarmed",
    "alarms beside traffic of both links, if any",
    "outer join whose answer changes as rows expire",
    ("alarms", "link1", "link2"),
    "SELECT c.src, c.kind, COUNT(*) AS packets, COUNT(b.bytes) AS on_link2 "
    "FROM alarms [RANGE 10 SECONDS] c JOIN link1 [RANGE 1 SECOND] a ON a.src = c.src "
    "LEFT JOIN link2 [RANGE 1 SECOND] b ON b.src = a.src AND b.dst = a.dst GROUP BY c.src, c.kind",
)

QUESTIONS = (_ONLY_LINK1, _TALKERS, _HEAVIEST, _LAST_TEN, _BOTH_LINKS, _ALARMED)
"""Those of the demo in one process."""

_THREE_WAY = Question(
    "three_way",
    "alarms, and large packets of their host on both links",
    "3 windows joined: two joins in a row, their state twice, nothing taken back",
    ("alarms", "link1", "link2"),
    "SELECT c.src, c.kind, a.dst, COUNT(*) AS pairs "
    "FROM alarms [RANGE 10 SECONDS SLIDE 1 SECOND] c "
    "JOIN link1 [RANGE 1 SECOND SLIDE 1 SECOND] a ON a.src = c.src "
    "JOIN link2 [RANGE 1 SECOND SLIDE 1 SECOND] b ON b.src = a.src AND b.dst = a.dst "
    "WHERE a.bytes > 1000 AND b.bytes > 1000 GROUP BY c.src, c.kind, a.dst",
)
_OWNERS = Question(
    "owners",
    "distinct talkers of each owner in 10 seconds",
    "COUNT(DISTINCT) over a stream",
    ("link1",),
    "SELECT h.owner, COUNT(DISTINCT p.src) AS talkers FROM link1 [RANGE 10 SECONDS SLIDE 1 SECOND] p "
    "JOIN hosts h ON h.ip = p.src GROUP BY h.owner",
)
_TEN_MINUTES = Question(
    "ten_minutes",
    "each server's traffic in 10 minutes, every second",
    "not refused, but each row goes into 600 windows",
    ("link1",),
    "SELECT dst, COUNT(*) AS packets, SUM(bytes) AS bytes "
    "FROM link1 [RANGE 10 MINUTES SLIDE 1 SECOND] GROUP BY dst",
)
_UNSEEN = Question(
    "unseen",
    "alarms, with traffic of link 2 as long as there is some",
    "outer join whose answer changes as rows expire",
    ("alarms", "link2"),
    "SELECT c.src, c.kind, b.dst, b.bytes FROM alarms [RANGE 10 SECONDS] c "
    "LEFT JOIN link2 [RANGE 100 MILLISECONDS] b ON b.src = c.src",
)

SPARK_QUESTIONS = (
    _THREE_WAY, _ONLY_LINK1, _OWNERS, _HEAVIEST, _LAST_TEN, _TEN_MINUTES, _UNSEEN, _BOTH_LINKS
)  # fmt: skip
"""Those of the demo on Spark."""
