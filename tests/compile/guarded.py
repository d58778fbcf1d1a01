"""Runs steps over memory that ends at pages which nobody may touch, so that a kernel that leaves its buffers faults.

Each storage is put twice: once with its last byte before a forbidden page, once with its first byte behind one.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from sardonyx.compile.llvm.jit import Library, host, load
from sardonyx.compile.loops.runner import number
from sardonyx.compile.step import Kernel, Step
from sardonyx.compile.tensor import Storage, Tensor, row_major
from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array

PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Memory of some bytes between forbidden pages, against the one behind or the one before."""

    def __init__(self, size: int, *, at_end: bool) -> None:
        pages = -(-max(size, 1) // PAGE)
        self.map = mmap.mmap(-1, (pages + 2) * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        for page in (base, base + (pages + 1) * PAGE):
            assert LIBC.mprotect(ctypes.c_void_p(page), PAGE, 0) == 0, "mprotect refuses"
        start = PAGE + (pages * PAGE - size if at_end else 0)
        self.address = base + start
        self.bytes = np.frombuffer(self.map, np.uint8, size, start)


@cache
def library(kernel: Kernel) -> Library:
    return load(kernel.source("kernel", host()), ["kernel"])


def tensor(array: Array, name: str = "") -> tuple[Tensor, Storage]:
    """A dense tensor in a storage of its own, for an array of these dims and type."""
    dtype = DataType.of(array.dtype)
    storage = Storage("arena", array.nbytes, name)
    return Tensor(dtype, array.shape, row_major(array.shape), storage), storage


def run(
    steps: Step | Sequence[Step],
    memory: Mapping[Storage, Array],
    sizes: Mapping[str, int] | None = None,
    *,
    chunk: int | None = None,
) -> None:
    """Runs steps over arrays, one a storage, which are changed in place; other storages are constants or scratch.

    Asserts that the bits are the same for memory against either forbidden page and for any split of the units.
    """
    every = [steps] if isinstance(steps, Step) else list(steps)
    found: list[list[bytes]] = []
    for at_end, size in ((True, chunk), (False, chunk), (True, 1), (True, 3)):
        places = {s: Guarded(a.nbytes, at_end=at_end) for s, a in memory.items()}
        for storage, place in places.items():
            place.bytes[:] = np.ascontiguousarray(memory[storage]).reshape(-1).view(np.uint8)
        for step in every:
            execute(step, places, sizes or {}, size, at_end=at_end)
        found.append([places[storage].bytes.tobytes() for storage in memory])
    assert all(one == found[0] for one in found), "results depend on placement or on the split of the work"
    for array, result in zip(memory.values(), found[0], strict=True):
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(result, np.uint8)


def execute(
    step: Step, places: dict[Storage, Guarded], sizes: Mapping[str, int], chunk: int | None, *, at_end: bool
) -> None:
    words = np.empty(max(len(step.args), 1), np.int64)
    for i, arg in enumerate(step.args):
        if isinstance(arg, Tensor):
            place = places.get(arg.storage)
            if place is None:
                place = places[arg.storage] = Guarded(number(arg.storage.size, sizes), at_end=at_end)
                if arg.storage.data is not None:
                    place.bytes[:] = arg.storage.data.reshape(-1).view(np.uint8)
            words[i] = place.address + number(arg.offset, sizes) * arg.dtype.numpy.itemsize
        else:
            words[i] = number(arg, sizes)
    scratch = Guarded(number(step.scratch, sizes), at_end=at_end)
    call = library(step.kernel).function(
        "kernel", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
    )
    units = number(step.units, sizes)
    for first in range(0, units, chunk or max(units, 1)):
        last = min(first + (chunk or units), units)
        call(words.ctypes.data, first, last, scratch.address)
