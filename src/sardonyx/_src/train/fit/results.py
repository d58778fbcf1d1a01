"""What a run of `fit` reports and returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sardonyx._src.ir.model import Model
from sardonyx._src.train.fit.progress import EpochRecord


@dataclass(frozen=True, slots=True)
class TrainingStatus:
    """Where a run is, for those who watch it.

    epoch: from 1.  batch: batches of the epoch so far.  metrics: means of the epoch so far.  seconds_left: an estimate from the
    steps of this process; None before the first.  record: of the epoch, when it ends.
    """

    epoch: int
    epochs: int
    batch: int
    batches: int
    step: int
    metrics: Mapping[str, float]
    examples_per_second: float
    seconds_left: float | None
    record: EpochRecord | None = None


@dataclass(frozen=True, slots=True)
class FitResult:
    """The result of a run.

    model: the inference model with the weights of the best epoch, or of the last one without validation data.  checkpoint:
    the training model with the last state.  best_epoch: from 1; the last epoch without validation data.
    stopped_early: whether `patience` ended the run.
    """

    model: Model
    checkpoint: Model
    history: list[EpochRecord]
    best_epoch: int
    stopped_early: bool
