"""Asynchronous compilation of LLVM modules in worker processes.

Lowering submits the modules of kernels as soon as it knows them (`submit_module`), and loading a kernel waits for its
code (`take_code`).  While any thread compiles programs, the process has one `AsyncCompiler`.  Its pool of workers is made,
and the module of workers imported, for the first module whose code is in no library and no cache.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.compile_progress import PROGRESS
from sardonyx._src.compile.llvm.llvm_lock import LLVM_LOCK
from sardonyx._src.dataclass import dataclass

if TYPE_CHECKING:
    from sardonyx._src.compile.llvm.compile_workers import CompileJob, WorkerPool

MIN_MODULES = 3  # for fewer modules, no worker is started if this process has loaded LLVM
TextFactory = Callable[[], str]
JobKey = tuple[str, str]  # keys of a target and of a module


@dataclass(slots=True)
class AsyncCompiler:
    """The worker pool of a process and its jobs.

    max_workers: returns the number of workers that there may be.
    made_pool: the pool, once it was used.
    users: the number of `async_compilation` blocks that are being executed.
    jobs: the submitted jobs.
    deferred: functions that make jobs, kept until a worker is started for them.
    """

    max_workers: Callable[[], int]
    made_pool: WorkerPool | None = None
    users: int = 0
    jobs: dict[JobKey, CompileJob] = field(default_factory=dict)
    deferred: dict[JobKey, Callable[[], CompileJob]] = field(default_factory=dict)

    @property
    def pool(self) -> WorkerPool:
        with LLVM_LOCK:
            if self.made_pool is None:
                from sardonyx._src.compile.llvm.compile_workers import WorkerPool  # lazy: as the pool is

                self.made_pool = WorkerPool(self.max_workers(), lambda: PROGRESS.add(done=1))
            return self.made_pool


class ActiveCompiler:
    """The asynchronous compiler of this process, while programs are compiled."""

    compiler: AsyncCompiler | None = None


LOCK = threading.RLock()


@contextmanager
def async_compilation(processors: int, affordable_workers: Callable[[], int] | None = None) -> Iterator[None]:
    """Compile submitted modules in workers for the duration of the block, if there is more than one processor.

    affordable_workers: the number of workers for which there is memory; None for as many as a pool has.
    """

    def max_workers() -> int:
        return processors if affordable_workers is None else min(processors, affordable_workers())

    with LOCK:
        active = ActiveCompiler.compiler
        if active is None and processors > 1:
            active = ActiveCompiler.compiler = AsyncCompiler(max_workers)
        if active is not None:
            active.users += 1
    try:
        yield
    finally:
        if active is not None:
            release_compiler(active)


def release_compiler(active: AsyncCompiler) -> None:
    """Ends the workers with the last block that uses them."""
    with LOCK:
        active.users -= 1
        is_last = active.users == 0
        if is_last and ActiveCompiler.compiler is active:
            ActiveCompiler.compiler = None
    if is_last and active.made_pool is not None:
        active.made_pool.shut_down()


def start_worker() -> None:
    """Starts a worker for later jobs, if there is a pool and LLVM is not loaded in this process."""
    active = ActiveCompiler.compiler
    if active is not None and "llvmlite" not in sys.modules:
        active.pool.start_first()


def query_host_info() -> dict[str, str] | None:
    """A worker's description of the processor; None without a worker."""
    active = ActiveCompiler.compiler
    return None if active is None else active.pool.query_host_info()


def submit_module(target: Target, module_key: str, text: TextFactory, *, quick: bool = False) -> None:
    """Queues a module for the workers, if there is a pool; the first few are held back until starting a worker pays.

    It pays at once if LLVM would have to be loaded here, which takes as long in a worker, and no memory of this process.
    """
    with LLVM_LOCK:
        from sardonyx._src.compile.llvm.compile_workers import (
            CompileJob,
            encode_request,
        )  # lazy: as the pool is

    key = (target.key, module_key)
    with LOCK:
        active = ActiveCompiler.compiler
        if active is None or active.pool.is_over or key in active.jobs or key in active.deferred:
            return
        active.deferred[key] = lambda: CompileJob(encode_request(text(), target, quick=quick))
        is_loaded = "llvmlite" in sys.modules
        if len(active.deferred) < MIN_MODULES and is_loaded and not active.pool.threads:
            return
        deferred, active.deferred = active.deferred, {}
        jobs = {job_key: make_job() for job_key, make_job in deferred.items()}
        active.jobs.update(jobs)
    PROGRESS.add(known=len(jobs))
    for job in jobs.values():
        active.pool.submit(job)


def take_code(target: Target, module_key: str) -> bytes | None:
    """The code of a submitted module, once it is compiled; None if no worker compiles it.

    Asserts that LLVM accepts the module: the compiler generated it.
    """
    key = (target.key, module_key)
    with LOCK:
        active = ActiveCompiler.compiler
        job = None
        if active is not None:
            active.deferred.pop(key, None)
            job = active.jobs.get(key)
    if job is None:
        return None
    job.done.wait()
    assert job.error is None, f"LLVM refuses a kernel: {job.error}\n{job.request.decode(errors='replace')}"
    if job.code is None:
        PROGRESS.add(known=-1)  # the caller compiles the module, and counts it again
    return job.code


def reset_after_fork() -> None:
    """Gives a forked child no compiler, and a lock that no thread holds."""
    global LOCK
    active, ActiveCompiler.compiler, LOCK = ActiveCompiler.compiler, None, threading.RLock()
    if active is not None and active.made_pool is not None:
        active.made_pool.abandon_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)
