"""Steps of products of rows by a matrix of few columns: y [M, N] = epilogue(a [M, K] @ w [K, N] + bias).

The matrix is a constant, or is computed in the run and has contiguous columns, as a vector has.  The loop nest is in
`few_columns_kernel.py`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.tile.output import (
    output_arguments,
)
from sardonyx._src.compile.kernels.gemm.unpacked.few_columns_kernel import (
    GRID,
    few_columns_module,
    few_columns_parameters,
)
from sardonyx._src.compile.kernels.loops.batch_space import batch_space, exchange_dims, linear_batch
from sardonyx._src.compile.kernels.loops.iteration_space import ensure_dim
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, row_major_strides
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, ceil_div


@dataclass(frozen=True, slots=True)
class FewColumns:
    """The constants of a product.  matrix: [K, N]; bias: [N], None for zeros."""

    matrix: Array
    bias: Array | None = None


def is_few_columns(
    a: TensorView, matrix: Array, y: TensorView, epilogue: Epilogue, operands: tuple[TensorView, ...]
) -> bool:
    """Whether `few_columns_step` supports a product, and is faster than a GEMM."""
    if matrix.ndim != 2 or not 0 < matrix.shape[1] <= GemmTuning.max_few_columns:
        return False
    k, columns = matrix.shape
    if k < GemmTuning.min_terms_per_column * columns or a.strides[-1] != 1 or uniform_rows(a, y) is None:
        return False
    return are_results_dense(y, epilogue, operands)


def is_few_computed_columns(
    a: TensorView, matrix: TensorView, y: TensorView, epilogue: Epilogue, operands: tuple[TensorView, ...]
) -> bool:
    """Whether `few_computed_columns_step` supports a product by a matrix of the run, and is faster than a GEMM."""
    if min(a.rank, matrix.rank) < 2:
        return False
    k, columns = matrix.shape[-2:]
    if not isinstance(columns, int) or not 0 < columns <= GemmTuning.max_few_columns:
        return False
    if isinstance(k, int) and k < GemmTuning.min_terms_per_column * columns:
        return False
    is_regular = matrix.strides[-2] == 1 and matrix.dtype is a.dtype is DataType.FLOAT and a.strides[-1] == 1
    has_rows = row_grid(a, exchange_dims(matrix), y) is not None
    return is_regular and has_rows and are_results_dense(y, epilogue, operands)


def are_results_dense(y: TensorView, epilogue: Epilogue, operands: tuple[TensorView, ...]) -> bool:
    """Whether the elements of the result, and of the matrices of its epilogue, follow each other."""
    matrices = [o for layout, o in zip(epilogue.operand_layouts, operands, strict=True) if layout == "matrix"]
    is_plain = not isinstance(epilogue, IntegerEpilogue)
    return is_plain and all(is_dense(each, y) for each in (y, *matrices))


def is_dense(tensor: TensorView, y: TensorView) -> bool:
    """Whether a tensor has the shape of y, and its elements follow each other."""
    return tensor.shape == y.shape and tensor.strides == row_major_strides(y.shape)


@dataclass(frozen=True, slots=True)
class RowGrid:
    """The rows of A, by items of a batch; each item has a matrix of its own.

    items: the number of items.
    a_item, w_item: the strides between items in A and in the weights.
    rows, a_row: the rows of an item, and their stride in A.
    """

    items: Known
    a_item: Known
    w_item: Known
    rows: Known
    a_row: Known


def row_grid(a: TensorView, weights: TensorView, y: TensorView) -> RowGrid | None:
    """The rows of the product of a by weights [..., N, K] to y; None if a batch has no single stride."""
    uniform = uniform_rows(a, y) if weights.rank == 2 else None
    if uniform is not None:
        return RowGrid(1, 0, 0, uniform[0], uniform[1])
    batch = linear_batch(a, weights, y)
    if batch is None:
        return None
    return RowGrid(batch.size, batch.stride(0, 0), batch.stride(1, 0), a.shape[-2], a.strides[-2])


def uniform_rows(a: TensorView, y: TensorView) -> tuple[Known, Known] | None:
    """The number of rows of A, broadcast to the batch of y, and their stride; None if there is no single stride."""
    rows = ensure_dim(batch_space(y.shape[:-1], ((a, 1),)))
    return (rows.size, rows.stride(0, 0)) if rows.rank == 1 else None


def few_columns_step(
    a: TensorView,
    product: FewColumns,
    y: TensorView,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """y [..., M, N] = epilogue(a [..., M, K] @ matrix + bias), for operands that `is_few_columns` accepts."""
    weights = np.ascontiguousarray(product.matrix.T.astype(np.float32))
    bias = make_constant(repeat_bias(product), "bias")
    return dot_products_step(a, make_constant(weights, "weights"), bias, y, epilogue or Epilogue(), operands)


def few_computed_columns_step(
    a: TensorView,
    matrix: TensorView,
    y: TensorView,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """y [..., M, N] = epilogue(a [..., M, K] @ matrix), for operands that `is_few_computed_columns` accepts."""
    columns = matrix.shape[-1]
    assert isinstance(columns, int), "the columns must be known"
    bias = make_constant(np.zeros(GRID * columns, np.float32), "bias")
    return dot_products_step(a, exchange_dims(matrix), bias, y, epilogue or Epilogue(), operands)


def dot_products_step(
    a: TensorView,
    weights: TensorView,
    bias: TensorView,
    y: TensorView,
    epilogue: Epilogue,
    operands: tuple[TensorView, ...],
) -> Step:
    """The step for weights [..., N, K] with contiguous rows, and a bias as of `repeat_bias`."""
    (columns, k), grid = weights.shape[-2:], row_grid(a, weights, y)
    assert grid is not None and isinstance(columns, int), f"rows of {a} must have one stride"
    total_rows = grid.items * grid.rows
    y, layouts = y.reshape((total_rows, columns)), epilogue.operand_layouts
    operands = tuple(
        operand.reshape((total_rows, columns)) if layout == "matrix" else operand
        for operand, layout in zip(operands, layouts, strict=True)
    )
    parameters = few_columns_parameters(epilogue)
    args: tuple[KernelArgument, ...] = parameters.pack(
        a=a,
        weights=weights,
        bias=bias,
        rows=grid.rows,
        k=k,
        a_row=grid.a_row,
        w_row=weights.strides[-2],
        a_item=grid.a_item,
        w_item=grid.w_item,
        **output_arguments(y, epilogue, operands),
    )
    module = partial(few_columns_module, columns=columns, epilogue=epilogue)
    return Step(
        Kernel(f"few_columns_f32_{columns}:{epilogue.key}", module, parameters),
        args,
        grid.items * ceil_div(grid.rows, GemmTuning.few_columns_unit_rows),
        (a, weights, bias, *operands),
        (y,),
        flops=2 * total_rows * columns * k,
        bytes_accessed=total_rows * (k + columns) * 4,
        scratch=columns * GRID * GRID * 4,
    )


def repeat_bias(product: FewColumns) -> Array:
    """The bias of each element of a group of rows: [GRID * N]."""
    columns = product.matrix.shape[1]
    bias = np.zeros(columns, np.float32) if product.bias is None else product.bias
    return np.tile(bias.astype(np.float32), GRID)
