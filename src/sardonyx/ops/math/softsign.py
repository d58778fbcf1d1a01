"""Softsign: x / (1 + |x|).

Spec: ai.onnx Softsign-1, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import function_of_one

op = Operator("Softsign", tolerance="rounding", elementwise=True)
function_of_one(op, (1, 22), lambda x: x / (1 + np.abs(x)))
