"""Calls from the process of gRPC to the methods of the service in another process: requests and replies over a `Link`."""

from __future__ import annotations

import asyncio
import itertools
from typing import Protocol

from sardonyx._src.dataclass import dataclass
from sardonyx._src.serve.grpc.link import Bytes, Link
from sardonyx._src.serve.protocol.failures import RequestFailure
from sardonyx._src.serve.protocol.held_bytes import HeldBytes


class GrpcMethods(Protocol):
    """The methods of the service."""

    async def call(self, method: str, data: Bytes, seconds: float | None) -> Bytes:
        """The bytes of the response to a request, given the request's bytes.

        seconds: the time within which the client expects the response; None for no deadline.

        Raises RequestFailure, and nothing else.
        """


@dataclass(frozen=True, slots=True)
class Call:
    """The head of a request: the method, and the seconds in which the client expects the response."""

    method: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Cancel:
    """The head of a message that ends a call."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a response.  failure: the error that the method has raised."""

    failure: RequestFailure | None = None


class CallingMethods:
    """The methods of the service of another process."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Bytes]] = {}

    async def call(self, method: str, data: Bytes, seconds: float | None) -> Bytes:
        """`GrpcMethods.call` in the other process.  Cancelling the task that awaits it ends the call."""
        number = next(self._numbers)
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            await self._link.send(number, Call(method, seconds), data)
            response: Bytes = await reply
            return response
        except asyncio.CancelledError:
            self._link.post(number, Cancel())
            raise
        finally:
            del self._replies[number]

    def settle(self, number: int, reply: Reply, data: Bytes) -> None:
        """Passes a reply to the call that awaits it, unless the call has ended."""
        future = self._replies.get(number)
        if future is None or future.done():
            return
        if reply.failure is None:
            future.set_result(data)
        else:
            future.set_exception(reply.failure)


class AnsweredCalls:
    """The calls of another process, answered by the methods of this one.  All functions are called on the event loop.

    held: counts the bytes of a call's data from before they are stored until the call has ended.
    """

    def __init__(self, methods: GrpcMethods, held: HeldBytes) -> None:
        self._methods, self._held = methods, held
        self._link: Link | None = None
        self._sizes: dict[int, int] = {}  # bytes of data of the calls in progress
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def answer_on(self, link: Link) -> None:
        """Sets the link of the calls."""
        self._link = link

    def accept(self, number: int, size: int) -> bool:
        """Counts the bytes of a call's data; if they are too many, refuses the call and returns False."""
        if not size:
            return True
        try:
            self._held.add(size)
        except RequestFailure as failure:
            assert self._link is not None, "calls arrive on it"
            self._link.post(number, Reply(failure))
            return False
        self._sizes[number] = size
        return True

    def begin(self, number: int, call: Call, data: Bytes) -> None:
        """Begins a call whose data have arrived."""
        task = self._tasks[number] = asyncio.create_task(self._answer(number, call, data))
        task.add_done_callback(lambda task: self._end(number))

    def cancel(self, number: int) -> None:
        """Ends a call."""
        task = self._tasks.get(number)
        if task is not None:
            task.cancel()
        elif self._link is not None:
            self._link.drop(number)
            self._end(number)

    def cancel_all(self) -> None:
        """Ends all calls, because the process that made them has ended."""
        for number in {*self._sizes, *self._tasks}:
            self.cancel(number)

    async def _answer(self, number: int, call: Call, data: Bytes) -> None:
        assert self._link is not None, "calls arrive on it"
        try:
            response = await self._methods.call(call.method, data, call.seconds)
            with self._held.holding(len(response)):
                await self._link.send(number, Reply(), response)
        except RequestFailure as failure:
            plain = RequestFailure(failure.kind, failure.why, retry_after=failure.retry_after)
            self._link.post(number, Reply(plain))

    def _end(self, number: int) -> None:
        self._tasks.pop(number, None)
        self._held.remove(self._sizes.pop(number, 0))
