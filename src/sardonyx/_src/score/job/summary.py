"""What a job of scoring reports while it runs, and when it is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ScoreStatus:
    """The progress of a job.

    rows: written or rejected so far, those of earlier processes included.  total: rows of the source, None if only reading tells.
    rows_per_second: of this process.
    """

    rows: int
    rejected: int
    total: int | None
    rows_per_second: float

    @property
    def seconds_left(self) -> float | None:
        """The time that the remaining rows take, if their number is known."""
        if self.total is None or not self.rows_per_second:
            return None
        return (self.total - self.rows) / self.rows_per_second


@dataclass(frozen=True)
class ScoreResult:
    """The summary of a complete job.

    rows: of the source.  rejected: those of them without results.  resumed_rows: those that earlier processes had scored.
    seconds: of this process.  batch_rows: the most rows of a run.  table: the results, if the job has no sink.
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
