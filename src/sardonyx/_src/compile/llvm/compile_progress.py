"""How far this process is with compiling modules."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from sardonyx._src.dataclass import dataclass

LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):  # else a child may wait forever for a lock that a thread held at the fork
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


@dataclass(slots=True)
class CompileProgress:
    """The numbers of modules that this process has queued and compiled, and of those whose code a library or the cache had.

    watch: called with done and known after each change.
    """

    known: int = 0
    done: int = 0
    hits: int = 0
    watch: Callable[[int, int], None] | None = None

    def count_hit(self) -> None:
        with LOCK:
            self.hits += 1

    def add(self, *, known: int = 0, done: int = 0) -> None:
        with LOCK:
            self.known, self.done = self.known + known, self.done + done
        if self.watch is not None:
            self.watch(self.done, self.known)


PROGRESS = CompileProgress()
