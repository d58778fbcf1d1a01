"""Admission of requests that run for long: some at a time, the others in a bounded queue."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from contextlib import suppress

from sardonyx._src.serve.models.scheduler.scheduler import MAX_RETRY_SECONDS
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure


class AdmissionQueue:
    """Lets `most` requests run at the same time, and `max_queue` wait; first come, first served.

    All methods are called on the event loop.
    """

    def __init__(self, most: int, max_queue: int, statistics: ModelStatistics) -> None:
        self._most, self._max_queue, self._statistics = most, max_queue, statistics
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._running = 0
        self._seconds = 0.0  # moving average of the time that a request runs

    @property
    def length(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The number of requests that run."""
        return self._running

    async def enter(self) -> float:
        """Waits until the request may run; the time of `time.monotonic` at which it begins, for `leave`.

        Raises RequestFailure (BUSY) for a full queue.  Cancelling the task removes the request from the queue.
        """
        arrival = time.monotonic()
        if self._running < self._most:
            self._running += 1
        else:
            await self._wait()
        begin = time.monotonic()
        self._statistics.record_wait(begin - arrival)
        return begin

    def leave(self, begin: float) -> None:
        """Ends a request that ran since `begin`; the next one begins."""
        self._seconds += (time.monotonic() - begin - self._seconds) / 8
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return
        self._running -= 1

    async def _wait(self) -> None:
        if len(self._waiting) >= self._max_queue:
            what = f"{len(self._waiting)} requests wait for the model, as many as its queue may hold"
            raise RequestFailure(FailureKind.BUSY, what, retry_after=self._retry_seconds())
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._waiting.remove(waiting)
            if not waiting.cancelled():  # it was admitted in the same moment
                self._pass_on()
            raise

    def _retry_seconds(self) -> float:
        """The seconds until the queue will be empty, at the pace of the last requests."""
        seconds = self._seconds * len(self._waiting) / self._most
        return min(max(1.0, math.ceil(seconds)), MAX_RETRY_SECONDS)
