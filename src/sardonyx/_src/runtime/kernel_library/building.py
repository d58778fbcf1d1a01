"""Building a library: kernels of models, compiled by worker processes.

As a program, `python -m sardonyx._src.runtime.kernel_library.building CLASS`, it compiles the variants of a class into
the cache folder, with one worker and at low priority, and ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.block_quantized.word_packing import NIBBLE_WORDS, WORDS
from sardonyx._src.compile.kernels.gemm.packing.packing_kernel import PACKING_KERNEL
from sardonyx._src.compile.kernels.winograd.cost_model import TRANSFORMS
from sardonyx._src.compile.kernels.winograd.weight_kernel import weight_kernel
from sardonyx._src.compile.llvm.compile_workers import CompileJob, WorkerPool, encode_request
from sardonyx._src.compile.llvm.jit import Module, compile_module, host_target
from sardonyx._src.compile.llvm.kernel_library import cached_path, write_library
from sardonyx._src.compile.llvm.loaded_kernels import kernel_module
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Kernel
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.private_files import make_private_folder
from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.interpreters import interpreter_modules
from sardonyx._src.runtime.kernel_library.machine_files import library_files, marker_of
from sardonyx._src.runtime.kernel_library.variants import variant_models
from sardonyx._src.runtime.limits.thread_pool import run_loop_module
from sardonyx._src.runtime.programs.arrays import FIELDS, entry_module

# Called while weights are packed, by no program.
PACKING_KERNELS = (PACKING_KERNEL, WORDS, NIBBLE_WORDS, *map(weight_kernel, TRANSFORMS))
WORKER_MODULES = 200  # after which a worker ends, since LLVM frees its memory with its process
UNUSED_SECONDS = 30 * 86400.0  # after which libraries of other sources are removed
MAX_DATA_BYTES = 2 << 30
PRIVATE_MODE = 0o600
Progress = Callable[[int, int], None]  # modules that are compiled, and all


def kernels_of(models: Iterable[Model], target: Target) -> Iterator[Kernel]:
    """The kernels of each model, once for each model that has them; models that are refused have none."""
    for model in models:
        try:
            executable = compile_model(model, target, tolerant=True)
        except SardonyxError:
            continue
        yield from executable.program.kernels


def library_modules(kernels: Iterable[Kernel], target: Target) -> dict[str, Module]:
    """The modules of a library by their names: kernels, those of most models first, and what every program needs."""
    every = [*PACKING_KERNELS, *kernels]
    uses = Counter(kernel.key for kernel in every)
    distinct = {kernel.key: kernel for kernel in every}
    modules = [kernel_module(distinct[key], target) for key, _ in uses.most_common()]
    modules += [run_loop_module(target), entry_module(target, FIELDS), *interpreter_modules(target)]
    return {module.name: module for module in modules}


def compile_modules(
    modules: Sequence[Module], target: Target, workers: int, progress: Progress = lambda done, known: None
) -> dict[str, bytes]:
    """The object code of modules by their names, compiled for a target.  workers: the number of processes."""
    codes: dict[str, bytes] = {}
    for first in range(0, len(modules), WORKER_MODULES):
        part = modules[first : first + WORKER_MODULES]
        pool = WorkerPool(workers)
        jobs = [CompileJob(encode_request(module.text(), target, quick=False)) for module in part]
        for job in jobs:
            pool.submit(job)
        for module, job in zip(part, jobs, strict=True):
            job.done.wait()
            assert job.error is None, f"LLVM refuses {module.name}: {job.error}"
            codes[module.name] = compile_module(module.text(), target) if job.code is None else job.code
            progress(len(codes), len(modules))
        pool.shut_down()
    return codes


def build_cached_library(
    target: Target,
    models: Iterable[Model],
    workers: int = 1,
    progress: Progress = lambda done, known: None,
) -> Path | None:
    """Compiles the kernels of models into this machine's library of a class; None if it has no cache folder or class."""
    path = cached_path(target.class_name) if target.class_name else None
    if path is None:
        return None
    modules = library_modules(kernels_of(models, target), target)
    codes = compile_modules([*modules.values()], target, workers, progress)
    make_private_folder(path.parent)
    write_library(path, {target.class_name: codes}, PRIVATE_MODE)
    for other in library_files(path.parent, target.class_name):
        if time.time() - other.stat().st_mtime > UNUSED_SECONDS:
            other.unlink(missing_ok=True)
    return path


def limit_resources() -> None:
    """Makes this process and its worker give way to all others, and bounds the memory of each."""
    import resource  # lazy: not on Windows

    os.nice(19)
    if sys.platform == "linux":
        # A thread that wakes up replaces an idle one at once, and a nice one only after a share of some milliseconds.
        with contextlib.suppress(PermissionError):  # of a sandbox
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA_BYTES, MAX_DATA_BYTES))


def main() -> None:
    logging.disable(logging.WARNING)
    limit_resources()
    target = host_target()
    marker = marker_of(target.class_name)
    try:
        build_cached_library(target, (model for _, model in variant_models()))
    finally:
        if marker is not None:
            marker.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
