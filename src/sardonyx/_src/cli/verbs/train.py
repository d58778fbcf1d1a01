"""Train a model on data: a training model, or an inference model with --loss and --optimizer.

sardonyx train m.onnx --data train.npz -o trained.onnx
sardonyx train m.onnx --data train.parquet --validation 0.1 --epochs 20 --folder run
sardonyx train m.onnx --data images --loss cross_entropy --optimizer adamw --rate 3e-4 --schedule cosine -o trained.onnx
sardonyx train m.onnx --data train.npz --trainable 'head.*' --patience 3 --folder run -o trained.onnx
sardonyx train m.onnx --data train.npz --quantize int8 --epochs 5 --rate 1e-4 -o int8.onnx

The data must have a column for each input of the training step: the inputs of the model, and "target" or the name of --target.
A .npz file or a table (Parquet, CSV, JSON lines, Arrow IPC) has columns by name; a folder has .npy files, several archives or
tables, or one folder of images for each class.  --column renames columns.

With --folder, the run keeps checkpoints, metrics and a picture of the curves, and the same command continues a run that was
interrupted at any moment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from sardonyx._src.cli.inputs.arguments import parse_mapping
from sardonyx._src.cli.inputs.limits import add_limits, read_limits
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.destinations import add_output, report_to, report_written
from sardonyx._src.cli.output.models import add_json, add_out, save_model, write_model, written_files
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.training_progress import training_progress
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model
from sardonyx._src.phases import phase
from sardonyx._src.quantize.calibration_columns import fitted
from sardonyx._src.quantize.training.fake_quantization import FAKE_SCHEMES, add_fake_quantization
from sardonyx._src.quantize.training.folding import fold_fake_quantization
from sardonyx._src.runtime.session.session import ENGINES
from sardonyx._src.tables.columns import read_columns
from sardonyx._src.train.adapters import ADAPTER_WEIGHTS, add_adapters
from sardonyx._src.train.fit.data import DataSource
from sardonyx._src.train.fit.fit import fit
from sardonyx._src.train.fit.results import FitResult
from sardonyx._src.train.losses.table import LOSSES
from sardonyx._src.train.optimizers.base import Optimizer
from sardonyx._src.train.optimizers.schedules import CosineSchedule, Schedule, StepSchedule, WarmUp
from sardonyx._src.train.optimizers.table import OPTIMIZERS, optimizer_class
from sardonyx._src.train.prepare.initialization import DISTRIBUTIONS
from sardonyx._src.train.prepare.prepare import prepare
from sardonyx._src.train.prepare.selection import ParameterGroup

HELP = "train a model on data"
# Options that are parameters of `prepare`, options of adapters, and all options that only a model without training step has.
PARAMETERS = (
    "loss",
    "output",
    "target",
    "trainable",
    "frozen",
    "clip_norm",
    "clip_value",
    "accumulate",
    "initialization",
    "loss_scale",
    "checkpointing",
)
CALIBRATION_ROWS = 256  # of the data, by which the ranges of --quantize are chosen: some dozens would do
ADAPTERS = ("adapters", "adapter_alpha", "adapter_targets")
PREPARATION = (
    *PARAMETERS,
    *ADAPTERS,
    "quantize",
    "optimizer",
    "rate",
    "schedule",
    "warm_up",
    "weight_decay",
    "group",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_data(parser)
    add_preparation(parser)
    add_run(parser)
    add_out(parser, "the trained inference model", required=False)
    add_output(parser, "--checkpoint", help="write the training model with its last state to FILE")
    add_json(parser, "the result")
    parser.add_argument("--engine", default="auto", choices=ENGINES, help="the engine to use (%(default)s)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the native engine (all cores)")
    add_limits(parser)


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", required=True, metavar="PATH", help="examples: a .npz file, a table, or a folder"
    )
    parser.add_argument(
        "--validation",
        metavar="PATH|SHARE",
        help="examples to validate with, or the share of --data to hold out, as 0.1",
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="COLUMN=INPUT",
        help="feed an input by a column of another name; may be repeated",
    )


def add_preparation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("preparation", "of models without training information")
    group.add_argument("--loss", choices=sorted(LOSSES), help="the loss (cross_entropy)")
    group.add_argument("--optimizer", choices=sorted(OPTIMIZERS), help="the optimizer (adam)")
    group.add_argument(
        "--rate", type=float, metavar="R", help="the learning rate, or the largest one of a schedule"
    )
    group.add_argument(
        "--schedule",
        choices=["constant", "cosine", "step"],
        help="the rate over the run: constant, half a cosine down to 0, or a tenth after each third (constant)",
    )
    group.add_argument(
        "--warm-up", type=int, metavar="N", help="raise the rate linearly over the first N steps"
    )
    group.add_argument("--weight-decay", type=float, metavar="D", help="weight decay of the optimizer")
    group.add_argument("--output", metavar="NAME", help="the value that the loss compares with the target")
    group.add_argument("--target", metavar="NAME", help="the name of the input for the target (target)")
    for name, what in (("trainable", "train only"), ("frozen", "do not train")):
        group.add_argument(
            f"--{name}",
            action="append",
            metavar="PATTERN",
            help=f"{what} initializers whose names match, as 'head.*'; may be repeated",
        )
    group.add_argument(
        "--clip-norm", type=float, metavar="X", help="the largest norm of all gradients together"
    )
    group.add_argument(
        "--clip-value", type=float, metavar="X", help="the largest magnitude of an element of a gradient"
    )
    group.add_argument(
        "--loss-scale",
        type=float,
        metavar="X",
        help="the factor of the loss of half-precision models (adapted during the run for float16, else 1)",
    )
    group.add_argument(
        "--group",
        action="append",
        metavar="PATTERN:rate_factor=F,weight_decay=D",
        help="multiply the rate, or replace the weight decay, of the parameters whose names match; may be repeated",
    )
    group.add_argument(
        "--adapters",
        type=int,
        metavar="RANK",
        help="train low-rank adapters of this rank instead of the weights",
    )
    group.add_argument(
        "--adapter-alpha", type=float, metavar="A", help="the factor of adapters times their rank (the rank)"
    )
    group.add_argument(
        "--adapter-targets",
        action="append",
        metavar="PATTERN",
        help="weights of MatMul and Gemm nodes that get adapters (all); may be repeated",
    )
    group.add_argument(
        "--quantize",
        choices=FAKE_SCHEMES,
        help="train with the rounded weights, of int8 also activations, that this scheme of `sardonyx quantize` gives the "
        "model, and write the quantized model",
    )
    group.add_argument(
        "--accumulate", type=int, metavar="N", help="steps whose mean gradient makes one update (1)"
    )
    group.add_argument(
        "--checkpointing",
        type=memory_goal,
        metavar="auto|BYTES",
        help="compute results of nodes again for the gradients, instead of keeping them, to need as little memory as possible, "
        "or at most BYTES",
    )
    group.add_argument(
        "--initialization",
        choices=DISTRIBUTIONS,
        help="begin with weight matrices drawn from this distribution instead of those of the model",
    )


def memory_goal(text: str) -> int | str:
    """A number of bytes, or the string itself, which `prepare` checks."""
    return int(text) if text.isdecimal() else text


def add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("run")
    group.add_argument(
        "--epochs", type=int, default=10, metavar="N", help="passes over the data (%(default)s)"
    )
    group.add_argument("--batch", type=int, default=32, metavar="N", help="examples of a step (%(default)s)")
    group.add_argument("--seed", type=int, default=0, help="seed of all random choices (%(default)s)")
    group.add_argument(
        "--patience", type=int, metavar="N", help="end after N epochs without a better validation metric"
    )
    group.add_argument(
        "--monitor", default="loss", metavar="METRIC", help="the metric of --patience (%(default)s)"
    )
    group.add_argument("--no-shuffle", action="store_true", help="use the examples in their order")
    group.add_argument(
        "--folder", metavar="DIR", help="keep checkpoints, metrics and curves in DIR, and resume from it"
    )
    group.add_argument("--restart", action="store_true", help="start over, even if DIR has a checkpoint")
    group.add_argument(
        "--checkpoint-seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds between checkpoints within an epoch (%(default)g)",
    )


def run(args: argparse.Namespace) -> int:
    if args.out is None and args.folder is None and args.checkpoint is None:
        raise InputError("train requires -o, --checkpoint or --folder; got none of them", name="-o")
    model = load_model(args)
    with progress(1, "preparing the data and the model", sessions=True, is_quiet=args.json):
        data, validation = open_sources(args)
        training = model if model.training else prepare_model(model, args, data)
    if model.training:
        refuse_preparation(args)
    for note in training.notes[len(model.notes) :]:
        sys.stderr.write(f"sardonyx: note: {printable(str(note))}\n")
    with training_progress(args.json) as report, resumable(args):
        result = fit(
            training,
            data,
            validation=validation,
            epochs=args.epochs,
            batch_size=args.batch,
            shuffle=not args.no_shuffle,
            seed=args.seed,
            initialize=args.initialization is not None,
            folder=args.folder,
            resume=not args.restart,
            checkpoint_seconds=args.checkpoint_seconds,
            patience=args.patience,
            monitor=args.monitor,
            engine=args.engine,
            threads=args.threads,
            limits=read_limits(args),
            report=report,
        )
    return finish(result, args)


@phase("data")
def open_sources(args: argparse.Namespace) -> tuple[DataSource, DataSource | float | None]:
    """The data to train on and to validate with, with columns renamed."""
    renaming = parse_mapping(args.column, "--column")
    data = rename_columns(args.data, renaming)
    if args.validation is None:
        return data, None
    try:
        return data, float(args.validation)
    except ValueError:
        return data, rename_columns(args.validation, renaming)


def rename_columns(path: str, renaming: Mapping[str, str]) -> DataSource:
    columns = read_columns(path)
    missing = renaming.keys() - columns.keys()
    if missing:
        raise InputError(f"--column: {path} has no column {min(missing)!r}", name="--column")
    return {renaming.get(name, name): values for name, values in columns.items()}


@phase("gradients")
def prepare_model(model: Model, args: argparse.Namespace, data: DataSource) -> Model:
    """The model with the training step that the options describe."""
    options = {name: getattr(args, name) for name in PARAMETERS}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if args.group:
        given["groups"] = [parse_group(text) for text in args.group]
    model = adapt(model, args, data)
    if args.adapters is not None:
        given.setdefault("trainable", ADAPTER_WEIGHTS)
    return prepare(model, optimizer=make_optimizer(args, data), seed=args.seed, **given)


def adapt(model: Model, args: argparse.Namespace, data: DataSource) -> Model:
    """The model with adapters, or with fake quantization, if the options ask for them."""
    if args.quantize is not None:
        return with_fake_quantization(model, args, data)
    if args.adapters is not None:
        return add_adapters(
            model, args.adapters, alpha=args.adapter_alpha, targets=args.adapter_targets, seed=args.seed
        )
    if args.adapter_alpha is not None or args.adapter_targets is not None:
        raise InputError(
            "--adapter-alpha and --adapter-targets require --adapters; got none", name="--adapters"
        )
    return model


def with_fake_quantization(model: Model, args: argparse.Namespace, data: DataSource) -> Model:
    """The model with fake quantization; the first rows of the data are the calibration data."""
    for name in ("adapters", "initialization"):
        if getattr(args, name) is not None:
            raise InputError(f"--quantize must be without --{name}, whose weights are not those of the model; got both", name="--quantize")  # fmt: skip
    assert isinstance(data, Mapping), "the columns were read"
    inputs = {value.name: value for value in model.graph.inputs if value.name in data}
    rows = {name: fitted(value, np.asarray(data[name])[:CALIBRATION_ROWS]) for name, value in inputs.items()}
    return add_fake_quantization(model, args.quantize, data=rows, seed=args.seed)


def parse_group(text: str) -> ParameterGroup:
    """A group as `PATTERN:rate_factor=F,weight_decay=D`."""
    pattern, _, settings = text.rpartition(":")
    numbers: dict[str, float] = {}
    for setting in settings.split(","):
        name, _, number = setting.partition("=")
        try:
            numbers[name] = float(number)
        except ValueError:
            numbers = {}
        if name not in ("rate_factor", "weight_decay") or name not in numbers or not pattern:
            raise InputError(
                f"--group must be PATTERN:rate_factor=F,weight_decay=D, or one of both settings; got {text!r}",
                name="--group",
            )
    return ParameterGroup(pattern, **numbers)


def make_optimizer(args: argparse.Namespace, data: DataSource) -> Optimizer:
    """The optimizer with the rate, schedule and weight decay that the options state."""
    kind = optimizer_class(args.optimizer or "adam")
    given = {} if args.weight_decay is None else {"weight_decay": args.weight_decay}
    default = kind().rate
    assert isinstance(default, float), "no optimizer has a schedule by default"
    rate = default if args.rate is None else args.rate
    schedule: Schedule | float = rate
    if args.schedule in ("cosine", "step"):
        assert isinstance(data, Mapping), "the columns were read"
        examples = max((len(values) for values in data.values() if hasattr(values, "__len__")), default=1)
        updates = max(args.epochs * -(-examples // max(args.batch, 1)) // (args.accumulate or 1), 1)
        if args.schedule == "cosine":
            schedule = CosineSchedule(rate, steps=updates)
        else:
            schedule = StepSchedule(rate, every=-(-updates // 3))
    if args.warm_up is not None:
        schedule = WarmUp(args.warm_up, schedule)
    return kind(rate=schedule, **given)


def refuse_preparation(args: argparse.Namespace) -> None:
    """Raises InputError for an option that prepares a training step, since the model has one."""
    for name in PREPARATION:
        if getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} is for models without training information; this model has some", name=option
            )


@contextmanager
def resumable(args: argparse.Namespace) -> Iterator[None]:
    """Prints, if the block is interrupted, how to continue the run."""
    try:
        yield
    except KeyboardInterrupt:
        if args.folder is not None:
            sys.stderr.write("sardonyx: interrupted; the same command continues from the last checkpoint\n")
        raise


def finish(result: FitResult, args: argparse.Namespace) -> int:
    """Prints the result, and writes the models."""
    best = result.history[result.best_epoch - 1]
    if args.json:
        facts = {
            "epochs": len(result.history),
            "steps": result.history[-1].step,
            "best_epoch": result.best_epoch,
            "stopped_early": result.stopped_early,
            "metrics": best.metrics,
            "validation": best.validation,
        }
        sys.stdout.write(json.dumps(facts, indent=1) + "\n")
    else:
        print_best(result, args)
    write_outputs(result, args)
    return 0


def write_outputs(result: FitResult, args: argparse.Namespace) -> None:
    """Writes the models that the command asks for, and says what was written."""
    if args.out is not None:
        write_model(fold_fake_quantization(result.model), args)
    if args.checkpoint is not None:
        save_model(result.checkpoint, args.checkpoint, drop_unknown=args.drop_unknown)
        report_written(args, *written_files(result.checkpoint, args.checkpoint))
    if args.folder is not None:
        report_written(args, os.path.join(args.folder, ""))


def print_best(result: FitResult, args: argparse.Namespace) -> None:
    """Prints the metrics of the best epoch."""
    best = result.history[result.best_epoch - 1]
    numbers = {**best.metrics, **{f"validation {k}": v for k, v in best.validation.items()}}
    listed = ", ".join(f"{name} {number:.4f}" for name, number in numbers.items())
    report_to(args, f"epoch {result.best_epoch} of {len(result.history)}: {printable(listed)}\n")
