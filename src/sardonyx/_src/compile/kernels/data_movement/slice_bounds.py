"""Bounds of slices whose starts and ends are computed: the first index along each axis, and the number of elements.

There is one unit of work; the axes are unrolled.  As Slice-13 specifies, negative positions count from the end, and all
positions are clamped to the axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known

PARAMETERS = Parameters("starts", "ends", "bounds", "lengths*")


def slice_bounds_step(
    starts: TensorView, ends: TensorView, lengths: Sequence[Known], steps: Sequence[int], bounds: TensorView
) -> Step:
    """The step that writes bounds [axes, 2] int64: for each axis the first index of the slice, and its number of elements.

    The first index is at most the length of the axis.
    starts, ends: [axes] int32 or int64, dense.
    lengths: the lengths of the axes.
    steps: the steps of the slice, positive.
    """
    types = (starts.dtype, ends.dtype)
    key = f"slice_bounds_{'_'.join(t.text for t in types)}_{'_'.join(map(str, steps))}"
    kernel = Kernel(key, partial(slice_bounds_module, types=types, steps=tuple(steps)), PARAMETERS)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        starts=starts, ends=ends, bounds=bounds, lengths=tuple(lengths)
    )
    return Step(kernel, args, 1, (starts, ends), (bounds,), bytes_accessed=32 * len(steps))


def slice_bounds_module(
    name: str, target: Target, *, types: tuple[DataType, DataType], steps: Sequence[int]
) -> str:
    b = KernelBuilder(target, PARAMETERS)
    starts, ends, bounds = b.pointers("starts", "ends", "bounds")
    for i, step in enumerate(steps):
        length = b.integer(f"lengths[{i}]")
        start, end = (
            clamp_position(b, load_position(b, pointer, i, dtype), length)
            for pointer, dtype in zip((starts, ends), types, strict=True)
        )
        count, _ = b.udivmod((end - start).clamp_min(0) + (step - 1), step)
        for offset, value in enumerate((start, count)):
            b.store(MemoryLocation(b.gep(bounds, b.constant(2 * i + offset, I64), "i64"), I64), value)
    return b.build_module(name)


def load_position(b: KernelBuilder, pointer: str, index: int, dtype: DataType) -> LLVMValue:
    """A position, extended to i64."""
    element = I64 if dtype is DataType.INT64 else LLVMType("i32")
    value = b.load(MemoryLocation(b.gep(pointer, b.constant(index, I64), element.llvm_element), element))
    return value if element is I64 else value.convert("sext", "i64")


def clamp_position(b: KernelBuilder, position: LLVMValue, length: LLVMValue) -> LLVMValue:
    """A position counted from the front, clamped to [0, length]; negative positions count from the end."""
    position = b.select(position < 0, position + length, position)
    return b.min(position.clamp_min(0), length)
