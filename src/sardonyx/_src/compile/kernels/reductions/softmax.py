"""Softmax and LogSoftmax along any axis, with the usual shift by the maximum: exp(x - max) / sum(exp(x - max)).

The passes: the maximum; the exponentials, stored to y, and their sum; the scaling by 1 / sum.  LogSoftmax stores no
exponentials, and reads x again.  This is the safe softmax of Milakov and Gimelshein, "Online normalizer calculation for
softmax", whose online variant attention uses.  Where the axis is contiguous, lanes hold elements of a row, else adjacent
columns.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS, convert
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.reductions.column_passes import column_passes_step
from sardonyx._src.compile.kernels.reductions.reducers import MAX_OF_NUMBERS, NEG_INFINITY, emit_exp
from sardonyx._src.compile.kernels.reductions.row_kernel import RowKernel, row_kernel_step
from sardonyx._src.compile.kernels.reductions.row_passes import Get, RowReduction
from sardonyx._src.compile.program import Step, TensorView
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
    space, kernel = IterationSpace(x.shape, (x.strides, y.strides)), softmax_kernel(x.dtype, half, log=log)
    if space.shape[axis] == 1 or all(s[axis] == 1 for s in space.strides):
        return row_kernel_step(kernel, {"x": x, "y": y}, space.drop_dim(axis), space.shape[axis])
    is_plain = half is None and x.dtype is DataType.FLOAT
    assert is_plain, f"rows must be contiguous; got axis {axis} of {x} and {y}"
    return column_passes_step(kernel, space, x, y, axis)


def softmax_kernel(dtype: DataType, half: DataType | None, *, log: bool) -> RowKernel:
    def rounded(b: KernelBuilder, value: LLVMValue) -> LLVMValue:
        """Rounds to the half-precision type, if there is one, and back."""
        return value if half is None else convert(b, convert(b, value, LLVM_ELEMENTS[half]), "float")

    def exponential(b: KernelBuilder, get: Get) -> LLVMValue:
        return rounded(b, emit_exp(b, rounded(b, get("x") - get("maximum"))))

    def normalizer(b: KernelBuilder, get: Get) -> LLVMValue:
        """1 / sum, or the logarithm of the sum."""
        return b.emit_operation("log", get("normalizer")) if log else 1 / rounded(b, get("normalizer"))

    def result(b: KernelBuilder, get: Get) -> LLVMValue:
        if log:
            return get("x") - get("maximum") - get("normalizer")
        return rounded(b, get("y") * get("normalizer"))

    element = LLVM_ELEMENTS[dtype]
    kind = "".join(
        f"{name}_" for name in (log and "log", half and half.text, element) if name and name != "float"
    )
    stages = (
        # NaN need not be propagated by the maximum, since it reappears in the sum.
        (RowReduction("maximum", lambda b, get: get("x"), reducer=MAX_OF_NUMBERS),),
        (RowReduction("normalizer", exponential, normalizer, stored="" if log else "y"),),
    )
    return RowKernel(
        f"softmax_{kind}rows",
        stages,
        result,
        operations=30,
        element=element,
        padding=NEG_INFINITY,
    )
