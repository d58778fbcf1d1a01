"""Decoding and encoding that take long, beside the event loop.

Threads do not run Python code at one time, so that what they call must return within a millisecond or so: codecs work in slices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

THREADS = 2  # a short request does not wait for a long one; more would make the event loop wait for several
P = ParamSpec("P")
T = TypeVar("T")


class CodecThreads:
    """The threads of a service; they start with the first use."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sardonyx-codec")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a call in a thread.  A call that has begun goes on if the task that awaits it is cancelled."""
        assert not kwargs, "executors pass positional arguments"
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *args)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
