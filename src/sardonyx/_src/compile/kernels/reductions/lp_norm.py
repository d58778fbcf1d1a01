"""LpNormalization of contiguous rows: x / norm(x), where a row of zeros stays as it is.

The passes over a row: the largest magnitude; the norm of the row times a power of two near the inverse of that, so that
squares neither overflow nor vanish; the scaled row times the inverse of its norm.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.reductions.reducers import MAX_OF_NUMBERS
from sardonyx._src.compile.kernels.reductions.row_kernel import RowKernel, row_kernel_step
from sardonyx._src.compile.kernels.reductions.row_passes import Get, RowReduction
from sardonyx._src.compile.program import Step, TensorView

INFINITY_EXPONENT = 255  # the biased exponent of infinities and NaN


def lp_norm_step(x: TensorView, y: TensorView, order: int) -> Step:
    """y: the rows of x, along the last axis, over their norms.

    x, y: [..., n] float32, rows contiguous; they may be the same tensor.  order: 1 for sums of magnitudes, 2 for the
    Euclidean norm.
    """
    rows = IterationSpace(x.shape, (x.strides, y.strides)).drop_dim(x.rank - 1)
    return row_kernel_step(lp_norm_kernel(order), {"x": x, "y": y}, rows, x.shape[-1])


def lp_norm_kernel(order: int) -> RowKernel:
    def power(b: KernelBuilder, get: Get) -> LLVMValue:
        value = get("x") * get("scale")
        return b.fabs(value) if order == 1 else value * value

    def inverse(b: KernelBuilder, get: Get) -> LLVMValue:
        norm = get("inverse") if order == 1 else b.call_intrinsic("sqrt", get("inverse"))
        return b.select(norm.eq(0.0), 1.0, 1 / norm)

    stages = (
        (RowReduction("scale", lambda b, get: b.fabs(get("x")), inverse_scale, MAX_OF_NUMBERS),),
        (RowReduction("inverse", power, inverse),),
    )
    return RowKernel(
        f"l{order}_norm_rows", stages, lambda b, get: get("x") * get("scale") * get("inverse"), operations=5
    )


def inverse_scale(b: KernelBuilder, get: Get) -> LLVMValue:
    """A power of two whose product with the largest magnitude is between 2^-23 and 4.

    1 where that is 0 or an infinity, or there is none that is not NaN; NaN reappears in the norm.
    """
    largest = get("scale")
    exponent = largest.bitcast() >> 23
    inverse = -exponent + 254
    inverse = b.select(inverse < 1, b.constant(1, inverse.type), inverse)
    is_number = (exponent < INFINITY_EXPONENT) & (largest > 0.0)
    return b.select(is_number, (inverse << 23).bitcast(), b.constant(1.0, largest.type))
