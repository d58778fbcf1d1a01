"""What sessions that open in this thread are doing, in words, for progress on standard error and in logs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from sardonyx._src.phases import watch_phases
from sardonyx._src.threads import start_thread

LINES_DELAY = 2.0  # seconds of an operation before the first line
POLL_SECONDS = 0.2
REPEAT_SECONDS = 10.0  # until a line of the same phase is written again, with new numbers
WORDS = {
    "digests": "hashing sources",
    "load": "loading",
    "prepare": "preparing",
    "convert": "converting to the newest operator sets",
    "optimize": "optimizing",
    "infer": "inferring types",
    "partition": "partitioning",
    "layouts": "choosing layouts",
    "lower": "choosing kernels",
    "plan": "planning memory",
    "verify": "verifying the program",
    "sizes": "compiling sizes",
    "weights": "packing weights",
    "kernels": "compiling kernels",
    "cache": "reading and writing the cache",
    "data": "reading data",
    "gradients": "adding gradients",
}
WriteLine: TypeAlias = Callable[[str], object]


class Activity:
    """A watcher of phases that describes the innermost one.

    progress: the numbers of kernels compiled and queued by this process.
    """

    def __init__(self, progress: Callable[[], tuple[int, int]]) -> None:
        self.progress, self.before = progress, progress()
        self.stack: list[str] = []
        self.bytes = 0, 0  # of weights: packed, and in total

    def enter(self, name: str) -> None:
        self.stack = [*self.stack, name]  # another thread reads it

    def leave(self) -> None:
        self.stack, self.bytes = self.stack[:-1], (0, 0)

    def advance(self, done: int, total: int) -> None:
        self.bytes = done, total

    @property
    def phase(self) -> str:
        """The innermost phase, or ""."""
        return next(iter(self.stack[-1:]), "")

    def describe(self) -> str:
        """What is being done, with numbers where there are any; "" for nothing that has words."""
        phase = self.phase
        words, (done, total) = WORDS.get(phase, ""), self.bytes
        if phase == "weights" and total:
            return f"{words} {format_share(done, total)}"
        if phase == "kernels":
            done, known = (now - before for now, before in zip(self.progress(), self.before, strict=True))
            return f"{words} {done}/{known}" if done < known else "loading kernels"
        return words


def format_share(done: int, total: int) -> str:
    """The bytes of a part and of the whole, in one unit: `1.2 of 3.8 GB`."""
    unit, name = (1e9, "GB") if total >= 1e9 else (1e6, "MB")
    return f"{done / unit:.1f} of {total / unit:.1f} {name}"


@contextmanager
def watch_sessions() -> Iterator[Activity]:
    """Describes what sessions that open in this thread do, for the duration of the block."""
    from sardonyx._src.compile.llvm.compile_progress import (
        PROGRESS,  # lazy: most verbs do not need the compiler
    )

    activity = Activity(lambda: (PROGRESS.done, PROGRESS.known))
    with watch_phases(activity):
        yield activity


def write_error_line(words: str) -> None:
    """Writes a line on standard error."""
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


@contextmanager
def write_lines(activity: Activity, write: WriteLine = write_error_line) -> Iterator[None]:
    """Writes a line for each phase, once the block has taken `LINES_DELAY` seconds.

    write: called with the words of a line, in a thread of its own.
    """
    over = threading.Event()
    writer = threading.Thread(
        target=poll, args=(activity, over, write), name="sardonyx progress", daemon=True
    )
    start_thread(writer)
    try:
        yield
    finally:
        over.set()
        writer.join()


def poll(activity: Activity, over: threading.Event, write: WriteLine) -> None:
    """Writes lines until the event is set.  Phases that end between two polls have none."""
    if over.wait(LINES_DELAY):
        return
    last, written = "", 0.0
    while True:
        words, now = activity.describe(), time.monotonic()
        if words and (activity.phase != last or now - written >= REPEAT_SECONDS):
            last, written = activity.phase, now
            write(words)
        if over.wait(POLL_SECONDS):
            return
