"""Products whose left operand is stored transposed, A = X', as in gradients of weights: A is copied, or exchanged with B.

The microkernel reads one element of each row of A for each term.  Where the columns of A are contiguous and far apart, the
elements that it reads of a row for successive terms are each in a cache line of their own.  At strides of several KB these
lines share few sets of the level-1 cache, so that a dense copy of A, in time proportional to M K, soon pays off.  A product
of few columns fills only a part of a vector, and reads all of A for it.  The exchanged product Y' = B' A' has full vectors
and few rows.  Either way the terms of a sum are added in the same order.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.gemm.unpacked.few_rows import few_rows_step, reads_in_place
from sardonyx._src.compile.kernels.tuning import GemmTuning, tuning_for
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.tensor import dense_temporary, transpose_matrix
from sardonyx._src.ir.dims import Known


def is_exchanged(a: TensorView, b: TensorView, target: Target) -> bool:
    """Whether `exchanged_product` is faster: A is one transposed matrix with many rows, and B has few columns."""
    return (
        is_transposed(a) and b.rank == 2 and reads_in_place(transpose_matrix(b), transpose_matrix(a), target)
    )


def exchanged_product(a: TensorView, b: TensorView, y: TensorView, target: Target) -> list[Step]:
    """The steps of y = a @ b by way of y' = b' @ a'."""
    transposed = dense_temporary(y.dtype, y.shape[::-1], y.buffer.name)
    product = few_rows_step(transpose_matrix(b), transpose_matrix(a), transposed, target)
    return [product, copy_step(transpose_matrix(transposed), y)]


def with_dense_rows(
    a: TensorView, columns: Known, name: str, target: Target
) -> tuple[TensorView, list[Step]]:
    """A copy of A [M, K] with dense rows, and the steps that make it; A itself if a copy does not pay off.

    columns: the number of columns of the product.
    """
    is_wide = isinstance(columns, int) and columns >= tuning_for(target).gemm.min_copied_columns
    if not (is_wide and is_worth_copying(a)):
        return a, []
    copy = dense_temporary(a.dtype, a.shape, name)
    return copy, [copy_step(a, copy)]


def is_worth_copying(a: TensorView) -> bool:
    """Whether A is one transposed matrix with columns that are far apart."""
    step = a.strides[-1]
    is_distant = isinstance(step, int) and step >= GemmTuning.min_copied_stride
    return is_transposed(a) and is_distant


def is_transposed(a: TensorView) -> bool:
    """Whether a tensor is one matrix with contiguous columns."""
    return a.rank == 2 and a.strides[0] == 1 and a.strides[1] != 1
