"""Contracts of products with block-quantized weights: codes of 2, 4 and 8 bits, and rows rounded to int8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.references import add_epilogue
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.block_quantized.blocks import BlockQuantizedMatrix, pack_blocks
from sardonyx._src.compile.kernels.block_quantized.int8_rows import quantize_rows_step, quantized_row_bytes
from sardonyx._src.compile.kernels.block_quantized.matmul import block_quantized_matmul_step
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

MAX_CODE = 127  # of a row; the largest element of each block, so that its scale is 1


def draw_matrix(
    trial: Trial, k: int, columns: int, bits: int, size: int, has_zeros: bool
) -> tuple[BlockQuantizedMatrix, Array]:
    """Random codes with scales that are powers of two, and the weights that they stand for."""
    blocks, top = -(-k // size), 1 << bits
    codes = trial.integers(k, columns, low=0, high=top - 1, dtype=np.uint8)
    zeros = trial.integers(blocks, columns, low=0, high=top - 1, dtype=np.uint8)
    zeros = zeros if has_zeros else np.full_like(zeros, top // 2)
    scales = 2.0 ** trial.integers(blocks, columns, low=-1, high=1)
    block = np.arange(k) // size
    weights = (codes.astype(np.float64) - zeros[block]) * scales[block]
    return BlockQuantizedMatrix(codes, 0, scales, zeros, bits, size), weights


def block_product(
    trial: Trial,
    rows: int,
    columns: int,
    k: int,
    bits: int,
    size: int,
    has_zeros: bool,
    gap: Gap,
) -> Sequence[Step]:
    matrix, weights = draw_matrix(trial, k, columns, bits, size, has_zeros)
    a = trial.integers(rows, k)
    fused, operands, y = add_epilogue(trial, "cheap", a @ weights, gap)
    packed = pack_blocks(matrix, trial.target)
    return [
        block_quantized_matmul_step(trial.input(a, gap), packed, trial.result(y, gap=gap), fused, operands)
    ]


def block_axes(target: Target) -> Axes:
    return {
        "rows": (*around(8), 49, 145, 289),
        "columns": vector_edges(target),
        "k": (*around(16)[1:], 63, 64, 65, 511, 513, 1030),
        "bits": (2, 4, 8),
        "size": (16, 32),
        "has_zeros": (False, True),
        "gap": (0, 3, None),
    }


def int8_block_product(
    trial: Trial, rows: int, columns: int, k: int, bits: int, size: int, has_zeros: bool
) -> Sequence[Step]:
    """Rows of small integers, each block of which has one that makes its scale 1."""
    matrix, weights = draw_matrix(trial, k, columns, bits, size, has_zeros)
    a = trial.integers(rows, k)
    a[:, ::size] = MAX_CODE
    packed = pack_blocks(replace(matrix, allows_int8_rows=True), trial.target)
    shape = (rows, quantized_row_bytes(packed.format, k))
    quantized = dense_temporary(DataType.UINT8, shape, "quantized")
    y = trial.result(a @ weights)
    return [
        quantize_rows_step(trial.input(a, 3), quantized, packed.format),
        block_quantized_matmul_step(quantized, packed, y),
    ]


def int8_axes(target: Target) -> Axes:
    axes = block_axes(target)
    return {name: axes[name] for name in ("rows", "columns", "k", "bits", "size", "has_zeros")}


CONTRACTS = [
    Contract(block_product, block_axes),
    Contract(int8_block_product, int8_axes, lambda target: target.lanes > 1),
]
