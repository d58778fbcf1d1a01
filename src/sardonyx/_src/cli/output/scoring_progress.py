"""The progress of scoring on standard error: what its session does, and on a terminal a bar with the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sardonyx._src.cli.output.progress import opening_progress
from sardonyx._src.cli.output.training_progress import duration
from sardonyx._src.score.job.summary import ScoreStatus


@contextmanager
def scoring_progress(is_quiet: bool) -> Iterator[Callable[[ScoreStatus], None]]:
    """Yields the function that `score` calls; is_quiet: whether to print no lines, as for `--json`.

    Until its first call, the progress is that of the session.
    """
    with opening_progress("opening the model", is_quiet=is_quiet) as end_opening:
        if not sys.stderr.isatty():
            yield lambda status: end_opening()
            return
        with show_rows(end_opening) as show:
            yield show


@contextmanager
def show_rows(end_opening: Callable[[], None]) -> Iterator[Callable[[ScoreStatus], None]]:
    """Yields a function that shows the status by a bar, which appears at its first call."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("scoring"), BarColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=None)

    def show(status: ScoreStatus) -> None:
        end_opening()
        bar.start()
        bar.update(task, description=describe(status), completed=status.rows, total=status.total)

    try:
        yield show
    finally:
        bar.stop()


def describe(status: ScoreStatus) -> str:
    """Rows, rejected rows, speed and time left."""
    total = "" if status.total is None else f" of {status.total:,}"
    rejected = f", {status.rejected:,} rejected" if status.rejected else ""
    left = "" if status.seconds_left is None else f", {duration(status.seconds_left)} left"
    return f"{status.rows:,}{total} rows{rejected}, {status.rows_per_second:,.0f} rows/s{left}"
