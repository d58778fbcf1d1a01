"""The pipeline of a job: reading, scoring and writing at the same time, and batches of a measured size."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.score.job import batch_size
from sardonyx._src.score.job.batch_size import RUN_SECONDS, UNPLANNED_FACTOR, measure_batch_rows
from sardonyx._src.score.job.pipeline import score_in_order, split
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.score.model.scorer import BatchScorer, ScoredBatch
from sardonyx._src.score.model.table_models import TableModel
from sardonyx._src.tables.sources import SourceBatch, UnreadableRow

MODEL = "g (float[N] a) => (float[N] y) { y = Neg(a) }"
SECONDS = 20.0  # after which something that does not happen at the same time is a failure
ROW_BYTES = 4 + 4  # of the column and the result


def scorer() -> BatchScorer:
    session = sx.Session(parse_model(MODEL), engine="reference")
    return BatchScorer(TableModel(session), pa.schema([("a", pa.float32())]), ScoreOptions())


def batch(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"a": np.arange(rows, dtype=np.float32)})


class WaitingScorer(BatchScorer):
    """Waits before the results of batch 0 until batch 2 is read, and before those of batch 3 until the results of batch 0 are written."""

    def __init__(self) -> None:
        plain = scorer()
        super().__init__(plain.model, pa.schema([("a", pa.float32())]), plain.options)
        self.is_read, self.is_written = threading.Event(), threading.Event()

    def score_part(self, part: SourceBatch) -> ScoredBatch:
        event = {0: self.is_read, 3: self.is_written}.get(part.first)
        assert event is None or event.wait(SECONDS), f"batch {part.first} waits for another stage"
        return super().score_part(part)


def test_reading_scoring_and_writing_go_on_at_the_same_time() -> None:
    waiting = WaitingScorer()

    def read() -> Iterator[SourceBatch]:
        for first in range(8):
            if first == 2:
                waiting.is_read.set()
            yield SourceBatch(first, batch(1))

    written = 0
    for _ in score_in_order(waiting, read(), 1, workers=1):
        waiting.is_written.set()
        written += 1
    assert written == 8


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_the_rows(workers: int) -> None:
    parts = [SourceBatch(first, batch(10)) for first in range(0, 100, 10)]
    scored = list(score_in_order(scorer(), iter(parts), 3, workers))
    values = [value for part in scored if part.batch is not None for value in part.batch["y"].to_pylist()]
    assert values == [-float(i) for i in range(10)] * 10
    assert max(part.rows for part in scored) == 3


def test_batches_with_unreadable_rows_stay_whole() -> None:
    whole = SourceBatch(4, batch(5), (UnreadableRow(2, "reason", "text"),))
    assert list(split(iter([whole]), 2)) == [whole]
    assert [part.rows for part in split(iter([replace(whole, unreadable=())]), 2)] == [2, 2, 1]


@pytest.mark.parametrize(("microseconds", "expected"), [(1, 4096), (10, 1024), (1000, 256)])
def test_a_batch_is_as_small_as_makes_a_run_long_enough(
    microseconds: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_size, "seconds_of", lambda scorer, part: part.num_rows * microseconds * 1e-6)
    rows = measure_batch_rows(scorer(), batch(1 << 16), 1 << 30, 6)
    assert rows * microseconds * 1e-6 >= RUN_SECONDS
    assert rows == expected
    assert measure_batch_rows(scorer(), batch(700), 1 << 30, 6) <= 700


@pytest.mark.parametrize("memory", [1, 50_000, 1_000_000])
def test_batches_take_at_most_the_memory_of_the_job(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_size, "seconds_of", lambda scorer, part: 0.0)
    batches = 6
    rows = measure_batch_rows(scorer(), batch(1 << 16), memory, batches)
    bytes_per_row = ROW_BYTES * UNPLANNED_FACTOR  # the reference engine does not plan its memory
    assert rows == max(memory // (batches * bytes_per_row), 1)
