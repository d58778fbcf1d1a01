"""Starting threads, with an error instead of an endless wait if the system cannot run them, and the processors for them."""

from __future__ import annotations

import _thread
import os
import threading

from sardonyx._src.errors import LimitError

START_SECONDS = 10.0


def affinity_count() -> int:
    """The processors that the calling thread may run on; all of the machine where the system does not say."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not Linux, or refused by a sandbox
        return os.cpu_count() or 1


def start_thread(thread: threading.Thread) -> None:
    """Starts a thread; raises LimitError if it does not run within START_SECONDS.

    `Thread.start` waits without end for a thread that dies before its first statement, which happens when the process
    may have no more memory (CPython's issue 140746).  Therefore another thread calls it, and this one waits with a limit.
    """
    has_started = threading.Lock()
    has_started.acquire()
    errors: list[BaseException] = []

    def launch() -> None:
        try:
            thread.start()
        except (RuntimeError, MemoryError) as error:
            errors.append(error)
        finally:
            has_started.release()

    try:
        _thread.start_new_thread(launch, ())
    except (RuntimeError, MemoryError) as error:
        raise unable_to_start(thread) from error
    if not has_started.acquire(timeout=START_SECONDS):
        raise unable_to_start(thread)
    if errors:
        raise unable_to_start(thread) from errors[0]


def unable_to_start(thread: threading.Thread) -> LimitError:
    return LimitError(
        f"the system has too little memory, or too many threads, to start the thread {thread.name!r}",
        limit="ulimit -v, ulimit -u",
    )
