"""The status that a job of scoring reports while it runs, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ScoreStatus:
    """The progress of a job.

    rows: the number of rows written or rejected so far, including those of earlier processes.
    rejected: the number of rejected rows among them.
    total: the number of rows of the source; None if it is not known before they are read.
    rows_per_second: the speed of this process.
    """

    rows: int
    rejected: int
    total: int | None
    rows_per_second: float

    @property
    def seconds_left(self) -> float | None:
        """The estimated time for the remaining rows; None if their number is not known."""
        if self.total is None or not self.rows_per_second:
            return None
        return (self.total - self.rows) / self.rows_per_second


@dataclass(frozen=True)
class ScoreResult:
    """The summary of a complete job.

    rows: the number of rows of the source.
    rejected: the number of rows without results.
    resumed_rows: the number of rows that earlier processes had scored.
    seconds: the duration of this process.
    batch_rows: the largest number of rows of a run.
    workers: the number of workers.
    table: the results, if the job has no sink, else None.
    """

    rows: int
    rejected: int
    resumed_rows: int
    seconds: float
    batch_rows: int
    workers: int
    table: pa.Table | None = None

    @property
    def rows_per_second(self) -> float:
        return (self.rows - self.resumed_rows) / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, object]:
        """The summary as numbers, without the table."""
        return {
            "rows": self.rows,
            "rejected": self.rejected,
            "resumed_rows": self.resumed_rows,
            "seconds": round(self.seconds, 3),
            "rows_per_second": round(self.rows_per_second),
            "batch_rows": self.batch_rows,
            "workers": self.workers,
        }
