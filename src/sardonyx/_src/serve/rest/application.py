"""The ASGI application of the REST interface: routes, authorization, and failures as responses."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.protocol.authorization import Authorization
from sardonyx._src.serve.protocol.codec_threads import CodecThreads
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure, internal_failure, log_internal
from sardonyx._src.serve.protocol.held_bytes import HeldBytes
from sardonyx._src.serve.protocol.json_slices import MAX_FIELDS
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.rest.bodies import BodyReader, ClientGone, header_value
from sardonyx._src.serve.rest.direct_inference import DirectInference
from sardonyx._src.serve.rest.inference import InferenceEndpoint
from sardonyx._src.serve.rest.interface import Interface
from sardonyx._src.serve.rest.metadata import MetadataEndpoints, RepositoryEndpoints
from sardonyx._src.serve.rest.responses import (
    ErrorForm,
    error_response,
    failure_response,
    protocol_error,
    send_response,
)

ACCESS_LOG = logging.getLogger("sardonyx.serve.access")
MAX_PATH = 200  # characters of a path in logs and messages
MODEL = "/v2/models/{model}"
VERSION = MODEL + "/versions/{version}"
OPEN_PATHS = ("/v2/health/live", "/v2/health/ready")  # no token is required, since health probes have none


class RestApplication:
    """The Open Inference Protocol v2 over HTTP, as an ASGI application.

    token: the token that every request except health probes must have, as `Authorization: Bearer ...`; "": none is required.
    more_routes: endpoints that other parts of the service add, such as metrics.
    interfaces: those beside the inference protocol, which the same limits and tokens govern.
    held: counts the bytes of requests.
    threads: decode long requests.
    direct: answers quick requests without the application, so that they are neither logged nor traced.
    """

    def __init__(
        self,
        repository: ModelRepository,
        version: str,
        limits: ServiceLimits | None = None,
        *,
        token: str = "",
        allows_control: bool = True,
        access_log: bool = False,
        more_routes: Sequence[Route] = (),
        interfaces: Sequence[Interface] = (),
    ) -> None:
        limits = limits or ServiceLimits()
        held = self.held = HeldBytes(limits.held)
        self.threads = CodecThreads()
        bodies = BodyReader(min(limits.body, MAX_FIELDS), held)
        self._authorization = Authorization(token)
        self.direct = DirectInference(repository, limits, held, self._authorization)
        self._access_log, self._interfaces = access_log, interfaces
        infer = InferenceEndpoint(repository, limits, held, self.threads)
        metadata = MetadataEndpoints(repository, version)
        control = RepositoryEndpoints(repository, bodies, allows_control=allows_control)
        routes = [
            route(MODEL + "/infer", infer, "POST"),
            route(VERSION + "/infer", infer, "POST"),
            route("/v2/health/live", metadata.live),
            route("/v2/health/ready", metadata.ready),
            route("/v2", metadata.server),
            route("/v2/", metadata.server),
            *(route(path, metadata.model) for path in (MODEL, VERSION)),
            *(route(path + "/ready", metadata.model_ready) for path in (MODEL, VERSION)),
            *(route(path + "/config", metadata.model_config) for path in (MODEL, VERSION)),
            route("/v2/repository/index", control.index, "POST"),
            route("/v2/repository/models/{model}/load", control.load, "POST"),
            route("/v2/repository/models/{model}/unload", control.unload, "POST"),
            *more_routes,
        ]
        for interface in interfaces:
            routes += interface.routes(repository, limits, held, self.threads)
        self._router = Router(routes, redirect_slashes=False, default=refuse_path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the application serves only HTTP; got {scope['type']}")
        if self._access_log:
            send = log_response(scope, send)
        try:
            if self._authorization.is_required and scope["path"] not in OPEN_PATHS:
                self._authorization.check(header_value(scope["headers"], b"authorization"))
            scope["app"] = (
                self  # so that Starlette raises HTTPException for a wrong method, which becomes JSON below
            )
            await self._router(scope, receive, send)
        except RequestFailure as failure:
            log_internal(described(scope), failure)
            await send_response(send, failure_response(failure, self._error_form(scope)))
        except HTTPException as error:
            headers = [(k.lower().encode(), v.encode()) for k, v in (error.headers or {}).items()]
            form = self._error_form(scope)
            await send_response(send, error_response(error.status_code, error.detail, headers, form))
        except ClientGone:
            pass
        except Exception as error:  # noqa: BLE001 (it is logged)
            internal = internal_failure(described(scope), error)
            await send_response(send, failure_response(internal, self._error_form(scope)))

    def _error_form(self, scope: Scope) -> ErrorForm:
        """The form of errors of the interface to which a path belongs."""
        for interface in self._interfaces:
            if scope["path"].startswith(interface.prefix):
                return interface.error
        return protocol_error


class Endpoint:
    """An ASGI application made of a method.  A Route would call the method itself with a request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def route(path: str, app: ASGIApp, method: str = "GET") -> Route:
    """A route to an ASGI application."""
    return Route(path, app if isinstance(app, InferenceEndpoint) else Endpoint(app), methods=[method])


async def refuse_path(scope: Scope, receive: Receive, send: Send) -> None:
    raise RequestFailure(FailureKind.NOT_FOUND, f"there is nothing under the path {shown_path(scope)!r}")


def shown_path(scope: Scope) -> str:
    """The path of a request in logs and messages."""
    path: str = scope["path"]
    return path[:MAX_PATH]


def described(scope: Scope) -> str:
    """The text of a request in logs."""
    return f"{scope['method']} {shown_path(scope)}"


def log_response(scope: Scope, send: Send) -> Send:
    """`send`, with a line in the access log for each response."""
    begin = time.perf_counter()

    async def logging_send(message: Message) -> None:
        await send(message)
        if message["type"] == "http.response.start":
            fields = {"method": scope["method"], "path": shown_path(scope), "status": message["status"]}
            milliseconds = round((time.perf_counter() - begin) * 1000, 3)
            ACCESS_LOG.info("request", extra={"fields": {**fields, "milliseconds": milliseconds}})

    return logging_send
