"""Kernels of programs, loaded once for the process and kept on disk for the next."""

from __future__ import annotations

import hashlib
import os
from functools import cache

import sardonyx.compile as package
from sardonyx.compile.llvm.cache import Cache, default_folder
from sardonyx.compile.llvm.jit import LOCK, Library, compiled, host
from sardonyx.compile.step import Kernel

LOADED: dict[str, Library] = {}


def address(kernel: Kernel) -> int:
    """Where the code of a kernel is; it stays there as long as the process lives."""
    with LOCK:
        found = LOADED.get(kernel.key)
        if found is None:
            found = LOADED[kernel.key] = Library(code(kernel), [symbol(kernel)])
    return found.addresses[symbol(kernel)]


def is_loaded(kernel: Kernel) -> bool:
    return kernel.key in LOADED


def symbol(kernel: Kernel) -> str:
    """The name of a kernel's function, which no other kernel has."""
    return f"sx_{hashlib.sha256(kernel.key.encode()).hexdigest()[:24]}"


def code(kernel: Kernel) -> bytes:
    """The object code of a kernel, from the disk if it is there."""
    target, kept = host(), disk()
    origin = f"{sources()}\n{kernel.key}"
    found = None if kept is None else kept.get(target.key, origin)
    if found is None:
        found = compiled(kernel.source(symbol(kernel), target), target)
        if kept is not None:
            kept.put(target.key, origin, found)
    return found


@cache
def disk() -> Cache | None:
    folder = default_folder()
    return None if folder is None else Cache(folder)


@cache
def sources() -> str:
    """What kernels are made by: the content of the files of this room, so that no other version's are taken."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(package.__path__[0]):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                with open(f"{folder}/{name}", "rb", buffering=0) as file:
                    digest.update(file.read())
    return digest.hexdigest()
