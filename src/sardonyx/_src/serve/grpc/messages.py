"""The messages of `inference.GRPCInferenceService`, with the field numbers of the published protocol.

Spec: Open Inference Protocol v2, gRPC; RepositoryIndex, RepositoryModelLoad, RepositoryModelUnload and ModelStreamInfer as
defined by Triton.
"""

from __future__ import annotations

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.serve.grpc.wire_fields import (
    REPOSITORY_PARAMETER,
    mapping,
    numbers,
    optional,
    repeated,
    scalar,
)
from sardonyx._src.serve.protocol.requests import Parameter


@dataclass(slots=True)
class EmptyMessage:
    """ServerLiveRequest, ServerReadyRequest, ServerMetadataRequest, and the responses of loading and unloading."""


@dataclass(slots=True)
class FlagResponse:
    """ServerLiveResponse, ServerReadyResponse and ModelReadyResponse."""

    flag: bool = scalar(1, "bool")


@dataclass(slots=True)
class ModelVersionRequest:
    """ModelReadyRequest and ModelMetadataRequest."""

    name: str = scalar(1, "string")
    version: str = scalar(2, "string")


@dataclass(slots=True)
class ServerMetadataResponse:
    name: str = scalar(1, "string")
    version: str = scalar(2, "string")
    extensions: list[str] = repeated(3, "string")


@dataclass(slots=True)
class TensorMetadataMessage:
    name: str = scalar(1, "string")
    datatype: str = scalar(2, "string")
    shape: list[int] = repeated(3, "int64")


@dataclass(slots=True)
class ModelMetadataResponse:
    name: str = scalar(1, "string")
    versions: list[str] = repeated(2, "string")
    platform: str = scalar(3, "string")
    inputs: list[TensorMetadataMessage] = repeated(4, TensorMetadataMessage)
    outputs: list[TensorMetadataMessage] = repeated(5, TensorMetadataMessage)


@dataclass(slots=True)
class InferTensorContents:
    """Elements of a tensor in row-major order, in parts; the datatype of the tensor decides which field has them."""

    bool_contents: list[Array] = numbers(1, "bool")
    int_contents: list[Array] = numbers(2, "int32")
    int64_contents: list[Array] = numbers(3, "int64")
    uint_contents: list[Array] = numbers(4, "uint32")
    uint64_contents: list[Array] = numbers(5, "uint64")
    fp32_contents: list[Array] = numbers(6, "float")
    fp64_contents: list[Array] = numbers(7, "double")
    bytes_contents: list[memoryview] = repeated(8, "bytes")


@dataclass(slots=True)
class InferInputTensor:
    name: str = scalar(1, "string")
    datatype: str = scalar(2, "string")
    shape: list[int] = repeated(3, "int64")
    parameters: dict[str, Parameter] = mapping(4)
    contents: InferTensorContents | None = optional(5, InferTensorContents)


@dataclass(slots=True)
class InferRequestedOutputTensor:
    name: str = scalar(1, "string")
    parameters: dict[str, Parameter] = mapping(2)


@dataclass(slots=True)
class ModelInferRequest:
    model_name: str = scalar(1, "string")
    model_version: str = scalar(2, "string")
    id: str = scalar(3, "string")
    parameters: dict[str, Parameter] = mapping(4)
    inputs: list[InferInputTensor] = repeated(5, InferInputTensor)
    outputs: list[InferRequestedOutputTensor] = repeated(6, InferRequestedOutputTensor)
    raw_input_contents: list[memoryview] = repeated(7, "bytes")


@dataclass(slots=True)
class InferOutputTensor:
    name: str = scalar(1, "string")
    datatype: str = scalar(2, "string")
    shape: list[int] = repeated(3, "int64")
    parameters: dict[str, Parameter] = mapping(4)


@dataclass(slots=True)
class ModelInferResponse:
    """The response; its tensors always have raw contents, in whatever form the inputs were."""

    model_name: str = scalar(1, "string")
    model_version: str = scalar(2, "string")
    id: str = scalar(3, "string")
    parameters: dict[str, Parameter] = mapping(4)
    outputs: list[InferOutputTensor] = repeated(5, InferOutputTensor)
    raw_output_contents: list[bytes | memoryview] = repeated(6, "bytes")


@dataclass(slots=True)
class ModelStreamInferResponse:
    error_message: str = scalar(1, "string")
    infer_response: ModelInferResponse | None = optional(2, ModelInferResponse)


@dataclass(slots=True)
class RepositoryIndexRequest:
    repository_name: str = scalar(1, "string")
    ready: bool = scalar(2, "bool")


@dataclass(slots=True)
class ModelIndex:
    name: str = scalar(1, "string")
    version: str = scalar(2, "string")
    state: str = scalar(3, "string")
    reason: str = scalar(4, "string")


@dataclass(slots=True)
class RepositoryIndexResponse:
    models: list[ModelIndex] = repeated(1, ModelIndex)


@dataclass(slots=True)
class RepositoryModelRequest:
    """RepositoryModelLoadRequest and RepositoryModelUnloadRequest."""

    repository_name: str = scalar(1, "string")
    model_name: str = scalar(2, "string")
    parameters: dict[str, bool | int | str | memoryview] = mapping(3, REPOSITORY_PARAMETER)
