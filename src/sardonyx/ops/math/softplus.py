"""Softplus: log(exp(x) + 1).

Spec: ai.onnx Softplus-1, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import function_of_one

op = Operator("Softplus", tolerance="rounding", elementwise=True)


def softplus(x: Array) -> Array:
    """x: float32 or float64."""
    return np.logaddexp(x, x.dtype.type(0))


function_of_one(op, (1, 22), softplus)
