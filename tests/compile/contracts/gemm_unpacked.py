"""Contracts of products of a computed matrix with one row or column, which read it in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.references import EPILOGUES, EpilogueKind, add_epilogue
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.unpacked.unpacked_products import MatrixProduct, unpacked_product
from sardonyx._src.compile.kernels.gemm.unpacked.vector_matrix import is_vector_product
from sardonyx._src.compile.kernels.loops.batch_space import exchange_dims
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.ir import Array

COLUMNS, TERMS = GemmTuning.vector_columns, GemmTuning.k_block


def operand(trial: Trial, array: Array, gap: Gap, *, is_transposed: bool) -> TensorView:
    """An operand with contiguous rows, or columns."""
    if is_transposed:
        return exchange_dims(trial.input(np.ascontiguousarray(array.swapaxes(-1, -2)), gap))
    return trial.input(array, gap)


def product_of_vector(
    trial: Trial, rows: int, columns: int, k: int, layout: str, epilogue: EpilogueKind, gap: Gap
) -> Sequence[Step] | None:
    """One row by a matrix, or a matrix by few columns; layout: which operands are transposed."""
    a, b = trial.integers(rows, k), trial.integers(k, columns)
    fused, operands, y = add_epilogue(trial, epilogue, a @ b, gap if rows == 1 else 0)
    left = operand(trial, a, gap, is_transposed="a" in layout)
    right = operand(trial, b, gap, is_transposed="b" in layout)
    result = trial.result(y, gap=gap if rows == 1 else 0)
    return unpacked_product(MatrixProduct(left, right, result, fused, operands), trial.target)


def row_axes(target: Target) -> Axes:
    columns = (*vector_edges(target), *range(18), COLUMNS - 1, COLUMNS, COLUMNS + 1, 2 * COLUMNS + 5)
    return {
        "rows": (1,),
        "columns": columns,
        "k": (*around(4), 8, 33, TERMS - 1, TERMS, TERMS + 1, 2 * TERMS + 1),
        "layout": ("", "a", "b", "ab"),
        "epilogue": EPILOGUES,
        "gap": (0, 3, None),
    }


def column_axes(target: Target) -> Axes:
    terms = (8, 9, 15, 16, 17, 33, 64, TERMS, 16 * TERMS + 1)
    return {**row_axes(target), "rows": row_axes(target)["columns"], "columns": (1, 2, 3, 4), "k": terms}


def product_of_vectors(
    trial: Trial, batch: tuple[int, ...], size: int, k: int, layout: str, epilogue: EpilogueKind
) -> Sequence[Step] | None:
    """A batch of one row each, or of one column, by a matrix each."""
    rows, columns = (size, 1) if "column" in layout else (1, size)
    a, b = trial.integers(*batch, rows, k), trial.integers(*batch, k, columns)
    left = operand(trial, a, 0, is_transposed="a'" in layout)
    right = operand(trial, b, 0, is_transposed="b'" in layout)
    fused, operands, y = add_epilogue(trial, epilogue, a @ b) if len(batch) == 1 else (Epilogue(), (), a @ b)
    return unpacked_product(MatrixProduct(left, right, trial.result(y), fused, operands), trial.target)


def batch_axes(target: Target) -> Axes:
    return {
        "batch": ((1,), (3,), (2, 3)),
        "size": (1, 2, 15, 16, 17, 63, 64, 65, 130, COLUMNS + 1),
        "k": (1, 7, 8, 33, TERMS + 1),
        "layout": ("", "a'", "b'", "column", "column a'", "column b'", "column a' b'"),
        "epilogue": ("",),
    }


def shared_matrix(trial: Trial, items: int, columns: int) -> Sequence[Step] | None:
    """Rows of a batch by one matrix, which is a product of several rows: not the kernel of one row."""
    a, b = trial.integers(items, 1, 9), trial.integers(9, columns)
    left, right, y = trial.input(a), trial.input(b), trial.result(a @ b)
    assert is_vector_product(left, right, y, Epilogue(), ()) == (items == 1)
    return unpacked_product(MatrixProduct(left, right, y, Epilogue(), ()), trial.target)


def shared_axes(target: Target) -> Axes:
    return {"items": (1, 2, 3), "columns": (5, 64)}


CONTRACTS = [
    Contract(product_of_vector, row_axes),
    Contract(product_of_vector, column_axes),
    Contract(product_of_vectors, batch_axes),
    Contract(shared_matrix, shared_axes),
]
