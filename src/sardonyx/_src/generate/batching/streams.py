"""Where the pieces of a request go: iterators for threads and for coroutines.

A scheduler knows only the queue of an iterator, so that an iterator that its reader drops cancels the request.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TypeAlias

from sardonyx._src.generate.results import Piece
from sardonyx._src.interp.run_control import CancellationToken

# A piece, the error that ended the request, or None after the last piece.
Delivery: TypeAlias = Piece | Exception | None
Deliver: TypeAlias = Callable[[Delivery], None]


class PieceStream(Iterator[Piece]):
    """The pieces of a request, for one thread.  Closing it, or dropping it, cancels the request."""

    def __init__(self, token: CancellationToken) -> None:
        self.token = token
        self.items: queue.SimpleQueue[Delivery] = queue.SimpleQueue()
        self.deliver: Deliver = self.items.put  # for another thread
        self.has_ended = False

    def __next__(self) -> Piece:
        item = None if self.has_ended else self.items.get()
        if isinstance(item, Piece):
            return item
        self.has_ended = True
        if item is None:
            raise StopIteration
        raise item

    def close(self) -> None:
        """Cancels the request, if it has not ended; there are no further pieces."""
        self.has_ended = True
        self.token.cancel()

    def __del__(self) -> None:
        self.token.cancel()


class AsyncPieceStream(AsyncIterator[Piece]):
    """The pieces of a request, for coroutines of the loop that runs when it is created.

    Closing or dropping it, or cancelling the task that waits for a piece, cancels the request.
    """

    def __init__(self, token: CancellationToken) -> None:
        self.token = token
        self.items: asyncio.Queue[Delivery] = asyncio.Queue()
        self.deliver: Deliver = partial(put_in_loop, asyncio.get_running_loop(), self.items)
        self.has_ended = False

    async def __anext__(self) -> Piece:
        try:
            item = None if self.has_ended else await self.items.get()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if isinstance(item, Piece):
            return item
        self.has_ended = True
        if item is None:
            raise StopAsyncIteration
        raise item

    async def aclose(self) -> None:
        """Cancels the request, if it has not ended; there are no further pieces."""
        self.has_ended = True
        self.token.cancel()

    def __del__(self) -> None:
        self.token.cancel()


def put_in_loop(loop: asyncio.AbstractEventLoop, items: asyncio.Queue[Delivery], item: Delivery) -> None:
    """Puts an item into a queue of another thread's loop, unless the loop was closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(items.put_nowait, item)
