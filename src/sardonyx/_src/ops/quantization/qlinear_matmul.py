"""QLinearMatMul: the matrix product of quantized tensors, quantized; the sums are exact and rounded once.

Spec: ai.onnx QLinearMatMul-10, -21.  21 adds float8 and scales of narrow floats.  A quantized number represents
scale * (number - zero point).
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.matmul import matmul_shape
from sardonyx._src.ops.quantization.conversion import CastRule
from sardonyx._src.ops.quantization.matrix_products import (
    by_column,
    by_row,
    check_columns,
    check_rows,
    product,
)
from sardonyx._src.ops.quantization.quantize_linear import round_to_quantized
from sardonyx._src.ops.support.shapes import check_one_element

op = Operator("QLinearMatMul", tolerance="rounding")


@op.infer(10, 21)
def infer(inference: Inference) -> Result:
    zero_point = inference.dtype(7)
    for i, name in ((1, "a_scale"), (2, "a_zero_point")):
        check_rows(inference, i, 0, name)
    for i, name in ((4, "b_scale"), (5, "b_zero_point")):
        check_columns(inference, i, 3, name)
    for i, name in ((6, "y_scale"), (7, "y_zero_point")):
        check_one_element(inference, i, name)
    shape = matmul_shape(inference, inference.shape(0), inference.shape(3))
    return None if zero_point is None else TensorType(zero_point, shape)


@op.eval(10, 21)
def evaluate(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
) -> Array:
    """a: [..., M, K], b: [..., K, N], result: [..., M, N] of the type of y_zero_point.

    Scales and zero points: one element; [M] or [..., M, 1] for a; [N] or [..., 1, N] for b.
    """
    for name, parameter in (("y_scale", y_scale), ("y_zero_point", y_zero_point)):
        if parameter.size != 1:
            raise EvaluationError(f"{name} must be a scalar; got shape {list(parameter.shape)}")
    sums = product(
        a,
        by_row(a_zero_point, a.shape, "a_zero_point"),
        b,
        by_column(b_zero_point, b.shape, "b_zero_point"),
    )
    rows = by_row(a_scale, a.shape, "a_scale").astype(np.float64)
    columns = by_column(b_scale, b.shape, "b_scale").astype(np.float64)
    with np.errstate(all="ignore"):
        values = sums * (rows * columns / y_scale.astype(np.float64).reshape(()))
    return round_to_quantized(
        np.asarray(values), y_zero_point.reshape(()), DataType.of(y_zero_point.dtype), CastRule()
    )
