"""The status that a run of `fit` reports, and the result that it returns."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Model
from sardonyx._src.train.fit.progress import EpochRecord


@dataclass(frozen=True, slots=True)
class TrainingStatus:
    """The progress of a run, for its `report` function.

    epoch, epochs: the number of the epoch, from 1, and the number of all epochs.
    batch, batches: the number of batches of the epoch so far, and of all its batches.
    step: the number of steps of the run so far.
    metrics: means of the epoch so far.
    seconds_left: an estimate from the steps of this process; None before the first step.
    record: the result of the epoch if it has just ended, else None.
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

    model: the inference model with the weights of the best epoch; of the last epoch without validation data.
    checkpoint: the training model with the last state.
    history: the records of all epochs.
    best_epoch: the number of the best epoch, from 1; of the last epoch without validation data.
    stopped_early: whether `patience` ended the run.
    """

    model: Model
    checkpoint: Model
    history: list[EpochRecord]
    best_epoch: int
    stopped_early: bool
