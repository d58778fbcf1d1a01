"""Worker processes that run LLVM on queued modules while this process prepares the rest of a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import async_compile, host_target
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import compile_module_async
from sardonyx._src.runtime.limits import thread_pool
from sardonyx._src.runtime.limits.cpus import available_cpus
from sardonyx._src.runtime.limits.free_memory import affordable_workers
from sardonyx._src.runtime.programs.arrays import ENTRIES, FIELDS, entry_module


@contextmanager
def async_compilation() -> Iterator[None]:
    """Compile queued modules in worker processes for the duration of the block.

    One worker starts at once if only LLVM can describe the processor: it does so while this process goes on.
    """
    with async_compile.async_compilation(available_cpus(), affordable_workers):
        if host_target.known_host_info() is None:
            async_compile.start_worker()
        yield


def compile_runner_async(target: Target) -> None:
    """Queues the tape runner and the fast entry, which every program needs, unless this process has loaded them."""
    if thread_pool.PROCESS.runner is None:
        compile_module_async(thread_pool.run_loop_module(target), default_cache(), target)
    if not ENTRIES:
        compile_module_async(entry_module(target, FIELDS), default_cache(), target)
