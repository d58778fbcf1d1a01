"""A service: a repository and its transports, from the first connection to the last response."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from importlib.metadata import version
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.routing import Route

from sardonyx._src.errors import InputError
from sardonyx._src.io.memory_release import map_large_blocks
from sardonyx._src.serve.models.garbage import end_exemption, exempt_objects
from sardonyx._src.serve.models.language.folders import is_language_folder
from sardonyx._src.serve.models.model_files import SUFFIXES, ModelFiles, scan_model, scan_repository
from sardonyx._src.serve.models.repository import ModelRepository, Scan
from sardonyx._src.serve.openai.interface import OpenAiInterface
from sardonyx._src.serve.operation.metrics import MetricsEndpoint
from sardonyx._src.serve.operation.snapshots import ProcessSnapshot, take_snapshot
from sardonyx._src.serve.operation.tracing import TracedApplication, open_tracer
from sardonyx._src.serve.rest.application import RestApplication
from sardonyx._src.serve.rest.connections import ConnectionTable, LimitedHttpProtocol, ServiceConfig
from sardonyx._src.serve.rest.direct_connections import DirectHttpProtocol
from sardonyx._src.serve.settings.service_settings import ServiceSettings, read_token

if TYPE_CHECKING:
    from sardonyx._src.serve.grpc.front_process import GrpcTransport

LOG = logging.getLogger("sardonyx.serve")
RESERVED_FILES = 64  # file descriptors for other purposes than connections
SWEEP_SECONDS = 1.0  # interval at which late connections are closed
BACKLOG = 2048  # connections that the system queues before the service accepts them
# Size from which a memory block is a mapping of its own, so that it grows without a copy; a smaller block is copied in less
# than 5 ms.
MAPPED_BYTES = 4 << 20


class Service:
    """A service of one process, which `run` runs once.

    The workers of a service of several processes are subclasses, which override methods without an underscore.
    ports: the ports on which the service listens, by transport.
    shares_ports: whether other processes listen on the same ports.
    """

    shares_ports = False

    def __init__(self, settings: ServiceSettings) -> None:
        """Raises InputError and OSError for settings that are wrong."""
        self.settings = settings
        self.ports: dict[str, int] = {}
        self.repository = self.open_repository()
        for path in filter(None, (settings.certificate, settings.key)):
            path.open("rb").close()  # OpenSSL's error would not name the file
        token = read_token(settings.token_file) if settings.token_file else ""
        self.application = RestApplication(
            self.repository,
            version("sardonyx"),
            settings.limits,
            token=token,
            allows_control=settings.allows_control,
            access_log=settings.access_log,
            more_routes=[metrics_route(self.take_snapshots)] if settings.metrics else [],
            interfaces=[OpenAiInterface()],
        )
        self._tracer = open_tracer(settings.traces) if settings.traces else None
        self._grpc = None if settings.grpc_port is None else open_grpc(self, token)
        self._grpc_end: asyncio.Task[None] | None = None
        self._table = ConnectionTable(settings.limits, connection_limit(settings.limits.connections))
        config = self._config()
        try:
            config.load()
        except ssl.SSLError as error:
            why = f"{settings.certificate} and its key must be a PEM certificate and its private key: {error}"
            raise InputError(why, name="certificate") from None
        self._server = GracefulServer(config, self)

    def open_repository(self) -> ModelRepository:
        """The repository of the service; nothing is loaded yet."""
        return ModelRepository(scan_of(self.settings), self.settings.models)

    def listen(self) -> socket.socket:
        """The listening socket of HTTP.  Raises OSError."""
        listener = listen(self.settings.host, self.settings.port)
        log_address("https" if self.settings.certificate else "http", listener)
        return listener

    async def take_snapshots(self) -> Sequence[ProcessSnapshot]:
        """The statistics of each process of the service."""
        return [take_snapshot(self.repository)]

    async def report_loaded(self) -> None:
        """Called once every model of the first scan has been loaded or has failed."""
        if self.repository.is_ready:
            LOG.info("ready")

    def _config(self) -> ServiceConfig:
        tls: dict[str, Any] = {}
        if self.settings.certificate is not None:
            tls["ssl_certfile"] = str(self.settings.certificate)
            tls["ssl_keyfile"] = str(self.settings.key) if self.settings.key else None
        # Each request is logged or traced by the application, so that none may be answered without it.
        is_observed = self.settings.access_log or self._tracer is not None
        return ServiceConfig(
            self._table,
            direct=None if is_observed else self.application.direct,
            http=LimitedHttpProtocol if is_observed else DirectHttpProtocol,
            app=self.application
            if self._tracer is None
            else TracedApplication(self.application, self._tracer),
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=int(self.settings.limits.idle_seconds) + 1,
            timeout_graceful_shutdown=int(self.settings.grace_seconds),
            **tls,
        )

    async def run(self) -> None:
        """Serves until a signal or `stop`."""
        map_large_blocks(MAPPED_BYTES)
        with self.listen() as listener:
            self.ports["http"] = listener.getsockname()[1]
            await self._start_grpc()
            tasks = [asyncio.create_task(task) for task in self._background_tasks()]
            try:
                await self._server.serve(sockets=[listener])
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await self._end_transports()
                await self.repository.close()
                self.application.threads.close()
                end_exemption()

    async def _start_grpc(self) -> None:
        settings = self.settings
        if self._grpc is not None and settings.grpc_port is not None:
            port = self.ports["grpc"] = await self._grpc.start(
                settings.host,
                settings.grpc_port,
                settings.certificate,
                settings.key,
                shares_port=self.shares_ports,
            )
            if not self.shares_ports:
                LOG.info(
                    "listening on %s",
                    address_text("grpcs" if settings.certificate else "grpc", settings.host, port),
                )

    async def _end_transports(self) -> None:
        """Waits for gRPC calls in progress, and exports the last spans of traces."""
        if self._grpc is not None:
            await (self._grpc_end or self._grpc.stop(0))
        if self._tracer is not None:
            await asyncio.to_thread(self._tracer.close)

    def stop(self) -> None:
        """Ends the service as a signal does."""
        self._server.should_exit = True

    async def drain(self) -> None:
        """Reports that the service is not ready, and keeps accepting requests until load balancers have noticed."""
        LOG.info("shutting down")
        self.repository.begin_shutdown()
        await asyncio.sleep(self.settings.drain_seconds)
        if self._grpc is not None:  # calls complete while uvicorn lets the requests over HTTP complete
            self._grpc_end = asyncio.create_task(self._grpc.stop(self.settings.grace_seconds))

    def _background_tasks(self) -> list[Coroutine[None, None, None]]:
        return [self._load(), self._sweep()]

    async def _load(self) -> None:
        """Loads all models, and then, at intervals, the changes of the folder."""
        await self._survive(self.repository.load_all())
        exempt_objects()
        await self.report_loaded()
        while (seconds := self.settings.watch_seconds) is not None:
            await asyncio.sleep(seconds)
            await self._survive(self.repository.refresh())

    async def _survive(self, scan: Coroutine[None, None, None]) -> None:
        """Awaits a scan of the folder; an error of the file system must not end the service."""
        try:
            await scan
        except OSError as error:
            LOG.error("the repository cannot be read: %s", error)

    async def _sweep(self) -> None:
        """Closes late connections, and exempts the objects of new models from garbage collection."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self._table.close_late(asyncio.get_running_loop().time())
            if self.repository.is_ready:
                exempt_objects()


class GracefulServer(uvicorn.Server):
    """uvicorn's server: after a first signal, requests in progress complete; a second signal ends them."""

    def __init__(self, config: ServiceConfig, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._service.drain()
        await super().shutdown(sockets)


def scan_of(settings: ServiceSettings) -> Scan:
    """A function that lists the files of a service: of a folder of models, of the folder of one model, or one file.

    The folder of a language model is that of one model, whether the settings name it or not.

    Raises InputError for a path that is none of these.
    """
    path, name = settings.repository, settings.name
    if path.is_file() and path.suffix in SUFFIXES:
        files = {name or path.stem: ModelFiles(name or path.stem, {1: path})}
        return lambda: files
    if not path.is_dir():
        raise InputError(f"the repository must be a folder or a model file; got {path}", name="repository")
    if not name and is_language_folder(path):
        name = path.resolve().name
    return lambda: {name: scan_model(path, name)} if name else scan_repository(path)


def metrics_route(take_snapshots: Callable[[], Awaitable[Sequence[ProcessSnapshot]]]) -> Route:
    """GET /metrics."""
    return Route("/metrics", MetricsEndpoint(take_snapshots), methods=["GET"])


def open_grpc(service: Service, token: str) -> GrpcTransport:
    """The gRPC transport of a service, which is not started yet."""
    from sardonyx._src.serve.grpc.front_process import open_transport  # loads slowly
    from sardonyx._src.serve.grpc.service import GrpcInferenceService

    settings, application = service.settings, service.application
    methods = GrpcInferenceService(
        service.repository,
        version("sardonyx"),
        settings.limits,
        application.held,
        application.threads,
        allows_control=settings.allows_control,
    )
    return open_transport(methods, application.held, settings, token)


def listen(host: str, port: int, *, shares_port: bool = False) -> socket.socket:
    """A listening socket; raises OSError if the address cannot be used.

    shares_port: whether other sockets of the same user may listen on the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG, reuse_port=shares_port)


def log_address(scheme: str, listener: socket.socket) -> None:
    """Logs the address on which a service listens."""
    host, port = listener.getsockname()[:2]
    LOG.info("listening on %s", address_text(scheme, host, port))


def address_text(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def connection_limit(most: int) -> int:
    """The number of connections that the process can have, at most `most`; increases its limit of file descriptors for that."""
    if sys.platform == "win32":
        return most
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = most + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return most if soft == resource.RLIM_INFINITY else max(1, min(most, soft - RESERVED_FILES))
