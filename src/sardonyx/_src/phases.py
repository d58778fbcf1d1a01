"""Phases of the start of a session, reported to a watcher: a progress line, or `sardonyx bench --start`.

Without a watcher, a phase costs about a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class PhaseWatcher(Protocol):
    """Receives the phases of one thread; a phase may be inside another one."""

    def enter(self, name: str) -> None:
        """A phase begins."""

    def leave(self) -> None:
        """The innermost phase ends."""

    def advance(self, done: int, total: int) -> None:
        """In the innermost phase, `done` of `total` bytes are done."""


class Watch:
    """The watcher of this process, and the thread whose phases it watches."""

    watcher: PhaseWatcher | None = None
    thread = 0


def current_watcher() -> PhaseWatcher | None:
    """The watcher of this thread."""
    return Watch.watcher if Watch.watcher is not None and Watch.thread == get_ident() else None


@contextmanager
def watch_phases(watcher: PhaseWatcher) -> Iterator[None]:
    """Reports the phases of this thread to a watcher for the duration of the block."""
    before = Watch.watcher, Watch.thread
    Watch.watcher, Watch.thread = watcher, get_ident()
    try:
        yield
    finally:
        Watch.watcher, Watch.thread = before


class Phase:
    """A phase for the duration of a block or, as a decorator, of each call of a function."""

    __slots__ = ("name", "watcher")

    def __init__(self, name: str) -> None:
        self.name = name
        self.watcher: PhaseWatcher | None = None

    def __enter__(self) -> None:
        self.watcher = current_watcher()
        if self.watcher is not None:
            self.watcher.enter(self.name)

    def __exit__(self, *_: object) -> None:
        if self.watcher is not None:
            self.watcher.leave()

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def run(*args: P.args, **options: P.kwargs) -> T:
            if Watch.watcher is None:
                return function(*args, **options)
            with Phase(self.name):
                return function(*args, **options)

        return run


def phase(name: str) -> Phase:
    """A phase of this name, for a `with` block or as a decorator."""
    return Phase(name)


def report_bytes(done: int, total: int) -> None:
    """Reports that `done` of `total` bytes of the current phase are done."""
    watcher = current_watcher()
    if watcher is not None:
        watcher.advance(done, total)
