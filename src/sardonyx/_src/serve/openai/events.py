"""Responses as server-sent events: `data: {...}` for each event, and `data: [DONE]` at the end.

Spec: WHATWG HTML, 9.2 Server-sent events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.types import Send

from sardonyx._src.serve.openai.failures import describe_error
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure, internal_failure, log_internal
from sardonyx._src.serve.protocol.json_text import format_json
from sardonyx._src.serve.rest.responses import STATUS, error_text

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
]
DONE = b"data: [DONE]\n\n"


async def send_events(send: Send, events: AsyncGenerator[object, None], what: str) -> None:
    """Sends events as they come.

    The response begins with the first event, so that what fails before has a status of its own.  A later failure, and the end of
    the service, are the last event.
    what: the request, for the log.
    """
    is_begun = False
    try:
        async with aclosing(events):
            async for event in events:
                if not is_begun:
                    is_begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                await send(body(b"data: %b\n\n" % format_json(event), more=True))
        await send(body(DONE))
    except asyncio.CancelledError:
        if is_begun:
            failure = RequestFailure(FailureKind.UNAVAILABLE, "the service ends")
            await send_failure(send, failure)
        raise
    except Exception as error:
        if not is_begun:
            raise
        if isinstance(error, RequestFailure):
            log_internal(what, error)
            await send_failure(send, error)
        else:
            await send_failure(send, internal_failure(what, error))


async def send_failure(send: Send, failure: RequestFailure) -> None:
    """Ends the response with an error."""
    error = describe_error(error_text(failure.why), STATUS[failure.kind], failure)
    await send(body(b"data: %b\n\n" % format_json(error)))


def body(data: bytes, *, more: bool = False) -> dict[str, object]:
    return {"type": "http.response.body", "body": data, "more_body": more}
