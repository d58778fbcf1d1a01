"""Messages of calls, received in turns: gRPC's library tells the size of a message only when it is complete."""

from __future__ import annotations

import asyncio

import grpc.aio

from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.service_limits import ServiceLimits

SLOW_SECONDS = 1.0  # after which a message that is still being received makes room for others


class MessageReader:
    """Receives the message of each call, few at one time, each of which may have the bytes of a body.

    When all turns are taken, the oldest message that has taken longer than SLOW_SECONDS is given up for the next call.
    """

    def __init__(self, limits: ServiceLimits) -> None:
        self._seconds = limits.body_seconds
        self._turns = asyncio.Semaphore(max(1, limits.held // limits.body))
        self._timers: dict[
            asyncio.Timeout, float
        ] = {}  # of messages that are being received, and their begin

    async def read(self, context: grpc.aio.ServicerContext) -> bytes:
        """The message of a call with one.  Raises RequestFailure for none, and for one that arrives too slowly."""
        if self._turns.locked():
            self._hurry()
        try:
            async with self._turns, asyncio.timeout(self._seconds) as timer:
                self._timers[timer] = asyncio.get_running_loop().time()
                try:
                    message = await context.read()
                finally:
                    del self._timers[timer]
        except TimeoutError:
            raise RequestFailure(
                FailureKind.SLOW_CLIENT, "the message of the call arrives too slowly"
            ) from None
        if not isinstance(message, bytes):
            raise RequestFailure(FailureKind.INVALID, "the call must have one message; got none")
        return message

    def _hurry(self) -> None:
        """Sets the deadline of the oldest message that has none yet but that of all."""
        for timer, begin in self._timers.items():
            when, deadline = timer.when(), begin + SLOW_SECONDS
            if when is not None and when > deadline:
                timer.reschedule(max(deadline, asyncio.get_running_loop().time()))
                return
