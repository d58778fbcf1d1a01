"""The scheduler of a model: a queue of requests, batches of them, and worker threads that run the batches."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from sardonyx._src.errors import LimitError
from sardonyx._src.ops.api import RunResult
from sardonyx._src.serve.batching.joining import batch_key
from sardonyx._src.serve.models.scheduler.batch_run import Outcome, RunFunction, run_batch
from sardonyx._src.serve.models.scheduler.options import SchedulerOptions
from sardonyx._src.serve.models.scheduler.request_queue import QueueEntry, RequestQueue, RunningBatch
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.requests import InferenceRequest

MAX_RETRY_SECONDS = 60.0


class Scheduler:
    """Queue and workers of one model.  All methods are called on the event loop.

    batched_inputs: the inputs that every request of a batch must feed; None: there are no batches.
    """

    def __init__(
        self,
        run: RunFunction,
        options: SchedulerOptions,
        batched_inputs: frozenset[str] | None = None,
        statistics: ModelStatistics | None = None,
    ) -> None:
        """run: runs the session; called in `options.workers` threads at the same time."""
        self._run, self.options = run, options
        self._batched_inputs = batched_inputs if options.max_batch > 1 else None
        self._statistics = statistics or ModelStatistics()
        self._queue = RequestQueue()
        self._threads = ThreadPoolExecutor(options.workers, thread_name_prefix="sardonyx-serve")
        self._idle = options.workers
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None  # fires when the next batch has waited long enough
        self._seconds = 0.0  # moving average of the run time of a request

    @property
    def queue_length(self) -> int:
        """The number of requests that wait."""
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return self._idle == self.options.workers and not self._queue

    async def submit(self, request: InferenceRequest) -> Mapping[str, RunResult]:
        """The outputs of a request by name.  Cancelling the task that awaits them removes the request from the queue, or ends its run.

        Raises what `Session.run` raises, LimitError ("timeout") once the deadline has passed, and RequestFailure: BUSY for a full
        queue, UNAVAILABLE for a scheduler that is closed.
        """
        entry = self._admit(request)
        timer = self._start_deadline(entry)
        try:
            return await entry.future
        except asyncio.CancelledError:
            self._abandon(entry)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def close(self) -> None:
        """Refuses later requests; those in the queue still run."""
        self._is_closed = True
        self._dispatch()
        self._shut_down_if_idle()

    def _admit(self, request: InferenceRequest) -> QueueEntry:
        """Adds a request to the queue, and starts the batches that can run."""
        if self._is_closed:
            raise RequestFailure(
                FailureKind.UNAVAILABLE, "the model is closed: it has been replaced or unloaded"
            )
        now = time.monotonic()
        if request.deadline is not None and request.deadline <= now:
            raise deadline_error()
        if len(self._queue) >= self.options.max_queue:
            what = f"{len(self._queue)} requests wait for the model, as many as its queue may hold"
            raise RequestFailure(FailureKind.BUSY, what, retry_after=self._retry_seconds())
        future: asyncio.Future[Mapping[str, RunResult]] = asyncio.get_running_loop().create_future()
        entry = QueueEntry(request, future, request.priority or self.options.priority, now)
        if self._batched_inputs is not None:
            batch = batch_key(request.inputs, self._batched_inputs)
            if batch is not None:
                entry.key, entry.rows = batch
        self._queue.push(entry)
        self._dispatch()
        return entry

    def _retry_seconds(self) -> float:
        """The seconds until the queue will be empty, at the pace of the last requests."""
        seconds = self._seconds * len(self._queue) / self.options.workers
        return min(max(1.0, math.ceil(seconds)), MAX_RETRY_SECONDS)

    def _start_deadline(self, entry: QueueEntry) -> asyncio.TimerHandle | None:
        deadline = entry.request.deadline
        if deadline is None:
            return None
        return asyncio.get_running_loop().call_later(
            max(0.0, deadline - time.monotonic()), self._expire, entry
        )

    def _expire(self, entry: QueueEntry) -> None:
        """Fails a request whose deadline has passed."""
        if not entry.future.done():
            entry.future.set_exception(deadline_error())
            self._abandon(entry)

    def _abandon(self, entry: QueueEntry) -> None:
        """Removes a request that nothing waits for from the queue, or ends its run if it was the last one of its batch."""
        if not entry.future.cancel() and not entry.future.cancelled():
            entry.future.exception()  # marks it as seen, or else asyncio logs it
        if entry.batch is not None:
            entry.batch.cancel_if_abandoned()
        elif entry in self._queue:
            self._queue.remove(entry)

    def _dispatch(self) -> None:
        """Starts batches while workers are idle."""
        while self._idle and self._queue:
            entries = self._queue.batch(self.options.max_batch)
            if self._waits_for_more(entries):
                return
            for entry in entries:
                self._queue.remove(entry)
            self._start(RunningBatch(entries))

    def _waits_for_more(self, entries: list[QueueEntry]) -> bool:
        """Whether a batch may still grow; starts the timer that ends the wait."""
        head = entries[0]
        if head.key is None or self._is_closed or sum(e.rows for e in entries) >= self.options.max_batch:
            return False
        left = head.arrival + self.options.batch_delay - time.monotonic()
        if left <= 0:
            return False
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(left, self._dispatch)
        return True

    def _start(self, batch: RunningBatch) -> None:
        self._idle -= 1
        begin = time.monotonic()
        for entry in batch.entries:
            entry.batch = batch
            self._statistics.record_wait(begin - entry.arrival)
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, run_batch, self._run, batch)
        running.add_done_callback(partial(self._complete, batch, begin))

    def _complete(self, batch: RunningBatch, begin: float, running: asyncio.Future[list[Outcome]]) -> None:
        """Passes the outcomes of a batch to the tasks that wait for them, and starts the next batch."""
        self._idle += 1
        seconds = time.monotonic() - begin
        self._seconds += (seconds / len(batch.entries) - self._seconds) / 8
        self._statistics.record_run(sum(entry.rows for entry in batch.entries), seconds)
        for entry, outcome in zip(batch.entries, running.result(), strict=True):
            entry.batch = (
                None  # a cycle of references, which would keep the results until the garbage is collected
            )
            if entry.future.done():
                continue
            if isinstance(outcome, BaseException):
                entry.future.set_exception(outcome)
            else:
                entry.future.set_result(outcome)
        self._dispatch()
        self._shut_down_if_idle()

    def _shut_down_if_idle(self) -> None:
        if self._is_closed and self.is_idle:
            self._threads.shutdown(wait=False)


def deadline_error() -> LimitError:
    return LimitError("the deadline of the request has passed", limit="timeout")
