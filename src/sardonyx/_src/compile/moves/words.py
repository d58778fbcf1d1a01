"""Integers that follow from sizes, put into a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.values import KernelText
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known


def written(y: Tensor, numbers: Sequence[Known]) -> Step:
    """y = the numbers, in a row: y is dense, of int64, and has as many elements."""
    assert y.dtype is DataType.INT64 and y.is_dense, f"{y} is no row of int64"
    kernel = Kernel(f"words_{len(numbers)}", partial(source, count=len(numbers)))
    return Step(kernel, (y, *numbers), 1, (), (y,), traffic=8 * len(numbers))


def source(name: str, target: Target, count: int) -> str:
    code = KernelText(target.fused)
    y = code.pointer(0)
    for i in range(count):
        place = code.address(y, code.constant(i, code.first.kind), "i64")
        code.lines.append(f" store {code.size(i + 1)}, ptr {place}, align 8")
    return code.module(name)
