"""The demo's world: traffic of two links with few loud hosts and many quiet ones, and six questions.

A second of traffic is a pure function of the seed and the second's number, so a demo can be repeated.
"""

from __future__ import annotations

__all__ = ["QUESTIONS", "SECOND", "STREAMS", "Question", "end_of_second", "traffic"]

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
HOSTS = 500
SERVERS = 60
ROWS_PER_LINK = 2_000
ALARMS = 3

STREAMS = {
    "link1": "CREATE STREAM link1 (ts TIMESTAMP, src STRING, dst STRING, bytes BIGINT) TIME ts",
    "link2": "CREATE STREAM link2 (ts TIMESTAMP, src STRING, dst STRING, bytes BIGINT) TIME ts",
    "alarms": "CREATE STREAM alarms (ts TIMESTAMP, src STRING, kind STRING) TIME ts",
}


@dataclass(frozen=True)
class Question:
    """A query, the streams it reads, what it asks in words, and why Spark will not answer it."""

    name: str
    asks: str
    refused: str
    streams: tuple[str, ...]
    text: str


QUESTIONS = (
    Question(
        "only_link1",
        "hosts on link 1 but not on link 2",
        "anti join with a stream on the right",
        ("link1", "link2"),
        "SELECT DISTINCT a.src FROM link1 [RANGE 10 SECONDS] a "
        "WHERE NOT EXISTS (SELECT * FROM link2 [RANGE 10 SECONDS] b WHERE b.src = a.src)",
    ),
    Question(
        "talkers",
        "distinct hosts and servers now",
        "COUNT(DISTINCT) over a stream",
        ("link1",),
        "SELECT COUNT(DISTINCT src) AS hosts, COUNT(DISTINCT dst) AS servers FROM link1 [RANGE 2 SECONDS]",
    ),
    Question(
        "heaviest",
        "top 5 by bytes in 10 minutes, every second",
        "ORDER BY with LIMIT outside complete mode",
        ("link1",),
        "SELECT src, SUM(bytes) AS bytes FROM link1 [RANGE 10 MINUTES SLIDE 1 SECOND] "
        "GROUP BY src ORDER BY bytes DESC LIMIT 5",
    ),
    Question(
        "last_ten",
        "hosts whose last 10 packets were large",
        "windows by count",
        ("link1",),
        "SELECT src, AVG(bytes) AS average FROM link1 [PARTITION BY src ROWS 10] "
        "GROUP BY src HAVING AVG(bytes) > 1150",
    ),
    Question(
        "both_links",
        "pairs that talk on both links now",
        "INTERSECT of streams",
        ("link1", "link2"),
        "SELECT src, dst FROM link1 [RANGE 1 SECOND] INTERSECT SELECT src, dst FROM link2 [RANGE 1 SECOND]",
    ),
    Question(
        "alarmed",
        "alarms beside traffic of both links, if any",
        "outer join whose answer changes as rows expire",
        ("alarms", "link1", "link2"),
        "SELECT c.src, c.kind, COUNT(*) AS packets, COUNT(b.bytes) AS on_link2 "
        "FROM alarms [RANGE 10 SECONDS] c JOIN link1 [RANGE 1 SECOND] a ON a.src = c.src "
        "LEFT JOIN link2 [RANGE 1 SECOND] b ON b.src = a.src AND b.dst = a.dst GROUP BY c.src, c.kind",
    ),
)


def end_of_second(number: int) -> int:
    """The last instant of the `number`th second of the demo."""
    return START + (number + 1) * SECOND - 1


def traffic(seed: int, number: int) -> dict[str, pa.Table]:
    """One second of rows for each stream, in time order.

    >>> second = traffic(seed=1, number=0)
    >>> sorted(second), second["link1"].num_rows, second["link1"].equals(traffic(1, 0)["link1"])
    (['alarms', 'link1', 'link2'], 2000, True)
    """
    random = np.random.default_rng((seed, number))
    link1 = _packets(random, number)
    link2 = _packets(random, number)
    # Each host keeps away from link 2 for some seconds, then comes back.
    away = (link2["host"] * 7 + number // 12) % 9 == 0
    link2 = {name: column[~away] for name, column in link2.items()}
    alarms = pa.table(
        {
            "ts": _instants(random, number, ALARMS),
            "src": _address(_skewed(random, HOSTS, ALARMS), 0),
            "kind": pa.array(["scan", "beacon", "login"]).take(pa.array(random.integers(0, 3, ALARMS))),
        }
    )
    return {"link1": _table(link1), "link2": _table(link2), "alarms": alarms}


def _packets(random: np.random.Generator, number: int) -> dict[str, np.ndarray]:
    host = _skewed(random, HOSTS, ROWS_PER_LINK)
    typical = np.where((host + number // 20) % 5 == 0, 1200, 300)
    size = np.minimum(1500, 40 + random.exponential(typical))
    return {
        "ts": START + number * SECOND + np.sort(random.integers(0, SECOND, ROWS_PER_LINK)),
        "host": host,
        "server": _skewed(random, SERVERS, ROWS_PER_LINK),
        "bytes": size.astype(np.int64),
    }


def _table(packets: dict[str, np.ndarray]) -> pa.Table:
    return pa.table(
        {
            "ts": pa.array(packets["ts"], pa.timestamp("us")),
            "src": _address(packets["host"], 0),
            "dst": _address(packets["server"], 9),
            "bytes": pa.array(packets["bytes"]),
        }
    )


def _instants(random: np.random.Generator, number: int, rows: int) -> pa.Array:
    return pa.array(START + number * SECOND + np.sort(random.integers(0, SECOND, rows)), pa.timestamp("us"))


def _skewed(random: np.random.Generator, values: int, rows: int) -> np.ndarray:
    """Numbers below `values`, the small ones far more often (Zipf's law)."""
    weights = 1 / np.arange(1, values + 1) ** 1.1
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], random.random(rows))


def _address(numbers: np.ndarray, network: int) -> pa.Array:
    names = pa.array([f"10.{network}.{n // 250}.{n % 250 + 1}" for n in range(max(HOSTS, SERVERS))])
    return names.take(pa.array(numbers))
