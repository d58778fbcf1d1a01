"""Sigmoid: 1 / (1 + exp(-x)).

Spec: ai.onnx Sigmoid-1, -6, -13.  13 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import define_unary

op = Operator("Sigmoid", tolerance="rounding", elementwise=True)


def sigmoid(x: Array) -> Array:
    """x: float32 or float64."""
    small = np.exp(-np.abs(x))  # never overflows
    return np.where(x < 0, small, 1) / (1 + small)


define_unary(op, (1, 6, 13), sigmoid)
