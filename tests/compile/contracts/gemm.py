"""Contracts of products of matrices: packed, in place, transposed, of few columns, low-rank, double."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import ml_dtypes
import numpy as np

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.references import EPILOGUES, EpilogueKind, add_epilogue
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.floats.double_gemm import Addend, double_gemm_steps
from sardonyx._src.compile.kernels.gemm.floats.double_matmul import DoubleProduct, double_matmul_step
from sardonyx._src.compile.kernels.gemm.floats.low_rank import LowRankUpdate
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, make_lazy_panels, pack_bias
from sardonyx._src.compile.kernels.gemm.packing.panels import (
    Panels,
    choose_panel_tile,
    pack_constant,
    pack_tensor,
)
from sardonyx._src.compile.kernels.gemm.unpacked.few_columns import (
    FewColumns,
    few_columns_step,
    is_few_columns,
)
from sardonyx._src.compile.kernels.gemm.unpacked.few_rows import few_rows_step, reads_in_place
from sardonyx._src.compile.kernels.gemm.unpacked.transposed_left import exchanged_product, with_dense_rows
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.operands.tensor import transpose_matrix

ROWS = around(10)  # the tallest tile
UNIT_ROWS = (47, 48, 49, 97, 287, 288, 289)  # rows of a unit, and of those that are computed together
K_BLOCK = 16  # terms that are summed by themselves, in place of 512


def packed_product(
    trial: Trial, rows: int, columns: int, k: int, layout: str, epilogue: EpilogueKind, gap: Gap
) -> Sequence[Step]:
    """B is packed by a step; A is contiguous along its rows, or its columns; sizes may be symbolic."""
    a, b = trial.integers(rows, k), trial.integers(k, columns)
    fused, operands, y = add_epilogue(trial, epilogue, a @ b, gap)
    left = (
        transpose_matrix(trial.input(np.ascontiguousarray(a.T)))
        if layout == "transposed"
        else trial.input(a, gap)
    )
    right, result = trial.input(b, gap), trial.result(y, gap=gap)
    if layout == "symbolic" and gap == 0 and not epilogue:
        left, right, result = (
            trial.with_symbols(tensor, *names)
            for tensor, names in ((left, "mk"), (right, "kn"), (result, "mn"))
        )
    panels, steps = pack_tensor(right, trial.target)
    return [*steps, *matmul_steps(left, panels, result, epilogue=fused, operands=operands)]


def packed_product_axes(target: Target) -> Axes:
    return {
        "rows": ROWS,
        "columns": range(2 * 4 * target.lanes + 2),
        "k": around(8),
        "layout": ("rows", "transposed", "symbolic"),
        "epilogue": EPILOGUES,
        "gap": (0, 3, None),
    }


def constant_product(
    trial: Trial, rows: int, columns: int, k: int, has_bias: bool, dtype: str, gap: Gap
) -> Sequence[Step]:
    """B is packed at compile time, in its own type; sums have up to three blocks of k."""
    a, b, bias = trial.integers(rows, k), trial.integers(k, columns), trial.integers(columns)
    tile = choose_panel_tile(columns, trial.target)
    panels = pack_constant(b, trial.target)
    if dtype != "float32":
        half = b.astype(np.float16 if dtype == "float16" else ml_dtypes.bfloat16)
        packed = make_constant(make_lazy_panels(half[None], tile, keep_half=True))
        panels = Panels(packed.reshape(panels.tensor.shape), tile, columns)
    added = make_constant(pack_bias(bias, tile)) if has_bias else None
    with patch.object(GemmTuning, "k_block", K_BLOCK):
        return matmul_steps(
            trial.input(a, gap), panels, trial.result(a @ b + bias * has_bias, gap=gap), bias=added
        )


def constant_product_axes(target: Target) -> Axes:
    return {
        "rows": (1, 2, 5, 6, 7, 13, 18, 27, *UNIT_ROWS),
        "columns": vector_edges(target),
        "k": around(K_BLOCK),
        "has_bias": (False, True),
        "dtype": ("float32", "float16", "bfloat16"),
        "gap": (0, 3, None),
    }


def large_product(trial: Trial, rows: int, columns: int, k: int) -> Sequence[Step]:
    """A constant B as if it were in memory: row blocks prefetch shares of it, and add parts of a block of k."""
    a, b = trial.integers(rows, k), trial.integers(k, columns)
    with patch.object(GemmTuning, "large_bytes", 0):
        return matmul_steps(trial.input(a), pack_constant(b, trial.target), trial.result(a @ b))


def large_product_axes(target: Target) -> Axes:
    return {
        "rows": (*range(1, 14), 49, 65, 289),
        "columns": vector_edges(target),
        "k": (1, 2, 7, 127, 128, 129, 255, 257, 513),
    }


def batched_product(
    trial: Trial, shapes: tuple[tuple[int, ...], ...], rows: int, columns: int
) -> Sequence[Step]:
    """Batches that are broadcast to that of y."""
    a_batch, b_batch, y_batch = shapes
    a, b = trial.integers(*a_batch, rows, 5), trial.integers(*b_batch, 5, columns)
    panels, steps = pack_tensor(trial.input(b), trial.target)
    y = trial.result(np.broadcast_to(a @ b, (*y_batch, rows, columns)), gap=2)
    return [*steps, *matmul_steps(trial.input(a), panels, y)]


def batched_product_axes(target: Target) -> Axes:
    shapes = (
        ((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 3)), ((2, 3), (2, 1), (2, 3)), ((3,), (2, 1), (2, 3)),
        ((1,), (4,), (4,)), ((4,), (), (4,)), ((2, 1, 2, 3), (1, 3, 2, 1), (2, 3, 2, 3)), ((0, 2), (2,), (0, 2)),
    )  # fmt: skip
    return {"shapes": shapes, "rows": (1, 5, 6, 13), "columns": vector_edges(target)}


def low_rank_product(trial: Trial, rows: int, columns: int, k: int, rank: int) -> Sequence[Step]:
    """A product whose tiles start with the sums of a low-rank update."""
    a, b = trial.integers(rows, k), trial.integers(k, columns)
    a2, b2 = trial.integers(rows, rank), trial.integers(rank, columns)
    tile = choose_panel_tile(columns, trial.target)
    update = LowRankUpdate(trial.input(a2), pack_constant(b2, trial.target, tile=tile), 0.5)
    y = trial.result(a @ b + (a2 @ b2) / 2)
    return matmul_steps(trial.input(a), pack_constant(b, trial.target, tile=tile), y, update=update)


def low_rank_axes(target: Target) -> Axes:
    return {"rows": ROWS, "columns": vector_edges(target), "k": (1, 7, 513), "rank": around(4)[1:]}


def product_of_few_rows(
    trial: Trial, rows: int, columns: int, k: int, layout: str, epilogue: EpilogueKind
) -> Sequence[Step] | None:
    a, b = trial.integers(rows, k), trial.integers(k, columns)
    left = (
        transpose_matrix(trial.input(np.ascontiguousarray(a.T))) if layout == "transposed" else trial.input(a)
    )
    right = trial.input(b)
    if not reads_in_place(left, right, trial.target):
        return None
    fused, operands, y = add_epilogue(trial, epilogue, a @ b)
    return [few_rows_step(left, right, trial.result(y), trial.target, fused, operands)]


def few_rows_axes(target: Target) -> Axes:
    multiples = sorted({vectors * target.lanes * n for vectors in (2, 3, 4) for n in range(1, 33)})
    return {
        "rows": range(17),
        "columns": [n for n in multiples if n >= GemmTuning.min_columns_in_place][:6],
        "k": (*around(4), 512, 513),
        "layout": ("rows", "transposed"),
        "epilogue": EPILOGUES,
    }


def product_of_few_columns(
    trial: Trial, rows: int, columns: int, k: int, epilogue: EpilogueKind, gap: Gap
) -> Sequence[Step] | None:
    a, weights, bias = trial.integers(rows, k), trial.integers(k, columns), trial.integers(columns)
    fused, operands, y = add_epilogue(trial, epilogue, a @ weights + bias)
    left, result = trial.input(a, gap), trial.result(y)
    if not is_few_columns(left, weights, result, fused, operands):
        return None
    return [few_columns_step(left, FewColumns(weights, bias), result, fused, operands)]


def few_columns_axes(target: Target) -> Axes:
    return {
        "rows": (*around(16), 63, 64, 65, 129),
        "columns": (1, 2, 3, 4),
        "k": (*range(8, 50), 64, 65),
        "epilogue": EPILOGUES,
        "gap": (0, 3, None),
    }


def transposed_left_product(trial: Trial, rows: int, columns: int, k: int) -> Sequence[Step] | None:
    """y = x' @ b as the exchanged product, where that is supported."""
    x, b = trial.integers(k, rows), trial.integers(k, columns)
    left, right = transpose_matrix(trial.input(x)), trial.input(b)
    if not reads_in_place(transpose_matrix(right), transpose_matrix(left), trial.target):
        return None
    return exchanged_product(left, right, trial.result(x.T @ b), trial.target)


def transposed_left_axes(target: Target) -> Axes:
    return {"rows": few_rows_axes(target)["columns"], "columns": range(17), "k": around(4)}


def copied_left_operand(trial: Trial, rows: int, k: int) -> Sequence[Step]:
    """The dense copy of a transposed A with distant columns."""
    x = trial.integers(k, rows)
    copy, steps = with_dense_rows(transpose_matrix(trial.input(x)), 256, "x", trial.target)
    trial.expect(copy, x.T)
    return steps


def copied_left_axes(target: Target) -> Axes:
    return {"rows": (1024, 1025, 1039, 1040, 1041), "k": (*around(16), 31, 64, 65)}


def double_product(trial: Trial, rows: int, columns: int, k: int) -> Sequence[Step]:
    x, matrix, bias = (
        trial.integers(*shape, dtype=np.float64) for shape in ((rows, k), (k, columns), (columns,))
    )
    product = DoubleProduct(matrix, bias)
    return [double_matmul_step(trial.input(x), product, trial.result(x @ matrix + bias, np.float64))]


def double_product_axes(target: Target) -> Axes:
    return {"rows": (*around(4), 63, 64, 65, 129), "columns": around(8)[1:], "k": around(4)}


def double_gemm(
    trial: Trial, rows: int, columns: int, k: int, layout: str, addend: tuple[int, int] | None, gap: Gap
) -> Sequence[Step]:
    """Factors with contiguous rows or columns; C has the dims of the result or 1; sums have up to three blocks of k."""
    a, b = trial.integers(rows, k, dtype=np.float64), trial.integers(k, columns, dtype=np.float64)
    left, right = (
        transpose_matrix(trial.input(np.ascontiguousarray(x.T))) if layout[i] == "t" else trial.input(x, gap)
        for i, x in enumerate((a, b))
    )
    y, added = 2 * (a @ b), None
    if addend is not None:
        c = trial.integers(
            *(min(n, d) for n, d in zip(addend, (rows, columns), strict=True)), dtype=np.float64
        )
        y, added = y + 3 * c, Addend(trial.input(c), 3.0)
    with patch.object(GemmTuning, "double_k_block", K_BLOCK):
        return double_gemm_steps(left, right, trial.result(y, np.float64), trial.target, 2.0, added)


def double_gemm_axes(target: Target) -> Axes:
    return {
        "rows": (*around(4), 127, 128, 129),
        "columns": vector_edges(target),
        "k": around(K_BLOCK),
        "layout": ("nn", "nt", "tn", "tt"),
        "addend": (None, (1, 1), (1, 999), (999, 1), (999, 999)),
        "gap": (0, 3, None),
    }


def batched_double_gemm(
    trial: Trial, shapes: tuple[tuple[int, ...], ...], rows: int, columns: int
) -> Sequence[Step]:
    """Batches that are broadcast to that of y."""
    a_batch, b_batch, y_batch = shapes
    a = trial.integers(*a_batch, rows, 5, dtype=np.float64)
    b = trial.integers(*b_batch, 5, columns, dtype=np.float64)
    y = trial.result(np.broadcast_to(a @ b, (*y_batch, rows, columns)), np.float64, gap=2)
    return double_gemm_steps(trial.input(a), trial.input(b), y, trial.target)


# --- integers and bfloat16 ---------------------------------------------------------------------


CONTRACTS = [
    Contract(packed_product, packed_product_axes),
    Contract(constant_product, constant_product_axes),
    Contract(large_product, large_product_axes),
    Contract(batched_product, batched_product_axes),
    Contract(low_rank_product, low_rank_axes),
    Contract(product_of_few_rows, few_rows_axes),
    Contract(product_of_few_columns, few_columns_axes),
    Contract(transposed_left_product, transposed_left_axes),
    Contract(copied_left_operand, copied_left_axes),
    Contract(double_product, double_product_axes),
    Contract(double_gemm, double_gemm_axes),
    Contract(batched_double_gemm, batched_product_axes),
]
