"""MatMulInteger: the matrix product of 8-bit integers minus their zero points, accumulated in 32 bits.

Spec: ai.onnx MatMulInteger-10.  Sums wrap around.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.matmul import matmul_shape
from sardonyx._src.ops.quantization.matrix_products import (
    by_column,
    by_row,
    check_columns,
    check_rows,
    product,
)

op = Operator("MatMulInteger")
NO_ZERO_POINT = np.zeros((), np.int8)


@op.infer(10)
def infer(inference: Inference) -> Result:
    check_rows(inference, 2, 0, "a_zero_point")
    check_columns(inference, 3, 1, "b_zero_point")
    return TensorType(DataType.INT32, matmul_shape(inference, inference.shape(0), inference.shape(1)))


@op.eval(10)
def evaluate(
    A: Array, B: Array, a_zero_point: Array | None = None, b_zero_point: Array | None = None
) -> Array:
    """A: [..., M, K], B: [..., K, N], result: [..., M, N] int32.

    Zero points: one element; [M] or [..., M, 1] for A; [N] or [..., 1, N] for B.
    """
    rows = NO_ZERO_POINT if a_zero_point is None else by_row(a_zero_point, A.shape, "a_zero_point")
    columns = NO_ZERO_POINT if b_zero_point is None else by_column(b_zero_point, B.shape, "b_zero_point")
    return np.asarray(product(A, rows, B, columns)).astype(np.int64).astype(np.int32)
