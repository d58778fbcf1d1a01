"""The pipeline of a job: the next batches are read while workers score, and results are yielded in the order of the rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from sardonyx._src.score.model.scorer import BatchScorer, ScoredBatch
from sardonyx._src.tables.sources import SourceBatch

READY_BATCHES = 2  # batches in the pipeline, read or scored, besides one for each worker


def score_in_order(
    scorer: BatchScorer, batches: Iterator[SourceBatch], rows: int, workers: int
) -> Iterator[ScoredBatch]:
    """The results of batches, scored in parts of up to `rows` rows by `workers` threads."""
    with ThreadPoolExecutor(workers, "sardonyx-score") as pool:
        pending: deque[Future[ScoredBatch]] = deque()
        try:
            for part in split(batches, rows):
                pending.append(pool.submit(scorer.score_part, part))
                if len(pending) > workers + READY_BATCHES:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def split(batches: Iterator[SourceBatch], rows: int) -> Iterator[SourceBatch]:
    """Batches of up to `rows` rows; a batch with unreadable rows is not split."""
    for part in batches:
        if part.rows <= rows or part.unreadable:
            yield part
            continue
        for start in range(0, part.rows, rows):
            yield SourceBatch(part.first + start, part.batch.slice(start, rows))
