"""Which float32 products have factors of bfloat16, exact or rounded (`precision="bf16"`), and the layout of their rows."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import favors_bf16_products
from sardonyx._src.compile.kernels.gemm.bf16.bf16_matmul import make_rounded_rows, view_as_words
from sardonyx._src.compile.kernels.tuning import tuning_for
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


def rounds_product(scope: Scope, a: Value, matrix: Array | None) -> bool:
    """Whether the factors of a product of a by a constant matrix [..., K, N] are rounded to bfloat16, or have been bfloat16 before they were promoted."""
    if matrix is None or not favors_bf16_products(scope.target):
        return False
    is_exact = is_bfloat16(scope, a) and matrix.dtype == DataType.BFLOAT16.numpy
    return (scope.rounds_factors or is_exact) and has_many_terms(scope, matrix)


def has_many_terms(scope: Scope, matrix: Array) -> bool:
    """Whether the sums of a product by a matrix [..., K, N] are long enough for factors of bfloat16."""
    return int(matrix.shape[-2]) >= tuning_for(scope.target).gemm.min_bf16_terms


def round_weights(scope: Scope, matrix: Array) -> Array:
    """A constant [..., K, N] rounded to bfloat16, where the kernel multiplies in float32 nevertheless: it reads half of the bytes."""
    is_rounded = scope.rounds_factors and not favors_bf16_products(scope.target)
    if not is_rounded or matrix.dtype != np.float32 or not has_many_terms(scope, matrix):
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
    return terms >= tuning_for(scope.target).gemm.min_bf16_terms
