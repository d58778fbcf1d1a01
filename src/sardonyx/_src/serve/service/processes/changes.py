"""Changes of the models of a service: all of its processes apply them in the same order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.file_stamps import RACY_WINDOW
from sardonyx._src.serve.service.processes.worker_process import WorkerProcess

# Seconds to wait before a change.  The program of a large file that was just written is not cached, because the file may still
# change without a new stamp, so that every process would compile it.
SETTLE_SECONDS = 2 * RACY_WINDOW / 1e9


class ModelChanges:
    """Applies changes to all workers, one change at a time.  unloaded: the models that clients have unloaded."""

    def __init__(self, workers: Mapping[int, WorkerProcess]) -> None:
        """workers: the running workers by number, kept up to date by the caller.

        A worker that starts later needs no earlier changes: its first scan of the folder finds what was loaded before.
        """
        self._workers = workers
        self.unloaded: set[str] = set()
        self._order = asyncio.Lock()

    async def apply(self, index: int, action: str, name: str) -> None:
        """Returns when all workers have made a change; raises the first error of a worker.

        The worker with number `index` begins, so that the others find its compiled program in the cache.
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
    """The error of a change in one worker; None also for a worker that ends meanwhile: its successor scans the folder."""
    try:
        await worker.try_ask(action, name)
    except (SardonyxError, OSError) as error:
        return error
    return None
