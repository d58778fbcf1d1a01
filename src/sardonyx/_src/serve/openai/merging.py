"""Several streams as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")


async def merged(streams: Sequence[AsyncGenerator[T, None]], most: int) -> AsyncGenerator[T, None]:
    """The items of all streams as they come, of at most `most` streams at one time.

    The error of a stream, and the end of this one, end all of them.
    """
    items: asyncio.Queue[T | asyncio.Task[None]] = asyncio.Queue()  # a task: the end of its stream
    places = asyncio.Semaphore(most)

    async def read(stream: AsyncGenerator[T, None]) -> None:
        async with places, aclosing(stream):
            async for item in stream:
                items.put_nowait(item)

    tasks = [asyncio.create_task(read(stream)) for stream in streams]
    for task in tasks:
        task.add_done_callback(items.put_nowait)
    try:
        running = len(tasks)
        while running:
            item = await items.get()
            if isinstance(item, asyncio.Task):
                item.result()
                running -= 1
            else:
                yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
