"""Where: X where the condition holds, Y elsewhere.

Spec: ai.onnx Where-9, -16.  16 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.math.comparison_steps import without_where
from sardonyx._src.ops.math.symbolic import NUMBERS, mapped
from sardonyx._src.ops.shapes import broadcast
from sardonyx._src.ops.widening import cast

op = Operator("Where", elementwise=True)
op.convert((9, 0))(without_where)


@op.convert((16, 9))
def to_9(c: Change) -> Converted:
    """bfloat16 goes through float, which holds its numbers."""
    if c.t.dtype(1) is not DataType.BFLOAT16:
        return c.same()
    numbers = [cast(c, c.input(i), DataType.FLOAT) for i in (1, 2)]
    return cast(c, c.Where(c.input(0), *numbers), DataType.BFLOAT16)


@op.infer(9, 16)
def infer(t: Inference) -> Result:
    shape = broadcast(t, [t.shape(i) for i in range(3)])
    dtype = t.dtype(1) or t.dtype(2)
    return None if dtype is None else TensorType(dtype, shape)


@op.eval(9, 16)
def evaluate(condition: Array, X: Array, Y: Array) -> Array:
    return np.where(condition, X, Y)


@op.value(9, 16)
def value(t: Inference) -> Known | None:
    return mapped(t, chosen) if t.dtype(1) in NUMBERS else None


def chosen(condition: bool | None, x: Dim, y: Dim) -> Dim:
    """x or y; what both are alike where the condition is not known."""
    if condition is not None:
        return x if condition else y
    return x if known_equal(x, y) else None
