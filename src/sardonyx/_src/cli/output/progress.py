"""Progress bar on standard error for long operations."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

BAR_DELAY = 1.0  # seconds before the bar appears


@contextmanager
def progress(total: int, what: str = "running", *, kernels: bool = False) -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of `total` steps of the operation `what`.

    The bar appears if standard error is a terminal and the operation takes longer than a second, and is erased at
    the end.  kernels: also show how many of the queued kernels are compiled.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    count_column = [MofNCompleteColumn()] if total > 1 else []
    columns = (TextColumn("{task.description}"), BarColumn(), *count_column, TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total if total > 1 else None)
    timer = threading.Timer(BAR_DELAY, bar.start)
    timer.start()

    def show_kernels(done: int, known: int) -> None:
        bar.update(task, description=what if done >= known else f"compiling kernels, {done} of {known}")

    try:
        with report_kernels(show_kernels) if kernels else nullcontext():
            yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def report_kernels(show_kernels: Callable[[int, int], None]) -> Iterator[None]:
    """Calls `show_kernels` on progress with the numbers of kernels compiled and queued since the block was entered."""
    from sardonyx._src.compile.llvm.async_compile import PROGRESS  # lazy: most verbs do not need the compiler

    before = PROGRESS.done, PROGRESS.known
    PROGRESS.watch = lambda done, known: show_kernels(done - before[0], known - before[1])
    try:
        yield
    finally:
        PROGRESS.watch = None
