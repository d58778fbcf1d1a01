"""NumPy's arrays and Python's functions as native code sees them, where that can be relied on."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile import entry
from sardonyx._src.compile.llvm.jit import host, load
from sardonyx._src.compile.llvm.kernels import disk
from sardonyx._src.runtime.pool import Functions

Words = NDArray[np.int64]
WORD = 8  # bytes
FASTCALL = 0x80  # of a function that takes its arguments as an array
# Fields of an array behind what all objects have: data, rank, dims, strides, base, dtype, flags.
HEAD = object.__basicsize__ // WORD
FIELDS = entry.Fields(kind=HEAD - 1, data=HEAD, rank=HEAD + 1, dims=HEAD + 2, dtype=HEAD + 5, flags=HEAD + 6)


class Method(ctypes.Structure):
    """What Python keeps of a native function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Entry:
    """The native `enter` of `compile.entry`."""

    def __init__(self, library: Functions) -> None:
        self.library = library
        self.method = Method(b"enter", self.library.addresses["enter"], FASTCALL, None)
        self.make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
            python_address("PyCFunction_NewEx")
        )

    def function(self, frame: Words) -> Callable[..., int]:
        """`enter` for a frame: a function of arrays."""
        made: Callable[..., int] = self.make(ctypes.addressof(self.method), frame, None)
        return made


ENTRIES: list[Entry] = []  # that of this process, once it is needed


def native_entry() -> Entry | None:
    """The native `enter`; None where arrays are not what it takes them for."""
    if not ENTRIES and is_known():
        ENTRIES.append(Entry(load(entry.source(host(), FIELDS), ["enter"], disk())))
    return ENTRIES[0] if ENTRIES else None


def adopt(library: Functions) -> None:
    """Makes the `enter` of a library, compiled for `FIELDS`, that of this process, unless it has one."""
    if not ENTRIES and is_known():
        ENTRIES.append(Entry(library))


@cache
def is_known() -> bool:
    """Whether arrays of this process have their fields where `FIELDS` says, and one thread at a time sees them."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != WORD:
        return False
    has_lock: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    probes = (np.zeros((2, 3, 5), np.float32), np.zeros((7, 4), np.int64).T, np.zeros((), np.bool_))
    return has_lock and all(is_seen(probe) for probe in probes)


def is_seen(array: NDArray[np.generic]) -> bool:
    """Whether the fields of an array read from its memory are those that it tells of itself."""
    if np.ndarray.__basicsize__ < (FIELDS.flags + 1) * WORD:
        return False
    words = (ctypes.c_int64 * (FIELDS.flags + 1)).from_address(id(array))
    rank, flags = words[FIELDS.rank] & 0xFFFFFFFF, words[FIELDS.flags] & entry.PLAIN
    if words[FIELDS.kind] != id(np.ndarray) or rank != array.ndim:
        return False
    dims = (ctypes.c_int64 * rank).from_address(words[FIELDS.dims]) if rank else ()
    return (
        words[FIELDS.data] == array.ctypes.data
        and words[FIELDS.dtype] == id(array.dtype)
        and tuple(dims) == array.shape
        and (flags == entry.PLAIN) == (array.flags.c_contiguous and array.flags.aligned)
    )


@cache
def python_address(name: str) -> int:
    """The address of a function of Python's own."""
    found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert found is not None, f"Python has no {name}"
    return found
