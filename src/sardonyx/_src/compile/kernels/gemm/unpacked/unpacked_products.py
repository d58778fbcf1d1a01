"""Products of two computed matrices of few rows or few columns, without packing: the kernels read B in place.

Packing a matrix pays off when many rows are multiplied by it.  `unpacked_product` chooses the kernel by the sizes and by
which dims are contiguous; a product with one row or one column may also be computed as the exchanged one, y' = b' @ a'.
Where only a run knows the number of rows, `split_off_one_row` has both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue, OperandLayout
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.unpacked.few_columns import (
    few_computed_columns_step,
    is_few_computed_columns,
)
from sardonyx._src.compile.kernels.gemm.unpacked.few_rows import few_rows_step, reads_in_place
from sardonyx._src.compile.kernels.gemm.unpacked.transposed_left import exchanged_product, is_exchanged
from sardonyx._src.compile.kernels.gemm.unpacked.vector_matrix import is_vector_product, vector_matrix_step
from sardonyx._src.compile.kernels.loops.batch_space import exchange_dims
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known, dim_max, dim_min, dim_product


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """y [..., M, N] = epilogue(a [..., M, K] @ b [..., K, N])."""

    a: TensorView
    b: TensorView
    y: TensorView
    epilogue: Epilogue
    operands: tuple[TensorView, ...]


def unpacked_product(product: MatrixProduct, target: Target) -> Sequence[Step] | None:
    """The steps of a product, or None if packing B is faster."""
    vector = product_of_vector(product)
    if vector is None and (exchanged := exchange(product)) is not None:
        vector = product_of_vector(exchanged)
    if vector is not None:
        return (vector,)
    a, b, y, epilogue = product.a, product.b, product.y, product.epilogue
    if reads_in_place(a, b, target):
        return (few_rows_step(a, b, y, target, epilogue, product.operands),)
    if epilogue == Epilogue() and is_exchanged(a, b, target):
        return exchanged_product(a, b, y, target)
    return None


def split_off_one_row(product: MatrixProduct, steps: Sequence[Step]) -> Sequence[Step]:
    """The steps of a product with an open number of rows, and one that replaces them in runs in which it is 1.

    Only the steps for the number of rows in a run have units of work.
    """
    a, y = product.a, product.y
    rows = dim_product(a.shape[:-1])
    if isinstance(rows, int) or product.b.rank != 2 or a.rank != y.rank:
        return steps
    matrices = (
        operand
        for layout, operand in zip(product.epilogue.operand_layouts, product.operands, strict=True)
        if layout == "matrix"
    )
    if any(operand.shape != y.shape for operand in matrices):
        return steps
    row = replace(
        product,
        a=first_row(a),
        y=first_row(y),
        operands=tuple(
            first_row(operand) if layout == "matrix" else operand
            for layout, operand in zip(product.epilogue.operand_layouts, product.operands, strict=True)
        ),
    )
    vector = product_of_vector(row)
    if vector is None and (exchanged := exchange(row)) is not None:
        vector = product_of_vector(exchanged)
    if vector is None:
        return steps
    is_one = dim_min(rows, dim_max(2 - rows, 0))
    return (scale_work(vector, is_one), *(scale_work(step, 1 - is_one) for step in steps))


def first_row(tensor: TensorView) -> TensorView:
    """The first row [1, n] of a tensor [..., n]."""
    return replace(tensor, shape=(1, tensor.shape[-1]), strides=tensor.strides[-2:])


def scale_work(step: Step, factor: Known) -> Step:
    """The step with its work multiplied by 0 or 1."""
    return replace(
        step,
        units=step.units * factor,
        flops=step.flops * factor,
        bytes_accessed=step.bytes_accessed * factor,
    )


def product_of_vector(product: MatrixProduct) -> Step | None:
    """The step of a product by a few columns, or of one row; None for any other."""
    arguments = product.a, product.b, product.y, product.epilogue, product.operands
    if isinstance(product.epilogue, IntegerEpilogue):
        return None
    if is_few_computed_columns(*arguments):
        return few_computed_columns_step(*arguments)
    return vector_matrix_step(*arguments) if is_vector_product(*arguments) else None


def exchange(product: MatrixProduct) -> MatrixProduct | None:
    """The product y' = b' @ a', if y has a single row or column; else None."""
    a, b, y, epilogue = product.a, product.b, product.y, product.epilogue
    if not a.rank == b.rank == y.rank >= 2 or 1 not in y.shape[-2:]:
        return None
    if y.rank > 2 and "column" in epilogue.operand_layouts:
        return None
    pairs = [
        exchange_operand(layout, operand, y)
        for layout, operand in zip(epilogue.operand_layouts, product.operands, strict=True)
    ]
    return MatrixProduct(
        exchange_dims(b),
        exchange_dims(a),
        exchange_vector(y),
        replace(epilogue, operand_layouts=tuple(layout for layout, _ in pairs)),
        tuple(operand for _, operand in pairs),
    )


def exchange_operand(
    layout: OperandLayout, operand: TensorView, y: TensorView
) -> tuple[OperandLayout, TensorView]:
    """An operand of the epilogue of y, as an operand of the epilogue of y'."""
    if layout == "matrix":
        return layout, exchange_vector(operand)
    if layout == "column" and y.shape[0] == 1:
        return "matrix", operand.reshape(y.shape[::-1])
    return "scalar", operand


def exchange_vector(tensor: TensorView) -> TensorView:
    """A row [..., 1, n] as a column [..., n, 1], or the reverse, with the strides of a matrix whose rows are contiguous."""
    (rows, columns), (row, column) = tensor.shape[-2:], tensor.strides[-2:]
    strides = (column, 1) if rows == 1 else (rows * row, row)
    return replace(
        tensor, shape=(*tensor.shape[:-2], columns, rows), strides=(*tensor.strides[:-2], *strides)
    )
