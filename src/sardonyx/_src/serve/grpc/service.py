"""The methods of `inference.GRPCInferenceService`, from the bytes of a request to the bytes of its response.

They raise RequestFailure, and do not handle connections, so that they run without grpcio.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeVar, cast

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.serve.grpc.link import Bytes
from sardonyx._src.serve.grpc.messages import (
    EmptyMessage,
    FlagResponse,
    InferOutputTensor,
    InferRequestedOutputTensor,
    ModelIndex,
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataResponse,
    ModelStreamInferResponse,
    ModelVersionRequest,
    RepositoryIndexRequest,
    RepositoryIndexResponse,
    RepositoryModelRequest,
    ServerMetadataResponse,
    TensorMetadataMessage,
)
from sardonyx._src.serve.grpc.tensors import decode_inputs
from sardonyx._src.serve.grpc.wire_decoder import MAX_FIELDS, decode
from sardonyx._src.serve.grpc.wire_encoder import encode
from sardonyx._src.serve.models.metadata import EXTENSIONS, PLATFORM, TensorMetadata
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.protocol.binary_data import encode_pieces
from sardonyx._src.serve.protocol.codec_threads import CodecThreads, yield_interpreter
from sardonyx._src.serve.protocol.datatypes import DATATYPES
from sardonyx._src.serve.protocol.failures import (
    FailureKind,
    RequestFailure,
    failure_of,
    internal_failure,
    log_internal,
)
from sardonyx._src.serve.protocol.held_bytes import Allowance, HeldBytes
from sardonyx._src.serve.protocol.request_parameters import deadline_of, integer_of, parse_parameters
from sardonyx._src.serve.protocol.requests import InferenceRequest, InferenceResponse
from sardonyx._src.serve.protocol.service_limits import ServiceLimits

M = TypeVar("M")
SHORT = 64 << 10  # bytes up to which a message is decoded or encoded on the event loop
SHORT_FIELDS = 1000  # fields up to which a message is decoded on the event loop
DECODED = "limits.decoded: the tensors of a request that are not raw numbers"
RESPONSE = "limits.response: a response"


class GrpcInferenceService:
    """The methods of the service.

    Each method has the bytes of a request as parameter, and the seconds within which the client expects the response (None for
    no deadline).
    version: the version of the server.
    held: counts the bytes of requests.
    threads: decode and encode long messages.
    allows_control: whether clients may load and unload models.
    """

    def __init__(
        self,
        repository: ModelRepository,
        version: str,
        limits: ServiceLimits | None = None,
        held: HeldBytes | None = None,
        threads: CodecThreads | None = None,
        *,
        allows_control: bool,
    ) -> None:
        self._repository, self._version, self._allows_control = repository, version, allows_control
        self._limits = limits or ServiceLimits()
        self._held = held or HeldBytes(self._limits.held)
        self._threads = threads or CodecThreads()

    async def call(self, method: str, data: Bytes, seconds: float | None) -> Bytes:
        """The bytes of the response to a request, given the request's bytes.

        method: the name of a method of this class that begins with a capital, or ModelStreamInfer.
        Raises RequestFailure; failures that are not the client's fault are logged.
        """
        try:
            if method == "ModelStreamInfer":
                return await self.infer(data, seconds, is_streamed=True)
            return cast(Bytes, await getattr(self, method)(data, seconds))
        except RequestFailure as failure:
            log_internal(method, failure)
            raise
        except Exception as error:  # noqa: BLE001 (it is logged)
            raise internal_failure(method, error) from None

    async def ServerLive(self, data: Bytes, seconds: float | None) -> bytes:
        return encode(FlagResponse(True))

    async def ServerReady(self, data: Bytes, seconds: float | None) -> bytes:
        return encode(FlagResponse(self._repository.is_ready))

    async def ServerMetadata(self, data: Bytes, seconds: float | None) -> bytes:
        return encode(ServerMetadataResponse("sardonyx", self._version, list(EXTENSIONS)))

    async def ModelReady(self, data: Bytes, seconds: float | None) -> bytes:
        request = parse(ModelVersionRequest, data)
        try:
            self._repository.find(request.name, request.version)
        except RequestFailure as failure:
            if failure.kind is not FailureKind.UNAVAILABLE:
                raise
            return encode(FlagResponse(False))
        return encode(FlagResponse(True))

    async def ModelMetadata(self, data: Bytes, seconds: float | None) -> bytes:
        request = parse(ModelVersionRequest, data)
        model = self._repository.find(request.name, request.version)
        versions = self._repository.versions(model.name)
        inputs, outputs = describe(model.inputs), describe(model.outputs)
        return encode(ModelMetadataResponse(model.name, versions, PLATFORM, inputs, outputs))

    async def ModelInfer(self, data: Bytes, seconds: float | None) -> bytes:
        return await self.infer(data, seconds)

    async def RepositoryIndex(self, data: Bytes, seconds: float | None) -> bytes:
        request = parse(RepositoryIndexRequest, data)
        rows = self._repository.index(ready_only=request.ready)
        return encode(
            RepositoryIndexResponse([ModelIndex(r.name, r.version, r.state, r.reason) for r in rows])
        )

    async def RepositoryModelLoad(self, data: Bytes, seconds: float | None) -> bytes:
        request = self._parse_control(data)
        for name in request.parameters:
            why = f"the parameter {name!r} of a load is not supported: models are as their folder has them"
            raise RequestFailure(FailureKind.INVALID, why)
        await self._repository.load(request.model_name)
        return encode(EmptyMessage())

    async def RepositoryModelUnload(self, data: Bytes, seconds: float | None) -> bytes:
        await self._repository.unload(self._parse_control(data).model_name)
        return encode(EmptyMessage())

    async def infer(self, data: Bytes, seconds: float | None, *, is_streamed: bool = False) -> bytes:
        """The response to an inference request.  is_streamed: whether the response is a message of a stream."""
        with self._held.allowance(self._limits.decoded, DECODED) as decoded:
            message, request = await self._read(data, seconds, decoded)
            model = self._repository.find(message.model_name, message.model_version)
            with model.lease():
                response = model.try_infer(request)
                if response is None:
                    response = await model.infer(request)
                return await self._write(response, is_streamed)

    async def _read(
        self, data: Bytes, seconds: float | None, decoded: Allowance
    ) -> tuple[ModelInferRequest, InferenceRequest]:
        """The message in `data`, and its request.  Raises RequestFailure for an unknown model and for wrong tensors."""
        if len(data) > SHORT:
            message = await self._threads.run(parse, ModelInferRequest, data, MAX_FIELDS, decoded)
        else:
            try:
                message = parse(ModelInferRequest, data, SHORT_FIELDS)
            except RequestFailure:  # perhaps because of too many fields: in a thread, a message may have more
                message = await self._threads.run(parse, ModelInferRequest, data, MAX_FIELDS, decoded)
        self._repository.find(message.model_name, message.model_version)
        if len(data) > SHORT:
            return message, await self._threads.run(inference_request, message, seconds, decoded)
        return message, inference_request(message, seconds, decoded)

    async def _write(self, response: InferenceResponse, is_streamed: bool) -> bytes:
        """The encoded response.  Its bytes are counted during encoding."""
        with self._held.allowance(self._limits.response, RESPONSE) as allowance:
            if (
                sum(array.nbytes if array.dtype != object else SHORT for array in response.outputs.values())
                < SHORT
            ):
                return encode_response(response, is_streamed, allowance)
            return await self._threads.run(encode_response, response, is_streamed, allowance)

    def _parse_control(self, data: Bytes) -> RepositoryModelRequest:
        request = parse(RepositoryModelRequest, data)
        if not self._allows_control:
            why = "this service lets no client load or unload models: start it with a token, or --control on"
            raise RequestFailure(FailureKind.FORBIDDEN, why)
        return request


def parse(
    message: type[M], data: Bytes, max_fields: int = SHORT_FIELDS, allowance: Allowance | None = None
) -> M:
    """The message that `data` encodes; raises RequestFailure for malformed data, and for more than `max_fields` fields.

    allowance: counts the bytes of decoded numbers; None if they are few.
    """
    try:
        return decode(message, data, max_fields, None if allowance is None else allowance.add)
    except InputError as error:
        raise failure_of(error) from None


def inference_request(
    message: ModelInferRequest, seconds: float | None, allowance: Allowance | None = None
) -> InferenceRequest:
    """The request in a message.  seconds: the time that the client waits; None for no deadline.  Raises RequestFailure."""
    parameters = parse_parameters("the request", message.parameters)
    deadline = deadline_of(parameters)
    if seconds is not None:
        client_deadline = time.monotonic() + seconds
        deadline = client_deadline if deadline is None else min(deadline, client_deadline)
    return InferenceRequest(
        message.model_name,
        decode_inputs(message.inputs, message.raw_input_contents, allowance),
        message.model_version,
        message.id,
        output_names(message.outputs),
        parameters,
        integer_of(parameters, "priority"),
        deadline,
    )


def output_names(outputs: Sequence[InferRequestedOutputTensor]) -> tuple[str, ...] | None:
    """The requested outputs; None: all."""
    names = tuple(output.name for output in outputs)
    for output in outputs:
        parse_parameters(f"output {output.name!r}", output.parameters)
    if len(set(names)) < len(names):
        raise RequestFailure(FailureKind.INVALID, f"an output must be requested once; got {list(names)}")
    return names or None


def encode_response(response: InferenceResponse, is_streamed: bool, allowance: Allowance) -> bytes:
    """The message of a response.  allowance: counts its bytes before they are joined."""
    contents: list[
        list[bytes]
    ] = []  # bytes instead of views: they are joined without holding the interpreter
    for array in response.outputs.values():
        if array.dtype.kind not in "OUT":
            allowance.check(array.nbytes)
        contents.append([])
        for piece in encode_pieces(array):
            allowance.add(len(piece))
            contents[-1].append(bytes(piece))
            yield_interpreter()
    outputs = [
        InferOutputTensor(name, DATATYPES[DataType.of(array.dtype)], list(array.shape))
        for name, array in response.outputs.items()
    ]
    message = ModelInferResponse(
        response.model,
        response.version,
        response.id,
        dict(response.parameters),
        outputs,
        cast(list[bytes | memoryview], contents),
    )
    return encode(ModelStreamInferResponse("", message) if is_streamed else message)


def describe(tensors: Sequence[TensorMetadata]) -> list[TensorMetadataMessage]:
    return [TensorMetadataMessage(t.name, t.datatype, t.protocol_shape) for t in tensors]
