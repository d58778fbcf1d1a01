"""Direct inference: requests whose runs are known to be quick are answered as soon as their last byte has arrived.

For each request the ASGI application has a task, an event and several awaits, which cost more time than the run of a small
model.  Connections call `DirectInference` first (`DirectHttpProtocol`).  The application answers all requests that it declines,
in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.models.served_model import ServedModel
from sardonyx._src.serve.protocol.authorization import Authorization
from sardonyx._src.serve.protocol.failures import RequestFailure, internal_failure, log_internal
from sardonyx._src.serve.protocol.held_bytes import HeldBytes
from sardonyx._src.serve.protocol.inference_messages import is_short, parse_request
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.rest.inference import HEADER_LENGTH, json_length
from sardonyx._src.serve.rest.response_messages import format_response, is_short_response
from sardonyx._src.serve.rest.responses import (
    HttpResponse,
    ResponseWriter,
    failure_response,
    inference_response,
)

MAX_BODY = 1 << 20  # bytes of a body; larger bodies are slow to parse
MAX_ROUTES = 1024  # paths whose routes are remembered
# Requests with one of these headers are left to the application.
DECLINED = frozenset({b"transfer-encoding", b"content-encoding", b"expect", b"upgrade"})
REPEATED = b"\0"  # stands for the values of a header that must not be repeated; no header can have this value
Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class DirectRoute:
    """The model and version that the path of an inference request names, and the open model that serves it."""

    name: str
    version: str
    model: ServedModel


@dataclass(eq=False, slots=True)
class DirectRequest:
    """A request that has been accepted.

    length: the bytes of the body.
    has_binary: whether binary data follow the JSON of the body.
    parts: the parts of the body so far.
    is_held: whether its bytes are counted among those that the service holds.
    """

    route: DirectRoute
    headers: Headers
    length: int
    has_binary: bool
    parts: list[bytes] = field(default_factory=list)
    is_held: bool = False

    @property
    def body(self) -> bytes:
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)


class DirectInference:
    """Accepts and answers requests in callbacks of connections, without tasks.  All methods are called on the event loop."""

    def __init__(
        self,
        repository: ModelRepository,
        limits: ServiceLimits,
        held: HeldBytes,
        authorization: Authorization,
    ) -> None:
        """held: counts the bytes of requests of all transports."""
        self._repository, self.held, self.writer = repository, held, ResponseWriter()
        self._max_body, self._max_json = min(MAX_BODY, limits.body), limits.json
        self._authorization = authorization
        self._routes: dict[bytes, DirectRoute] = {}
        self._changes = -1  # number of changes of the repository when the routes were made

    def accept(self, path: bytes, headers: Headers) -> DirectRequest | None:
        """A POST request that is likely to be answered directly; None for one that the application must answer."""
        route = self._find_route(path)
        if route is None or not route.model.executor.has_quick_runs:
            return None
        length, binary_headers = -1, 0
        given: bytes | None = None
        for name, value in headers:
            if name == b"content-length":
                length = int(value) if len(value) <= 18 else -1
            elif name in DECLINED:
                return None
            elif name == HEADER_LENGTH:
                binary_headers += 1
            elif name == b"authorization":
                given = value if given is None else REPEATED
        is_bounded = 0 <= length <= self._max_body and self.held.count + length <= self.held.limit
        if not self._authorization.admits(given) or not is_bounded or binary_headers > 1:
            return None
        return DirectRequest(route, headers, length, bool(binary_headers))

    def answer(self, request: DirectRequest) -> HttpResponse | None:
        """The response to a request whose body is complete; None for one that is not quick."""
        route, body = request.route, request.body
        try:
            length = json_length(request.headers if request.has_binary else (), len(body), self._max_json)
            if not is_short(body, length):
                return None
            message, form = parse_request(route.name, route.version, body, length)
            response = route.model.try_infer(message)
            if response is None:
                return None
            if not is_short_response(response, form):
                route.model.executor.pause_quick_runs()  # the application repeats this run; later ones go there directly
                return None
            return inference_response(*format_response(response, form))
        except RequestFailure as failure:
            log_internal(f"POST {route.name}", failure)
            return failure_response(failure)
        except Exception as error:  # noqa: BLE001 (it is logged)
            return failure_response(internal_failure(f"POST {route.name}", error))

    def _find_route(self, path: bytes) -> DirectRoute | None:
        """The route of a path; None if the path names no model that is ready."""
        if self._changes != self._repository.changes:
            self._routes.clear()
            self._changes = self._repository.changes
        return self._routes.get(path) or self._add_route(path)

    def _add_route(self, path: bytes) -> DirectRoute | None:
        try:
            match path.decode("ascii").split("/"):
                case ["", "v2", "models", name, "infer"]:
                    version = ""
                case ["", "v2", "models", name, "versions", version, "infer"]:
                    pass
                case _:
                    return None
            model = self._repository.find(name, version)
        except (UnicodeDecodeError, RequestFailure):
            return None
        if len(self._routes) >= MAX_ROUTES:
            self._routes.clear()
        route = self._routes[path] = DirectRoute(name, version, model)
        return route
