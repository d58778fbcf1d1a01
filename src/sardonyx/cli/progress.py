"""A bar for long work, on the error stream."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds after which somebody who watches wants to know


@contextmanager
def progress(total: int, what: str = "running") -> Iterator[Callable[[], None]]:
    """Gives a function to call after each of `total` parts of `what` is done.

    A bar appears when the error stream is a terminal and the work takes longer than a second; it is gone at the end.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    counted = [MofNCompleteColumn()] if total > 1 else []
    columns = (TextColumn(what), BarColumn(), *counted, TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total if total > 1 else None)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
