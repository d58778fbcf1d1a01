"""Where: X where the condition holds, Y elsewhere.

Spec: ai.onnx Where-9, -16.  16 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_max, dim_min, known_equal, known_ge
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.math.comparison_steps import decompose_where
from sardonyx._src.ops.math.comparisons import at_least, less
from sardonyx._src.ops.math.symbolic import SYMBOLIC_NUMBERS, map_elements
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.support.shapes import broadcast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Where", elementwise=True, exact_in_half=True)
op.convert((9, 0))(decompose_where)


@op.convert((16, 9))
def to_9(adapter: Adapter) -> AdaptedNode:
    """bfloat16, which 9 lacks, is cast to float, which holds its numbers, and back."""
    if adapter.inference.dtype(1) is not DataType.BFLOAT16:
        return adapter.same()
    numbers = [cast(adapter, adapter.input(i), DataType.FLOAT) for i in (1, 2)]
    return cast(adapter, adapter.Where(adapter.input(0), *numbers), DataType.BFLOAT16)


@op.infer(9, 16)
def infer(inference: Inference) -> Result:
    shape = broadcast(inference, [inference.shape(i) for i in range(3)])
    dtype = inference.dtype(1) or inference.dtype(2)
    return None if dtype is None else TensorType(dtype, shape)


@op.eval(9, 16)
def evaluate(condition: Array, X: Array, Y: Array) -> Array:
    return np.where(condition, X, Y)


@op.value(9, 16)
def value(inference: Inference) -> Known | None:
    return map_elements(inference, select) if inference.dtype(1) in SYMBOLIC_NUMBERS else None


def select(condition: Dim, x: Dim, y: Dim) -> Dim:
    """x or y; an expression of both if the condition is an expression (1 or 0); None if that is not known.

    If x equals y, the condition does not matter.
    """
    if isinstance(condition, bool):
        return x if condition else y
    if x is None or y is None or condition is None or known_equal(x, y):
        return x if known_equal(x, y) else None
    if condition in (less(y, x), at_least(x, y)):
        return dim_max(x, y)
    if condition in (less(x, y), at_least(y, x)):
        return dim_min(x, y)
    if known_ge(x, 0) and known_ge(y, 0):
        return dim_max(
            condition * x, (1 - condition) * y
        )  # unlike the sum below, this is known not to be negative
    return y + condition * (x - y)
