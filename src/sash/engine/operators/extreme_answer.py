"""MIN or MAX by group as an answer, where rows end in the order in which they come.

Between operators, or beside other aggregates, groups have lanes and states (aggregate.py). Alone and as an
answer, what a group's deque shows is all there is to say: a group is there while it has rows, and its row
changes when its least value does.
"""

from __future__ import annotations

__all__ = ["ExtremeAnswer"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.expressions import Faults, evaluate
from sash.engine.kernels.deques import write_moves
from sash.engine.operator import Operator, Saved
from sash.engine.state import upkeep
from sash.engine.state.deques import Deques
from sash.engine.state.stable_keys import StableKeys
from sash.language.expressions import Expression
from sash.lifetimes import FOREVER, Changes, Instant, repeated


@dataclass(eq=False)
class ExtremeAnswer(Operator):
    """The least (or `largest`) `argument` by `groups`; needs an input that ends in the order it comes."""

    groups: tuple[Expression, ...]
    argument: Expression
    largest: bool
    faults: Faults
    _keys: StableKeys = field(init=False)
    _deques: Deques = field(init=False)
    _look_at: int = field(init=False, default_factory=lambda: upkeep.FEW)

    def __post_init__(self) -> None:
        self._keys = StableKeys([group.type for group in self.groups])
        self._deques = Deques(self.argument.type, self.largest)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        changes, n = inputs[0], len(inputs[0])
        columns = [evaluate(group, changes.columns, n, self.faults) for group in self.groups]
        numbers = self._keys.numbers_of(columns, n)
        values = changes.with_columns([evaluate(self.argument, changes.columns, n, self.faults)])
        moves = self._deques.step(values, numbers, self._keys.size, frontier)
        most = 2 * len(moves)
        out = [np.empty(most, np.int64) for _ in range(4)]
        nulls = np.empty(most, np.uint8)
        written = write_moves(moves.at, moves.groups, moves.lines, *out, nulls)
        at, groups, weights, words = (part[:written] for part in out)
        shown = self._deques.values(words, nulls[:written].view(np.bool_))
        rows = *self._keys.columns(groups), shown
        self._forget()
        return Changes(rows, at, repeated(FOREVER, written), weights)

    def _forget(self) -> None:
        """Drop groups without rows once at least half are, looking each time their number has doubled."""
        if len(self._keys) < self._look_at:
            return
        known = self._keys.known()
        alive = np.zeros(self._keys.size, np.bool_)
        alive[known] = self._deques.showing(known)
        left = int(alive.sum())
        self._look_at = max(upkeep.FEW, 2 * left)
        if 2 * left <= len(known):
            self._keys.keep(alive)

    @property
    def ends(self) -> tuple[Deques, ...]:
        return (self._deques,)

    @property
    def ends_itself(self) -> bool:
        return True

    def contents(self, frontier: Instant) -> Changes:
        known = self._keys.known()
        living = known[self._deques.showing(known)]
        columns = *self._keys.columns(living), self._deques.shown(living)
        begin, until = np.full(len(living), frontier), np.full(len(living), FOREVER)
        return Changes(columns, begin, until, np.ones(len(living), np.int64))

    @property
    def rows(self) -> int:
        return len(self._keys) + len(self._deques)

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._deques.nbytes

    def save(self) -> dict[str, pa.Table]:
        names = [*map(str, range(len(self.groups))), "number"]
        keys = pa.table([*self._keys.all_columns(), pa.array(self._keys.known())], names=names)
        size = pa.table({"size": [self._keys.size]})
        return {"keys": keys, "size": size, "rows": self._deques.save()}

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        *keys, numbers = (column.combine_chunks() for column in saved["keys"].columns)
        size = saved["size"].column("size")[0].as_py()
        if len(numbers):
            self._keys.restore(keys, numbers.to_numpy(), size)
        self._deques.load(saved["rows"], size)
