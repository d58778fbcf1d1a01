"""Runs steps over buffers between guard pages, so that an out-of-bounds access of a kernel faults.

Each buffer is placed twice: with its last byte before a guard page, and with its first byte after one.  Then the checked
build runs, which validates every access (`checked.py`): it must be within the operands that the step declares, and a
write within those that it declares as written.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from compile.checked_runs import ARGUMENTS, Table, build
from compile.kernel_objects import load_module
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.jit import Library, host_target
from sardonyx._src.compile.program import Buffer, Kernel, Step, TensorView, row_major_strides
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Expr, Known

PAGE = mmap.PAGESIZE
CACHE_BYTES = 1 << 20  # of every cache; tests replace it
LIBC = ctypes.CDLL(None, use_errno=True)


class GuardedMemory:
    """A memory range between two guard pages, adjacent to the one after (at_end) or the one before."""

    def __init__(self, size: int, *, at_end: bool) -> None:
        self.num_pages = -(-max(size, 1) // PAGE)
        self.map = mmap.mmap(-1, (self.num_pages + 2) * PAGE)
        self.map_address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        for page in (self.map_address, self.map_address + (self.num_pages + 1) * PAGE):
            assert LIBC.mprotect(ctypes.c_void_p(page), PAGE, 0) == 0, "mprotect failed"
        self.resize(size, at_end=at_end)

    def resize(self, size: int, *, at_end: bool) -> None:
        """Makes the range one of another size, of at most as many pages."""
        start = PAGE + (self.num_pages * PAGE - size if at_end else 0)
        self.address = self.map_address + start
        self.bytes = np.frombuffer(self.map, np.uint8, size, start)


def target() -> Target:
    """The target of the kernels; tests replace this function."""
    return host_target()


@cache
def load_kernel(kernel: Kernel, target: Target) -> Library:
    return compile_kernel(kernel.source("kernel", target))


@cache
def compile_kernel(text: str) -> Library:
    """The library of an LLVM module, cached by text because kernels with different keys may have the same one."""
    return load_module(text, ["kernel"])


def tensor(array: Array, name: str = "") -> tuple[TensorView, Buffer]:
    """A dense tensor in a buffer of its own, with the shape and type of an array."""
    dtype = DataType.of(array.dtype)
    buffer = Buffer("arena", array.nbytes, name)
    return TensorView(dtype, array.shape, row_major_strides(array.shape), buffer), buffer


def run(
    steps: Step | Sequence[Step],
    arrays: Mapping[Buffer, Array],
    sizes: Mapping[str, int] | None = None,
    *,
    chunk: int | None = None,
) -> None:
    """Runs steps over arrays, one for each buffer, which are updated in place; other buffers are constants or temporaries.

    Asserts that the results are bitwise equal for either placement, for any partition of the units of work, and in the
    checked build, which must report no fault.
    """
    all_steps = [steps] if isinstance(steps, Step) else list(steps)
    results: list[list[bytes]] = []
    variants = (
        (True, chunk, False),
        (False, chunk, False),
        (True, 1, False),
        (True, 3, False),
        (True, chunk, True),
    )
    for at_end, size, checks in variants:
        memories = {s: GuardedMemory(a.nbytes, at_end=at_end) for s, a in arrays.items()}
        for buffer, memory in memories.items():
            memory.bytes[:] = np.ascontiguousarray(arrays[buffer]).reshape(-1).view(np.uint8)
        for step in all_steps:
            execute(step, memories, sizes or {}, size, at_end=at_end, checks=checks)
        results.append([memories[buffer].bytes.tobytes() for buffer in arrays])
    *builds, checked_results = results
    assert all(build == results[0] for build in builds), "results depend on placement or work partitioning"
    for array, pair in zip(arrays.values(), zip(results[0], checked_results, strict=True), strict=True):
        optimized, unoptimized = (np.frombuffer(bits, array.dtype) for bits in pair)
        is_equal = np.array_equal(optimized, unoptimized, equal_nan=array.dtype.kind in "fc")
        assert is_equal, "the results of the checked build differ"  # NaN payloads may differ
    for array, result in zip(arrays.values(), results[0], strict=True):
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(result, np.uint8)


def evaluate_dim(dim: Known, sizes: Mapping[str, int]) -> int:
    """The value of a dim, given the lengths of its symbols."""
    value = dim.substitute(dict(sizes)) if isinstance(dim, Expr) else dim
    assert isinstance(value, int), f"{dim} must depend on {sorted(sizes)} only"
    return value


def execute(
    step: Step,
    memories: dict[Buffer, GuardedMemory],
    sizes: Mapping[str, int],
    chunk: int | None,
    *,
    at_end: bool,
    checks: bool = False,
) -> None:
    """Runs a step once, in calls of `chunk` units."""
    for buffer in buffers_of(step):
        if buffer not in memories:
            memories[buffer] = GuardedMemory(evaluate_dim(buffer.size, sizes), at_end=at_end)
            if buffer.data is not None:
                memories[buffer].bytes[:] = buffer.data.reshape(-1).view(np.uint8)
    arguments = encode_arguments(step, memories, sizes)
    scratch = GuardedMemory(evaluate_dim(step.scratch, sizes), at_end=at_end)
    call = kernel_function(step.kernel, target())
    units = evaluate_dim(step.units, sizes)
    for first in range(0, units, chunk or max(units, 1)):
        last = min(first + (chunk or units), units)
        if checks:
            run_checked(step, target(), arguments, memories, sizes, scratch, first, last)
        else:
            call(arguments.ctypes.data, first, last, scratch.address)


def buffers_of(step: Step) -> list[Buffer]:
    """The buffers of the arguments of a step."""
    return list(dict.fromkeys(arg.buffer for arg in step.args if isinstance(arg, TensorView)))


def encode_arguments(
    step: Step, memories: Mapping[Buffer, GuardedMemory], sizes: Mapping[str, int]
) -> NDArray[np.int64]:
    """The argument slots of a step."""
    arguments = np.empty(max(len(step.args), 1), np.int64)
    for i, arg in enumerate(step.args):
        if isinstance(arg, TensorView):
            offset = evaluate_dim(arg.offset, sizes) * arg.dtype.numpy.itemsize
            arguments[i] = memories[arg.buffer].address + offset
        elif isinstance(arg, CachedCount):
            arguments[i] = arg.in_bytes(CACHE_BYTES)
        else:
            assert isinstance(arg, int | Expr), "a step that changes others' arguments needs a program"
            arguments[i] = evaluate_dim(arg, sizes)
    return arguments


def kernel_function(kernel: Kernel, target: Target) -> Callable[..., None]:
    """The function of a kernel: addresses of arguments and scratch, and the units of work between them."""
    return load_kernel(kernel, target).function("kernel", *ARGUMENTS)


def extent(tensor: TensorView, evaluate_dim: Callable[[Known], int]) -> tuple[int, int]:
    """(offset, size) in bytes of the range of a buffer that a tensor's elements are in."""
    size = tensor.dtype.numpy.itemsize
    start = evaluate_dim(tensor.offset) * size
    shape = [evaluate_dim(dim) for dim in tensor.shape]
    if 0 in shape:
        return start, 0
    extents = [(n - 1) * evaluate_dim(stride) * size for n, stride in zip(shape, tensor.strides, strict=True)]
    return start + sum(e for e in extents if e < 0), sum(map(abs, extents)) + size


def run_checked(
    step: Step,
    target: Target,
    arguments: NDArray[np.int64],
    memories: Mapping[Buffer, GuardedMemory],
    sizes: Mapping[str, int],
    scratch: GuardedMemory,
    first: int,
    last: int,
) -> None:
    """Runs units of a step in the checked build; asserts that it accesses only the operands that it declares.

    It may write to the range from the first to the last element of each tensor that it declares as written.
    """
    table = Table()
    for buffer in {tensor.buffer for tensor in (*step.reads, *step.writes)} & memories.keys():
        table.allow(memories[buffer].address, len(memories[buffer].bytes), writes=False)
    for tensor in step.writes:
        if tensor.buffer in memories:
            begin, size = extent(tensor, lambda dim: evaluate_dim(dim, sizes))
            table.allow(memories[tensor.buffer].address + begin, size, writes=True)
    table.allow(scratch.address, len(scratch.bytes), writes=True)
    table.allow(arguments.ctypes.data, arguments.nbytes, writes=False)
    fault = build(step.kernel, target).call(table, arguments.ctypes.data, first, last, scratch.address)
    assert fault is None, f"{fault} is outside of the operands of {step.nodes}"
