"""Messages between the process of gRPC and the service, over a pair of sockets.

A message is a head, which is pickled, and data.  Long data are sent in pieces, so that they do not block an event loop.
Pickles are safe here: both ends are processes of one service, and no client reaches the sockets.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
from collections.abc import Callable
from dataclasses import field

from sardonyx._src.dataclass import dataclass

PIECE = 128 << 10  # largest number of bytes that are sent at once
HEADER = struct.Struct("<?QI")  # whether a message begins, its number, and the bytes that follow
Bytes = bytes | bytearray
Accept = Callable[[int, int], bool]
Handle = Callable[[int, object, Bytes], None]


@dataclass(slots=True)
class ArrivingMessage:
    """A message, and its data so far.  size: the number of bytes of all its data."""

    head: object
    size: int
    data: bytearray = field(default_factory=bytearray)


class Link(asyncio.Protocol):
    """One end of the sockets.

    accept: called with the number of a message and the size of its data, before these are stored; False drops the message.
    handle: called with the number, the head and the data of each message.
    lost: called when the other process has ended.
    """

    def __init__(self, accept: Accept, handle: Handle, lost: Callable[[], None]) -> None:
        self._accept, self._handle, self._lost = accept, handle, lost
        self._arriving: dict[int, ArrivingMessage] = {}
        self._rest = b""  # the begin of a header or of a head that has not arrived completely
        # The message to which arriving data belong, and the bytes until the next header.
        self._number, self._left = 0, 0
        self._transport: asyncio.Transport | None = None
        self._is_writable = asyncio.Event()
        self._is_writable.set()

    async def connect(self, end: socket.socket) -> None:
        """Called before anything else.  end: this process's end of the pair of sockets."""
        end.setblocking(False)
        transport, _ = await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=end)
        self._transport = transport

    async def send(self, number: int, head: object, data: Bytes = b"") -> None:
        """Sends a message; the pieces of a long one alternate with other messages."""
        await self._is_writable.wait()
        view = memoryview(data)
        self.post(number, head, view[:PIECE], len(data))
        for begin in range(PIECE, len(data), PIECE):
            await self._is_writable.wait()
            piece = view[begin : begin + PIECE]
            self._write(b"".join((HEADER.pack(False, number, len(piece)), piece)))

    def post(self, number: int, head: object, first: Bytes | memoryview = b"", size: int = 0) -> None:
        """Sends a head and the first piece of `size` bytes of data without waiting."""
        content = pickle.dumps((head, size))
        parts: list[Bytes | memoryview] = [HEADER.pack(True, number, len(content)), content]
        if first:
            parts += (HEADER.pack(False, number, len(first)), first)
        self._write(b"".join(parts))

    def drop(self, number: int) -> None:
        """Drops a message that is arriving."""
        self._arriving.pop(number, None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        view = memoryview(self._rest + data if self._rest else data)
        self._rest = b""
        while view:
            if self._left:
                piece, view = view[: self._left], view[self._left :]
                self._left -= len(piece)
                self._store(piece)
                continue
            if len(view) < HEADER.size:
                break
            is_first, self._number, size = HEADER.unpack_from(view)
            if not is_first:
                view, self._left = view[HEADER.size :], size
                continue
            end = HEADER.size + size
            if len(view) < end:
                break
            self._begin(view[HEADER.size : end])
            view = view[end:]
        self._rest = bytes(view)

    def _begin(self, content: memoryview) -> None:
        head, size = pickle.loads(content)
        if not self._accept(self._number, size):
            return
        if size:
            self._arriving[self._number] = ArrivingMessage(head, size)
        else:
            self._handle(self._number, head, b"")

    def _store(self, piece: memoryview) -> None:
        message = self._arriving.get(self._number)
        if message is None:
            return
        message.data += piece
        if len(message.data) == message.size:
            del self._arriving[self._number]
            self._handle(self._number, message.head, message.data)

    def pause_writing(self) -> None:
        self._is_writable.clear()

    def resume_writing(self) -> None:
        self._is_writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_writable.set()
        self._arriving.clear()
        self._lost()
