"""Requests and replies between the processes of a service, and sums of what they have counted."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from sardonyx._src.errors import SardonyxError
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.operation.snapshots import ModelSnapshot, ProcessSnapshot, retire, sum_models
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.service.processes.peer import Peer, PeerGone


def with_peers(scenario: Callable[[Peer, Peer], Awaitable[None]]) -> None:
    """Runs a scenario with a peer that asks, and the one that handles its requests."""

    async def handle(action: str, argument: object) -> object:
        match action:
            case "echo":
                await asyncio.sleep(0.01 if argument == 0 else 0)
                return argument
            case "refuse":
                raise RequestFailure(FailureKind.NOT_FOUND, "no such model", retry_after=2)
            case "wait":
                await asyncio.Event().wait()
        raise ValueError(action)

    async def run() -> None:
        ends = socket.socketpair()
        peers = [Peer(end, handle) for end in ends]
        for peer in peers:
            await peer.connect()
        tasks = [asyncio.create_task(peer.run()) for peer in peers]
        await scenario(*peers)
        for peer in peers:
            peer.close()
        await asyncio.gather(*tasks)

    asyncio.run(run())


def test_replies_belong_to_their_requests() -> None:
    async def scenario(peer: Peer, other: Peer) -> None:
        numbers = list(range(20))
        assert await asyncio.gather(*(peer.ask("echo", n) for n in numbers)) == numbers
        assert await other.ask("echo", "the other way") == "the other way"

    with_peers(scenario)


def test_errors_are_raised_where_the_request_was_made() -> None:
    async def scenario(peer: Peer, other: Peer) -> None:
        with pytest.raises(RequestFailure, match="no such model") as caught:
            await peer.ask("refuse")
        assert (caught.value.kind, caught.value.retry_after) == (FailureKind.NOT_FOUND, 2)
        with pytest.raises(SardonyxError, match="internal error"):
            await peer.ask("a defect")
        assert await peer.ask("echo", 1) == 1

    with_peers(scenario)


def test_end_of_the_other_process_ends_requests() -> None:
    async def scenario(peer: Peer, other: Peer) -> None:
        request = asyncio.create_task(peer.ask("wait"))
        await peer.ask("echo", 0)
        other.close()
        with pytest.raises(PeerGone):
            await request
        with pytest.raises(PeerGone):
            await peer.ask("echo", 1)

    with_peers(scenario)


def counted(requests: int, *, is_ready: bool = True) -> ProcessSnapshot:
    """A process with one model, some of whose requests have taken a millisecond each."""
    statistics = ModelStatistics()
    for _ in range(requests):
        statistics.record_request("ok", 0.001)
    return ProcessSnapshot((ModelSnapshot("a", "1", is_ready, 2, None, statistics),))


def test_counts_of_processes_are_added() -> None:
    (model,) = sum_models([counted(3), counted(4, is_ready=False)])
    assert (model.is_ready, model.queue_length, model.sequences) == (False, 4, None)
    assert model.statistics.outcomes == {"ok": 7}
    assert sum(model.statistics.request_seconds.counts) == 7
    assert model.statistics.request_seconds.total == pytest.approx(0.007)


def test_counts_of_a_process_stay_when_it_has_ended() -> None:
    ended, live = counted(3, is_ready=False), counted(4)
    (model,) = sum_models([retire(ended), live])
    assert (model.is_ready, model.queue_length) == (True, 2)
    assert model.statistics.outcomes == {"ok": 7}
    assert live.models[0].statistics.outcomes == {"ok": 4}, "sums leave their terms as they were"
