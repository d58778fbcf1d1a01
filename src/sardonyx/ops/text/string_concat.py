"""StringConcat: strings joined by element, with broadcasting.

Spec: ai.onnx StringConcat-20.
"""

from __future__ import annotations

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.shapes import broadcasting

op = Operator("StringConcat", elementwise=True)
op.infer(20)(broadcasting(DataType.STRING))


@op.eval(20)
def evaluate(X: Array, Y: Array) -> Array:
    """X, Y: strings of shapes that broadcast to that of the result."""
    result: Array = np.empty(np.broadcast_shapes(X.shape, Y.shape), object)
    result[...] = np.add(X, Y)
    return result
