"""Replaces interpreted kernels by compiled ones, which LLVM compiles in the background while sessions run.

One thread of the process does this, with one worker process of low priority, for programs that have been in use for a
second: processes that end sooner start no worker, and one that ends later takes its worker along.  Results have equal bits.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Protocol
from weakref import ref

from sardonyx._src.compile.kernels.elementwise.loop_nest import elementwise_module
from sardonyx._src.compile.kernels.elementwise.variant import parse_key
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.compile_workers import CompileJob, WorkerPool, encode_request
from sardonyx._src.compile.llvm.jit import Library, Module, compile_module, host_target
from sardonyx._src.compile.llvm.kernel_library import symbol_of
from sardonyx._src.compile.llvm.llvm_lock import LLVM_LOCK
from sardonyx._src.compile.llvm.loaded_kernels import LoadedKernel, compiled_code, replace_code
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.threads import start_thread

DELAY = 1.0  # seconds in which most processes that run a model once have ended
NICENESS = 10  # of the worker
LOCK = threading.Lock()
log = logging.getLogger(__name__)


class Replaceable(Protocol):
    """A program whose kernels can be replaced."""

    def replace_kernel(self, base: int, address: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel to replace.  program: a weak reference to the program.  base: the index of the kernel's base address."""

    program: ref[Replaceable]
    base: int
    key: str


class Background:
    """The requests of this process that no thread has begun, the thread, and the workers that compile for it."""

    requests: ClassVar[list[Request]] = []
    thread: threading.Thread | None = None
    pool: WorkerPool | None = None


def request_kernels(program: Replaceable, kernels: Sequence[tuple[int, str]]) -> None:
    """Has kernels of a program replaced.  kernels: the base of each, and its key."""
    with LOCK:
        Background.requests += [Request(ref(program), base, key) for base, key in kernels]
        if Background.thread is not None and Background.thread.is_alive():
            return
        Background.thread = threading.Thread(target=serve_requests, name="sardonyx replaces", daemon=True)
        try:
            start_thread(Background.thread)
        except LimitError as error:
            log.info("interpreted kernels stay interpreted: %s", error)


def serve_requests() -> None:
    """The function of the thread, which ends once there are no requests."""
    while True:
        time.sleep(DELAY)
        with LOCK:
            requests, Background.requests = Background.requests, []
            if not requests:
                Background.thread = None
                return
        replace_kernels(requests)


def replace_kernels(requests: Iterable[Request]) -> None:
    by_key: dict[str, list[Request]] = {}
    for request in requests:
        if request.program() is not None:
            by_key.setdefault(request.key, []).append(request)
    for key, code in compiled_codes(by_key):
        symbol = symbol_of(key)
        for request in by_key[key]:
            program = request.program()
            if program is not None:
                program.replace_kernel(request.base, code.addresses[symbol])


def compiled_codes(keys: Iterable[str]) -> Iterator[tuple[str, Library]]:
    """The compiled code of kernels, as it is compiled; sessions that are opened from now on use it."""
    loaded = {key: compiled_code(key) for key in keys}
    yield from ((key, code) for key, code in loaded.items() if code is not None)
    modules = {key: elementwise_kernel(key) for key, code in loaded.items() if code is None}
    for key, code in object_codes(modules):
        library = Library(code, [symbol_of(key)])
        with LLVM_LOCK:
            replace_code(key, LoadedKernel(library, is_from_library=False))
        yield key, library


def elementwise_kernel(key: str) -> Module:
    """The module of an elementwise kernel with a key."""
    return Module(key, lambda: elementwise_module(symbol_of(key), host_target(), parse_key(key)))


def object_codes(modules: Mapping[str, Module]) -> Iterator[tuple[str, bytes]]:
    """The object code of modules: first that from the cache, then that which a worker compiles, which is cached."""
    cache, target = default_cache(), host_target()
    jobs: dict[str, CompileJob] = {}
    for key, module in modules.items():
        code = None if cache is None else cache.get(target.key, module.cache_key)
        if code is None:
            jobs[key] = CompileJob(encode_request(module.text(), target, quick=False))
        else:
            yield key, code
    if not jobs:
        return
    with background_pool() as pool:
        for job in jobs.values():
            pool.submit(job)
        for key, job in jobs.items():
            job.done.wait()
            assert job.error is None, f"LLVM refuses a kernel: {job.error}"
            code = job.code or compile_module(modules[key].text(), target)
            if cache is not None:
                cache.put(target.key, modules[key].cache_key, code)
            yield key, code


@contextmanager
def background_pool() -> Iterator[WorkerPool]:
    """A pool of one worker, which ends with the block or the process."""
    pool = Background.pool = WorkerPool(1, niceness=NICENESS)
    atexit.register(pool.shut_down)
    try:
        yield pool
    finally:
        pool.shut_down()
        Background.pool = None
        atexit.unregister(pool.shut_down)


def reset_after_fork() -> None:
    """Gives a forked child a lock that no thread holds, and neither the thread nor the workers of its parent."""
    global LOCK
    LOCK, Background.thread = threading.Lock(), None
    pool, Background.pool = Background.pool, None
    if pool is not None:
        atexit.unregister(pool.shut_down)
        pool.abandon_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)
