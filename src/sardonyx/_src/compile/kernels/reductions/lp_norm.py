"""LpNormalization of contiguous rows: x / norm(x), where a row of zeros stays as it is.

Loop nest: rows of the units -> vectors, in three passes, the last two of which read the row from the cache: the largest
magnitude; the norm of the row times a power of two near the inverse of that, so that squares neither overflow nor
vanish; the scaled row times the inverse of its norm.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space
from sardonyx._src.compile.kernels.data_movement.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.reductions.reducers import (
    MAX_OF_NUMBERS,
    SUM,
    accumulate,
    new_accumulators,
    reduce_accumulators,
)
from sardonyx._src.compile.kernels.reductions.rows import (
    full_vector_type,
    load_vector,
    loop_vectors,
    num_units,
    row_arguments,
    store_vector,
)
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView

PARAMETERS = Parameters("x", "y", "rows", "unit_rows", "n", "dims*")
INFINITY_EXPONENT = 255  # the biased exponent of infinities and NaN


def lp_norm_step(x: TensorView, y: TensorView, order: int) -> Step:
    """y: the rows of x, along the last axis, over their norms.

    x, y: [..., n] float32, rows contiguous; they may be the same tensor.  order: 1 for sums of magnitudes, 2 for the
    Euclidean norm.
    """
    space = IterationSpace(x.shape, (x.strides, y.strides))
    rows, n = row_space(space.drop_dim(x.rank - 1), by=1), x.shape[-1]
    return Step(
        Kernel(
            f"l{order}_norm_rows_{rows.rank}",
            partial(lp_norm_module, order=order, rank=rows.rank),
            PARAMETERS,
        ),
        PARAMETERS.pack(x=x, y=y, **row_arguments(rows, n)),
        num_units(rows.size, n),
        (x,),
        (y,),
        flops=x.num_elements * 5,
        bytes_accessed=x.nbytes + y.nbytes,
    )


def lp_norm_module(name: str, target: Target, order: int, rank: int) -> str:
    b, vector_type = KernelBuilder(target, PARAMETERS), full_vector_type(target)
    bases = b.pointers("x", "y")
    rows, unit_rows, n = b.integers("rows", "unit_rows", "n")
    dims = load_dims(b, "dims", rank, len(bases))
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (_, offsets):
        x, y = (b.gep(base, offset) for base, offset in zip(bases, offsets, strict=True))
        factor = b.splat(inverse_scale(b, largest_magnitude(b, vector_type, x, n)), vector_type.lanes)
        norm = scaled_norm(b, vector_type, x, n, factor, order)
        inverse = b.splat(b.select(norm.eq(0.0), 1.0, 1 / norm), vector_type.lanes)
        for _, index, mask in loop_vectors(b, n, vector_type.lanes):
            value = load_vector(b, vector_type, x, index, mask) * factor * inverse
            store_vector(b, value, y, index, mask)
    return b.build_module(name)


def largest_magnitude(b: KernelBuilder, vector_type: LLVMType, x: str, n: LLVMValue) -> LLVMValue:
    """The largest magnitude of a row that is not NaN; 0 if there is none.  NaN reappears in the norm."""
    accumulators = new_accumulators(b, vector_type, MAX_OF_NUMBERS)
    for v, index, mask in loop_vectors(b, n, vector_type.lanes):
        accumulate(
            b, accumulators[v], MAX_OF_NUMBERS, (b.fabs(load_vector(b, vector_type, x, index, mask)),), mask
        )
    return reduce_accumulators(b, MAX_OF_NUMBERS, accumulators)[0]


def inverse_scale(b: KernelBuilder, largest: LLVMValue) -> LLVMValue:
    """A power of two whose product with `largest` is between 2^-23 and 4; 1 for 0 or an infinity."""
    exponent = largest.bitcast() >> 23
    inverse = -exponent + 254
    inverse = b.select(inverse < 1, b.constant(1, inverse.type), inverse)
    is_number = (exponent < INFINITY_EXPONENT) & (largest > 0.0)
    return b.select(is_number, (inverse << 23).bitcast(), b.constant(1.0, largest.type))


def scaled_norm(
    b: KernelBuilder, vector_type: LLVMType, x: str, n: LLVMValue, factor: LLVMValue, order: int
) -> LLVMValue:
    """The norm of a row times a factor."""
    accumulators = new_accumulators(b, vector_type, SUM)
    for v, index, mask in loop_vectors(b, n, vector_type.lanes):
        value = load_vector(b, vector_type, x, index, mask) * factor
        accumulate(b, accumulators[v], SUM, (b.fabs(value) if order == 1 else value * value,), mask)
    (total,) = reduce_accumulators(b, SUM, accumulators)
    return total if order == 1 else b.call_intrinsic("sqrt", total)
