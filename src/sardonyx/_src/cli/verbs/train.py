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

from sardonyx._src.cli.inputs.arguments import parse_mapping
from sardonyx._src.cli.inputs.limits import add_limits, read_limits
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.inputs.training import add_preparation, prepare_model, refuse_preparation
from sardonyx._src.cli.output.destinations import add_output, report_to, report_written
from sardonyx._src.cli.output.models import add_json, add_out, save_model, write_model, written_files
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.training_progress import training_progress
from sardonyx._src.errors import InputError
from sardonyx._src.phases import phase
from sardonyx._src.quantize.training.folding import fold_fake_quantization
from sardonyx._src.runtime.session.session import ENGINES
from sardonyx._src.tables.columns import read_columns
from sardonyx._src.train.fit.data import DataSource
from sardonyx._src.train.fit.fit import fit
from sardonyx._src.train.fit.results import FitResult

HELP = "train a model on data"


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
