"""The vector functions that expressions may apply, by name."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.codegen.math.elu import celu, elu, selu
from sardonyx._src.compile.codegen.math.erf import erf
from sardonyx._src.compile.codegen.math.exponential import exp, exp2, expm1
from sardonyx._src.compile.codegen.math.function import VectorFunction
from sardonyx._src.compile.codegen.math.gelu import gelu
from sardonyx._src.compile.codegen.math.hyperbolic import cosh, sinh
from sardonyx._src.compile.codegen.math.inverse_hyperbolic import acosh, asinh, atanh
from sardonyx._src.compile.codegen.math.inverse_trigonometric import acos, asin, atan
from sardonyx._src.compile.codegen.math.logarithm import log, log1p
from sardonyx._src.compile.codegen.math.mish import mish
from sardonyx._src.compile.codegen.math.power import pow
from sardonyx._src.compile.codegen.math.roots import reciprocal, rsqrt
from sardonyx._src.compile.codegen.math.sigmoid import sigmoid, silu
from sardonyx._src.compile.codegen.math.softplus import softplus
from sardonyx._src.compile.codegen.math.tanh import tanh
from sardonyx._src.compile.codegen.math.trigonometric import cos, sin, tan

VECTOR_FUNCTIONS: Mapping[str, VectorFunction] = {
    entry.name: entry
    for entry in (
        acos, acosh, asin, asinh, atan, atanh, celu, cos, cosh, elu, erf, exp, exp2, expm1, gelu, log, log1p, mish, pow,
        reciprocal, rsqrt, selu, sigmoid, silu, sin, sinh, softplus, tan, tanh,
    )
}  # fmt: skip
