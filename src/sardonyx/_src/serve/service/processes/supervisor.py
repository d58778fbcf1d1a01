"""The supervisor of a service of several processes: it owns the listening sockets, and starts and restarts the workers.

Each worker has a listening socket of its own on the common port, and Linux distributes connections among these sockets
(SO_REUSEPORT).  The supervisor keeps the sockets open, so that connections which arrive while a worker is replaced wait for its
successor.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from sardonyx._src.compile.llvm.cache import default_folder
from sardonyx._src.errors import SardonyxError
from sardonyx._src.runtime.limits.cpus import available_cpus
from sardonyx._src.serve.operation.snapshots import ProcessSnapshot, retire, sum_models
from sardonyx._src.serve.service.processes.changes import ModelChanges
from sardonyx._src.serve.service.processes.worker import WorkerStart
from sardonyx._src.serve.service.processes.worker_process import WorkerProcess
from sardonyx._src.serve.service.service import address_text, listen, log_address, scan_of
from sardonyx._src.serve.settings.service_settings import ServiceSettings

LOG = logging.getLogger("sardonyx.serve")
STABLE_SECONDS = 10.0  # a worker that has run for longer is replaced at once
FIRST_DELAY, MAX_DELAY = 0.5, 30.0  # seconds before a worker that ends early is replaced; doubled each time
# Before a delay of more seconds, the worker's socket is closed, so that connections go to other workers.
MAX_KEPT_DELAY = 1.0
KILL_SECONDS = 5.0  # seconds after the grace for requests in progress, until workers are killed


class Supervisor:
    """A service of several processes, which `run` runs once."""

    def __init__(self, settings: ServiceSettings) -> None:
        """Raises InputError for a repository that does not exist."""
        scan_of(settings)
        self.settings = settings
        self._worker_settings, self._port = settings_of_worker(settings), settings.port
        self._environment: dict[str, str] = {}
        self._listeners: dict[int, socket.socket] = {}
        self._workers: dict[int, WorkerProcess] = {}
        self._loaded = [asyncio.Event() for _ in range(settings.processes)]
        self._changes = ModelChanges(self._workers)
        self._is_complete = False  # all workers have been ready
        self._ended = ProcessSnapshot(())  # the counts of workers that have ended
        self._end, self._is_forced = asyncio.Event(), False
        self._failure: SardonyxError | OSError | None = None

    async def run(self) -> None:
        """Serves until a signal.  Raises InputError and OSError for settings that are wrong."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stop)
        with ExitStack() as resources:
            if default_folder() is None:  # workers map the programs that the first one compiles
                folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="sardonyx-"))
                self._environment["SARDONYX_CACHE"] = folder
            resources.callback(self._close_listeners)
            log_address("https" if self.settings.certificate else "http", self._listen(0))
            resources.enter_context(self._reserve_grpc_port())
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._start_workers(tasks))
                tasks.create_task(self._watch())
                tasks.create_task(self._kill_late_workers())
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Ends the service as a signal does: workers complete their requests, unless this is the second call."""
        self._end.set()
        for loaded in self._loaded:
            loaded.set()
        self._close_listeners()  # the workers have descriptors of their own, with which they accept until they drain
        for worker in self._workers.values():
            worker.send_signal(signal.SIGTERM)

    async def _start_workers(self, tasks: asyncio.TaskGroup) -> None:
        """Starts the workers.  The others wait for the first one, which compiles all models that are not cached yet."""
        for index, loaded in enumerate(self._loaded):
            tasks.create_task(self._keep_running(index))
            if index == 0:
                await loaded.wait()
        for loaded in self._loaded:
            await loaded.wait()
        self._is_complete = True
        if not self._end.is_set():
            is_ready = [await worker.try_ask("complete") for worker in list(self._workers.values())]
            if all(is_ready):
                LOG.info("ready")

    async def _keep_running(self, index: int) -> None:
        """Replaces a worker whenever it ends; the delay increases if it ends repeatedly."""
        delay = 0.0
        while not self._end.is_set():
            begin = time.monotonic()
            how = await self._run_worker(index)
            if self._end.is_set():
                return
            is_stable = time.monotonic() - begin > STABLE_SECONDS
            delay = 0.0 if is_stable else min(max(2 * delay, FIRST_DELAY), MAX_DELAY)
            LOG.error("%s; another one starts in %.1f s", how, delay)
            if delay > MAX_KEPT_DELAY and (listener := self._listeners.pop(index, None)) is not None:
                listener.close()  # its connections go to the others
            with suppress(TimeoutError):
                await asyncio.wait_for(self._end.wait(), delay)

    async def _run_worker(self, index: int) -> str:
        """Runs a worker to its end; returns how it has ended, or why it has not started."""
        try:
            worker = await self._start(index)
        except OSError as error:  # the system may lack memory at this moment
            return f"a process cannot start: {error}"
        how = await worker.run()
        del self._workers[index]
        if worker.snapshot is not None:
            self._ended = ProcessSnapshot(tuple(sum_models([self._ended, retire(worker.snapshot)])))
        return f"process {worker.pid} has ended ({how})"

    async def _start(self, index: int) -> WorkerProcess:
        """A new worker, which receives changes of models from now on."""

        async def handle(action: str, argument: object) -> object:
            return await self._handle(index, action, argument)

        listener = self._listeners.get(index) or self._listen(index)
        loads_first = index > 0 or self._loaded[index].is_set()
        unloaded = frozenset(self._changes.unloaded)
        start = WorkerStart(self._worker_settings, listener.fileno(), loads_first, unloaded)
        worker = await WorkerProcess.start(start, handle, self._environment)
        self._workers[index] = worker
        if self._end.is_set():
            worker.send_signal(signal.SIGTERM)
        return worker

    async def _handle(self, index: int, action: str, argument: object) -> object:
        """Handles a request of a worker."""
        match action:
            case "loaded":
                self._loaded[index].set()
                if self._is_complete and (worker := self._workers.get(index)) is not None:
                    await worker.try_ask("complete")
            case "fail":
                assert isinstance(argument, SardonyxError | OSError), "sent by a worker"
                if self._is_complete:  # a file of the settings has changed since; the other workers serve
                    LOG.error("a process cannot start: %s", argument)
                else:
                    self._failure = argument
                    self.stop()
            case "snapshots":
                return await self._take_snapshots()
            case _:
                await self._changes.apply(index, action, str(argument))
        return None

    async def _take_snapshots(self) -> list[ProcessSnapshot]:
        """The statistics of the workers in the order of their numbers, then those of workers that have ended."""
        workers = [self._workers.get(index) for index in range(self.settings.processes)]
        taken = await asyncio.gather(*(worker.take_snapshot() for worker in workers if worker is not None))
        by_worker = dict(zip(filter(None, workers), taken, strict=True))
        snapshots = [(worker and by_worker[worker]) or ProcessSnapshot(()) for worker in workers]
        served = {(model.name, model.version) for snapshot in snapshots for model in snapshot.models}
        ended = (model for model in self._ended.models if (model.name, model.version) in served)
        return [*snapshots, ProcessSnapshot(tuple(ended))]

    async def _watch(self) -> None:
        """Makes the workers look for changed models at intervals, one after the other."""
        while not self._end.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._end.wait(), self.settings.watch_seconds)
                return
            if self._is_complete:
                try:
                    await self._changes.apply(0, "refresh", "")
                except OSError as error:
                    LOG.error("the repository cannot be read: %s", error)

    async def _kill_late_workers(self) -> None:
        """Kills the workers that have not ended after drain, grace and KILL_SECONDS."""
        await self._end.wait()
        late = self.settings.drain_seconds + self.settings.grace_seconds + KILL_SECONDS
        deadline = time.monotonic() + late
        while self._workers:
            await asyncio.sleep(0.05)
            if time.monotonic() > deadline:
                for worker in self._workers.values():
                    worker.send_signal(signal.SIGKILL)

    def _listen(self, index: int) -> socket.socket:
        """A listening socket on the port of the service.  Raises OSError."""
        listener = self._listeners[index] = listen(self.settings.host, self._port, shares_port=True)
        self._port = listener.getsockname()[1]
        return listener

    def _close_listeners(self) -> None:
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()

    @contextmanager
    def _reserve_grpc_port(self) -> Iterator[None]:
        """Reserves the port on which the workers listen for gRPC, and for port 0 chooses one.  Raises OSError."""
        host, port = self.settings.host, self.settings.grpc_port
        if port is None:
            yield
            return
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as reserved:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            reserved.bind((host, port))
            port = int(reserved.getsockname()[1])
            self._worker_settings = replace(self._worker_settings, grpc_port=port)
            LOG.info(
                "listening on %s", address_text("grpcs" if self.settings.certificate else "grpc", host, port)
            )
            yield


def settings_of_worker(settings: ServiceSettings) -> ServiceSettings:
    """The settings of one of the processes, with its share of limits and processors."""
    count = settings.processes
    limits = replace(
        settings.limits,
        connections=max(1, settings.limits.connections // count),
        held=max(settings.limits.body, settings.limits.held // count),
    )
    threads = settings.models.threads or max(1, available_cpus() // count)
    models = replace(settings.models, threads=threads)
    return replace(settings, processes=1, watch_seconds=None, limits=limits, models=models)
