"""`fit`: runs the training step of a model on data."""

from __future__ import annotations

import hashlib
import io
import math
import operator
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sardonyx._src.arguments import require_choice, require_flag, require_integer, require_path, require_text
from sardonyx._src.errors import InputError, TrainingDiverged
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.session import ENGINES, Engine
from sardonyx._src.suggestions import suggest
from sardonyx._src.train.evaluation import metric_outputs
from sardonyx._src.train.fit.batches import order_of, seed_of_step, split_rows
from sardonyx._src.train.fit.checkpoints import (
    BEST,
    LAST,
    read_checkpoint,
    require_finite,
    write_checkpoint,
)
from sardonyx._src.train.fit.curves import CURVES, draw_curves
from sardonyx._src.train.fit.data import Dataset, DataSource, open_dataset
from sardonyx._src.train.fit.metrics_log import MetricsLog
from sardonyx._src.train.fit.progress import EpochRecord, RunProgress
from sardonyx._src.train.losses.base import Labels, check_number
from sardonyx._src.train.optimizers.schedules import check_steps
from sardonyx._src.train.prepare.inference_only import without_training
from sardonyx._src.train.prepare.targets import read_targets
from sardonyx._src.train.training_models import state_values
from sardonyx._src.train.training_session import TrainingSession

ACCURACY = "accuracy"  # part of the names of metrics that are better when they are larger
STEPS_BETWEEN_ENTRIES = 10  # of the metrics files


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


def fit(
    model: ModelSource,
    data: DataSource,
    *,
    validation: DataSource | float | None = None,
    epochs: int = 10,
    batch_size: int = 32,
    shuffle: bool = True,
    seed: int = 0,
    initialize: bool = False,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = True,
    checkpoint_seconds: float = 60.0,
    patience: int | None = None,
    monitor: str = "loss",
    engine: Engine = "auto",
    threads: int | None = None,
    limits: RunLimits | None = None,
    report: Callable[[TrainingStatus], None] | None = None,
) -> FitResult:
    """Trains a model with its first training step, epoch by epoch, and returns the best model.

    data: arrays with one entry for each example, by the names of the inputs; or the path of a `.npz` or `.parquet` file, or of
    a folder (`.npy` files by input, several `.npz` or `.parquet` files, or images in one folder for each class).
    validation: data of the same kind that is evaluated after each epoch, or the share of the examples to hold out, in (0, 1).
    patience: the number of epochs without a better `monitor`, a metric of the validation data, after which the run ends.
    initialize: whether the run begins with the initialization graph.  seed: of the order of the examples and of random
    operators; runs with equal arguments have equal bits, on one engine.

    folder: where the run keeps `last.onnx`, a checkpoint written after each epoch and every `checkpoint_seconds`; `best.onnx`;
    `metrics.jsonl`; a TensorBoard event file; and at the end `curves.svg`.  Files are replaced at once, and with `resume` a run
    that ended at any moment continues from its last checkpoint to the bits that it would have had.

    report: called after each step and each epoch.

    Raises InputError for data that do not fit the model, labels out of range, and a folder with another run;
    TrainingDiverged if the loss or the state is no longer finite, with the last good checkpoint kept; OSError; and what
    `sx.TrainingSession` raises.
    """
    for name, flag in (("shuffle", shuffle), ("initialize", initialize), ("resume", resume)):
        require_flag(name, flag)
    require_choice("engine", engine, ENGINES)
    if folder is not None:
        require_path("folder", folder)
    check_options(epochs, batch_size, seed, patience, checkpoint_seconds)
    source = load(model)
    if not source.training:
        raise InputError(
            "the model must have training information; it has none: sx.train.prepare adds it", name="model"
        )
    datasets = open_datasets(source, data, validation, seed)
    with ExitStack() as stack:
        run = Run(
            source,
            *datasets,
            epochs=epochs,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=operator.index(seed),
            folder=None if folder is None else Path(folder),
            checkpoint_seconds=checkpoint_seconds,
            patience=patience,
            monitor=monitor,
            report=report,
        )
        run.open(resume, initialize, engine, threads, limits, stack)
        return run.train()


def check_options(
    epochs: int, batch_size: int, seed: int, patience: int | None, checkpoint_seconds: float
) -> None:
    """Raises InputError for a number out of range."""
    check_steps("epochs", epochs)
    check_steps("batch_size", batch_size)
    if patience is not None:
        check_steps("patience", patience)
    check_number("checkpoint_seconds", checkpoint_seconds, 0, math.inf)
    require_integer("seed", seed, 0, (1 << 32) - 1)


def open_datasets(
    model: Model, data: DataSource, validation: DataSource | float | None, seed: int
) -> tuple[Dataset, Dataset | None]:
    """The examples to train on and to validate with."""
    states = set(state_values(model))
    algorithm = model.training[0].algorithm
    graphs = [model.graph] if algorithm is None else [model.graph, algorithm]
    inputs = [v for graph in graphs for v in graph.inputs if v not in states]
    labels: Mapping[str, Labels] = read_targets(model)
    examples = open_dataset(data, inputs, labels)
    if validation is None:
        return examples, None
    if isinstance(validation, int | float):
        check_number("validation", validation, 0, 1, open_low=True)
        if validation >= 1 or len(examples) < 2:
            raise InputError(
                f"validation must be a share below 1 of at least 2 examples; got {validation} of {len(examples)}",
                name="validation",
            )
        rows, held_out = split_rows(seed, len(examples), float(validation))
        return examples.select(rows), examples.select(held_out)
    return examples, open_dataset(validation, inputs, labels, "validation")


class Run:
    """A run of `fit`."""

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
        """What the checkpoints of this run and of no other have."""
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
        identity = {**self.identity(), "initialize": initialize}
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
            (self.folder / CURVES).write_text(draw_curves(history), encoding="utf-8")
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
        """Whether the last `patience` epochs were not better than the best before them."""
        if self.patience is None or self.progress.best_epoch < 0:
            return False
        return self.progress.epoch - 1 - self.progress.best_epoch >= self.patience

    def run_epoch(self) -> None:
        """Trains on the batches that are left of an epoch, and evaluates."""
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
        results = self.session.step(self.data.take(rows), seed=seed_of_step(self.seed, progress.step))
        metrics = {name: number_of(results[name]) for name in self.metrics}
        if not math.isfinite(metrics[self.metrics[0]]):
            raise TrainingDiverged(
                f"the {self.metrics[0]} must be finite; got {metrics[self.metrics[0]]}",
                epoch=progress.epoch + 1,
                step=progress.step + 1,
            )
        progress.add(metrics, len(rows))
        progress.seconds += time.perf_counter() - start
        if self.log is not None and progress.step % STEPS_BETWEEN_ENTRIES == 0:
            self.log.write("step", progress.step, metrics)
        self.notify(None)

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
        return {name: total / len(data) for name, total in sums.items()}

    def keep_best(self) -> None:
        """Keeps the present state as the best one: in a file if the run has a folder, else in memory.

        The file is written before the checkpoint that says so; a run that ends between the two repeats it.
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


def digest_of(model: Model) -> str:
    """The SHA-256 of a model as it is written."""
    content = io.BytesIO()
    save(model, content)
    return hashlib.sha256(content.getbuffer()).hexdigest()


def require_same_run(actual: Mapping[str, object], expected: Mapping[str, object], folder: Path) -> None:
    """Raises InputError unless a checkpoint belongs to this run."""
    for name, value in expected.items():
        if actual.get(name) != value:
            shown = "another one" if name == "model" else f"{actual.get(name)!r}, not {value!r}"
            raise InputError(
                f"folder must have a run with the same {name}; {folder} has one with {shown}: choose another folder, or "
                "resume=False to start over",
                name="folder",
            )
