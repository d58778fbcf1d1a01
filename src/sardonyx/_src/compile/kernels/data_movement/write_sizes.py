"""Writes integers that are computed from the input sizes, such as the result of Shape, into a tensor.

There is one unit of work: each size is an argument of the kernel, which stores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.codegen import I64, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known


def write_sizes_step(y: TensorView, sizes: Sequence[Known]) -> Step:
    """The step of y = sizes; y: int64, dense, with one element for each size."""
    assert y.dtype is DataType.INT64 and y.is_dense, f"y must be dense int64; got {y}"
    names = tuple(f"size{i}" for i in range(len(sizes)))
    parameters = Parameters("y", *names)
    kernel = Kernel(f"words_{len(sizes)}", partial(write_sizes_module, names=names), parameters)
    args: tuple[KernelArgument, ...] = parameters.pack(y=y, **dict(zip(names, sizes, strict=True)))
    return Step(kernel, args, 1, (), (y,), bytes_accessed=8 * len(sizes))


def write_sizes_module(name: str, target: Target, *, names: Sequence[str]) -> str:
    """The LLVM module of the kernel; names: the parameters of the sizes."""
    b = KernelBuilder(target, Parameters("y", *names))
    y = b.pointer("y")
    for i, size in enumerate(names):
        slot = MemoryLocation(b.gep(y, b.constant(i, I64), "i64"), I64)
        b.store(slot, b.integer(size))
    return b.build_module(name)
