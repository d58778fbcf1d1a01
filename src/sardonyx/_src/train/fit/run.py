"""A run of `fit`: epochs of training steps, their evaluation, and the files of the run's folder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from sardonyx._src.arguments import require_text
from sardonyx._src.errors import InputError, TrainingDiverged
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Array, Model, Tensor
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.suggestions import suggest
from sardonyx._src.train.evaluation import metric_outputs
from sardonyx._src.train.fit.batches import order_of, seed_of_step
from sardonyx._src.train.fit.checkpoints import (
    BEST,
    LAST,
    read_checkpoint,
    require_finite,
    write_checkpoint,
)
from sardonyx._src.train.fit.curves import CURVES, CURVES_PNG, draw_curves, save_png, svg_of
from sardonyx._src.train.fit.data import Dataset
from sardonyx._src.train.fit.metrics_log import MetricsLog
from sardonyx._src.train.fit.progress import EpochRecord, RunProgress
from sardonyx._src.train.fit.results import FitResult, TrainingStatus
from sardonyx._src.train.fit.run_identity import digest_of, require_same_run
from sardonyx._src.train.prepare.inference_only import without_training
from sardonyx._src.train.training_models import state_values
from sardonyx._src.train.training_session import TrainingSession

ACCURACY = (
    "accuracy"  # a metric with this in its name is better when it is larger, all others when they are smaller
)
STEPS_BETWEEN_ENTRIES = 10  # steps between two entries in the metrics files


class Run:
    """A run of `fit`: `open` opens its session and files, `train` performs the epochs."""

    def __init__(
        self,
        model: Model,
        data: Dataset,
        validation: Dataset | None,
        *,
        epochs: int,
        batch_size: int,
        shuffle: bool,
        seed: int,
        folder: Path | None,
        checkpoint_seconds: float,
        patience: int | None,
        monitor: str,
        report: Callable[[TrainingStatus], None] | None,
    ) -> None:
        self.model, self.data, self.validation = model, data, validation
        self.epochs, self.batch_size, self.shuffle, self.seed = epochs, batch_size, shuffle, seed
        self.folder, self.checkpoint_seconds, self.patience = folder, checkpoint_seconds, patience
        self.monitor = monitor
        self.report = report
        self.metrics = [v.name for v in metric_outputs(model.training[0])]
        if not self.metrics:
            raise InputError(
                "the training step must have an output that is a floating-point scalar, such as a loss; it has none",
                name="model",
            )
        require_text("monitor", monitor)
        if monitor not in self.metrics:
            hint = suggest(monitor, self.metrics, "metrics")
            raise InputError(
                f"monitor must be a metric of the training step; got {monitor!r}{hint}", name="monitor"
            )
        self.best_state: dict[str, Array] | None = None
        self.log: MetricsLog | None = None

    @property
    def batches(self) -> int:
        """The number of steps of an epoch."""
        return -(-len(self.data) // self.batch_size)

    def identity(self) -> dict[str, object]:
        """The facts that identify the run: only a checkpoint with equal facts can be resumed."""
        return {
            "model": digest_of(self.model),
            "data": self.data.description(),
            "validation": None if self.validation is None else self.validation.description(),
            "batch_size": self.batch_size,
            "shuffle": self.shuffle,
            "seed": self.seed,
            "monitor": self.monitor,
        }

    def open(
        self,
        resume: bool,
        initialize: bool,
        engine: Engine,
        threads: int | None,
        limits: RunLimits | None,
        stack: ExitStack,
    ) -> None:
        """Opens the session and the files, at the last checkpoint if there is one to resume."""
        identity = {} if self.folder is None else {**self.identity(), "initialize": initialize}
        self.progress = RunProgress(identity)
        model, is_new = self.model, True
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            last = self.folder / LAST
            if resume and last.exists():
                model, self.progress = read_checkpoint(last)
                require_same_run(self.progress.run, identity, self.folder)
                is_new = False
        self.session = TrainingSession(model, engine=engine, threads=threads, seed=self.seed, limits=limits)
        if is_new and initialize:
            self.session.initialize()
        if self.folder is not None:
            self.log = stack.enter_context(MetricsLog(self.folder, self.progress.log_sizes))
        self.started = self.saved = time.monotonic()
        self.first_step = self.progress.step

    def train(self) -> FitResult:
        """Performs the epochs that are left."""
        while self.progress.epoch < self.epochs and not self.is_exhausted:
            self.run_epoch()
        if self.folder is not None:
            history = self.progress.history
            picture = draw_curves(history)
            (self.folder / CURVES).write_text(svg_of(picture), encoding="utf-8")
            save_png(picture, self.folder / CURVES_PNG)
        checkpoint = self.session.checkpoint()
        has_best = self.validation is not None and self.progress.best_epoch >= 0
        return FitResult(
            model=without_training(self.best_model() if has_best else checkpoint),
            checkpoint=checkpoint,
            history=self.progress.history,
            best_epoch=(self.progress.best_epoch if has_best else self.progress.epoch - 1) + 1,
            stopped_early=self.is_exhausted and self.progress.epoch < self.epochs,
        )

    @property
    def is_exhausted(self) -> bool:
        """Whether `patience` ends the run: none of the last `patience` epochs was better than the best before them."""
        if self.patience is None or self.progress.best_epoch < 0:
            return False
        return self.progress.epoch - 1 - self.progress.best_epoch >= self.patience

    def run_epoch(self) -> None:
        """Trains on the remaining batches of an epoch, and evaluates on the validation data."""
        progress = self.progress
        order = order_of(self.seed, progress.epoch, len(self.data), shuffle=self.shuffle)
        while progress.batch < self.batches:
            first = progress.batch * self.batch_size
            self.run_step(order[first : first + self.batch_size])
            if self.folder is not None and time.monotonic() - self.saved >= self.checkpoint_seconds:
                self.save(progress)
        require_finite(self.session.state, progress)
        validation = {} if self.validation is None else self.evaluate(self.validation)
        record = EpochRecord(
            progress.epoch + 1, progress.step, progress.means(), validation, progress.seconds
        )
        self.end_epoch(record)

    def run_step(self, rows: Array) -> None:
        """One training step, whose loss must be finite."""
        progress, start = self.progress, time.perf_counter()
        seed = seed_of_step(self.seed, progress.step)
        results = self.session.step(self.data.take(rows), seed=seed, inference_outputs=False)
        metrics = {name: number_of(results[name]) for name in self.metrics}
        self.require_finite_loss(
            metrics, partial(self.data.non_finite, rows), self.metrics[0], progress.step + 1
        )
        progress.add(metrics, len(rows))
        progress.seconds += time.perf_counter() - start
        if self.log is not None and progress.step % STEPS_BETWEEN_ENTRIES == 0:
            self.log.write("step", progress.step, metrics)
        self.notify(None)

    def require_finite_loss(
        self, losses: Mapping[str, float], where: Callable[[], str], what: str, step: int
    ) -> None:
        """Raises TrainingDiverged for a loss that is not finite.

        where: describes the data that are not finite, either; an empty string if all are.  what: names the loss.
        """
        loss = losses[self.metrics[0]]
        if not math.isfinite(loss):
            cause = where()
            why = f"the {what} must be finite; got {loss}" + (f", and {cause}" if cause else "")
            raise TrainingDiverged(why, epoch=self.progress.epoch + 1, step=step)

    def end_epoch(self, record: EpochRecord) -> None:
        """Records an epoch, and saves the run."""
        progress = self.progress
        if self.log is not None:
            scalars = {**record.metrics, **{f"validation_{k}": v for k, v in record.validation.items()}}
            self.log.write("epoch", record.step, scalars, epoch=record.epoch, seconds=record.seconds)
        self.notify(record)
        number = (record.validation or record.metrics)[self.monitor]
        if self.validation is not None and is_better(number, progress.best, self.monitor):
            progress.best, progress.best_epoch = number, progress.epoch
            self.keep_best()
        progress.end_epoch(record)
        if self.folder is not None:
            self.save(progress)

    def evaluate(self, data: Dataset) -> dict[str, float]:
        """The means of the metrics over a dataset."""
        sums = dict.fromkeys(self.metrics, 0.0)
        for first in range(0, len(data), self.batch_size):
            rows = np.arange(first, min(first + self.batch_size, len(data)))
            results = self.session.evaluate(data.take(rows))
            for name in self.metrics:
                sums[name] += number_of(results[name]) * len(rows)
        means = {name: total / len(data) for name, total in sums.items()}
        where = partial(data.non_finite, np.arange(len(data)))
        self.require_finite_loss(means, where, f"validation {self.metrics[0]}", self.progress.step)
        return means

    def keep_best(self) -> None:
        """Keeps the present state as the best one: in a file if the run has a folder, else in memory.

        The file is written before the checkpoint that records it as the best; a run that is interrupted between the two
        repeats the epoch.
        """
        if self.folder is not None:
            save(self.session.checkpoint(), self.folder / BEST, external=False)
        else:
            self.best_state = {name: array.copy() for name, array in self.session.state.items()}

    def best_model(self) -> Model:
        if self.folder is not None:
            return load(self.folder / BEST)
        assert self.best_state is not None, "an epoch was the best"
        model = self.session.checkpoint()
        for value in state_values(model):
            tensor = value.initializer
            assert isinstance(tensor, Tensor), f"{value!r} has no tensor"
            value.initializer = Tensor.of(self.best_state[value.name], tensor.dtype, value.name)
        return model

    def save(self, progress: RunProgress) -> None:
        """Writes the last checkpoint, unless the state is not finite."""
        assert self.folder is not None and self.log is not None, "a run without folder has no checkpoints"
        require_finite(self.session.state, progress)
        progress.log_sizes = self.log.flush()
        write_checkpoint(self.session.checkpoint(), progress, self.folder / LAST)
        self.saved = time.monotonic()

    def notify(self, record: EpochRecord | None) -> None:
        if self.report is None:
            return
        progress, elapsed = self.progress, time.monotonic() - self.started
        steps = progress.step - self.first_step
        left = self.epochs * self.batches - progress.epoch * self.batches - progress.batch
        self.report(
            TrainingStatus(
                epoch=progress.epoch + 1,
                epochs=self.epochs,
                batch=progress.batch,
                batches=self.batches,
                step=progress.step,
                metrics=progress.means(),
                examples_per_second=progress.examples / max(progress.seconds, 1e-9),
                seconds_left=elapsed / steps * left if steps else None,
                record=record,
            )
        )


def number_of(value: RuntimeValue) -> float:
    assert isinstance(value, np.ndarray) and value.size == 1, f"{value!r} is a scalar tensor"
    return float(value.reshape(()))


def is_better(number: float, best: float | None, metric: str) -> bool:
    """Whether a metric is better than the best so far: an accuracy that is larger, or anything else that is smaller."""
    if math.isnan(number):
        return False
    if best is None:
        return True
    return number > best if ACCURACY in metric else number < best
