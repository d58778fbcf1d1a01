"""Decoding and encoding that take long, beside the event loop.

Threads take turns at running Python code, so that codecs
work in slices of a millisecond or less, and call `yield_interpreter` after each.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

WORK_SECONDS = 0.001  # after which a codec pauses
PAUSE_SECONDS = 0.0005  # for the event loop, which otherwise would wait for the interpreter's switch interval
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
THREAD = threading.local()  # since: the end of the last pause of a codec; other threads do not have it


class CodecThreads:
    """The one thread of a service in which codecs work; it starts with the first use.  More would make the event loop wait for each."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="sardonyx-codec", initializer=begin_work)

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """The result of a call in a thread.  A call that has begun goes on if the task that awaits it is cancelled."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *args)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def begin_work() -> None:
    THREAD.since = time.perf_counter()


def yield_interpreter() -> None:
    """Lets the event loop run if the codec of this thread has worked for long; elsewhere, does nothing."""
    since = getattr(THREAD, "since", None)
    if since is not None and time.perf_counter() - since > WORK_SECONDS:
        time.sleep(PAUSE_SECONDS)
        begin_work()
