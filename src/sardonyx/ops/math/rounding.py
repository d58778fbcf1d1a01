"""Ceil, Floor, Round: the next whole number above, below, and the nearest one, of two equally near the even one.

Spec: ai.onnx Ceil-1, -6, -13; Floor-1, -6, -13; Round-11, -22.  13 and 22 add bfloat16.  Zeros keep their sign.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import function_of_one
from sardonyx.ops.math.symbolic import arithmetic

ceil = Operator("Ceil", elementwise=True, about="the least whole number not below each element.")
floor = Operator("Floor", elementwise=True, about="the greatest whole number not above each element.")
round_ = Operator(
    "Round", elementwise=True, about="the nearest whole number, of two equally near the even one."
)

function_of_one(ceil, (1, 6, 13), np.ceil)
function_of_one(floor, (1, 6, 13), np.floor)
function_of_one(round_, (11, 22), np.rint)

for op in (ceil, floor, round_):
    op.value(*op.kernels)(arithmetic(lambda dim: dim))  # sizes in floats are whole numbers
