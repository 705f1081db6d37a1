"""Tasks that bring packs for the next stage: one of them takes them all, whatever happens to the others."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Barrier, Thread

import pyarrow as pa
import pytest

import sash
from sash.errors import SashError
from sash.spark.buckets.keeper import Keeper, Task
from sash.spark.buckets.leg import Leg
from sash.spark.buckets.meeting import Meeting, meeting_of
from sash.spark.buckets.packing import PACK_SCHEMA, Packer, packed
from sash.spark.buckets.packs import Control, Pack
from sash.spark.pipelines.explaining import explain_pipeline
from sash.spark.pipelines.pipeline import Pipeline, StreamSpec, make_pipeline

QUERIES = {
    "sums": "SELECT k, SUM(v) AS total FROM s [RANGE 10] GROUP BY k",
    "first": "SELECT k, SUM(v) AS total FROM s [RANGE 10] GROUP BY k ORDER BY total DESC LIMIT 2",
}


def made(checkpoint: Path, names: Sequence[str] = ("sums", "first"), **sizes: object) -> Pipeline:
    (checkpoint / "sash" / "state").mkdir(parents=True, exist_ok=True)
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIME ts")
        plans = {name: db.query(QUERIES[name]).optimized for name in names}
        specs = [StreamSpec(definition) for definition in db.catalog.streams]
    sizes = {"buckets": 3, "partitions": 3, "one_node": True} | sizes
    return make_pipeline(specs, plans, "integer", str(checkpoint), **sizes)


def meetings(pipeline: Pipeline, batch: int, run: str = "run") -> list[Meeting]:
    return [meeting_of(pipeline, pipeline.stages[0], run, batch, i) for i in range(pipeline.partitions)]


def pack(bucket: int) -> pa.RecordBatch:
    return packed([Pack((bucket,))])


def taken(meeting: Meeting) -> list[bytes] | None:
    brought = meeting.take()
    return None if brought is None else [bytes(one) for one in brought[0]]


def test_legs_end_where_rows_are_shuffled(tmp_path: Path) -> None:
    def legs(**sizes: object) -> list[list[int]]:
        return [[stage.number for stage in leg] for leg in made(tmp_path, **sizes).legs]

    assert legs() == [[1, 2]]
    assert legs(one_node=False) == [[1], [2]]
    assert legs(one_node=False, buckets=4, partitions=1) == [[1, 2]]
    assert "stage 2: 1 bucket in the tasks of stage 1:" in explain_pipeline(made(tmp_path))
    assert "stage 2: 1 bucket in 1 partition:" in explain_pipeline(made(tmp_path, one_node=False))


def test_the_last_one_takes_all(tmp_path: Path) -> None:
    one, two, three = meetings(made(tmp_path), 0)
    for meeting, bucket in ((two, 1), (three, 2)):
        meeting.bring(bucket, pack(bucket))
        assert taken(meeting) is None
    one.bring(0, pack(0))
    expected = [pack(bucket).column(1)[0].as_py() for bucket in range(3)]
    assert taken(one) == expected
    assert taken(two) is None
    two.bring(1, pack(1))  # played again, as whoever took it may be
    assert taken(two) is None
    assert taken(one) == expected


def test_of_two_at_once_one_takes_all(tmp_path: Path) -> None:
    pipeline = made(tmp_path, buckets=2, partitions=2)
    for batch in range(50):
        together = Barrier(2)
        found = []

        def bring(meeting: Meeting, bucket: int, together: Barrier = together, found: list = found) -> None:
            together.wait()
            meeting.bring(bucket, pack(bucket))
            found.append(taken(meeting))

        each = zip(meetings(pipeline, batch), (0, 1), strict=True)
        tasks = [Thread(target=bring, args=own) for own in each]
        for task in tasks:
            task.start()
        for task in tasks:
            task.join()
        assert [one is None for one in found].count(False) == 1
    left = os.listdir(tmp_path / "sash" / "state" / "2-0")
    assert sorted(left) == ["49.run.came-0", "49.run.came-1", "49.run.from-0", "49.run.from-1"]


def test_a_frame_that_is_evaluated_twice_at_once_has_all_rows_twice(tmp_path: Path) -> None:
    """Where one evaluation overtakes the other, both have all packs from tasks of one partition."""
    pipeline = made(tmp_path, buckets=2, partitions=2)
    first, second = meetings(pipeline, 0), meetings(pipeline, 0)
    first[1].bring(1, pack(1))
    assert taken(first[1]) is None
    second[0].bring(0, pack(0))
    second[1].bring(1, pack(1))
    assert taken(second[1]) is None
    assert taken(second[0]) is not None
    first[0].bring(0, pack(0))
    assert taken(first[0]) is not None


def test_what_a_run_left_that_was_killed_is_not_taken(tmp_path: Path) -> None:
    pipeline = made(tmp_path, buckets=2, partitions=2)
    for meeting, bucket in zip(meetings(pipeline, 5), (0, 1), strict=True):
        meeting.bring(bucket, pack(7))
        taken(meeting)
    one, two = meetings(pipeline, 5, run="another")
    one.bring(0, pack(0))
    assert taken(one) is None
    two.bring(1, pack(1))
    assert taken(two) == [pack(bucket).column(1)[0].as_py() for bucket in (0, 1)]


def test_file_systems_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def has_no_links(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", has_no_links)
    one, two = meetings(made(tmp_path, buckets=2, partitions=2), 0)
    one.bring(0, pack(0))
    assert taken(one) is None
    two.bring(1, pack(1))
    assert taken(two) == [pack(bucket).column(1)[0].as_py() for bucket in (0, 1)]
    assert taken(one) is None


def test_who_dies_over_the_note_is_run_again_and_takes_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = made(tmp_path, buckets=2, partitions=2)
    one, two = meetings(pipeline, 0)
    one.bring(0, pack(0))
    assert taken(one) is None
    two.bring(1, pack(1))
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", dies)
        with pytest.raises(KeyboardInterrupt):
            two.take()
    assert taken(two) == [pack(bucket).column(1)[0].as_py() for bucket in (0, 1)]
    assert taken(one) is None


def dies(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_place_that_cannot_be_written_to_is_told_of(tmp_path: Path) -> None:
    pipeline = made(tmp_path)
    (tmp_path / "sash" / "state" / "2-0").write_text("in the way")
    with pytest.raises(SashError, match="could not be written") as caught:
        meetings(pipeline, 0)[0].bring(0, pack(0))
    assert caught.value.code == "SASH-SPARK-080"


class Node:
    """A node whose keeper answers; `run` is one start of the query."""

    def __init__(self, pipeline: Pipeline, run: str = "run") -> None:
        self.pipeline, self.run, self.keeper = pipeline, run, Keeper(pipeline)
        self.asked: list[tuple[int, int]] = []

    def ask(self, _: Pipeline, task: Task, packs: Sequence[pa.Buffer]) -> Iterator[pa.RecordBatch]:
        self.asked.append((task.stage, task.bucket))
        return iter(self.keeper.step(task, packs))

    def task(
        self, batch: int, partition: int, rows: pa.Table, number: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """What a task of the only leg gives for a batch of rows; `number` is Spark's for the task."""
        sent = Packer(self.pipeline).pack([("s", rows)], (0, 0), Control(end=True))
        every = zip(sent.column(0).to_pylist(), sent.column(1), strict=True)
        own = {b: [p.as_buffer()] for b, p in every if b % self.pipeline.partitions == partition}
        (leg,) = self.pipeline.legs
        number = partition if number is None else number
        return Leg(self.pipeline, leg, self.run, batch, number, ask=self.ask).given(own)

    def tasks(self, batch: int, partitions: Sequence[int]) -> list[pa.RecordBatch]:
        """What some tasks of a batch give, one after another."""
        return [given for each in partitions for given in self.task(batch, each, rows(batch))]


def rows(seed: int) -> pa.Table:
    times = [seed * 20 + i for i in range(12)]
    return pa.table({"ts": times, "k": [i % 5 for i in range(12)], "v": [seed + i for i in range(12)]})


def told(batches: list[pa.RecordBatch]) -> list[tuple[object, ...]]:
    whose = [(batch.schema.metadata[b"query"], batch.to_pylist()) for batch in batches]
    return sorted(((name, *row.values()) for name, own in whose for row in own), key=repr)


def test_tasks_in_any_order_give_the_same(tmp_path: Path) -> None:
    said = []
    for i, order in enumerate([(0, 1, 2), (2, 1, 0), (1, 0, 2)]):
        node = Node(made(tmp_path / str(i)))
        said.append([told(node.tasks(batch, order)) for batch in range(3)])
        assert node.asked.count((2, 0)) == 3
        assert not any(stage == 2 and bucket for stage, bucket in node.asked)
    alone = Node(made(tmp_path / "alone", partitions=1))
    said.append([told(alone.tasks(batch, [0])) for batch in range(3)])
    assert {row[0] for row in said[0][2]} == {b"sums", b"first"}
    assert said[1:] == said[:1] * 3


def test_a_task_that_is_run_again_gives_the_same_again(tmp_path: Path) -> None:
    node = Node(made(tmp_path))
    first = [told(node.tasks(0, [p])) for p in range(3)]
    assert [told(node.tasks(0, [p])) for p in range(3)] == first
    killed = Node(node.pipeline)  # the processes died that keep buckets; the run goes on
    assert [told(killed.tasks(0, [p])) for p in (2, 1, 0)] == first[::-1]
    again = Node(node.pipeline, "another run")
    assert told(again.tasks(0, (2, 1, 0))) == told(node.tasks(0, (0, 1, 2)))


def test_a_task_s_number_is_not_the_partition_s(tmp_path: Path) -> None:
    """Behind coalesce(1) one task has all partitions; behind a union they are numbered on."""
    plain = Node(made(tmp_path / "plain"))
    expected = [told(plain.tasks(batch, (0, 1, 2))) for batch in range(2)]
    for name, numbers in (("coalesced", (0, 0, 0)), ("united", (4, 5, 6))):
        node = Node(made(tmp_path / name))
        for batch in range(2):
            for _ in range(2):  # a frame that is evaluated twice gives the same twice
                each = enumerate(numbers)
                given = [one for p, number in each for one in node.task(batch, p, rows(batch), number)]
                assert told(given) == expected[batch]


def test_who_wants_one_row_only_leaves_no_stage_behind(tmp_path: Path) -> None:
    """As `limit` does: the task stops in the midst of its rows."""
    node = Node(made(tmp_path))
    for batch in range(3):
        for partition in range(3):
            next(node.task(batch, partition, rows(batch)), None)
    assert node.asked.count((2, 0)) == 3


def test_rows_of_an_earlier_leg_still_lie_in_files(tmp_path: Path) -> None:
    pipeline = made(tmp_path, one_node=False)
    keeper = Keeper(pipeline)
    sent = Packer(pipeline).pack([("s", rows(0))], (0, 0), Control(end=True))
    given = keeper.step(Task("run", 1, 0, 0), [sent.column(1)[0].as_buffer()])
    assert [batch.schema for batch in given] == [PACK_SCHEMA, PACK_SCHEMA]
    assert given[0].num_rows == 1  # the stage behind has one bucket
    assert (tmp_path / "sash" / "state" / "1-0" / "0.results").exists()
