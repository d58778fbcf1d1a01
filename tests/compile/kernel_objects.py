"""Object code of LLVM modules that tests generate, which other workers and later runs of the suite reuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import loaded_kernels
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import Library, Module, load, object_code
from sardonyx._src.compile.llvm.loaded_kernels import LoadedKernel, kernel_module
from sardonyx._src.compile.program import Kernel

QUICK: dict[str, LoadedKernel] = {}  # kernels that are not optimized, by key


def load_module(text: str, names: Sequence[str], *, quick: bool = False) -> Library:
    """The functions of a module, compiled unless the cache has code that these sources of the compiler compiled."""
    return load(Module.of_text(text, quick=quick), names, default_cache())


def quick_kernel_code(kernel: Kernel, target: Target) -> bytes:
    """As `loaded_kernels.kernel_code`, without optimization."""
    return object_code(replace(kernel_module(kernel, target), quick=True), default_cache(), target)


@contextmanager
def quick_kernels() -> Iterator[None]:
    """Compiles and loads the kernels of sessions without optimization, ten times as fast; others keep theirs."""
    with patch.multiple(loaded_kernels, kernel_code=quick_kernel_code, LOADED=QUICK):
        yield
