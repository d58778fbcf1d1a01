"""Native code of kernels, loaded once for the process and cached on disk for later ones."""

from __future__ import annotations

import hashlib

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import jit
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import LLVM_LOCK, Library, Module, host_target
from sardonyx._src.compile.program import Kernel

LOADED: dict[str, Library] = {}  # by `Kernel.key`


def kernel_address(kernel: Kernel) -> int:
    """The address of a kernel's function, valid as long as the process lives."""
    library = LOADED.get(kernel.key)
    if library is None:
        new_library = Library(kernel_code(kernel), [symbol_name(kernel)])
        with LLVM_LOCK:
            library = LOADED.setdefault(kernel.key, new_library)
    return library.addresses[symbol_name(kernel)]


def is_loaded(kernel: Kernel) -> bool:
    return kernel.key in LOADED


def compile_kernel_async(kernel: Kernel) -> None:
    """Queues a kernel for the compile workers, if there are any, unless it is loaded or its code exists."""
    if not is_loaded(kernel):
        jit.compile_module_async(kernel_module(kernel, host_target()), default_cache())


def symbol_name(kernel: Kernel) -> str:
    """The name of a kernel's function, unique to the kernel."""
    return f"sx_{hashlib.sha256(kernel.key.encode()).hexdigest()[:24]}"


def kernel_code(kernel: Kernel) -> bytes:
    """The object code of a kernel, compiled unless it exists."""
    return jit.object_code(kernel_module(kernel, host_target()), default_cache())


def kernel_module(kernel: Kernel, target: Target) -> Module:
    return Module(kernel.key, lambda: kernel.source(symbol_name(kernel), target))
