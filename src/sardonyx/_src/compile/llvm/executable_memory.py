"""Executable memory for linked code."""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import platform
import struct
import sys
from collections.abc import Mapping
from functools import cache

from sardonyx._src.compile.llvm.live_objects import LiveObjects

READ, EXECUTE = 1, 4  # PROT_READ and PROT_EXEC of mprotect
CODE_OWNERS: LiveObjects[object] = LiveObjects()  # objects that unload code when they are deleted


def keep_code_at_exit() -> None:
    """Keeps all code loaded while the interpreter shuts down: a daemon thread may still be in a kernel."""
    for owner in tuple(CODE_OWNERS):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


atexit.register(keep_code_at_exit)


class ExecutableMemory:
    """Linked code in memory: addresses of functions by name, valid as long as the object lives.

    slots: offsets in the code into which the addresses of C library functions are written, before the memory becomes
    read-only and executable.
    """

    def __init__(
        self, code: memoryview | bytes | bytearray, functions: Mapping[str, int], slots: Mapping[str, int]
    ) -> None:
        self.memory = map_private_memory(max(len(code), 1))
        self.memory[: len(code)] = bytes(code)
        for name, offset in slots.items():
            struct.pack_into("<Q", self.memory, offset, function_address(name))
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        make_executable(self.start, len(self.memory))
        self.addresses = {name: self.start + offset for name, offset in functions.items()}
        CODE_OWNERS.add(self)


def map_private_memory(size: int) -> mmap.mmap:
    """New private memory of this process; a forked child gets a copy."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


@cache
def function_address(name: str) -> int:
    """The address of a C library function."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert address is not None, f"the system has no {name}"
    return address


def make_executable(start: int, size: int) -> None:
    """Makes memory read-only and executable."""
    page_bytes = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if mprotect(start, page_bytes, READ | EXECUTE):
        error = ctypes.get_errno()
        raise OSError(error, f"the system refuses executable memory: {os.strerror(error)}")
    if platform.machine() == "aarch64":  # its instruction cache does not see writes
        clear_cache = ctypes.CDLL("libgcc_s.so.1").__clear_cache
        clear_cache.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        clear_cache(start, start + size)
    if platform.machine() == "riscv64":  # nor does this one's: of all threads, flags being 0
        flush = ctypes.CDLL(None).__riscv_flush_icache
        flush.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong)
        flush(start, start + size, 0)
