"""A trial of steps: the operands of one case in poisoned memory between guard pages, and the results that it must have.

Buffers are at the end of their pages in one run and at the beginning in the next.  Results, temporaries, scratch and the
gaps between rows are filled with bytes of another value in each run, so that an element that is not written, a read of
one that is not, and a write into a gap show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from compile.guarded import (
    PAGE,
    GuardedMemory,
    buffers_of,
    encode_arguments,
    evaluate_dim,
    kernel_function,
    run_checked,
)
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.program import Buffer, Step, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, symbol

Memories = dict[Buffer, GuardedMemory]
# Elements between the rows of a tensor.  None: none, and all dims but the last are symbols, equal ones the same.
Gap: TypeAlias = int | None


@dataclass(frozen=True, slots=True)
class Result:
    """What a tensor must be after the steps, within `tolerance` of its largest element; exactly if that is 0."""

    tensor: TensorView
    expected: Array
    tolerance: float


@dataclass(frozen=True, slots=True)
class Run:
    """at_end: whether buffers end before a guard page.  poison: the bytes of memory without contents.

    checks: whether the checked build runs.  divides: whether calls have a part of the units of work each.
    """

    at_end: bool
    poison: int
    checks: bool = False
    divides: bool = False


# 0xFF: NaN, and -1.  0x7F: large numbers, which minima and maxima do not ignore.
CHECKED_RUNS = (
    Run(at_end=True, poison=0x7F, checks=True),
    Run(at_end=False, poison=0xFF, checks=True, divides=True),
)
RUNS = tuple(replace(run, checks=False) for run in CHECKED_RUNS)


class Trial:
    """The operands of a case, to which a contract adds those of its steps.

    sizes: the lengths of symbolic dims.
    """

    def __init__(self, target: Target, seed: int) -> None:
        self.target, self.rng = target, np.random.default_rng(seed)
        self.inputs: list[tuple[TensorView, Array]] = []
        self.results: list[Result] = []
        self.operands: set[Buffer] = set()  # in which nothing but results is written
        self.sizes: dict[str, int] = {}

    def integers(self, *shape: int, low: int = -4, high: int = 4, dtype: DTypeLike = np.float32) -> Array:
        """Small integers, whose products and sums are exact in every order."""
        return self.rng.integers(low, high, shape, endpoint=True).astype(dtype)

    def normal(self, *shape: int) -> Array:
        return self.rng.normal(size=shape).astype(np.float32)

    def input(self, array: Array, gap: Gap = 0) -> TensorView:
        """A tensor with these elements."""
        return self.fill(self.allocate(DataType.of(array.dtype), array.shape, gap), array)

    def fill(self, tensor: TensorView, array: Array) -> TensorView:
        """The same tensor, which has these elements before the steps."""
        self.inputs.append((tensor, array))
        return tensor

    def result(
        self, expected: Array, dtype: DTypeLike = np.float32, gap: Gap = 0, tolerance: float = 0.0
    ) -> TensorView:
        """A tensor that the steps write."""
        tensor = self.allocate(DataType.of(np.dtype(dtype)), expected.shape, gap)
        return self.expect(tensor, expected, tolerance)

    def expect(self, tensor: TensorView, expected: Array, tolerance: float = 0.0) -> TensorView:
        """The same tensor, which the steps write, perhaps over an input."""
        self.results.append(Result(tensor, expected, tolerance))
        return tensor

    def allocate(self, dtype: DataType, shape: tuple[int, ...], gap: Gap) -> TensorView:
        if gap is None:
            return self.with_symbols(self.allocate(dtype, shape, 0), *(f"n{n}" for n in shape[:-1]), "")
        if gap and shape:
            rows = replace(self.allocate(dtype, (*shape[:-1], shape[-1] + gap), 0), shape=shape)
            return replace(rows, offset=gap // 2)
        size = dtype.numpy.itemsize * int(np.prod(shape, dtype=np.int64))
        buffer = Buffer("arena", size, "operand")
        self.operands.add(buffer)
        return TensorView(dtype, shape, row_major_strides(shape), buffer)

    def status(self) -> TensorView:
        """A status in which the steps must report nothing."""
        return self.expect(self.input(np.zeros(16, np.int64)), np.zeros(16))

    def part(
        self, tensor: TensorView, shape: tuple[int, ...], strides: tuple[Known, ...], offset: int
    ) -> TensorView:
        """A view of a part of a tensor, from an element on."""
        return replace(tensor, shape=shape, strides=strides, offset=tensor.offset + offset)

    def with_symbols(self, tensor: TensorView, *names: str) -> TensorView:
        """A dense tensor with symbolic dims, those of which the name is not empty."""
        pairs = list(zip(names, tensor.shape, strict=True))
        self.sizes |= {name: evaluate_dim(dim, {}) for name, dim in pairs if name}
        shape = tuple(symbol(name) if name else dim for name, dim in pairs)
        return replace(tensor, shape=shape, strides=row_major_strides(shape))

    def check(self, steps: Sequence[Step], runs: Sequence[Run]) -> None:
        """Runs the steps; asserts that results are right, have the same bits in each run, and that nothing else changes."""
        results = []
        for run in runs:
            memories = self.fill_memories(steps, run)
            for step in steps:
                self.run_step(step, memories, run)
            results.append(self.check_memories(memories, run))
            POOL.give_back(memories.values())
        for others in results[1:]:
            pairs = zip(results[0], others, strict=True)
            is_equal = all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs)
            assert is_equal, "results depend on placement, partition or build"

    def fill_memories(self, steps: Sequence[Step], run: Run) -> Memories:
        """The memory of all buffers: constants and inputs, and poison elsewhere."""
        tensors = [tensor for tensor, _ in self.inputs] + [result.tensor for result in self.results]
        buffers = dict.fromkeys([t.buffer for t in tensors] + [b for step in steps for b in buffers_of(step)])
        memories: Memories = {}
        for buffer in buffers:
            memories[buffer] = POOL.take(evaluate_dim(buffer.size, self.sizes), run)
            if buffer.data is not None:
                memories[buffer].bytes[:] = np.ascontiguousarray(buffer.data).reshape(-1).view(np.uint8)
        for tensor, array in self.inputs:
            self.view(tensor, memories)[...] = array
        return memories

    def run_step(self, step: Step, memories: Memories, run: Run) -> None:
        """Runs the units of a step, each call with scratch of its own."""
        arguments = encode_arguments(step, memories, self.sizes)
        scratch_bytes = evaluate_dim(step.scratch, self.sizes)
        for first, last in self.partition(evaluate_dim(step.units, self.sizes), run):
            scratch = POOL.take(scratch_bytes, run)
            if run.checks:
                run_checked(step, self.target, arguments, memories, self.sizes, scratch, first, last)
            else:
                kernel_function(step.kernel, self.target)(arguments.ctypes.data, first, last, scratch.address)
            POOL.give_back([scratch])

    def partition(self, units: int, run: Run) -> Iterator[tuple[int, int]]:
        """The units of each call: all of them, or a few parts in random order."""
        bounds = {0, units}
        if run.divides:
            bounds |= {*range(min(units, 3)), *(int(n) for n in self.rng.integers(0, units + 1, 2))}
        pairs = list(pairwise(sorted(bounds)))
        return (pairs[i] for i in self.rng.permutation(len(pairs)))

    def check_memories(self, memories: Memories, run: Run) -> list[Array]:
        """Asserts that results are as expected, and that inputs and gaps are unchanged; returns the results."""
        results, written = [], {result.tensor.buffer for result in self.results}
        for result in self.results:
            results.append(self.view(result.tensor, memories).copy())
            assert_equal(results[-1], result)
        for tensor, array in self.inputs:
            is_unchanged = (
                tensor.buffer in written or self.view(tensor, memories).tobytes() == array.tobytes()
            )
            assert is_unchanged, f"an input of shape {array.shape} must not change"
        for tensor in [*(r.tensor for r in self.results), *(tensor for tensor, _ in self.inputs)]:
            size = tensor.dtype.numpy.itemsize
            self.view(tensor, memories, np.dtype(f"V{size}"))[...] = np.void(bytes([run.poison]) * size)
        rest = (memories[buffer].bytes for buffer in written & self.operands)
        assert all((memory == run.poison).all() for memory in rest), "memory between rows must not be written"
        return results

    def view(
        self, tensor: TensorView, memories: Mapping[Buffer, GuardedMemory], dtype: np.dtype[Any] | None = None
    ) -> Array:
        """The elements of a tensor in memory."""
        dtype = dtype or tensor.dtype.numpy
        shape, strides = (
            [evaluate_dim(d, self.sizes) for d in dims] for dims in (tensor.shape, tensor.strides)
        )
        if 0 in shape:
            return np.empty(shape, dtype)
        offset = evaluate_dim(tensor.offset, self.sizes) * dtype.itemsize
        byte_strides = [stride * dtype.itemsize for stride in strides]
        return np.ndarray(shape, dtype, memories[tensor.buffer].bytes, offset, byte_strides)


def assert_equal(actual: Array, result: Result) -> None:
    """Asserts that a result is what its trial expects."""
    expected = result.expected
    if result.tolerance:
        limit = result.tolerance * max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0)))
        np.testing.assert_allclose(actual, expected, 0, limit)
    elif not np.array_equal(actual, expected, equal_nan=actual.dtype.kind in "fc"):
        np.testing.assert_array_equal(actual, expected)


class MemoryPool:
    """Guarded memory that is used again, by its pages: mapping pages takes longer than small kernels."""

    def __init__(self) -> None:
        self.free: dict[int, list[GuardedMemory]] = {}

    def take(self, size: int, run: Run) -> GuardedMemory:
        """Poisoned memory of `size` bytes."""
        pages = 1 << (max(size - 1, 0) // PAGE).bit_length()
        free = self.free.setdefault(pages, [])
        memory = free.pop() if free else GuardedMemory(pages * PAGE, at_end=True)
        memory.resize(size, at_end=run.at_end)
        memory.bytes[:] = run.poison
        return memory

    def give_back(self, memories: Iterable[GuardedMemory]) -> None:
        for memory in memories:
            self.free[memory.num_pages].append(memory)


POOL = MemoryPool()
