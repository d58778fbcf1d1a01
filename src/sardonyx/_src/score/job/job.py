"""Jobs of scoring: a model runs on the rows of a source, and its results go to a sink."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from sardonyx._src.score.job.batch_size import measure_batch_rows
from sardonyx._src.score.job.pipeline import READY_BATCHES, score_in_order
from sardonyx._src.score.job.summary import ScoreResult, ScoreStatus
from sardonyx._src.score.model.scorer import BatchScorer, ScoredBatch
from sardonyx._src.score.results.sinks import Sink, TableSink
from sardonyx._src.tables.sources import Source, SourceBatch

if TYPE_CHECKING:
    from sardonyx._src.score.job.ray_workers import RayWorkers

REPORT_SECONDS = 0.2  # time between calls of `report`
Report = Callable[[ScoreStatus], object]


@dataclass(frozen=True)
class JobSettings:
    """How a job runs; no setting changes results.

    batch_rows: the rows of a run; None to measure a good number.
    memory: the bytes that all batches may need at a time.
    workers: the number of workers.
    """

    batch_rows: int | None
    memory: int
    workers: int


class Job:
    """A source, a scorer and a sink.  cluster: the workers of Ray that score; None for threads of this process."""

    def __init__(
        self,
        scorer: BatchScorer,
        source: Source,
        sink: Sink,
        settings: JobSettings,
        cluster: RayWorkers | None = None,
    ) -> None:
        self.scorer, self.source, self.sink, self.settings = scorer, source, sink, settings
        self.cluster = cluster
        self.rows = self.rejected = self.resumed = 0

    def run(self, report: Report | None) -> ScoreResult:
        """Score all rows that the sink does not have yet."""
        start = time.perf_counter()
        try:
            progress = self.sink.start()
            self.rows, self.rejected = progress.rows, progress.rejected
            self.resumed = progress.rows
            batches = self.source.read(self.resumed, self.scorer.columns, self.settings.batch_rows)
            first = next(batches, None)
            batch_rows = self.choose_batch_rows(first)
            if first is not None:
                self.score(chain([first], batches), batch_rows, report, start)
            self.sink.finish(lambda: self.scorer.score_empty(self.source.schema))
        except BaseException:
            self.sink.discard()
            raise
        seconds = time.perf_counter() - start
        table = self.sink.table if isinstance(self.sink, TableSink) else None
        return ScoreResult(
            self.rows, self.rejected, self.resumed, seconds, batch_rows, self.settings.workers, table
        )

    def choose_batch_rows(self, first: SourceBatch | None) -> int:
        if self.settings.batch_rows is not None or first is None:
            return self.settings.batch_rows or 1
        held = 2 * self.settings.workers + READY_BATCHES
        return measure_batch_rows(self.scorer, first.batch, self.settings.memory, held)

    def score(
        self, batches: Iterator[SourceBatch], batch_rows: int, report: Report | None, start: float
    ) -> None:
        reported = start
        for scored in self.score_batches(batches, batch_rows):
            self.sink.write(scored)
            self.rows += scored.rows
            self.rejected += len(scored.rejects)
            if report is not None and time.perf_counter() - reported >= REPORT_SECONDS:
                reported = time.perf_counter()
                speed = (self.rows - self.resumed) / max(time.perf_counter() - start, 1e-9)
                report(ScoreStatus(self.rows, self.rejected, self.source.rows, speed))

    def score_batches(self, batches: Iterator[SourceBatch], batch_rows: int) -> Iterator[ScoredBatch]:
        """The results of batches, in their order; workers of a cluster read the rows themselves, not from `batches`."""
        if self.cluster is None:
            return score_in_order(self.scorer, batches, batch_rows, self.settings.workers)
        return self.cluster.score_rows(self.resumed, batch_rows)
