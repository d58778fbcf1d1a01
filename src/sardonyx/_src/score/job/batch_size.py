"""The batch size of a job: as few rows as make runs long enough, within a bound on memory."""

from __future__ import annotations

import time

from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir.types import TensorType
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.score.model.scorer import BatchScorer
from sardonyx._src.score.tables.arrow import pa

RUN_SECONDS = 0.003  # of a run that is long beside the cost of starting it
# A run of fewer rows must be so long, lest a busy machine makes it appear long.
FEW_ROWS, LONG_SECONDS = 1 << 10, 0.1
REPEATS = 2
GROWTH = 4
UNPLANNED_FACTOR = 4  # times the bytes of columns, for the memory of models that is not planned


def measure_batch_rows(scorer: BatchScorer, sample: pa.RecordBatch, memory: int, batches: int) -> int:
    """The rows of a run, at most those of the sample and those of which `batches` batches take `memory` bytes.

    The size grows until a run takes `RUN_SECONDS`: longer runs are not faster, and their intermediate values leave the caches.
    Results do not depend on it.
    """
    rows = 1
    while True:
        part = sample.slice(0, rows)
        try:
            scored = scorer.score(part).batch  # prepares the program for this size, too
            seconds = min(seconds_of(scorer, part) for _ in range(REPEATS))
        except SardonyxError:  # raised again where the row is known
            return rows
        size = part.nbytes + (0 if scored is None else scored.nbytes)
        run = run_bytes(scorer.session, rows)
        needed = size * UNPLANNED_FACTOR if run is None else 2 * size + run
        limit = int(min(max(memory / batches / max(needed / rows, 1), 1), sample.num_rows or 1))
        if seconds >= (RUN_SECONDS if rows >= FEW_ROWS else LONG_SECONDS) or rows >= limit:
            return min(rows, limit)
        rows = min(rows * GROWTH, limit)


def seconds_of(scorer: BatchScorer, part: pa.RecordBatch) -> float:
    start = time.perf_counter()
    scorer.score(part)
    return time.perf_counter() - start


def run_bytes(session: Session, rows: int) -> int | None:
    """The bytes that a run takes besides inputs and outputs; None if the engine does not plan its memory.

    Open dims other than those of the rows are unknown, and count as one.
    """
    lengths: dict[str, int] = {}
    for value in session.inputs:
        for axis, dim in enumerate(value.type.shape or () if isinstance(value.type, TensorType) else ()):
            if not isinstance(dim, int):
                lengths.setdefault(f"{value.name}.{axis}" if dim is None else str(dim), 1 if axis else rows)
    try:
        report = session.plan(lengths)
    except SardonyxError:
        return None
    return report.arena + report.scratch
