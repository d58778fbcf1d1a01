"""Compiles the kernel libraries that a wheel contains (`sardonyx._src.compile.llvm.kernel_library`).

    python tools/kernel_library.py [--classes x86-64-v3,x86-64-v4] [--groups variants,zoo,shared] [--jobs 2] [--out FOLDER]

For each class of processors, the models of `runtime.kernel_library.variants` and of the corpus of process replay
(`replay_corpus.py`) are compiled down to their kernels, which takes no LLVM; then the kernels of all models, and the
modules that every program needs, are compiled by worker processes.  LLVM compiles for any class on any machine.  A kernel
whose text a class has in common with its base (`TargetClass.base`) has the code of the base.  One class gets a file of its
own; several share one, and in it the code that is equal.  Prints the kernels of each class.
Programs with which a class is tested before its first use (`tools/probes/kernel_cases.py`) get another file, and the library
has their kernels, in front of others of the kind: the self-test decompresses little.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # contracts of kernels

import sardonyx as sx
from probes.expected import expected_results, has_fma
from probes.kernel_cases import kernel_cases
from probes.kernels import compile_kernel_probes, probed_kernels
from replay_corpus import GROUPS, Corpus
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.host_target import compiler_version
from sardonyx._src.compile.llvm.jit import Module
from sardonyx._src.compile.llvm.kernel_library import ALL_CLASSES, FOLDER, SUFFIX, write_library
from sardonyx._src.compile.llvm.kernel_probes_file import write_kernel_probes
from sardonyx._src.compile.llvm.loaded_kernels import kernel_module
from sardonyx._src.compile.llvm.target_classes import CLASSES, KERNEL_PROBES_PATH, TargetClass, target_of
from sardonyx._src.compile.program import Kernel
from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.building import compile_modules, kernels_of, library_modules
from sardonyx._src.runtime.kernel_library.variants import variant_models

VARIANTS = "variants"
# Libraries of 3 MB each for few: processors without AVX2, and those for which llvmlite has no wheel.
WITHOUT_LIBRARY = ("x86-64", "x86-64-v2", "riscv64-v", "riscv64")
# LLVM selects instructions for these by itself where a class of AArch64 has them, so that equal texts are different code.
ATOMIC_OPERATION = re.compile(r"\b(?:atomicrmw|cmpxchg)\b")
PROGRESS_INTERVAL = 10.0  # seconds


def models_of(groups: Sequence[str], pattern: str) -> Iterator[Model]:
    """The models of groups: the variants, then those of the corpus whose names match."""
    if VARIANTS in groups:
        yield from (model for _, model in variant_models())
    corpus = Corpus(groups=[group for group in groups if group != VARIANTS], pattern=pattern)
    yield from (sx.load(case.model) for case in corpus.cases())


def class_target(target_class: TargetClass) -> Target:
    return target_of(target_class, target_class.triple, compiler_version() or "", target_class.vendor)


def probed_first(modules: dict[str, Module], target: Target) -> list[Module]:
    """The modules of a library and of probes, those of probes first."""
    probed = [kernel_module(kernel, target) for kernel in probed_kernels(target, kernel_cases())]
    return [*({module.name: module for module in probed} | modules).values()]


def frequent_kernels(target: Target, models: Iterator[Model], least: int) -> list[Kernel]:
    """The kernels that at least `least` models have."""
    kernels = [*kernels_of(models, target)]
    uses = Counter(kernel.key for kernel in kernels)
    return [kernel for kernel in kernels if uses[kernel.key] >= least]


def print_progress() -> Callable[[int, int], None]:
    """A function that prints how many kernels are compiled, now and then."""
    started = shown = time.monotonic()

    def progress(done: int, known: int) -> None:
        nonlocal shown
        if time.monotonic() - shown > PROGRESS_INTERVAL:
            shown = time.monotonic()
            print(f"  {done} of {known} kernels, {shown - started:.0f} s", flush=True)

    return progress


def compile_classes(
    classes: Sequence[TargetClass], options: argparse.Namespace
) -> dict[str, dict[str, bytes]]:
    """The object code of classes, by the names of classes and of modules; those that others are based on come first."""
    libraries: dict[str, dict[str, bytes]] = {}
    compiled: dict[str, dict[str, bytes]] = {}  # by the names of classes and the keys of texts
    for target_class in classes:
        models = models_of(options.groups.split(","), options.models)
        target = class_target(target_class)
        modules = library_modules(frequent_kernels(target, models, options.least), target)
        known = compiled.get(target_class.base, {})
        codes = compile_class(target_class, probed_first(modules, target), known, options.jobs)
        libraries[target_class.name] = {name: code for name, (_, code) in codes.items()}
        compiled[target_class.name] = known | dict(codes.values())
    return libraries


def compile_class(
    target_class: TargetClass, modules: Sequence[Module], known: Mapping[str, bytes], jobs: int
) -> dict[str, tuple[str, bytes]]:
    """For each module, the key of its text and its object code.  known: the code of the base by keys of texts."""
    started = time.monotonic()
    keys = {module.name: text_key(module.text(), target_class) for module in modules}
    missing = [module for module in modules if keys[module.name] not in known]
    codes = compile_modules(missing, class_target(target_class), jobs, print_progress())
    size = sum(map(len, codes.values())) / 2**20
    print(
        f"{target_class.name}: {len(modules)} kernels, {len(missing)} of them compiled to {size:.2f} MiB of code, "
        f"{time.monotonic() - started:.0f} s",
        flush=True,
    )
    return {name: (key, codes[name] if name in codes else known[key]) for name, key in keys.items()}


def text_key(text: str, target_class: TargetClass) -> str:
    """A digest that is equal for texts whose code classes share."""
    owner = target_class.name if ATOMIC_OPERATION.search(text) else ""
    return hashlib.sha256(f"{owner}\n{text}".encode()).hexdigest()


def write_probes(path: Path, classes: Sequence[TargetClass]) -> None:
    """Writes the probes of kernels of classes that compute the same bits."""
    cases = kernel_cases()
    results = expected_results([case.name for case in cases])
    probes = {c.name: compile_kernel_probes(class_target(c), cases, results) for c in classes}
    if probes:
        write_kernel_probes(path, probes)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    bases_first = CLASSES[::-1]
    names = [target_class.name for target_class in bases_first if target_class.name not in WITHOUT_LIBRARY]
    groups = (VARIANTS, *GROUPS)
    parser.add_argument("--classes", default=",".join(names), help="comma-separated classes (%(default)s)")
    parser.add_argument("--groups", default=",".join(groups), help="of models (%(default)s)")
    parser.add_argument("--models", default="", help="a pattern that the names of models of the corpus match")
    parser.add_argument("--least", type=int, default=1, help="models that use a kernel of a library")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (%(default)s)"
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder of the libraries")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    chosen = [c for c in bases_first if c.name in options.classes.split(",")]
    libraries = compile_classes(chosen, options)
    path = options.out / (f"{chosen[0].name}{SUFFIX}" if len(chosen) == 1 else ALL_CLASSES)
    options.out.mkdir(exist_ok=True)
    write_library(path, libraries)
    tested = options.out / KERNEL_PROBES_PATH.name
    write_probes(tested, [c for c in chosen if has_fma(c)])
    for written in filter(Path.exists, (path, tested)):
        print(f"{written.name}: {written.stat().st_size / 2**20:.2f} MiB", flush=True)


if __name__ == "__main__":
    main()
