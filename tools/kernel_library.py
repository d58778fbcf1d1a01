"""Compiles the kernel libraries that a wheel contains (`sardonyx._src.compile.llvm.kernel_library`).

    python tools/kernel_library.py [--classes x86-64-v3,x86-64-v4] [--groups zoo,shared] [--jobs 2] [--out FOLDER]

For each class of processors, the models of the corpus of process replay (`replay_corpus.py`) are compiled down to their
kernels, which takes no LLVM; then the kernels of all models, and the modules that every program needs, are compiled by
worker processes.  LLVM compiles for any class on any machine.  Prints the kernels, models and bytes of each library.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import sardonyx as sx
from replay_corpus import GROUPS, Corpus
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.block_quantized.word_packing import NIBBLE_WORDS, WORDS
from sardonyx._src.compile.kernels.gemm.packing.packing_kernel import PACKING_KERNEL
from sardonyx._src.compile.llvm.compile_workers import CompileJob, WorkerPool, encode_request
from sardonyx._src.compile.llvm.host_target import LINUX_TRIPLE, compiler_version
from sardonyx._src.compile.llvm.jit import Module
from sardonyx._src.compile.llvm.kernel_library import FOLDER, SUFFIX, write_library
from sardonyx._src.compile.llvm.loaded_kernels import kernel_module
from sardonyx._src.compile.llvm.target_classes import CLASSES, target_of
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Kernel
from sardonyx._src.errors import SardonyxError
from sardonyx._src.runtime.limits.thread_pool import run_loop_module
from sardonyx._src.runtime.programs.arrays import FIELDS, entry_module

PACKING_KERNELS = (PACKING_KERNEL, WORDS, NIBBLE_WORDS)  # called while weights are packed, by no program
PROGRESS_INTERVAL = 10.0  # seconds


def kernels_of(target: Target, corpus: Corpus) -> Iterator[Kernel]:
    """The kernels of each model of the corpus, once for each model that has them."""
    for case in corpus.cases():
        try:
            executable = compile_model(sx.load(case.model), target, tolerant=True)
        except SardonyxError:
            continue  # models that are refused have no kernels
        yield from executable.program.kernels


def modules_of(target: Target, corpus: Corpus, least: int) -> dict[str, Module]:
    """The modules of a library by their names: kernels that `least` models have, and what every program needs."""
    kernels: dict[str, Kernel] = {kernel.key: kernel for kernel in PACKING_KERNELS}
    uses: Counter[str] = Counter(dict.fromkeys(kernels, least))
    for kernel in kernels_of(target, corpus):
        kernels.setdefault(kernel.key, kernel)
        uses[kernel.key] += 1
    modules = [kernel_module(kernel, target) for key, kernel in kernels.items() if uses[key] >= least]
    modules += [run_loop_module(target), entry_module(target, FIELDS)]
    return {module.name: module for module in modules}


def compile_all(modules: dict[str, Module], target: Target, processes: int) -> dict[str, bytes]:
    """The object code of modules by their names."""
    pool = WorkerPool(processes, lambda: None)
    jobs = {
        name: CompileJob(encode_request(module.text(), target, quick=False))
        for name, module in modules.items()
    }
    for job in jobs.values():
        pool.submit(job)
    started = shown = time.monotonic()
    for done, (name, job) in enumerate(jobs.items()):
        job.done.wait()
        assert job.code is not None, f"LLVM refuses {name}: {job.error}"
        if time.monotonic() - shown > PROGRESS_INTERVAL:
            shown = time.monotonic()
            print(f"  {done} of {len(jobs)} kernels, {shown - started:.0f} s", flush=True)
    pool.shut_down()
    return {name: job.code for name, job in jobs.items() if job.code is not None}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [target_class.name for target_class in CLASSES]
    parser.add_argument("--classes", default=",".join(names), help="comma-separated classes; all by default")
    parser.add_argument("--groups", default=",".join(GROUPS), help="of the corpus (%(default)s)")
    parser.add_argument("--models", default="", help="a pattern that the names of models match")
    parser.add_argument("--least", type=int, default=1, help="models that use a kernel of a library")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (%(default)s)"
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder of the libraries")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    corpus = Corpus(groups=options.groups.split(","), pattern=options.models)
    options.out.mkdir(exist_ok=True)
    for target_class in CLASSES:
        if target_class.name in options.classes.split(","):
            target = target_of(target_class, LINUX_TRIPLE, compiler_version() or "", target_class.vendor)
            modules = modules_of(target, corpus, options.least)
            path = options.out / f"{target_class.name}{SUFFIX}"
            write_library(path, compile_all(modules, target, options.jobs))
            print(f"{path.name}: {len(modules)} kernels, {path.stat().st_size / 2**20:.2f} MiB", flush=True)


if __name__ == "__main__":
    main()
