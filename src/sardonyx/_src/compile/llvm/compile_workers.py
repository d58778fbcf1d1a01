"""Pool of worker processes that compile LLVM modules; each runs `compiler.py`.

LLVM's bindings serve one thread at a time, and the memory that they allocate is freed only with their process.  A worker
that cannot be started, that dies, or that answers with garbage is not an error: its jobs are returned without code, and
the caller compiles them.

`concurrent.futures.ProcessPoolExecutor` does not meet these requirements:
- Workers must be ready soon, because compilation waits for the first one to describe the processor.  On two busy cores,
  `bench/worker_startup.py` measures 254 ms for a worker of this pool, and 1141 ms ("spawn") or 799 ms ("forkserver") for an
  executor's, which imports the package of the function that it runs, and with it NumPy.
- Workers must not import `__main__` again, which "spawn" does: scripts without `if __name__ == "__main__"` would
  start over.
- "fork" is unsafe here: other threads may hold locks of LLVM or of a native library.
- A worker that dies breaks an executor and all of its futures, and a damaged answer raises an exception while
  it is unpickled.
- When the last program is compiled, or at Ctrl-C, running jobs are killed; an executor waits for them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import select
import sys
import threading
from collections.abc import Callable
from dataclasses import field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from queue import PriorityQueue
from typing import TypeAlias

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import compiler
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.threads import start_thread

STARTUP_TIMEOUT = 20.0  # seconds
MAX_RESPONSE_BYTES = 1 << 30
MAX_WORKERS = 8  # in the pool of a process
QueuedJob: TypeAlias = "tuple[int, int, CompileJob | None]"  # its place in the queue; None ends a thread
log = logging.getLogger(__name__)


class WorkerError(Exception):
    """A worker cannot be started, has ended, or does not follow the protocol."""


@dataclass(slots=True, eq=False)
class CompileJob:
    """A module to compile.

    request: the module as a request to a worker; emptied when the job is done, unless there is an error.
    done: set when the job has ended.
    code: the object code; None if there is an error, or no worker has compiled the module.
    error: LLVM's error, if it rejects the module.
    """

    request: bytes
    done: threading.Event = field(default_factory=threading.Event)
    code: bytes | None = None
    error: str | None = None


def encode_request(text: str, target: Target, *, quick: bool) -> bytes:
    """A module as a request to a worker (`compiler.py`)."""
    arguments = {"triple": target.triple, "cpu": target.cpu, "features": target.features}
    content = json.dumps({"text": text, "quick": quick, **arguments}).encode()
    return compiler.REQUEST_HEADER.pack(len(content)) + content


def worker_command() -> list[str]:
    """The command line of a worker; raises WorkerError where none can be started."""
    name = os.path.basename(sys.executable or "").lower()
    if sys.platform == "win32" or not name.startswith("python") or getattr(sys, "frozen", False):
        # `sys.executable` would start the program that embeds Python.
        raise WorkerError("Python is embedded in another program")
    spec, file = find_spec("llvmlite"), Path(compiler.__file__)
    if spec is None or spec.origin is None or not file.is_file():
        raise WorkerError("llvmlite is not installed, or Sardonyx is not in files")
    return [sys.executable, "-I", "-S", str(file), str(Path(spec.origin).parents[1])]


class Worker:
    """One process, and the pipes to it."""

    def __init__(self, command: list[str], niceness: int = 0) -> None:
        import subprocess  # lazy: with a library of kernels, no worker starts

        self.process = subprocess.Popen(
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        if niceness:
            os.setpriority(os.PRIO_PROCESS, self.process.pid, niceness)

    def read_host_info(self) -> dict[str, str]:
        """The description of the processor that a worker sends first; raises WorkerError."""
        assert self.process.stdout is not None, "there is a pipe"
        if not select.select([self.process.stdout], [], [], STARTUP_TIMEOUT)[0]:
            raise WorkerError(f"no response within {STARTUP_TIMEOUT} seconds")
        kind, content = self.read_response()
        if kind != compiler.HOST_INFO:
            raise WorkerError(f"the first response must be {compiler.HOST_INFO!r}; got {kind!r}")
        info: dict[str, str] = json.loads(content)
        return info

    def compile(self, job: CompileJob) -> None:
        """Compiles a module; raises WorkerError."""
        assert self.process.stdin is not None, "there is a pipe"
        unsent = memoryview(job.request)
        while unsent:
            unsent = unsent[self.process.stdin.write(unsent) :]
        kind, content = self.read_response()
        if kind == compiler.REJECTION:
            job.error = content.decode()
        elif kind == compiler.OBJECT_CODE:
            job.code = content
        else:
            raise WorkerError(f"unknown response {kind!r}")

    def read_response(self) -> tuple[bytes, bytes]:
        """The kind and the content of the next response; raises WorkerError."""
        kind, length, digest = compiler.RESPONSE_HEADER.unpack(self.read(compiler.RESPONSE_HEADER.size))
        if length > MAX_RESPONSE_BYTES:
            raise WorkerError(f"a response of {length} bytes")
        content = self.read(length)
        if hashlib.sha256(content).digest() != digest:
            raise WorkerError("a damaged response")
        return kind, content

    def read(self, size: int) -> bytes:
        assert self.process.stdout is not None, "there is a pipe"
        content = bytearray()
        while len(content) < size:
            part = self.process.stdout.read(size - len(content))
            if not part:
                raise WorkerError("the process has ended")
            content += part
        return bytes(content)

    def kill(self) -> None:
        """Ends the process, in the middle of its work if need be."""
        self.process.kill()
        self.process.wait()
        self.close_pipes()

    def close_pipes(self) -> None:
        """Closes this process's ends of the pipes."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class WorkerPool:
    """Up to `max_workers` workers, started as jobs arrive, each with a thread of this process that waits for it.

    The longest modules are compiled first, so that the workers are done at about the same time.
    """

    def __init__(
        self, max_workers: int, on_done: Callable[[], None] = lambda: None, niceness: int = 0
    ) -> None:
        """on_done: called, in a thread of the pool, after each job.  niceness: of the workers; 0 for that of this process."""
        self.max_workers, self.on_done = min(max_workers, MAX_WORKERS), on_done
        self.niceness = niceness
        self.lock = threading.RLock()
        self.serial = count()
        self.jobs: PriorityQueue[QueuedJob] = PriorityQueue()
        self.pending = 0  # jobs that are not done
        self.workers: list[Worker] = []
        self.threads: list[threading.Thread] = []
        self.host_info: dict[str, str] | None = None
        self.is_up = threading.Event()  # set once a worker has described the processor, or none ever will
        self.is_over = False

    def start_first(self) -> None:
        """Starts one worker, if there is none."""
        with self.lock:
            if not self.threads and not self.is_over:
                self.start_thread()

    def submit(self, job: CompileJob) -> None:
        """Queues a job; it is done at once, without code, if there are no workers."""
        with self.lock:
            if not self.is_over:
                self.pending += 1
                self.jobs.put((-len(job.request), next(self.serial), job))
                if self.pending > len(self.threads) < self.max_workers:
                    self.start_thread()
                return
        job.done.set()

    def query_host_info(self) -> dict[str, str] | None:
        """The first worker's description of the processor; None if no worker starts."""
        self.start_first()
        self.is_up.wait()
        return self.host_info

    def start_thread(self) -> None:
        """Starts a thread, which starts a worker; the caller holds the lock.

        If no thread can be started, all jobs end without code.
        """
        thread = threading.Thread(target=self.serve_jobs, name="sardonyx compiles", daemon=True)
        self.threads.append(thread)
        try:
            start_thread(thread)
        except LimitError as error:
            log.info("no compile worker starts, and this process compiles instead: %s", error)
            self.threads.remove(thread)
            if not self.threads:
                self.return_jobs()

    def serve_jobs(self) -> None:
        """The function of a thread: gives its worker one job after another."""
        worker, job = None, None
        try:
            worker = Worker(worker_command(), self.niceness)
            with self.lock:
                self.workers.append(worker)
                if self.is_over:
                    return
            info = worker.read_host_info()
            self.host_info = self.host_info or info
            self.is_up.set()
            while (job := self.jobs.get()[-1]) is not None:
                worker.compile(job)
                self.finish(job)
        except (OSError, ValueError, WorkerError) as error:
            if not self.is_over:
                log.info("a compile worker failed, and this process compiles instead: %s", error)
        finally:
            self.retire(worker, job)

    def finish(self, job: CompileJob) -> None:
        with self.lock:
            self.pending -= 1
        if job.error is None:
            job.request = b""  # not needed again, and modules are long
        job.done.set()
        self.on_done()

    def retire(self, worker: Worker | None, job: CompileJob | None) -> None:
        """Ends a thread's worker and its unfinished job; the last thread returns all queued jobs."""
        if worker is not None:
            worker.kill()
        if job is not None:
            self.finish(job)
        with self.lock:
            self.max_workers -= 1
            is_last = self.max_workers <= 0 or all(t is threading.current_thread() for t in self.threads)
            self.threads.remove(threading.current_thread())
        if is_last:
            self.return_jobs()

    def return_jobs(self) -> None:
        """Marks all queued jobs, and those submitted from now on, as done without code."""
        with self.lock:
            self.is_over = True
            self.is_up.set()
            while not self.jobs.empty():
                job = self.jobs.get()[-1]
                if job is not None:
                    job.done.set()

    def shut_down(self) -> None:
        """Ends the workers, in the middle of their work if need be."""
        self.return_jobs()
        with self.lock:
            threads, workers = [*self.threads], [*self.workers]
            for _ in threads:
                self.jobs.put((1, next(self.serial), None))
        for worker in workers:
            worker.process.kill()
        for thread in threads:
            thread.join()

    def abandon_after_fork(self) -> None:
        """In a forked child: closes its copies of the pipes, so that the workers end as soon as the parent does."""
        self.is_over = True
        for worker in self.workers:
            worker.close_pipes()
