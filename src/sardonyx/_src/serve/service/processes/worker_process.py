"""The supervisor's side of a worker: the process, and requests to it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress

from sardonyx._src.serve.operation.python_process import start_python
from sardonyx._src.serve.operation.snapshots import ProcessSnapshot
from sardonyx._src.serve.service.processes.peer import Handler, Peer, PeerGone
from sardonyx._src.serve.service.processes.worker import WorkerStart, main

SNAPSHOT_SECONDS = (
    2.0  # a process without a reply by then compiles, or has stopped: its last counts are used instead
)


class WorkerProcess:
    """A process that runs `worker.main`.  snapshot: its last counts; None before the first ones."""

    def __init__(self, process: asyncio.subprocess.Process, peer: Peer) -> None:
        self._process, self._peer = process, peer
        self.snapshot: ProcessSnapshot | None = None

    @classmethod
    async def start(
        cls, start: WorkerStart, handle: Handler, environment: Mapping[str, str]
    ) -> WorkerProcess:
        """Starts a process; `handle` is called with its requests.

        environment: additional environment variables.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            process = await start_python(main.__module__, theirs, (start.listener,), environment)
        peer = Peer(ours, handle)
        await peer.connect()
        peer.post("start", start)
        return cls(process, peer)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def run(self) -> str:
        """Handles the requests of the process until it ends; returns how it has ended."""
        await self._peer.run()
        code = await self._process.wait()
        return f"status {code}" if code >= 0 else signal.Signals(-code).name

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def try_ask(self, action: str, argument: object = None) -> object:
        """The reply of the process; None if it ends first.  Raises the error of the request."""
        try:
            return await self._peer.ask(action, argument)
        except PeerGone:
            return None

    async def take_snapshot(self) -> ProcessSnapshot | None:
        """The statistics of the process; those of its last reply if it does not reply in time."""
        with suppress(TimeoutError):
            snapshot = await asyncio.wait_for(self.try_ask("snapshot"), SNAPSHOT_SECONDS)
            if isinstance(snapshot, ProcessSnapshot):
                self.snapshot = snapshot
        return self.snapshot
