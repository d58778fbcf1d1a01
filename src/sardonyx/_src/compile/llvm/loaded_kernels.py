"""Native code of kernels, loaded once for the process and cached on disk for later ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import jit
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import LLVM_LOCK, Library, Module, compile_target, host_target
from sardonyx._src.compile.llvm.kernel_origin import may_use_library
from sardonyx._src.compile.program import Kernel
from sardonyx._src.dataclass import dataclass
from sardonyx._src.phases import phase


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """The code of a kernel, and whether it comes from a library."""

    code: Library
    is_from_library: bool


LOADED: dict[str, LoadedKernel] = {}  # by `Kernel.key`
REPLACED: list[LoadedKernel] = []  # code that programs may still call


def kernel_address(kernel: Kernel) -> int:
    """The address of a kernel's function, valid as long as the process lives."""
    loaded = LOADED[kernel.key] if is_loaded(kernel) else load_kernel(kernel)
    return loaded.code.addresses[symbol_name(kernel)]


def is_loaded(kernel: Kernel) -> bool:
    """Whether the code of a kernel is loaded, and has an origin that it may have."""
    loaded = LOADED.get(kernel.key)
    return loaded is not None and (may_use_library() or not loaded.is_from_library)


@phase("kernels")
def load_kernel(kernel: Kernel) -> LoadedKernel:
    """The code of a kernel, which replaces code that has another origin than it may have."""
    target = host_target()
    code = Library(kernel_code(kernel, target), [symbol_name(kernel)])
    with LLVM_LOCK:
        if is_loaded(kernel):  # by another thread
            return LOADED[kernel.key]
        if kernel.key in LOADED:
            REPLACED.append(LOADED[kernel.key])
        loaded = LOADED[kernel.key] = LoadedKernel(code, is_library_kernel(kernel, target))
    return loaded


def is_library_kernel(kernel: Kernel, target: Target) -> bool:
    """Whether `kernel_code` takes the kernel from a library."""
    return jit.is_in_library(kernel_module(kernel, target), target)


def count_library_kernels(kernels: Iterable[Kernel]) -> int:
    """How many of these kernels, all of them loaded, come from a library."""
    return sum(LOADED[kernel.key].is_from_library for kernel in kernels)


def compile_kernel_async(kernel: Kernel) -> None:
    """Queues a kernel for the compile workers, if there are any, unless it is loaded or its code exists."""
    if not is_loaded(kernel):
        target = compile_target()
        jit.compile_module_async(kernel_module(kernel, target), default_cache(), target)


def symbol_name(kernel: Kernel) -> str:
    """The name of a kernel's function, unique to the kernel."""
    return f"sx_{hashlib.sha256(kernel.key.encode()).hexdigest()[:24]}"


def kernel_code(kernel: Kernel, target: Target) -> bytes:
    """The object code of a kernel for a target, compiled unless it exists."""
    return jit.object_code(kernel_module(kernel, target), default_cache(), target)


def kernel_module(kernel: Kernel, target: Target) -> Module:
    return Module(kernel.key, lambda: kernel.source(symbol_name(kernel), target))
