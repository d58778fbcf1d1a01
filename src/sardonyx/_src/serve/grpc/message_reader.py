"""Messages of calls, of which only a few are received at a time.

gRPC's library reports the size of a message only when it is complete.  So each message that is being received may have as many
bytes as the limit on bodies, and the number of such messages bounds the memory.
"""

from __future__ import annotations

import asyncio

import grpc.aio

from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.service_limits import ServiceLimits

SLOW_SECONDS = 1.0  # time after which a message that is still being received may be given up for another one


class MessageReader:
    """Receives the message of each call, a limited number at one time.

    When that number is reached, the oldest message that has been received for longer than SLOW_SECONDS is given up for the next
    call.
    """

    def __init__(self, limits: ServiceLimits) -> None:
        self._seconds = limits.body_seconds
        self._turns = asyncio.Semaphore(max(1, limits.held // limits.body))
        # For each message that is being received, its deadline and the time at which it began.
        self._timers: dict[asyncio.Timeout, float] = {}

    async def read(self, context: grpc.aio.ServicerContext) -> bytes:
        """The message of a call.  Raises RequestFailure for a call without one, and for one that arrives too slowly."""
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
        """Sets an earlier deadline for the oldest message that still has the deadline of all messages."""
        for timer, begin in self._timers.items():
            when, deadline = timer.when(), begin + SLOW_SECONDS
            if when is not None and when > deadline:
                timer.reschedule(max(deadline, asyncio.get_running_loop().time()))
                return
