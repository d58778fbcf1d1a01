"""Requests and replies between the supervisor and a worker, over a pair of sockets.

A message is its length and a pickle.  Pickles are safe here: both ends are processes of one service, and no client reaches the
sockets.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import socket
import struct
from collections.abc import Awaitable, Callable

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import SardonyxError
from sardonyx._src.serve.protocol.failures import internal_failure

LENGTH = struct.Struct("<Q")
Handler = Callable[[str, object], Awaitable[object]]


class PeerGone(Exception):
    """The other process has ended before it replied."""


@dataclass(frozen=True, slots=True)
class PeerRequest:
    """A request that the other process handles.  number: identifies the request in its reply."""

    number: int
    action: str
    argument: object


@dataclass(frozen=True, slots=True)
class PeerReply:
    """The result of a request, or the error that it raised."""

    number: int
    value: object = None
    error: SardonyxError | OSError | None = None


class Peer:
    """The other process, to which requests are sent and from which they come.

    `handle` is called with the action and the argument of each request of the other process, in a task of its own.  An
    exception of a handler is raised in the process that made the request.  If it is neither SardonyxError nor OSError, it is
    logged and replaced by a RequestFailure.
    """

    def __init__(self, end: socket.socket, handle: Handler) -> None:
        """end: this process's end of the pair of sockets."""
        self._end, self._handle = end, handle
        self._numbers = itertools.count()
        self._replies: dict[int, asyncio.Future[object]] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        # References, without which tasks are collected as garbage.
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_gone = False

    async def connect(self) -> None:
        """Called before anything else, on the event loop that runs the peer."""
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._end)

    async def run(self) -> None:
        """Handles requests and replies until the other process closes its end."""
        assert self._reader is not None, "the peer is connected"
        while (message := await receive(self._reader)) is not None:
            if isinstance(message, PeerRequest):
                task = asyncio.create_task(self._reply(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif isinstance(message, PeerReply):
                self._settle(message)
        self.close()

    def close(self) -> None:
        """Ends the connection; requests without a reply raise PeerGone."""
        self._is_gone = True
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(PeerGone())
        if self._writer is not None:
            self._writer.close()

    async def ask(self, action: str, argument: object = None) -> object:
        """The reply to a request.  Raises the error of its handler, and PeerGone if the other process ends first."""
        if self._is_gone or self._writer is None:
            raise PeerGone
        number = next(self._numbers)
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            self._send(PeerRequest(number, action, argument))
            return await reply
        finally:
            del self._replies[number]

    def post(self, action: str, argument: object) -> None:
        """Makes a request whose reply is of no interest."""
        self._send(PeerRequest(next(self._numbers), action, argument))

    async def _reply(self, request: PeerRequest) -> None:
        try:
            reply = PeerReply(request.number, await self._handle(request.action, request.argument))
        except (SardonyxError, OSError) as error:
            reply = PeerReply(request.number, error=error)
        except Exception as error:  # noqa: BLE001 (it is logged)
            reply = PeerReply(request.number, error=internal_failure(request.action, error))
        if not self._is_gone:
            self._send(reply)

    def _settle(self, message: PeerReply) -> None:
        reply = self._replies.get(message.number)
        if reply is None or reply.done():
            return  # the task that made the request no longer waits
        if message.error is None:
            reply.set_result(message.value)
        else:
            reply.set_exception(message.error)

    def _send(self, message: PeerRequest | PeerReply) -> None:
        assert self._writer is not None, "messages are sent while the peer runs"
        content = pickle.dumps(message)
        self._writer.write(LENGTH.pack(len(content)) + content)


async def receive(reader: asyncio.StreamReader) -> object | None:
    """The next message; None at the end of the connection."""
    try:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        message: object = pickle.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return message
