"""`fit`: runs the training step of a model on data."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from sardonyx._src.arguments import (
    require_choice,
    require_flag,
    require_integer,
    require_path,
    require_text,
    type_name,
)
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.phases import phase
from sardonyx._src.runtime.session.session import ENGINES, Engine
from sardonyx._src.train.fit.batches import split_rows
from sardonyx._src.train.fit.data import Dataset, DataSource, open_dataset
from sardonyx._src.train.fit.results import FitResult, TrainingStatus
from sardonyx._src.train.fit.run import Run
from sardonyx._src.train.losses.base import Labels, check_number
from sardonyx._src.train.optimizers.schedules import check_steps
from sardonyx._src.train.prepare.targets import read_targets
from sardonyx._src.train.training_models import state_values


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

    data: arrays with one entry for each example, by the names of the inputs; or the path of a `.npz` file, of a table (Parquet,
        CSV, JSON lines, Arrow IPC), or of a folder (`.npy` files by input, several archives or tables, or images in one folder
        for each class).
    validation: data of the same kind that is evaluated after each epoch, or the share of the examples to hold out, in (0, 1).
    patience: the number of epochs without a better `monitor`, a metric of the validation data, after which the run ends.
    initialize: whether the run begins with the initialization graph.
    seed: seeds the order of the examples and random operators; runs with equal arguments have equal bits, on one engine.
    folder: where the run keeps `last.onnx`, a checkpoint written after each epoch and every `checkpoint_seconds`;
        `best.onnx`; `metrics.jsonl`; a TensorBoard event file; and at the end `curves.svg`, and `curves.png` if Pillow is
        installed.  Files are replaced atomically.
    resume: whether a run that was interrupted at any moment continues from the last checkpoint in `folder`, to the same bits
        as without the interruption.
    report: called after each step and each epoch.

    Raises InputError for data that do not fit the model, labels out of range, and a folder with another run;
    TrainingDiverged if the loss or the state is no longer finite, in which case the last good checkpoint is kept; OSError;
    and what `sx.TrainingSession` raises.
    """
    for name, flag in (("shuffle", shuffle), ("initialize", initialize), ("resume", resume)):
        require_flag(name, flag)
    require_choice("engine", engine, ENGINES)
    require_text("monitor", monitor)
    if report is not None and not callable(report):
        raise TypeError(f"report must be a function of the status; got {type_name(report)}")
    if folder is not None:
        require_path("folder", folder)
    check_options(epochs, batch_size, seed, patience, checkpoint_seconds)
    source = load(model)
    if not source.training:
        raise InputError(
            "the model must have training information; it has none: sx.train.prepare adds it", name="model"
        )
    datasets = open_datasets(source, data, validation, seed)
    check_batches(source, datasets, batch_size)
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


def check_batches(model: Model, datasets: tuple[Dataset, Dataset | None], batch_size: int) -> None:
    """Raises InputError if an input declares a fixed batch size that a batch would not have."""
    algorithm = model.training[0].algorithm
    for value in (*model.graph.inputs, *(() if algorithm is None else algorithm.inputs)):
        shape = value.type.shape if isinstance(value.type, TensorType) else None
        if not shape or not isinstance(shape[0], int):
            continue
        for data in datasets:
            if data is None or value.name not in data.columns:
                continue
            full = min(batch_size, len(data))
            if full != shape[0] or len(data) % full:
                raise InputError(
                    f"batch_size must be {shape[0]}, which input {value.name!r} declares ({value.type}), and divide the number of "
                    f"examples; got {batch_size} for {len(data)} examples: leave examples out, or declare a symbolic batch",
                    name="batch_size",
                )


@phase("data")
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
