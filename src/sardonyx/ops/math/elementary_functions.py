"""Acos, Acosh, Asin, Asinh, Atan, Atanh, Cos, Cosh, Exp, Log, Reciprocal, Sin, Sinh, Sqrt, Tan, Tanh.

Spec: ai.onnx, the versions below.  1 to 6 lose `consumed_inputs`, 13 and 22 add bfloat16; nothing else changed.
Outside of its domain a function is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import function_of_one

FUNCTIONS: dict[str, tuple[Callable[[Array], Array], tuple[int, ...]]] = {
    "Acos": (np.arccos, (7, 22)),
    "Acosh": (np.arccosh, (9, 22)),
    "Asin": (np.arcsin, (7, 22)),
    "Asinh": (np.arcsinh, (9, 22)),
    "Atan": (np.arctan, (7, 22)),
    "Atanh": (np.arctanh, (9, 22)),
    "Cos": (np.cos, (7, 22)),
    "Cosh": (np.cosh, (9, 22)),
    "Exp": (np.exp, (1, 6, 13)),
    "Log": (np.log, (1, 6, 13)),
    "Sin": (np.sin, (7, 22)),
    "Sinh": (np.sinh, (9, 22)),
    "Tan": (np.tan, (7, 22)),
    "Tanh": (np.tanh, (1, 6, 13)),
}
EXACT: dict[str, tuple[Callable[[Array], Array], tuple[int, ...]]] = {  # IEEE 754 says every bit of these
    "Reciprocal": (lambda x: 1 / x, (1, 6, 13)),
    "Sqrt": (np.sqrt, (1, 6, 13)),
}

for name, (function, versions) in FUNCTIONS.items():
    function_of_one(Operator(name, tolerance="rounding", elementwise=True), versions, function)
for name, (function, versions) in EXACT.items():
    function_of_one(Operator(name, elementwise=True), versions, function)
