"""The demo's world: traffic of two links with few loud hosts and many quiet ones, alarms, and who owns what.

A second of traffic is a pure function of the seed and the second's number, so a demo can be repeated.
"""

from __future__ import annotations

__all__ = ["HOSTS_TABLE", "SECOND", "START", "STREAMS", "end_of_second", "owners", "traffic"]

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
HOSTS_TABLE = "CREATE TABLE hosts (ip STRING, owner STRING, PRIMARY KEY (ip))"
OWNERS = ("sales", "research", "workshop", "office", "guests")


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


def owners() -> pa.Table:
    """Every host and whose it is.

    >>> owners().slice(0, 2).to_pylist()
    [{'ip': '10.0.0.1', 'owner': 'sales'}, {'ip': '10.0.0.2', 'owner': 'research'}]
    """
    hosts = np.arange(HOSTS)
    return pa.table({"ip": _address(hosts, 0), "owner": pa.array(OWNERS).take(pa.array(hosts % len(OWNERS)))})


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
