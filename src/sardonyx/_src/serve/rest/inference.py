"""The endpoint of inference requests."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import Receive, Scope, Send

from sardonyx._src.arguments import shown
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.protocol.codec_threads import CodecThreads
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import Allowance, HeldBytes
from sardonyx._src.serve.protocol.inference_messages import (
    RequestedForm,
    is_short,
    parse_request,
)
from sardonyx._src.serve.protocol.requests import InferenceRequest, InferenceResponse
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.rest.bodies import BodyReader, header_value
from sardonyx._src.serve.rest.departures import run_for_client
from sardonyx._src.serve.rest.response_messages import (
    format_in_slices,
    format_response,
    is_short_response,
)
from sardonyx._src.serve.rest.responses import inference_response, send_response

DECODED = "limits.decoded: the tensors of a request that are not binary numbers"
RESPONSE = "limits.response: a response"
HEADER_LENGTH = b"inference-header-content-length"


class InferenceEndpoint:
    """POST /v2/models/{model}[/versions/{version}]/infer, as an ASGI application.

    held: counts the bytes of requests.
    threads: decode long requests.
    """

    def __init__(
        self, repository: ModelRepository, limits: ServiceLimits, held: HeldBytes, threads: CodecThreads
    ) -> None:
        self._repository, self._limits, self._held, self._threads = repository, limits, held, threads
        self._bodies = BodyReader(limits.body, held)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path_params"]
        name, version = path["model"], path.get("version", "")
        self._repository.find(name, version)  # first, so that a body for an unknown model is not read
        is_json = header_value(scope["headers"], HEADER_LENGTH) is None
        body = await self._bodies.read(scope["headers"], receive, self._limits.json if is_json else None)
        try:
            # Again, since the model may have been replaced meanwhile.
            model = self._repository.find(name, version)
            with model.lease(), self._held.allowance(self._limits.decoded, DECODED) as decoded:
                request, form = await self._parse(scope, body, decoded)
                response = model.try_infer(request)
                if response is None:
                    response = await run_for_client(model.infer(request), receive)
                await self._respond(send, response, form)
        finally:
            self._bodies.release(body)

    async def _parse(
        self, scope: Scope, body: bytes | bytearray, decoded: Allowance
    ) -> tuple[InferenceRequest, RequestedForm]:
        path = scope["path_params"]
        name, version = path["model"], path.get("version", "")
        length = json_length(scope["headers"], len(body), self._limits.json)
        if is_short(body, length):
            return parse_request(name, version, body, length)
        return await self._threads.run(parse_request, name, version, body, length, decoded)

    async def _respond(self, send: Send, response: InferenceResponse, form: RequestedForm) -> None:
        if is_short_response(response, form):
            await send_response(send, inference_response(*format_response(response, form)))
            return
        with self._held.allowance(self._limits.response, RESPONSE) as allowance:
            answer = inference_response(*await self._threads.run(format_in_slices, response, form, allowance))
            await send_response(send, answer)


def json_length(headers: Iterable[tuple[bytes, bytes]], body: int, limit: int) -> int | None:
    """The length of the JSON in a body with binary data; None for a body that consists only of JSON.

    body: the bytes of the body.
    limit: the largest number of bytes of JSON; raises RequestFailure if there are more.
    """
    length, value = None, header_value(headers, HEADER_LENGTH)
    if value is not None:
        if not value.isdigit() or len(value) > 18:
            why = f"Inference-Header-Content-Length must be a number; got {shown(value)}"
            raise RequestFailure(FailureKind.INVALID, why)
        length = int(value)
    if (json := body if length is None else length) > limit:
        why = f"the JSON of a request must have at most {limit} bytes; got {json}; send binary data"
        raise RequestFailure(FailureKind.TOO_LARGE, why)
    return length
