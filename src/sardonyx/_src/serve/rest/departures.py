"""Work for a client that may close its connection before it has the response."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from sardonyx._src.serve.rest.bodies import ClientGone

T = TypeVar("T")


async def run_for_client(work: Coroutine[Any, Any, T], receive: Receive) -> T:
    """The result of a coroutine.  If the client closes the connection first, cancels it and raises ClientGone.

    It has ended in any case, so that what it sends at its cancellation is a part of the response.
    """
    run = asyncio.ensure_future(work)
    departure = asyncio.ensure_future(wait_for_departure(receive))
    try:
        await asyncio.wait((run, departure), return_when=asyncio.FIRST_COMPLETED)
        if not run.done():
            raise ClientGone
        return run.result()
    finally:
        departure.cancel()
        if not run.done():
            run.cancel()
            await asyncio.wait((run,))


async def wait_for_departure(receive: Receive) -> None:
    """Returns when the client has closed the connection; called after the body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass
