"""Object code of LLVM modules that tests generate, which other workers and later runs of the suite reuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from sardonyx._src.compile.llvm import loaded_kernels
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import Library, host_target, load, load_or_compile
from sardonyx._src.compile.llvm.loaded_kernels import kernel_key, sources_digest, symbol_name
from sardonyx._src.compile.program import Kernel

QUICK: dict[str, Library] = {}  # kernels that are not optimized, by key


def load_module(text: str, names: Sequence[str], *, quick: bool = False) -> Library:
    """The functions of a module, compiled unless the cache has code that these sources of the compiler compiled."""
    return load(f"; {sources_digest()}\n{text}", names, default_cache(), quick=quick)


def quick_kernel_code(kernel: Kernel) -> bytes:
    """As `loaded_kernels.kernel_code`, without optimization."""
    name, target = symbol_name(kernel), host_target()
    return load_or_compile(
        lambda: kernel.source(name, target), f"quick\n{kernel_key(kernel)}", default_cache(), quick=True
    )


@contextmanager
def quick_kernels() -> Iterator[None]:
    """Compiles and loads the kernels of sessions without optimization, ten times as fast; others keep theirs."""
    with patch.multiple(loaded_kernels, kernel_code=quick_kernel_code, LOADED=QUICK):
        yield
