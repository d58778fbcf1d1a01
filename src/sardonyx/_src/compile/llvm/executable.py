"""Code that was linked already, put where it can run."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
import sys
from collections.abc import Mapping
from functools import cache

READ, EXECUTE = 1, 4  # of memory


class Executable:
    """Functions by address; they hold as long as this does.

    slots: where in the code the addresses of functions of the system are put.  Nothing can be written there once it
    can run.
    """

    def __init__(
        self, code: memoryview | bytes | bytearray, functions: Mapping[str, int], slots: Mapping[str, int]
    ) -> None:
        self.memory = private(max(len(code), 1))
        self.memory[: len(code)] = bytes(code)
        for name, at in slots.items():
            struct.pack_into("<Q", self.memory, at, function_address(name))
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        protect(self.start, len(self.memory))
        self.addresses = {name: self.start + at for name, at in functions.items()}


def private(size: int) -> mmap.mmap:
    """New memory of this process; a forked child gets a copy of it."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


@cache
def function_address(name: str) -> int:
    """The address of a function of the C library."""
    found = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert found is not None, f"the system has no {name}"
    return found


def protect(start: int, size: int) -> None:
    """Makes memory read-only, and lets it run."""
    whole = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    call = ctypes.CDLL(None, use_errno=True).mprotect
    call.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if call(start, whole, READ | EXECUTE):
        error = ctypes.get_errno()
        raise OSError(error, f"the system lets no code run that was not in a library: {os.strerror(error)}")
    if platform.machine() == "aarch64":  # whose caches of code do not see what is written
        clear = ctypes.CDLL("libgcc_s.so.1").__clear_cache
        clear.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        clear(start, start + size)
