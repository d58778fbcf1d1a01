"""Native code of kernels, loaded once for the process and cached on disk for later ones."""

from __future__ import annotations

import hashlib
import os
from functools import cache

import sardonyx._src.compile as package
from sardonyx._src.compile.llvm import async_compile, jit
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import LLVM_LOCK, Library, host_target
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
    """Queues a kernel for the compile workers, if there are any, unless it is loaded or cached."""
    if is_loaded(kernel):
        return
    target, folder, name = host_target(), default_cache(), symbol_name(kernel)
    if folder is None or not folder.has(target.key, kernel_key(kernel)):
        async_compile.submit_module(target, kernel_key(kernel), lambda: kernel.source(name, target))


def symbol_name(kernel: Kernel) -> str:
    """The name of a kernel's function, unique to the kernel."""
    return f"sx_{hashlib.sha256(kernel.key.encode()).hexdigest()[:24]}"


def kernel_code(kernel: Kernel) -> bytes:
    """The object code of a kernel, compiled unless it is cached."""
    return jit.load_or_compile(
        lambda: kernel.source(symbol_name(kernel), host_target()), kernel_key(kernel), default_cache()
    )


def kernel_key(kernel: Kernel) -> str:
    """The cache key of a kernel's code."""
    return f"{sources_digest()}\n{kernel.key}"


@cache
def sources_digest() -> str:
    """A digest of the sources of `compile`, which generate the kernels, so that versions of them can share a cache folder."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(package.__path__[0]):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                with open(f"{folder}/{name}", "rb", buffering=0) as file:
                    digest.update(file.read())
    return digest.hexdigest()
