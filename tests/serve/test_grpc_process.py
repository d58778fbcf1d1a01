"""The process of gRPC: messages in pieces, bytes that are counted before they are stored, calls that end, processes that die."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest

from sardonyx._src.serve.grpc.calls import AnsweredCalls, Call, CallingMethods, Cancel, Reply
from sardonyx._src.serve.grpc.front_process import GrpcProcess
from sardonyx._src.serve.grpc.link import PIECE, Bytes, Link
from sardonyx._src.serve.grpc.messages import ModelInferResponse
from sardonyx._src.serve.grpc.process import GrpcStart
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import HeldBytes
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.service.service import Service
from serve.repositories import write_scale
from serve.running import run_service, wait_until
from serve.test_grpc_server import Client, request, y_of

LONG = bytes(range(256)) * 20_000


class Methods:
    """Methods that answer with the data of the request, or as their names say."""

    def __init__(self) -> None:
        self.running = self.cancelled = 0
        self.finished: list[str] = []

    async def call(self, method: str, data: Bytes, seconds: float | None) -> Bytes:
        self.running += 1
        try:
            if method == "wait":
                await asyncio.Event().wait()
            if method == "fail":
                raise RequestFailure(FailureKind.BUSY, "later", retry_after=2.5)
            self.finished.append(method)
            return data
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1


class Linked:
    """Both ends of a link in one process."""

    def __init__(self, limit: int = 1 << 30) -> None:
        self.methods, self.held = Methods(), HeldBytes(limit)
        self.answered = AnsweredCalls(self.methods, self.held)
        self.service_link = Link(self.answered.accept, self.handle_call, self.answered.cancel_all)
        self.answered.answer_on(self.service_link)
        self.front_link = Link(lambda number, size: True, self.handle_reply, lambda: None)
        self.calling = CallingMethods(self.front_link)

    def handle_call(self, number: int, head: object, data: Bytes) -> None:
        if isinstance(head, Call):
            self.answered.begin(number, head, data)
        else:
            assert isinstance(head, Cancel)
            self.answered.cancel(number)

    def handle_reply(self, number: int, head: object, data: Bytes) -> None:
        assert isinstance(head, Reply)
        self.calling.settle(number, head, data)

    async def connect(self) -> None:
        ours, theirs = socket.socketpair()
        await self.service_link.connect(ours)
        await self.front_link.connect(theirs)


def linked(scenario: Callable[[Linked], Awaitable[None]], limit: int = 1 << 30) -> None:
    async def run() -> None:
        pair = Linked(limit)
        await pair.connect()
        await scenario(pair)
        await wait_until(lambda: pair.held.count == 0)
        pair.front_link.close()
        pair.service_link.close()

    asyncio.run(run())


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, len(LONG)])
def test_messages_of_any_length_arrive_as_they_are(size: int) -> None:
    async def scenario(pair: Linked) -> None:
        assert bytes(await pair.calling.call("echo", LONG[:size], None)) == LONG[:size]

    linked(scenario)


def test_short_messages_overtake_long_ones() -> None:
    async def scenario(pair: Linked) -> None:
        calls = [pair.calling.call("long", LONG, None), pair.calling.call("short", b"x", 1.0)]
        long, short = await asyncio.gather(*calls)
        assert (bytes(long), bytes(short)) == (LONG, b"x")
        assert pair.methods.finished == ["short", "long"]

    linked(scenario)


def test_failures_are_those_of_the_method() -> None:
    async def scenario(pair: Linked) -> None:
        with pytest.raises(RequestFailure) as caught:
            await pair.calling.call("fail", b"", None)
        failure = caught.value
        assert (failure.kind, failure.why, failure.retry_after) == (FailureKind.BUSY, "later", 2.5)

    linked(scenario)


def test_bytes_are_counted_before_they_are_stored() -> None:
    async def scenario(pair: Linked) -> None:
        with pytest.raises(RequestFailure) as caught:
            await pair.calling.call("echo", LONG, None)
        assert caught.value.kind is FailureKind.BUSY
        assert pair.methods.finished == []
        assert bytes(await pair.calling.call("echo", b"x", None)) == b"x"

    linked(scenario, limit=len(LONG) - 1)


@pytest.mark.parametrize("size", [0, len(LONG)])
def test_cancelled_calls_end(size: int) -> None:
    async def scenario(pair: Linked) -> None:
        task = asyncio.create_task(pair.calling.call("wait", LONG[:size], None))
        await wait_until(lambda: pair.methods.running == 1)
        assert pair.held.count == size
        task.cancel()
        await wait_until(lambda: pair.methods.cancelled == 1)

    linked(scenario)


def test_calls_that_are_cancelled_before_their_message_has_arrived_are_dropped() -> None:
    async def scenario(pair: Linked) -> None:
        task = asyncio.create_task(pair.calling.call("echo", LONG, None))
        await wait_until(lambda: pair.held.count == len(LONG) or task.done())
        task.cancel()
        await asyncio.sleep(0)
        assert bytes(await pair.calling.call("echo", b"x", None)) == b"x"

    linked(scenario)


def test_calls_end_with_their_process() -> None:
    async def scenario(pair: Linked) -> None:
        task = asyncio.create_task(pair.calling.call("wait", b"x", None))
        await wait_until(lambda: pair.methods.running == 1)
        pair.front_link.close()
        await wait_until(lambda: pair.methods.cancelled == 1)
        task.cancel()

    linked(scenario)


def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        transport = service._grpc
        assert isinstance(transport, GrpcProcess) and transport._process is not None
        killed = transport._process.pid
        os.kill(killed, signal.SIGKILL)
        await wait_until(lambda: transport._process is not None and transport._process.pid != killed)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{service.ports['grpc']}") as channel:
            await asyncio.wait_for(channel.channel_ready(), 30)
            assert y_of(await Client(channel).call("ModelInfer", request(), ModelInferResponse)) == [4.5, 6.0]

    run_service(tmp_path, scenario)


def test_an_address_that_cannot_be_used() -> None:
    async def run() -> None:
        start = GrpcStart(ServiceLimits(), token="", traces="", access_log=False, log="off")
        transport = GrpcProcess(Methods(), HeldBytes(1), start)
        with (
            socket.create_server(("127.0.0.1", 0)) as other,
            pytest.raises(OSError, match="cannot listen on"),
        ):
            await transport.start("127.0.0.1", other.getsockname()[1])
        await transport.stop(0)

    asyncio.run(run())
