"""The native function `enter` of the fast path, and the memory layout of NumPy arrays that its code relies on.

`compile/executor/fast_entry.py` generates `enter`, which reads the fields of fed arrays directly.  The layout is compared with
arrays of this process first; where it differs, there is no fast path.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor import entry_layout
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.runtime.limits.thread_pool import FunctionTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sardonyx._src.compile.llvm.jit import Module

FrameSlots: TypeAlias = "NDArray[np.int64]"
SLOT_BYTES = 8
METH_FASTCALL = 0x80  # calling convention of CPython: the arguments are passed as an array
# Index of the first field after the object header, whose last field is the address of the type.
FIRST = object.__basicsize__ // SLOT_BYTES
# Fields of an array in their order: data, rank, dims, strides, base, dtype, flags.
FIELDS = entry_layout.ArrayFields(
    type_object=FIRST - 1, data=FIRST, rank=FIRST + 1, dims=FIRST + 2, dtype=FIRST + 5, flags=FIRST + 6
)


class PyMethodDef(ctypes.Structure):
    """The C structure of that name: the definition of a native function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class FastEntry:
    """The native functions `enter` and `enter_sized` (`compile.executor.fast_entry`, `sized_entry`)."""

    def __init__(self, library: FunctionTable) -> None:
        self.library = library
        self.methods = {
            name: PyMethodDef(name.encode(), library.addresses[name], METH_FASTCALL, None)
            for name in entry_layout.ENTRIES
        }
        self.make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
            python_address("PyCFunction_NewEx")
        )

    def function(self, frame: FrameSlots, name: str = "enter") -> Callable[..., int]:
        """A Python function of arrays: `enter` or `enter_sized` with this frame, the array of what it compares arrays with."""
        function: Callable[..., int] = self.make(ctypes.addressof(self.methods[name]), frame, None)
        return function


ENTRIES: list[FastEntry] = []  # the only fast entry of this process, once it is needed


def entry_module(target: Target, fields: entry_layout.ArrayFields) -> Module:
    """The module of the fast entries.  fields: the positions of the fields of arrays, which NumPy determines."""
    from sardonyx._src.compile.llvm.jit import Module  # lazy: programs from files have the code

    def text() -> str:
        from sardonyx._src.compile.executor import sized_entry  # lazy: so have libraries and the cache

        return sized_entry.entry_module(target, fields)

    return Module(f"fast entries {fields}", text)


def get_fast_entry() -> FastEntry | None:
    """The native functions; None where arrays have another layout or threads run without Python's lock."""
    if not ENTRIES and is_layout_known():
        from sardonyx._src.compile.llvm.jit import host_target, load  # lazy, too

        ENTRIES.append(
            FastEntry(load(entry_module(host_target(), FIELDS), entry_layout.ENTRIES, default_cache()))
        )
    return ENTRIES[0] if ENTRIES else None


def adopt_entry(library: FunctionTable) -> None:
    """Uses the functions of a library, compiled for `FIELDS`, as the fast entry of this process, unless there is one."""
    if not ENTRIES and is_layout_known():
        ENTRIES.append(FastEntry(library))


@cache
def is_layout_known() -> bool:
    """Whether arrays have their fields where `FIELDS` says, and Python's lock protects them."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != SLOT_BYTES:
        return False
    has_lock: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    probes = (np.zeros((2, 3, 5), np.float32), np.zeros((7, 4), np.int64).T, np.zeros((), np.bool_))
    return has_lock and all(matches_layout(probe) for probe in probes)


def matches_layout(array: NDArray[np.generic]) -> bool:
    """Whether the fields of an array, read from its memory, equal its attributes."""
    if np.ndarray.__basicsize__ < (FIELDS.flags + 1) * SLOT_BYTES:
        return False
    memory = (ctypes.c_int64 * (FIELDS.flags + 1)).from_address(id(array))
    rank, flags = memory[FIELDS.rank] & 0xFFFFFFFF, memory[FIELDS.flags] & entry_layout.REQUIRED_FLAGS
    if memory[FIELDS.type_object] != id(np.ndarray) or rank != array.ndim:
        return False
    dims = (ctypes.c_int64 * rank).from_address(memory[FIELDS.dims]) if rank else ()
    return (
        memory[FIELDS.data] == array.ctypes.data
        and memory[FIELDS.dtype] == id(array.dtype)
        and tuple(dims) == array.shape
        and (flags == entry_layout.REQUIRED_FLAGS) == (array.flags.c_contiguous and array.flags.aligned)
        and matches_element(array.dtype)
    )


def matches_element(dtype: np.dtype[np.generic]) -> bool:
    """Whether kind, character, byte order and number of a dtype, read from its memory, equal its attributes."""
    memory = ctypes.string_at(id(dtype) + FIELDS.element * SLOT_BYTES, SLOT_BYTES)
    described = dtype.kind + dtype.char + dtype.byteorder
    return memory[:3] == described.encode() and int.from_bytes(memory[4:], sys.byteorder) == dtype.num


@cache
def python_address(name: str) -> int:
    """The address of a function of Python's C API."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None, f"Python has no {name}"
    return address
