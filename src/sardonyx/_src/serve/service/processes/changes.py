"""Changes of the models of a service, which all of its processes make in one order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.file_stamps import RACY_WINDOW
from sardonyx._src.serve.service.processes.worker_process import WorkerProcess

# A large file that has just been written is not cached, as it may change without a new stamp: every process would compile it.
SETTLE_SECONDS = 2 * RACY_WINDOW / 1e9


class ModelChanges:
    """Applies changes to all workers, one after the other.  unloaded: the models that clients have unloaded."""

    def __init__(self, workers: Mapping[int, WorkerProcess]) -> None:
        """workers: those that run, by their number; also those that start later, whose first scan has what was loaded before."""
        self._workers = workers
        self.unloaded: set[str] = set()
        self._order = asyncio.Lock()

    async def apply(self, index: int, action: str, name: str) -> None:
        """Returns when all workers have made a change; raises the error of the first one that failed.

        The worker `index` begins, so that the others find its compiled program in the cache.
        """
        async with self._order:
            if action == "unload":
                self.unloaded.add(name)  # before the change, for a worker that starts meanwhile
            else:
                self.unloaded.discard(name)
                await asyncio.sleep(SETTLE_SECONDS)
            workers = dict(self._workers)
            first = workers.pop(index, None)
            errors = [] if first is None else [await error_of(first, action, name)]
            errors += await asyncio.gather(*(error_of(worker, action, name) for worker in workers.values()))
            if error := next(filter(None, errors), None):
                self.unloaded.discard(name)
                raise error


async def error_of(worker: WorkerProcess, action: str, name: str) -> SardonyxError | OSError | None:
    """The error of a change in one worker; None for one that ends meanwhile: its successor scans the folder."""
    try:
        await worker.try_ask(action, name)
    except (SardonyxError, OSError) as error:
        return error
    return None
