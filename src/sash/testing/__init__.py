"""The test kit: fixtures and their many readings, comparers, a contract for operators, trouble on demand.

`read_fixture` and `replay` run the plays of `.cql` files; `assert_same_rows` marks the cell that
differs; `Contract` watches every operator of a circuit; `Clock` is moved by hand; `random_stream`
and `Troublemaker` make good and bad input.
"""

from __future__ import annotations

__all__ = [
    "AS_WRITTEN", "Clock", "Contract", "Fixture", "Reading", "Step", "Transcript", "Troublemaker",
    "assert_same_rows", "differences", "net", "parse_fixture", "random_stream", "read_fixture", "readings",
    "replay",
]  # fmt: skip

from .comparing import assert_same_rows, differences, net
from .contract import Contract
from .fixtures import Fixture, Step, parse_fixture, read_fixture
from .generators import Clock, random_stream
from .readings import AS_WRITTEN, Reading, readings
from .replaying import Transcript, replay
from .troublemaker import Troublemaker
