"""Runs that a caller does not wait for: futures, and coroutines."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sardonyx._src.interp.run_control import CancellationToken

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")
_POOL: list[ThreadPoolExecutor] = []


def submit(run: Callable[[], T]) -> Future[T]:
    """Calls `run` in a thread of the process's pool, which runs as many calls at a time as there are processors."""
    from concurrent.futures import ThreadPoolExecutor  # loads slowly, and few programs need it

    if not _POOL:
        _POOL.append(ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="sardonyx-run"))
    return _POOL[0].submit(run)


async def wait_for(run: Callable[..., T], token: CancellationToken | None) -> T:
    """The result of `run(cancellation=token)`, called in a thread.  Cancelling the task that waits ends the run."""
    import asyncio

    token = CancellationToken() if token is None else token
    future = submit(partial(run, cancellation=token))
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        token.cancel()
        raise


os.register_at_fork(after_in_child=_POOL.clear)  # a forked child has none of the pool's threads
