"""Iterators of a thread for coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import TypeVar, cast

from sardonyx._src.interp.run_control import CancellationToken

Item = TypeVar("Item")
END = object()


async def iterate_in_thread(items: Iterator[Item], token: CancellationToken) -> AsyncIterator[Item]:
    """The items, each computed in a thread; the token is cancelled if the consumer ends early or its task is cancelled."""
    try:
        with closing(items):  # type: ignore[type-var]  # a generator
            while (item := await asyncio.to_thread(next, items, END)) is not END:
                yield cast(Item, item)
    finally:
        token.cancel()
