"""The batch size of a job: the fewest rows with which the cost of starting a run is small, within a bound on memory."""

from __future__ import annotations

import time

from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import TensorType
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.score.model.scorer import BatchScorer
from sardonyx._src.tables.arrow import pa

RUN_SECONDS = 0.003  # a run of this duration is long compared with the cost of starting it
# A run of fewer rows counts as long only from LONG_SECONDS on: a busy machine may make a short run appear long.
FEW_ROWS, LONG_SECONDS = 1 << 10, 0.1
REPEATS = 2
GROWTH = 4
UNPLANNED_FACTOR = (
    4  # the assumed memory of a run relative to its columns, if the engine does not plan its memory
)


def measure_batch_rows(scorer: BatchScorer, sample: pa.RecordBatch, memory: int, batches: int) -> int:
    """The rows of a run: at most the rows of the sample, and at most as many that `batches` batches need `memory` bytes.

    The number of rows grows until a run lasts `RUN_SECONDS`: longer runs are not faster, and their intermediate values do not
    fit into the caches.  Results do not depend on it.
    """
    rows = 1
    while True:
        part = sample.slice(0, rows)
        try:
            scored = scorer.score(
                part
            ).batch  # also prepares the program for this size, so that it is not measured
            seconds = min(seconds_of(scorer, part) for _ in range(REPEATS))
        except SardonyxError:  # the job raises it again, with the number of the row
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
    """The bytes that a run needs besides inputs and outputs; None if the engine does not plan its memory.

    Open dims other than the number of rows are unknown, and count as one.
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
