"""The vector functions that expressions may apply, by name."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.codegen.math.elu import celu, elu, selu
from sardonyx._src.compile.codegen.math.erf import erf
from sardonyx._src.compile.codegen.math.exponential import exp, exp2, expm1
from sardonyx._src.compile.codegen.math.function import VectorFunction
from sardonyx._src.compile.codegen.math.gelu import gelu
from sardonyx._src.compile.codegen.math.logarithm import log, log1p
from sardonyx._src.compile.codegen.math.mish import mish
from sardonyx._src.compile.codegen.math.power import pow
from sardonyx._src.compile.codegen.math.roots import reciprocal, rsqrt
from sardonyx._src.compile.codegen.math.sigmoid import sigmoid, silu
from sardonyx._src.compile.codegen.math.softplus import softplus
from sardonyx._src.compile.codegen.math.tanh import tanh
from sardonyx._src.compile.codegen.math.trigonometric import cos, sin

VECTOR_FUNCTIONS: Mapping[str, VectorFunction] = {
    entry.name: entry
    for entry in (
        celu, cos, elu, erf, exp, exp2, expm1, gelu, log, log1p, mish, pow, reciprocal, rsqrt, selu, sigmoid, silu,
        sin, softplus, tanh,
    )
}  # fmt: skip
