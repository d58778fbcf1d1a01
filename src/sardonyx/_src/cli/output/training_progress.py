"""The progress of training on standard error: a bar for the epoch on a terminal, and a line for each epoch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from sardonyx._src.cli.output.progress import opening_progress
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.train.fit.results import TrainingStatus


@contextmanager
def training_progress(is_quiet: bool) -> Iterator[Callable[[TrainingStatus], None] | None]:
    """Yields the function that `fit` calls with the status.  is_quiet: whether to print no lines, as for `--json`.

    Until its first call, the progress is that of the session of the training step.
    """
    with opening_progress("preparing the first step", is_quiet=is_quiet) as end_opening:
        if not sys.stderr.isatty():
            yield None if is_quiet else partial(print_epoch, end_opening)
            return
        with show_epochs(is_quiet, end_opening) as show:
            yield show


@contextmanager
def show_epochs(
    is_quiet: bool, end_opening: Callable[[], None]
) -> Iterator[Callable[[TrainingStatus], None]]:
    """Yields a function that shows the status by a bar, which appears at its first call."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}"),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("epoch", total=None, facts="")

    def show(status: TrainingStatus) -> None:
        end_opening()
        bar.start()
        if status.record is not None and not is_quiet:
            bar.console.print(epoch_line(status), highlight=False)
        what = f"epoch {status.epoch} of {status.epochs}"
        bar.update(task, description=what, completed=status.batch, total=status.batches, facts=facts(status))

    try:
        yield show
    finally:
        bar.stop()


def print_epoch(end_opening: Callable[[], None], status: TrainingStatus) -> None:
    """Prints a line at the end of an epoch."""
    end_opening()
    if status.record is not None:
        sys.stderr.write(epoch_line(status) + "\n")
        sys.stderr.flush()


def facts(status: TrainingStatus) -> str:
    """Metrics, speed and time left."""
    left = "" if status.seconds_left is None else f", {duration(status.seconds_left)} left"
    return f"{numbers(status.metrics)}, {status.examples_per_second:.0f} examples/s{left}"


def epoch_line(status: TrainingStatus) -> str:
    record = status.record
    assert record is not None, "the epoch has ended"
    text = f"epoch {record.epoch} of {status.epochs}: {numbers(record.metrics)}"
    if record.validation:
        text += f"; validation {numbers(record.validation)}"
    return f"{text} ({status.examples_per_second:.0f} examples/s)"


def numbers(metrics: Mapping[str, float]) -> str:
    return printable(", ".join(f"{name} {number:.4f}" for name, number in metrics.items()))


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
