"""Acos, Acosh, Asin, Asinh, Atan, Atanh, Cos, Cosh, Exp, Log, Reciprocal, Sin, Sinh, Sqrt, Tan, Tanh.

Spec: ai.onnx, the versions in the tables below.  6 drops `consumed_inputs`, 13 and 22 add bfloat16; nothing else
changes.  Outside of its domain a function is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.math.hyperbolic_steps import HYPERBOLIC_FUNCTIONS, decompose_in_double

Entry = tuple[Callable[[Array], Array], tuple[int, ...], str]  # the function, the versions, a description

ROUNDED_FUNCTIONS: dict[str, Entry] = {
    "Acos": (np.arccos, (7, 22), "the angle between 0 and pi whose cosine is x."),
    "Acosh": (np.arccosh, (9, 22), "the number, not below 0, whose hyperbolic cosine is x."),
    "Asin": (np.arcsin, (7, 22), "the angle between -pi / 2 and pi / 2 whose sine is x."),
    "Asinh": (np.arcsinh, (9, 22), "the number whose hyperbolic sine is x."),
    "Atan": (np.arctan, (7, 22), "the angle between -pi / 2 and pi / 2 whose tangent is x."),
    "Atanh": (np.arctanh, (9, 22), "the number whose hyperbolic tangent is x."),
    "Cos": (np.cos, (7, 22), "the cosine of x, in radians."),
    "Cosh": (np.cosh, (9, 22), "the hyperbolic cosine of x."),
    "Exp": (np.exp, (1, 6, 13), "e to the power x."),
    "Log": (np.log, (1, 6, 13), "the natural logarithm of x."),
    "Sin": (np.sin, (7, 22), "the sine of x, in radians."),
    "Sinh": (np.sinh, (9, 22), "the hyperbolic sine of x."),
    "Tan": (np.tan, (7, 22), "the tangent of x, in radians."),
    "Tanh": (np.tanh, (1, 6, 13), "the hyperbolic tangent of x."),
}
EXACT_FUNCTIONS: dict[str, Entry] = {  # IEEE 754 defines every bit of their results
    "Reciprocal": (lambda x: 1 / x, (1, 6, 13), "1 / x."),
    "Sqrt": (np.sqrt, (1, 6, 13), "the square root of x."),
}

for name, (function, versions, line) in ROUNDED_FUNCTIONS.items():
    op = Operator(name, tolerance="rounding", elementwise=True, about=line)
    define_unary(op, versions, function)
    if name in HYPERBOLIC_FUNCTIONS:
        op.convert((9, 0))(decompose_in_double(HYPERBOLIC_FUNCTIONS[name]))
for name, (function, versions, line) in EXACT_FUNCTIONS.items():
    define_unary(Operator(name, elementwise=True, about=line), versions, function)
