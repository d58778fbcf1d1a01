"""A worker: one process of a service, started by its supervisor."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.serve.models.model_config import ModelConfig
from sardonyx._src.serve.models.model_files import ModelFiles
from sardonyx._src.serve.models.repository import ModelEntry, ModelRepository, Scan
from sardonyx._src.serve.operation.event_loop import new_loop
from sardonyx._src.serve.operation.snapshots import ProcessSnapshot, take_snapshot
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.service.processes.peer import Peer, PeerGone
from sardonyx._src.serve.service.service import Service, scan_of
from sardonyx._src.serve.settings.logs import configure_logs
from sardonyx._src.serve.settings.service_settings import ServiceSettings

SHUTTING_DOWN = "the service is shutting down"


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """The first message of the supervisor.

    listener: the descriptor of the listening socket of HTTP.
    loads_first: whether the worker loads the models before it accepts connections, because others serve meanwhile.
    unloaded: the models that clients have unloaded.
    """

    settings: ServiceSettings
    listener: int
    loads_first: bool
    unloaded: frozenset[str]


def main(descriptor: int) -> None:
    """Runs a worker.  descriptor: the file descriptor of the socket to its supervisor."""

    async def run() -> None:
        await ServingWorker(socket.socket(fileno=descriptor)).run()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())


class ServingWorker:
    """The service of a worker, and the connection to its supervisor, whose requests it handles."""

    def __init__(self, end: socket.socket) -> None:
        self._peer = Peer(end, self._handle)
        self._start: asyncio.Future[WorkerStart] = asyncio.Future()
        self._service: asyncio.Future[WorkerService] = asyncio.Future()

    async def run(self) -> None:
        """Serves until a signal, or until the supervisor has ended."""
        await self._peer.connect()
        following = asyncio.create_task(self._follow())
        with suppress(asyncio.CancelledError):  # the supervisor has ended before it sent anything
            await self._serve(await self._start)
        self._peer.close()
        await following

    async def _serve(self, start: WorkerStart) -> None:
        configure_logs(start.settings.log)
        try:
            service = WorkerService(start, self._peer)
            self._service.set_result(service)
            await service.run()
        except (SardonyxError, OSError) as error:  # the settings are wrong
            with suppress(PeerGone):
                await self._peer.ask("fail", error)

    async def _follow(self) -> None:
        """Handles requests of the supervisor; when the supervisor ends, the worker ends."""
        await self._peer.run()
        self._start.cancel()
        if self._service.done():
            self._service.result().stop()

    async def _handle(self, action: str, argument: object) -> object:
        if action == "start":
            assert isinstance(argument, WorkerStart), "sent by the supervisor"
            self._start.set_result(argument)
            return None
        repository = (await self._service).repository
        match action:
            case "snapshot":
                return take_snapshot(repository)
            case "complete":
                repository.is_service_complete = True
                return repository.is_ready
            case "refresh":
                await repository.refresh()
            case "load":
                await repository.load_here(str(argument))
            case "unload":
                await repository.unload_here(str(argument))
            case _:
                raise AssertionError(f"unknown action {action}")
        return None


class WorkerService(Service):
    """The service of a worker."""

    repository: WorkerRepository
    shares_ports = True

    def __init__(self, start: WorkerStart, supervisor: Peer) -> None:
        """Raises InputError and OSError for settings that are wrong."""
        self._start, self._supervisor = start, supervisor
        super().__init__(start.settings)

    async def run(self) -> None:
        if self._start.loads_first:
            await self.repository.load_all()
        await super().run()

    def open_repository(self) -> WorkerRepository:
        scan = scan_of(self._start.settings)
        return WorkerRepository(scan, self._start.settings.models, self._supervisor, self._start.unloaded)

    def listen(self) -> socket.socket:
        return socket.socket(fileno=self._start.listener)

    async def take_snapshots(self) -> Sequence[ProcessSnapshot]:
        try:
            snapshots = await self._supervisor.ask("snapshots")
        except PeerGone:
            raise RequestFailure(FailureKind.UNAVAILABLE, SHUTTING_DOWN) from None
        assert isinstance(snapshots, list), "sent by the supervisor"
        return snapshots

    async def report_loaded(self) -> None:
        with suppress(PeerGone):
            await self._supervisor.ask("loaded")


class WorkerRepository(ModelRepository):
    """The models of a worker.

    A request of a client to load or unload a model is passed to the supervisor.  All workers make the change, and the request
    ends when the last one has made it.
    is_service_complete: whether all workers have been ready, as the supervisor reports.
    """

    def __init__(self, scan: Scan, defaults: ModelConfig, supervisor: Peer, unloaded: frozenset[str]) -> None:
        super().__init__(scan, defaults)
        self._supervisor, self.is_service_complete = supervisor, False
        self._entries.update({name: ModelEntry(is_unloaded=True) for name in unloaded})

    @property
    def is_ready(self) -> bool:
        return self.is_service_complete and super().is_ready

    async def load(self, name: str) -> None:
        await self._ask("load", name)

    async def unload(self, name: str) -> None:
        await self._ask("unload", name)

    async def load_here(self, name: str) -> None:
        """Loads a model in this process."""
        await super().load(name)

    async def unload_here(self, name: str) -> None:
        """Ends the service of a model in this process."""
        await super().unload(name)

    async def _ask(self, action: str, name: str) -> None:
        try:
            await self._supervisor.ask(action, name)
        except PeerGone:
            raise RequestFailure(FailureKind.UNAVAILABLE, SHUTTING_DOWN) from None

    def _read_config(self, files: ModelFiles) -> ModelConfig:
        config = super()._read_config(files)
        if config.sequences is not None:
            why = "sequences must be served by one process, which has their states: start the service with --processes 1"
            raise InputError(why, name="sequences")
        return config
