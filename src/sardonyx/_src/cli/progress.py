"""A bar for long work, on the error stream."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

PATIENCE = 1.0  # seconds after which somebody who watches wants to know


@contextmanager
def progress(total: int, what: str = "running", *, kernels: bool = False) -> Iterator[Callable[[], None]]:
    """Gives a function to call after each of `total` parts of `what` is done.

    A bar appears when the error stream is a terminal and the work takes longer than a second; it is gone at the end.
    kernels: while some are compiled it says how many, of those that are known to be wanted.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    counted = [MofNCompleteColumn()] if total > 1 else []
    columns = (TextColumn("{task.description}"), BarColumn(), *counted, TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total if total > 1 else None)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.start()

    def tell(done: int, known: int) -> None:
        bar.update(task, description=what if done >= known else f"compiling kernels, {done} of {known}")

    try:
        with counted_kernels(tell) if kernels else nullcontext():
            yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def counted_kernels(tell: Callable[[int, int], None]) -> Iterator[None]:
    """Meanwhile tells of every change how many kernels are compiled, of how many: those of before are not counted."""
    from sardonyx._src.compile.llvm.ahead import TALLY  # the compiler, which most verbs do without

    before = TALLY.done, TALLY.known
    TALLY.watch = lambda done, known: tell(done - before[0], known - before[1])
    try:
        yield
    finally:
        TALLY.watch = None
