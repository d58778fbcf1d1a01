"""The progress of scoring on standard error, if it is a terminal: a bar with rows per second and the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sardonyx._src.cli.output.training_progress import duration
from sardonyx._src.score.job.summary import ScoreStatus


@contextmanager
def scoring_progress() -> Iterator[Callable[[ScoreStatus], None] | None]:
    """Yields the function that `score` calls; None if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("scoring"), BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(status: ScoreStatus) -> None:
            bar.update(task, description=describe(status), completed=status.rows, total=status.total)

        yield show


def describe(status: ScoreStatus) -> str:
    """Rows, rejected rows, speed and time left."""
    total = "" if status.total is None else f" of {status.total:,}"
    rejected = f", {status.rejected:,} rejected" if status.rejected else ""
    left = "" if status.seconds_left is None else f", {duration(status.seconds_left)} left"
    return f"{status.rows:,}{total} rows{rejected}, {status.rows_per_second:,.0f} rows/s{left}"
