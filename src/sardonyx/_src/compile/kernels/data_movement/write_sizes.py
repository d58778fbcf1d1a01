"""Writes integers that are computed from the input sizes, such as the result of Shape, into a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known


def write_sizes_step(y: TensorView, sizes: Sequence[Known]) -> Step:
    """y = sizes; y: int64, dense, with as many elements.  The sizes are kernel arguments."""
    assert y.dtype is DataType.INT64 and y.is_dense, f"y must be dense int64; got {y}"
    kernel = Kernel(f"words_{len(sizes)}", partial(write_sizes_module, count=len(sizes)))
    return Step(kernel, (y, *sizes), 1, (), (y,), bytes_accessed=8 * len(sizes))


def write_sizes_module(name: str, target: Target, count: int) -> str:
    """A kernel with one unit of work, fully unrolled; args: y, then `count` sizes."""
    emitter = KernelBuilder(target)
    y = emitter.pointer_argument(0)
    for i in range(count):
        address = emitter.gep(y, emitter.constant(i, emitter.first_unit.type), "i64")
        emitter.lines.append(f" store {emitter.size_argument(i + 1)}, ptr {address}, align 8")
    return emitter.build_module(name)
