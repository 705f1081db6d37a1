"""Mistakes put into the engine on purpose: does the suite catch each of them?

Each mistake is a small change of one file, made in a copy of the sources; the fast tests then run on
the copy and must fail. First they run on an unchanged copy and must pass.

    python scripts/seeded_mistakes.py [part of a name ...]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE = "src/sash/engine"
TESTS = (
    "tests/engine/test_rows.py",
    "tests/engine/test_chains.py",
    "tests/test_fixtures.py",
    "tests/test_random_queries.py",
)


@dataclass(frozen=True)
class Mistake:
    """What goes wrong, where, and by which change of the text (which must occur exactly once)."""

    name: str
    file: str
    right: str
    wrong: str

    def check(self) -> None:
        """Stop if the engine has moved on and the text to change is not there."""
        found = (ROOT / self.file).read_text(encoding="utf-8").count(self.right)
        if found != 1:
            raise SystemExit(f"'{self.name}' is out of date: its text occurs {found} times in {self.file}")

    def seed(self, root: Path) -> None:
        """Make the change in a copy of the sources."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(self.right, self.wrong), encoding="utf-8")
        if "/kernels/" in self.file:
            # Compiled kernels remember their own file only, not the kernels they call.
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)


MISTAKES = (
    Mistake(
        "an off-by-one at an expiry: RANGE holds rows one tick too long",
        f"{ENGINE}/operators/range_window.py",
        "    return begin + length\n\n\ndef _next_multiple",
        "    return begin + length + 1\n\n\ndef _next_multiple",
    ),
    Mistake(
        "a slide that rounds down instead of up",
        f"{ENGINE}/operators/range_window.py",
        "up = -(-instants // slide) * slide",
        "up = instants // slide * slide",
    ),
    Mistake(
        "a lost retraction: EXCEPT and INTERSECT forget to take a row back",
        f"{ENGINE}/kernels/presence.py",
        "                out_weights[written] = -before\n                written += 1",
        "                out_weights[written] = -before",
    ),
    Mistake(
        "a missed net: changes of one instant are not added up",
        f"{ENGINE}/differences.py",
        "        return deltas.netted() if self._nets else deltas",
        "        return deltas",
    ),
    Mistake(
        "a wrong tie: top-k takes the later of equal rows first",
        f"{ENGINE}/kernels/heaps.py",
        "            return bool((data[x] < data[y]) != (flip != 0))",
        "            return bool((data[x] < data[y]) == (flip != 0))",
    ),
    Mistake(
        "a count window that keeps one row too many",
        f"{ENGINE}/operators/rows_window.py",
        "        size = self.window.rows\n        assert size is not None",
        "        size = self.window.rows\n        assert size is not None\n        size += 1",
    ),
    Mistake(
        "a join that multiplies no weights: negative rows make positive results",
        f"{ENGINE}/operators/join.py",
        "                weights = weights * kept.weights(numbers)",
        "                weights = weights * np.abs(kept.weights(numbers))",
    ),
    Mistake(
        "a join that finds rows which begin together twice",
        f"{ENGINE}/operators/join.py",
        "begun = [0 if j < i else -1 for j in range(len(self._kept))]",
        "begun = [0 for j in range(len(self._kept))]",
    ),
    Mistake(
        "a join that ends twice what ends together",
        f"{ENGINE}/operators/join.py",
        "ended = [0 if j < i else 1 for j in range(len(self._kept))]",
        "ended = [0 for j in range(len(self._kept))]",
    ),
    Mistake(
        "a chain that is left before its last row",
        f"{ENGINE}/kernels/chains.py",
        "            left += further >= firsts[ask]",
        "            left += further > firsts[ask]",
    ),
    Mistake(
        "rows of different keys that are taken for one another when what is dead is thrown away",
        f"{ENGINE}/state/keyed_rows.py",
        "net([*rows.columns, *words]",
        "net([*rows.columns]",
    ),
    Mistake(
        "a text that goes on at the wrong place where the ring begins anew",
        f"{ENGINE}/kernels/texts.py",
        "out[k] = ring[k - before_the_turn]",
        "out[k] = ring[k - before_the_turn + 1]",
    ),
    Mistake(
        "a NULL that equals a NULL in a join",
        f"{ENGINE}/operators/join.py",
        "        return changes if nulls is None else changes.filter(~nulls)",
        "        return changes",
    ),
    Mistake(
        "an anti-join that does not let rows come back when their partner ends",
        f"{ENGINE}/kernels/presence.py",
        "                if untils[place] > at:\n                    newer = row",
        "                if untils[place] > at and not (anti and now == 0):\n                    newer = row",
    ),
    Mistake(
        "a group that stays when its last row has gone",
        f"{ENGINE}/kernels/aggregating.py",
        "1 if ints[i, 0] > 0 or lasting else 0",
        "1 if ints[i, 0] >= 0 or lasting else 0",
    ),
    Mistake(
        "a group whose old row is taken back with its new values",
        f"{ENGINE}/kernels/aggregating.py",
        "out_begin[written] = earlier, groups[i], now",
        "out_begin[written] = i, groups[i], now",
    ),
    Mistake(
        "a delta-star that forgets the row which outlives the one in the answer",
        f"{ENGINE}/kernels/distinct.py",
        "        elif until > longest[slot]:\n            longest[slot] = until\n",
        "        elif until > longest[slot]:\n            longest[slot] = longest[slot]\n",
    ),
    Mistake(
        "a table seen one tick too late by the rows of that instant",
        f"{ENGINE}/operators/table_join.py",
        "        at = self._timestamps(rows)[asking]",
        "        at = self._timestamps(rows)[asking] - 1",
    ),
    Mistake(
        "ISTREAM-RESTORE that reports at the slide before",
        f"{ENGINE}/operators/to_stream.py",
        "told = -(-stream.begin // self.slide) * self.slide",
        "told = stream.begin // self.slide * self.slide",
    ),
    Mistake(
        "DSTREAM that streams what came",
        f"{ENGINE}/operators/to_stream.py",
        "gone = deltas.take(np.flatnonzero(deltas.change < 0))",
        "gone = deltas.take(np.flatnonzero(deltas.change > 0))",
    ),
    Mistake(
        "a MIN that forgets the row which counts after its least has ended",
        f"{ENGINE}/kernels/deques.py",
        "if rows[line, WORD] < word:",
        "if rows[line, WORD] > word:",
    ),
    Mistake(
        "a row read from the wrong place where the ring begins anew",
        f"{ENGINE}/kernels/gathering.py",
        "            place -= size\n        out[i] = ring[np.uint64(place)]",
        "            place -= size - 1\n        out[i] = ring[np.uint64(place)]",
    ),
    Mistake(
        "ends that come out of their packing a tick late",
        f"{ENGINE}/state/packed.py",
        "np.add(self._values, self._least, out=out",
        "np.add(self._values, self._least + 1, out=out",
    ),
)


def passes(source: Path, tests: Sequence[str]) -> bool:
    """Whether the tests pass on a copy of the sources."""
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ("-x", "-q", "-n", "2", "-p", "no:cacheprovider", "-k", "not compiler_off")
    command = [sys.executable, "-m", "pytest", *options, *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0 and not re.search(r"\d+ (failed|error)", done.stdout):
        raise SystemExit(f"the tests could not run:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.returncode == 0


def main(wanted: Sequence[str]) -> int:
    """Seed one mistake after another; 0 if each was caught."""
    chosen = [each for each in MISTAKES if not wanted or any(word in each.name for word in wanted)]
    for mistake in chosen:
        mistake.check()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "right"
        shutil.copytree(ROOT / "src", copy / "src")
        if not passes(copy, TESTS):
            print("The tests fail without any mistake seeded; mend that first.")
            return 2
        for number, mistake in enumerate(chosen, 1):
            started = time.monotonic()
            seeded = Path(folder) / str(number)
            shutil.copytree(copy / "src", seeded / "src")
            mistake.seed(seeded)
            caught = not passes(seeded, TESTS)
            shutil.rmtree(seeded)
            word = "caught" if caught else "MISSED"
            print(f"{number:>3}  {word}  {mistake.name} ({time.monotonic() - started:.0f} s)", flush=True)
            if not caught:
                missed.append(mistake)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} seeded mistakes were caught.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
