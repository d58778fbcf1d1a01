"""The queue that admits requests: its order, its limit, and requests that are cancelled in any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sardonyx._src.serve.models.language.admission import AdmissionQueue
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 30))


def test_requests_run_in_the_order_of_their_arrival() -> None:
    async def scenario() -> None:
        queue, order = AdmissionQueue(2, 9, ModelStatistics()), []

        async def request(number: int) -> None:
            begin = await queue.enter()
            order.append(number)
            assert queue.running <= 2
            await asyncio.sleep(0)
            queue.leave(begin)

        await asyncio.gather(*(request(number) for number in range(8)))
        assert order == list(range(8)) and (queue.running, queue.length) == (0, 0)

    run(scenario())


def test_a_full_queue_says_when_to_try_again() -> None:
    async def scenario() -> None:
        statistics = ModelStatistics()
        queue = AdmissionQueue(1, 1, statistics)
        begin = await queue.enter()
        waiting = asyncio.create_task(queue.enter())
        await asyncio.sleep(0)
        with pytest.raises(RequestFailure) as caught:
            await queue.enter()
        assert caught.value.kind is FailureKind.BUSY and caught.value.retry_after == 1.0
        queue.leave(begin)
        await waiting
        assert (queue.running, queue.length) == (1, 0) and sum(statistics.wait_seconds.counts) == 2

    run(scenario())


def test_a_request_that_is_cancelled_leaves_the_queue() -> None:
    async def scenario() -> None:
        queue = AdmissionQueue(1, 9, ModelStatistics())
        begin = await queue.enter()
        first, second = asyncio.create_task(queue.enter()), asyncio.create_task(queue.enter())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        assert queue.length == 1
        queue.leave(begin)
        queue.leave(await second)
        assert (queue.running, queue.length) == (0, 0)

    run(scenario())


def test_a_request_that_is_cancelled_when_it_is_admitted_passes_its_place_on() -> None:
    async def scenario() -> None:
        queue = AdmissionQueue(1, 9, ModelStatistics())
        begin = await queue.enter()
        first, second = asyncio.create_task(queue.enter()), asyncio.create_task(queue.enter())
        await asyncio.sleep(0)
        queue.leave(begin)  # admits the first, whose task has not noticed yet
        first.cancel()
        queue.leave(await second)
        assert first.cancelled() and (queue.running, queue.length) == (0, 0)

    run(scenario())
