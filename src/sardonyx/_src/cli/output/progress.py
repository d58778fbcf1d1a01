"""Progress of long operations on standard error: a bar on a terminal; elsewhere lines, where sessions open."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING

from sardonyx._src.runtime.session.activity import Activity, watch_sessions, write_lines

if TYPE_CHECKING:
    from rich.progress import Progress

BAR_DELAY = 1.0  # seconds before the bar appears


@contextmanager
def progress(
    total: int, what: str = "running", *, sessions: bool = False, is_quiet: bool = False
) -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of `total` steps of the operation `what`.

    The bar appears if standard error is a terminal and the operation takes longer than a second, and is erased at
    the end.
    sessions: also say what sessions that open in this thread do; where there is no terminal, by a line for each phase, if
        the operation takes longer than two seconds.
    is_quiet: write nothing, as for `--json`.
    """
    if is_quiet or not (sessions or sys.stderr.isatty()):
        yield lambda: None
        return
    with watch_sessions() if sessions else nullcontext() as activity:
        if sys.stderr.isatty():
            with show_bar(total, what, activity) as advance:
                yield advance
        else:
            assert activity is not None, "without a terminal, there are only lines of sessions"
            with write_lines(activity):
                yield lambda: None


@contextmanager
def opening_progress(what: str, *, is_quiet: bool = False) -> Iterator[Callable[[], None]]:
    """Says what sessions that open in this thread do, until the function that it yields is called, or the block ends.

    is_quiet: write nothing, as for `--json`.
    """
    with ExitStack() as stack:
        stack.enter_context(progress(1, what, sessions=True, is_quiet=is_quiet))
        yield stack.close


@contextmanager
def show_bar(total: int, what: str, activity: Activity | None) -> Iterator[Callable[[], None]]:
    """Shows a bar, which describes the activity, if there is one, or else the operation."""
    bar = make_bar(total, what, activity)
    task = bar.add_task(what, total=total if total > 1 else None)
    timer = threading.Timer(BAR_DELAY, bar.start)
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def make_bar(total: int, what: str, activity: Activity | None) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
    from rich.text import Text

    class DescriptionColumn(ProgressColumn):
        """Rendered again several times a second."""

        def render(self, task: Task) -> Text:
            return Text((activity.describe() if activity is not None else "") or what)

    count_column = [MofNCompleteColumn()] if total > 1 else []
    columns = (DescriptionColumn(), BarColumn(), *count_column, TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
