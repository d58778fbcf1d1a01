"""Softmax and LogSoftmax along any axis: chooses the kernel for rows or the one for columns."""

from __future__ import annotations

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.reductions.softmax_columns import softmax_columns_step
from sardonyx._src.compile.kernels.reductions.softmax_rows import SoftmaxVariant, softmax_rows_step
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType


def softmax_step(
    x: TensorView, y: TensorView, axis: int = -1, *, log: bool = False, half: DataType | None = None
) -> Step:
    """y = softmax(x), or its logarithm, along an axis.

    x, y: [..., n, ...] float32 or float64; they may be the same tensor.  half: the half-precision type of the elements of x,
    to which every intermediate result is rounded.
    half and float64 require that the axis is the last one; float64 has neither half nor a logarithm.  A row of -inf only, or with +inf or NaN, results in NaN.
    """
    axis %= x.rank
    space = IterationSpace(x.shape, (x.strides, y.strides))
    if space.shape[axis] == 1 or all(s[axis] == 1 for s in space.strides):
        return softmax_rows_step(space, x, y, axis, SoftmaxVariant(log, half, LLVM_ELEMENTS[x.dtype]))
    is_plain = half is None and x.dtype is DataType.FLOAT
    assert is_plain, f"rows must be contiguous; got axis {axis} of {x} and {y}"
    return softmax_columns_step(space, x, y, axis, log=log)
