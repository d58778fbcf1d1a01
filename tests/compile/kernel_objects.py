"""Object code of LLVM modules that tests generate, which other workers and later runs of the suite reuse."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import Library, load
from sardonyx._src.compile.llvm.loaded_kernels import sources_digest


def load_module(text: str, names: Sequence[str], *, quick: bool = False) -> Library:
    """The functions of a module, compiled unless the cache has code that these sources of the compiler compiled."""
    return load(f"; {sources_digest()}\n{text}", names, default_cache(), quick=quick)
