"""The queue of a model: requests by priority, and first come, first served among equals."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ops.api import RunResult
from sardonyx._src.serve.batching.joining import BatchKey
from sardonyx._src.serve.protocol.requests import InferenceRequest


@dataclass(eq=False, slots=True)
class QueueEntry:
    """A request that waits or runs.

    future: receives the results.
    priority: requests with smaller numbers run earlier.
    arrival: the time of arrival, of `time.monotonic`.
    key, rows: the result of `batch_key`; None as key for a request that is not joined with others.
    batch: the batch of the request while it runs; None before and after.
    """

    request: InferenceRequest
    future: asyncio.Future[Mapping[str, RunResult]]
    priority: int
    arrival: float
    key: BatchKey | None = None
    rows: int = 1
    batch: RunningBatch | None = None

    @property
    def is_abandoned(self) -> bool:
        """Whether no task waits for the results any longer."""
        return self.future.done()


@dataclass(eq=False, slots=True)
class RunningBatch:
    """Requests that run together, and the token that ends their run."""

    entries: list[QueueEntry]
    token: CancellationToken = field(default_factory=CancellationToken)

    def cancel_if_abandoned(self) -> None:
        """Ends the run if no task waits for any of its results."""
        if all(entry.is_abandoned for entry in self.entries):
            self.token.cancel()


class RequestQueue:
    """Entries in the order in which they run."""

    def __init__(self) -> None:
        self._levels: dict[int, deque[QueueEntry]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[QueueEntry]:
        for priority in sorted(self._levels):
            yield from self._levels[priority]

    def push(self, entry: QueueEntry) -> None:
        self._levels.setdefault(entry.priority, deque()).append(entry)
        self._count += 1

    def remove(self, entry: QueueEntry) -> None:
        """Removes an entry that waits."""
        level = self._levels[entry.priority]
        level.remove(entry)
        self._count -= 1
        if not level:
            del self._levels[entry.priority]

    def head(self) -> QueueEntry:
        """The entry that runs next."""
        return self._levels[min(self._levels)][0]

    def batch(self, max_rows: int) -> list[QueueEntry]:
        """The head of the queue and the entries that fit into a batch with it, in order; all stay in the queue."""
        head = self.head()
        if head.key is None or head.rows >= max_rows:
            return [head]
        entries, rows = [head], head.rows
        for entry in self:
            if entry is not head and entry.key == head.key and rows + entry.rows <= max_rows:
                entries.append(entry)
                rows += entry.rows
                if rows == max_rows:
                    break
        return entries
