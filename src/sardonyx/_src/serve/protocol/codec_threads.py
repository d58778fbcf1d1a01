"""Slow decoding and encoding, executed in a thread beside the event loop.

Only one thread at a time runs Python code.  So that the event loop does not wait, codecs work in slices of a millisecond or
less, and call `yield_interpreter` after each slice.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

WORK_SECONDS = 0.001  # time after which a codec pauses
# Duration of a pause, in which the event loop runs.  Without pauses it would wait for the interpreter's switch interval.
PAUSE_SECONDS = 0.0005
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
# Its attribute `since` is the end of the last pause of a codec's thread; other threads do not have the attribute.
THREAD = threading.local()


class CodecThreads:
    """The thread of a service in which codecs work, started at first use.

    There is only one, since the event loop would have to wait for each of several threads.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="sardonyx-codec", initializer=begin_work)

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """The result of a call in the thread.  A call that has begun continues even if the task that awaits it is cancelled."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *args)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def begin_work() -> None:
    THREAD.since = time.perf_counter()


def yield_interpreter() -> None:
    """Pauses if the codec of this thread has worked for WORK_SECONDS; does nothing in other threads."""
    since = getattr(THREAD, "since", None)
    if since is not None and time.perf_counter() - since > WORK_SECONDS:
        time.sleep(PAUSE_SECONDS)
        begin_work()
