"""The run of a batch in a worker thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sardonyx._src.errors import CancelledError, LimitError, SardonyxError
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunResult
from sardonyx._src.serve.batching.joining import join_feeds, split_results
from sardonyx._src.serve.models.scheduler.request_queue import QueueEntry, RunningBatch

# Runs the session, given the feeds, the seconds that the run may last (None: any time), and the token that cancels it.
RunFunction: TypeAlias = (
    "Callable[[Mapping[str, Array], float | None, CancellationToken], Mapping[str, RunResult]]"
)
Outcome: TypeAlias = "Mapping[str, RunResult] | BaseException"


def run_batch(run: RunFunction, batch: RunningBatch) -> list[Outcome]:
    """The results, or the error, of each request of a batch.

    If the joined run fails, or an output does not have one row for each row of the inputs, every request is run separately, so
    that none fails because of another.
    """
    entries = batch.entries
    if len(entries) > 1:
        outcomes = run_joined(run, batch)
        if outcomes is not None:
            return outcomes
    return [run_alone(run, entry, batch.token) for entry in entries]


def run_joined(run: RunFunction, batch: RunningBatch) -> list[Outcome] | None:
    entries = batch.entries
    try:
        feeds = join_feeds([entry.request.inputs for entry in entries])
        results = run(feeds, seconds_left(entries), batch.token)
    except (CancelledError, LimitError) as error:
        is_end = isinstance(error, CancelledError) or error.limit == "timeout"
        return [error] * len(entries) if is_end else None
    except (SardonyxError, MemoryError):
        return None
    parts = split_results(results, [entry.rows for entry in entries])
    return None if parts is None else list(parts)


def run_alone(run: RunFunction, entry: QueueEntry, token: CancellationToken) -> Outcome:
    """The outcome of one request; errors of any kind are returned, since the thread belongs to all requests."""
    if entry.is_abandoned:
        return CancelledError("the client no longer waits")
    try:
        return run(entry.request.inputs, seconds_left([entry]), token)
    except Exception as error:  # noqa: BLE001 (the transport reports it)
        return error


def seconds_left(entries: Sequence[QueueEntry]) -> float | None:
    """The time until the last deadline; None if a request has none."""
    deadlines = [entry.request.deadline for entry in entries]
    known = [deadline for deadline in deadlines if deadline is not None]
    return max(known) - time.monotonic() if len(known) == len(deadlines) else None
