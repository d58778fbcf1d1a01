"""Which float32 products have factors of bfloat16, exact or rounded (`precision="bf16"`), and the layout of their rows."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import favors_bf16_products
from sardonyx._src.compile.kernels.gemm.bf16.bf16_matmul import make_rounded_rows, view_as_words
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import shared_k_block
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.partition import Scope
from sardonyx._src.compile.partition.operands.float_convolutions import FloatConvolution
from sardonyx._src.compile.prepare.dequantized_constants import is_upcast
from sardonyx._src.compile.prepare.precision_classes import is_exact_in_half
from sardonyx._src.compile.program.operands.layout import ROWS, CustomLayout
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value

ROUNDED_ROWS = CustomLayout(
    "rounded rows",
    view_as_words,
    lambda _dtype, shape, name: make_rounded_rows(shape, name),
    ROWS,
    DataType.BFLOAT16,
)


def exact_k_block(scope: Scope, a: Value, matrix: Array | None) -> int | None:
    """The most terms of a block of a product whose factors have been bfloat16 before they were promoted.

    Targets multiply words of bfloat16 or in float32, with the same blocks and bits.  None for other products of a by a
    constant matrix [..., K, N], and if there are no such blocks.
    """
    if matrix is None or matrix.dtype == np.float32 or not has_many_terms(matrix):
        return None
    if (
        matrix.dtype != DataType.BFLOAT16.numpy
    ):  # imports ml_dtypes, which products of float32 need not wait for
        return None
    return shared_k_block(int(matrix.shape[-2])) if is_bfloat16(scope, a) else None


def rounds_product(scope: Scope, matrix: Array | None, k_block: int | None) -> bool:
    """Whether a product by a constant matrix [..., K, N] multiplies words of bfloat16; k_block: `exact_k_block` of it."""
    if matrix is None or not favors_bf16_products(scope.target):
        return False
    return k_block is not None or (scope.rounds_factors and has_many_terms(matrix))


def has_many_terms(matrix: Array) -> bool:
    """Whether the sums of a product by a matrix [..., K, N] are long enough for factors of bfloat16."""
    return int(matrix.shape[-2]) >= GemmTuning.min_bf16_terms


def round_weights(scope: Scope, matrix: Array) -> Array:
    """A constant [..., K, N] rounded to bfloat16, where the kernel multiplies in float32 nevertheless: it reads half of the bytes."""
    is_rounded = scope.rounds_factors and not favors_bf16_products(scope.target)
    if not is_rounded or matrix.dtype != np.float32 or not has_many_terms(matrix):
        return matrix
    return matrix.astype(DataType.BFLOAT16.numpy)


def is_bfloat16(scope: Scope, value: Value) -> bool:
    """Whether a float32 value is promoted from bfloat16, perhaps followed by operators whose results need no rounding."""
    node = value.producer
    while node is not None and not is_upcast(node) and is_exact_in_half(node):
        floats = [v for v in node.inputs if v is not None and scope.dtype_of(v) is DataType.FLOAT]
        node = floats[0].producer if len(floats) == 1 else None
    return node is not None and is_upcast(node) and scope.dtype_of(node.inputs[0]) is DataType.BFLOAT16


def rounds_convolution(scope: Scope, conv: FloatConvolution) -> bool:
    """Whether the factors of a convolution are rounded to bfloat16; only of convolutions of one group."""
    if not scope.rounds_factors or conv.group != 1 or not favors_bf16_products(scope.target):
        return False
    terms = int(conv.weights[0].size)
    return terms >= GemmTuning.min_bf16_terms
