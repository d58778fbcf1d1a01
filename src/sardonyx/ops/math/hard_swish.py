"""HardSwish: x times x / 6 + 0.5, the latter kept between 0 and 1.

Spec: ai.onnx HardSwish-14, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import function_of_one

op = Operator("HardSwish", tolerance="rounding", elementwise=True)
function_of_one(op, (14, 22), lambda x: x * np.clip(x / 6 + 0.5, 0, 1))
