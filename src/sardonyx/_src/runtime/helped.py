"""Children that compile while programs are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.compile import entry, tape
from sardonyx._src.compile.llvm import ahead, host
from sardonyx._src.compile.llvm.cache import disk
from sardonyx._src.compile.llvm.jit import prepare
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.runtime import pool
from sardonyx._src.runtime.arrays import ENTRIES, FIELDS
from sardonyx._src.runtime.cpus import available


@contextmanager
def helped() -> Iterator[None]:
    """While this goes on, children compile what was asked for ahead; one is there at once if it has to be asked things."""
    with ahead.helped(available()):
        if host.kept() is None:
            ahead.begin()
        yield


def prepare_runner(target: Target) -> None:
    """Has what runs any program compiled ahead, unless this process has it."""
    if pool.PROCESS.code is None:
        prepare(tape.source(target), disk())
    if not ENTRIES:
        prepare(entry.source(target, FIELDS), disk())
