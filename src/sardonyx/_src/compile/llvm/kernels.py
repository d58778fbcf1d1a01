"""Kernels of programs, loaded once for the process and kept on disk for the next."""

from __future__ import annotations

import hashlib
import os
from functools import cache

import sardonyx._src.compile as package
from sardonyx._src.compile.llvm import ahead, jit
from sardonyx._src.compile.llvm.cache import disk as disk
from sardonyx._src.compile.llvm.jit import LOCK, Library, host
from sardonyx._src.compile.step import Kernel

LOADED: dict[str, Library] = {}


def address(kernel: Kernel) -> int:
    """Where the code of a kernel is; it stays there as long as the process lives."""
    found = LOADED.get(kernel.key)
    if found is None:
        made = Library(code(kernel), [symbol(kernel)])
        with LOCK:
            found = LOADED.setdefault(kernel.key, made)
    return found.addresses[symbol(kernel)]


def is_loaded(kernel: Kernel) -> bool:
    return kernel.key in LOADED


def prepare(kernel: Kernel) -> None:
    """Has a kernel compiled by a child, if there are any, for somebody who will ask for its code."""
    if is_loaded(kernel):
        return
    target, kept, name = host(), disk(), symbol(kernel)
    if kept is None or not kept.has(target.key, origin(kernel)):
        ahead.ahead(target, origin(kernel), lambda: kernel.source(name, target))


def symbol(kernel: Kernel) -> str:
    """The name of a kernel's function, which no other kernel has."""
    return f"sx_{hashlib.sha256(kernel.key.encode()).hexdigest()[:24]}"


def code(kernel: Kernel) -> bytes:
    """The object code of a kernel, from the disk if it is there."""
    return jit.code(lambda: kernel.source(symbol(kernel), host()), origin(kernel), disk())


def origin(kernel: Kernel) -> str:
    """What tells the code of a kernel from that of others."""
    return f"{sources()}\n{kernel.key}"


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
