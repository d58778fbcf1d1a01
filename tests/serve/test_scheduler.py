"""Schedulers: batches, priorities, deadlines, bounded queues, cancellation, and the end of service."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Mapping
from typing import TypeVar

import numpy as np
import pytest

from sardonyx._src.errors import CancelledError, EvaluationError, InputError, LimitError
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array
from sardonyx._src.serve.models.scheduler.batch_run import RunFunction
from sardonyx._src.serve.models.scheduler.options import SchedulerOptions, SequenceOptions
from sardonyx._src.serve.models.scheduler.scheduler import Scheduler
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.requests import InferenceRequest

X = frozenset({"x"})
T = TypeVar("T")
SCHEDULERS: list[Scheduler] = []


class Recorder:
    """A run that doubles its input x, and records what it receives; it blocks while its gate is closed.

    Values below 0 are errors, as of an index out of range.
    """

    def __init__(self, *, is_open: bool = True) -> None:
        self.gate, self.runs = threading.Event(), list[list[float]]()
        self.tokens: list[CancellationToken] = []
        if is_open:
            self.gate.set()

    def __call__(
        self, feeds: Mapping[str, Array], timeout: float | None, token: CancellationToken
    ) -> dict[str, Array]:
        self.runs.append(feeds["x"].reshape(len(feeds["x"]), -1)[:, 0].tolist())
        self.tokens.append(token)
        end = time.monotonic() + min(5.0, 5.0 if timeout is None else timeout)
        while not self.gate.wait(0.001):
            if token.is_cancelled:
                raise CancelledError("the run was cancelled")
            if time.monotonic() > end:
                raise LimitError("too long", limit="timeout")
        if (feeds["x"] < 0).any():
            raise EvaluationError("the index must be >= 0")
        return {"y": feeds["x"] * 2}


def request(
    value: float, *, rows: int = 1, width: int = 2, priority: int = 0, seconds: float | None = None
) -> InferenceRequest:
    deadline = None if seconds is None else time.monotonic() + seconds
    x = np.full((rows, width), value, np.float32)
    return InferenceRequest("m", {"x": x}, priority=priority, deadline=deadline)


def open_scheduler(
    function: RunFunction,
    options: SchedulerOptions,
    batched_inputs: frozenset[str] | None = None,
    statistics: ModelStatistics | None = None,
) -> Scheduler:
    """A scheduler that `run` closes."""
    scheduler = Scheduler(function, options, batched_inputs, statistics)
    SCHEDULERS.append(scheduler)
    return scheduler


def run(scenario: Coroutine[None, None, T]) -> T:
    """The result of a scenario; its schedulers are closed at the end."""

    async def run_and_close() -> T:
        try:
            return await scenario
        finally:
            while SCHEDULERS:
                SCHEDULERS.pop().close()

    return asyncio.run(run_and_close())


async def begin(scheduler: Scheduler, *requests: InferenceRequest) -> list[asyncio.Task[float]]:
    """Submits requests one after the other; the results are the first element of y."""

    async def first(r: InferenceRequest) -> float:
        y = (await scheduler.submit(r))["y"]
        assert y.shape == r.inputs["x"].shape
        return float(y[0, 0])

    tasks = [asyncio.create_task(first(r)) for r in requests]
    await asyncio.sleep(0.01)
    return tasks


def test_waiting_requests_are_joined_and_split_again() -> None:
    recorder, statistics = Recorder(is_open=False), ModelStatistics()

    async def scenario() -> list[float]:
        scheduler = open_scheduler(recorder, SchedulerOptions(max_batch=4), X, statistics)
        tasks = await begin(scheduler, *(request(i, rows=1 + (i == 2)) for i in range(6)))
        recorder.gate.set()
        return await asyncio.gather(*tasks)

    assert run(scenario()) == [0, 2, 4, 6, 8, 10]
    assert recorder.runs == [[0], [1, 2, 2, 3], [4, 5]]
    assert statistics.batch_rows.counts[:3] == [1, 1, 1]


def test_only_compatible_requests_are_joined() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> list[float]:
        scheduler = open_scheduler(recorder, SchedulerOptions(), X)
        doubles = InferenceRequest("m", {"x": np.full((1, 2), 5.0)})
        other = InferenceRequest("m", {"x": np.ones((1, 2), np.float32), "z": np.ones(1)})
        widths = [request(1), request(2, width=3), request(3), request(4, width=3)]
        tasks = await begin(scheduler, request(0), *widths, doubles, other)
        recorder.gate.set()
        return await asyncio.gather(*tasks)

    assert run(scenario()) == [0, 2, 4, 6, 8, 10, 2]
    assert recorder.runs == [[0], [1, 3], [2, 4], [5], [1]]


def test_batch_waits_for_more_until_it_is_full_or_late() -> None:
    recorder = Recorder()

    async def scenario() -> float:
        scheduler = open_scheduler(recorder, SchedulerOptions(max_batch=2, batch_delay=0.05), X)
        await asyncio.gather(*(scheduler.submit(request(i)) for i in range(2)))
        start = time.monotonic()
        await scheduler.submit(request(2))
        return time.monotonic() - start

    assert run(scenario()) >= 0.05
    assert recorder.runs == [[0, 1], [2]]


def test_request_that_fails_leaves_the_others_of_its_batch_alone() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> list[float | BaseException]:
        scheduler = open_scheduler(recorder, SchedulerOptions(), X)
        tasks = await begin(scheduler, request(0), request(1), request(-1), request(2))
        recorder.gate.set()
        results: list[float | BaseException] = await asyncio.gather(*tasks, return_exceptions=True)
        return results

    results = run(scenario())
    assert [results[0], results[1], results[3]] == [0, 2, 4]
    assert isinstance(results[2], EvaluationError)
    assert recorder.runs == [[0], [1, -1, 2], [1], [-1], [2]]


def test_outputs_without_a_row_for_each_row_are_not_split() -> None:
    gate = threading.Event()

    def total(
        feeds: Mapping[str, Array], timeout: float | None, token: CancellationToken
    ) -> dict[str, Array]:
        gate.wait(5)
        return {"y": feeds["x"].sum(axis=0, keepdims=True)}

    async def scenario() -> list[float]:
        scheduler = open_scheduler(total, SchedulerOptions(batching=True), X)
        tasks = await begin(scheduler, *(request(i) for i in range(4)))
        gate.set()
        return await asyncio.gather(*tasks)

    assert run(scenario()) == [0, 1, 2, 3]


def test_priorities() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> None:
        scheduler = open_scheduler(recorder, SchedulerOptions(priority=2))
        tasks = await begin(
            scheduler, request(0), request(1, priority=3), request(2), request(3, priority=1), request(4)
        )
        recorder.gate.set()
        await asyncio.gather(*tasks)

    run(scenario())
    assert recorder.runs == [[0], [3], [2], [4], [1]]


def test_request_past_its_deadline_never_runs() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> tuple[float, float]:
        scheduler = open_scheduler(recorder, SchedulerOptions(), X)
        with pytest.raises(LimitError) as refusal:
            await scheduler.submit(request(9, seconds=-1))
        assert refusal.value.limit == "timeout"
        tasks = await begin(scheduler, request(0), request(1, seconds=0.02), request(2))
        with pytest.raises(LimitError, match="deadline"):
            await tasks[1]
        recorder.gate.set()
        return await tasks[0], await tasks[2]

    assert run(scenario()) == (0, 4)
    assert recorder.runs == [[0], [2]]


def test_run_past_its_deadline_ends() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> None:
        scheduler = open_scheduler(recorder, SchedulerOptions())
        with pytest.raises(LimitError):
            await scheduler.submit(request(0, seconds=0.02))
        while not scheduler.is_idle:
            await asyncio.sleep(0.001)

    run(scenario())
    assert recorder.tokens[0].is_cancelled


def test_full_queue_refuses() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> RequestFailure:
        scheduler = open_scheduler(recorder, SchedulerOptions(max_queue=2))
        tasks = await begin(scheduler, *(request(i) for i in range(3)))
        with pytest.raises(RequestFailure) as refusal:
            await scheduler.submit(request(3))
        recorder.gate.set()
        await asyncio.gather(*tasks)
        await scheduler.submit(request(4))
        return refusal.value

    failure = run(scenario())
    assert failure.kind is FailureKind.BUSY
    assert failure.retry_after == 1
    assert recorder.runs == [[0], [1], [2], [4]]


def test_client_that_goes_away_leaves_the_queue_or_ends_its_run() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> float:
        scheduler = open_scheduler(recorder, SchedulerOptions())
        running, waiting, last = await begin(scheduler, *(request(i) for i in range(3)))
        waiting.cancel()
        running.cancel()
        await asyncio.sleep(0.05)
        recorder.gate.set()
        return await last

    assert run(scenario()) == 4
    assert recorder.runs == [[0], [2]]
    assert [token.is_cancelled for token in recorder.tokens] == [True, False]


def test_batch_ends_only_when_all_its_clients_are_gone() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> float:
        scheduler = open_scheduler(recorder, SchedulerOptions(batch_delay=0.005), X)
        first, second = await begin(scheduler, request(1), request(2))
        await asyncio.sleep(0.02)
        first.cancel()
        await asyncio.sleep(0.01)
        recorder.gate.set()
        return await second

    assert run(scenario()) == 4
    assert recorder.runs == [[1, 2]]


def test_workers_run_at_the_same_time() -> None:
    recorder = Recorder(is_open=False)

    async def scenario() -> int:
        scheduler = open_scheduler(recorder, SchedulerOptions(workers=3))
        tasks = await begin(scheduler, *(request(i) for i in range(5)))
        running = len(recorder.runs)
        recorder.gate.set()
        await asyncio.gather(*tasks)
        return running

    assert run(scenario()) == 3


def test_closed_scheduler_completes_its_queue() -> None:
    recorder, others = Recorder(is_open=False), set(threading.enumerate())

    async def scenario() -> list[float]:
        scheduler = open_scheduler(recorder, SchedulerOptions())
        tasks = await begin(scheduler, *(request(i) for i in range(3)))
        scheduler.close()
        with pytest.raises(RequestFailure, match="closed"):
            await scheduler.submit(request(3))
        recorder.gate.set()
        return await asyncio.gather(*tasks)

    assert run(scenario()) == [0, 2, 4]
    deadline = time.monotonic() + 5
    while any(thread.name.startswith("sardonyx-serve") for thread in {*threading.enumerate()} - others):
        assert time.monotonic() < deadline, "its threads end"
        time.sleep(0.001)


def test_defect_of_a_run_reaches_its_client_alone() -> None:
    def defect(
        feeds: Mapping[str, Array], timeout: float | None, token: CancellationToken
    ) -> dict[str, Array]:
        raise AssertionError("a defect")

    async def scenario() -> None:
        scheduler = open_scheduler(defect, SchedulerOptions())
        for _ in range(2):
            with pytest.raises(AssertionError, match="a defect"):
                await scheduler.submit(request(0))

    run(scenario())


@pytest.mark.parametrize(
    "options",
    [{"workers": 0}, {"max_queue": 1.5}, {"batch_delay": -1}, {"batch_delay": True}, {"batching": "yes"}],
)
def test_invalid_options(options: dict[str, int]) -> None:
    with pytest.raises((InputError, TypeError), match="scheduling"):
        SchedulerOptions(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"states": ["h"]}, {"states": {"h": 1}}, {"sizes": {"n": "1"}}])
def test_invalid_options_of_sequences(options: dict[str, dict[str, str]]) -> None:
    with pytest.raises(InputError, match="sequences"):
        SequenceOptions(**options)  # type: ignore[arg-type]
