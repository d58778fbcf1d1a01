"""Contracts of products of rows that are sorted by group: the order of the rows, and the products."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import ml_dtypes
import numpy as np

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.trial import Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.floats.grouped_matmul import grouped_matmul_step
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, make_lazy_panels
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels, choose_panel_tile, pack_tensor
from sardonyx._src.compile.kernels.selection.group_rows import SPARE_STARTS, group_rows_step
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

K_BLOCK = 16  # terms that are summed by themselves, in place of 512


def group_indices(trial: Trial, rows: int, groups: int) -> Array:
    """Groups of rows; every third group has none."""
    used = [group for group in range(groups) if group % 3 != 1] or [0]
    return trial.rng.choice(used, rows)


def sorted_rows(trial: Trial, indices: Array, groups: int) -> tuple[TensorView, TensorView, Step]:
    rows = indices.size
    order = dense_temporary(DataType.INT64, (rows,), "order")
    starts = dense_temporary(DataType.INT64, (groups + SPARE_STARTS,), "starts")
    return order, starts, group_rows_step(trial.input(indices), order, starts, groups, trial.status())


def rows_by_group(trial: Trial, rows: int, groups: int, dtype: str) -> Sequence[Step]:
    indices = group_indices(trial, rows, groups)
    order, starts, step = sorted_rows(trial, indices.astype(dtype), groups)
    trial.expect(order, np.argsort(indices, kind="stable"))
    firsts = np.searchsorted(np.sort(indices), np.arange(groups + 1))
    trial.expect(trial.part(starts, (groups + 1,), (1,), 0), firsts)
    return [step]


def rows_by_group_axes(target: Target) -> Axes:
    return {"rows": (0, 1, 2, 7, 50), "groups": (1, 2, 5, 70), "dtype": ("int32", "int64")}


def grouped_product(
    trial: Trial, tokens: int, selections: int, groups: int, columns: int, k: int, weights: str
) -> Sequence[Step]:
    """weights: computed and packed by a step, or constants in memory of a type."""
    x, w = trial.integers(tokens, k), trial.integers(groups, k, columns)
    indices = group_indices(trial, tokens * selections, groups).reshape(tokens, selections)
    order, starts, sort = sorted_rows(trial, indices.reshape(-1), groups)
    y = trial.result(np.einsum("mk,mskn->msn", x, w[indices]))
    if weights == "computed":
        panels, steps = pack_tensor(trial.input(w), trial.target)
    else:
        tile = choose_panel_tile(columns, trial.target)
        half = w.astype(
            {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}[weights]
        )
        lazy = make_lazy_panels(half[:, None], tile, keep_half=weights != "float32")
        shape = (groups, -(-columns // tile.width), k, tile.width)
        panels, steps = Panels(make_constant(lazy).reshape(shape), tile, columns), []
    with patch.object(GemmTuning, "k_block", K_BLOCK), patch.object(GemmTuning, "large_bytes", 1):
        return [*steps, sort, grouped_matmul_step(trial.input(x), panels, groups, order, starts, y)]


def grouped_product_axes(target: Target) -> Axes:
    return {
        "tokens": (1, 2, 5, 7, 20, 150),
        "selections": (1, 2, 3),
        "groups": (1, 2, 5),
        "columns": vector_edges(target),
        "k": around(K_BLOCK),
        "weights": ("computed", "float32", "float16", "bfloat16"),
    }


CONTRACTS = [
    Contract(rows_by_group, rows_by_group_axes),
    Contract(grouped_product, grouped_product_axes),
]
