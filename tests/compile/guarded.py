"""Runs steps over memory that ends at pages which nobody may touch, so that a kernel that leaves its buffers faults.

Each storage is put twice: once with its last byte before a forbidden page, once with its first byte behind one.  Then
the checked build runs, in which a kernel asks before every access: to either side of its operands, and only what the
step says that it writes is written.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from compile.checked_runs import Table, build
from sardonyx._src.compile.llvm.jit import Library, host, load
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.runner import number
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.tensors import Array

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


def target() -> Target:
    """What kernels are compiled for; tests put another one in its place."""
    return host()


@cache
def library(kernel: Kernel, target: Target) -> Library:
    return load(kernel.source("kernel", target), ["kernel"])


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

    Asserts that the bits are the same for memory against either forbidden page, for any split of the units and in the
    checked build, which finds no fault.
    """
    every = [steps] if isinstance(steps, Step) else list(steps)
    found: list[list[bytes]] = []
    ways = (
        (True, chunk, False),
        (False, chunk, False),
        (True, 1, False),
        (True, 3, False),
        (True, chunk, True),
    )
    for at_end, size, checks in ways:
        places = {s: Guarded(a.nbytes, at_end=at_end) for s, a in memory.items()}
        for storage, place in places.items():
            place.bytes[:] = np.ascontiguousarray(memory[storage]).reshape(-1).view(np.uint8)
        for step in every:
            execute(step, places, sizes or {}, size, at_end=at_end, checks=checks)
        found.append([places[storage].bytes.tobytes() for storage in memory])
    *builds, looked = found
    assert all(one == found[0] for one in builds), "results depend on placement or on the split of the work"
    for array, one in zip(memory.values(), zip(found[0], looked, strict=True), strict=True):
        made, other = (np.frombuffer(some, array.dtype) for some in one)
        alike = np.array_equal(made, other, equal_nan=array.dtype.kind in "fc")
        assert alike, "the checked build makes something else"  # but for which NaN comes of two
    for array, result in zip(memory.values(), found[0], strict=True):
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(result, np.uint8)


def execute(
    step: Step,
    places: dict[Storage, Guarded],
    sizes: Mapping[str, int],
    chunk: int | None,
    *,
    at_end: bool,
    checks: bool = False,
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
    call = library(step.kernel, target()).function(
        "kernel", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
    )
    units = number(step.units, sizes)
    for first in range(0, units, chunk or max(units, 1)):
        last = min(first + (chunk or units), units)
        if checks:
            checked(step, words, places, sizes, scratch, first, last)
        else:
            call(words.ctypes.data, first, last, scratch.address)


def extent(tensor: Tensor, numbered: Callable[[Known], int]) -> tuple[int, int]:
    """How many bytes behind the begin of its storage a tensor's elements begin, and over how many they reach."""
    size = tensor.dtype.numpy.itemsize
    start = numbered(tensor.offset) * size
    shape = [numbered(dim) for dim in tensor.shape]
    if 0 in shape:
        return start, 0
    ways = [(n - 1) * numbered(stride) * size for n, stride in zip(shape, tensor.strides, strict=True)]
    return start + sum(way for way in ways if way < 0), sum(map(abs, ways)) + size


def checked(
    step: Step,
    words: Array,
    places: Mapping[Storage, Guarded],
    sizes: Mapping[str, int],
    scratch: Guarded,
    first: int,
    last: int,
) -> None:
    """Does units of a step in the checked build; asserts that all it touches is what it says it does.

    Of a storage it writes no more than lies between the first and the last element of what it says it writes.
    """
    table = Table()
    for storage in {tensor.storage for tensor in (*step.reads, *step.writes)} & places.keys():
        table.allow(places[storage].address, len(places[storage].bytes), writes=False)
    for tensor in step.writes:
        if tensor.storage in places:
            begin, size = extent(tensor, lambda dim: number(dim, sizes))
            table.allow(places[tensor.storage].address + begin, size, writes=True)
    table.allow(scratch.address, len(scratch.bytes), writes=True)
    table.allow(words.ctypes.data, words.nbytes, writes=False)
    fault = build(step.kernel, target()).call(table, words.ctypes.data, first, last, scratch.address)
    assert fault is None, f"{fault} is outside of what {step.nodes} may touch"
