"""Endpoints of health, metadata and the model repository."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.types import Receive, Scope, Send

from sardonyx._src.serve.models.metadata import EXTENSIONS, PLATFORM, TensorMetadata
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.models.served_model import ServedModel
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.json_text import parse_object
from sardonyx._src.serve.rest.bodies import BodyReader
from sardonyx._src.serve.rest.responses import send_json


class MetadataEndpoints:
    """Metadata and health of the service and its models.  Every method is an ASGI application."""

    def __init__(self, repository: ModelRepository, version: str) -> None:
        self._repository, self._version = repository, version

    async def server(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /v2"""
        await send_json(send, {"name": "sardonyx", "version": self._version, "extensions": EXTENSIONS})

    async def live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /v2/health/live"""
        await send_json(send, {"live": True})

    async def ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /v2/health/ready"""
        is_ready = self._repository.is_ready
        await send_json(send, {"ready": is_ready}, 200 if is_ready else 503)

    async def model(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /v2/models/{model}[/versions/{version}]"""
        model = self._find(scope)
        await send_json(send, describe_model(model, self._repository.versions(model.name)))

    async def model_ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /v2/models/{model}[/versions/{version}]/ready"""
        try:
            is_ready = self._find(scope) is not None
        except RequestFailure as failure:
            if failure.kind is not FailureKind.UNAVAILABLE:
                raise
            is_ready = False
        name = scope["path_params"]["model"]
        await send_json(send, {"name": name, "ready": is_ready}, 200 if is_ready else 503)

    async def model_config(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /v2/models/{model}[/versions/{version}]/config"""
        await send_json(send, describe_config(self._find(scope)))

    def _find(self, scope: Scope) -> ServedModel:
        path = scope["path_params"]
        return self._repository.find(path["model"], path.get("version", ""))


class RepositoryEndpoints:
    """The index of the repository, and loading and unloading of models.  Every method is an ASGI application."""

    def __init__(self, repository: ModelRepository, bodies: BodyReader, *, allows_control: bool) -> None:
        self._repository, self._bodies, self._allows_control = repository, bodies, allows_control

    async def index(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST /v2/repository/index"""
        ready_only = (await self._read(scope, receive)).get("ready") is True
        rows = self._repository.index(ready_only=ready_only)
        await send_json(
            send,
            [{"name": r.name, "version": r.version, "state": r.state, "reason": r.reason} for r in rows],
        )

    async def load(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST /v2/repository/models/{model}/load"""
        parameters = await self._read_control(scope, receive)
        for name in parameters:
            why = f"the parameter {name!r} of a load is not supported: models are as their folder has them"
            raise RequestFailure(FailureKind.INVALID, why)
        await self._repository.load(scope["path_params"]["model"])
        await send_json(send, {})

    async def unload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST /v2/repository/models/{model}/unload"""
        await self._read_control(scope, receive)
        await self._repository.unload(scope["path_params"]["model"])
        await send_json(send, {})

    async def _read_control(self, scope: Scope, receive: Receive) -> dict[str, Any]:
        """The parameters of a request to load or unload a model; raises RequestFailure if the service forbids such requests."""
        message = await self._read(scope, receive)
        if not self._allows_control:
            why = "this service lets no client load or unload models: start it with a token, or --control on"
            raise RequestFailure(FailureKind.FORBIDDEN, why)
        parameters = message.get("parameters", {})
        if not isinstance(parameters, dict):
            raise RequestFailure(FailureKind.INVALID, "parameters must be a JSON object")
        return parameters

    async def _read(self, scope: Scope, receive: Receive) -> dict[str, Any]:
        """The JSON object in the body; an empty body is an empty object."""
        body = await self._bodies.read(scope["headers"], receive)
        self._bodies.release(body)
        return parse_object(body) if body else {}


def describe_model(model: ServedModel, versions: Sequence[str]) -> dict[str, object]:
    """The metadata of a model.  Spec: Open Inference Protocol v2, Model Metadata Response JSON Object."""
    return {
        "name": model.name,
        "versions": versions,
        "platform": PLATFORM,
        "inputs": [describe_tensor(tensor) for tensor in model.inputs],
        "outputs": [describe_tensor(tensor) for tensor in model.outputs],
    }


def describe_tensor(tensor: TensorMetadata) -> dict[str, object]:
    return {"name": tensor.name, "datatype": tensor.datatype, "shape": tensor.protocol_shape}


def describe_config(model: ServedModel) -> dict[str, object]:
    """The configuration of a model.  Spec: Triton's model configuration extension, without fields that only Triton has."""
    return {
        "name": model.name,
        "platform": PLATFORM,
        "backend": "sardonyx",
        "max_batch_size": 0,
        "input": [describe_config_tensor(tensor) for tensor in model.inputs],
        "output": [describe_config_tensor(tensor) for tensor in model.outputs],
    }


def describe_config_tensor(tensor: TensorMetadata) -> dict[str, object]:
    datatype = "STRING" if tensor.datatype == "BYTES" else tensor.datatype
    description: dict[str, object] = {
        "name": tensor.name,
        "data_type": f"TYPE_{datatype}",
        "dims": tensor.protocol_shape,
    }
    return {**description, "optional": True} if tensor.is_optional else description
